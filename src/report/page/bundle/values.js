// What a chart draws, out of the table of its values. A cell is a number where it holds one, exactly in <data>.
//
// rows, columns: {column}                       a bar a row, of that column; none where it holds no number
// matrix: {}                                    names in the first column, counts in the others
// lines: {series: [{name, column, draw, band, ends: [column of the lower end, of the upper]}], zone: {name}, from}
//     over the number in the first column, or, with `from`, over the number of the row, beginning with [0, from]; the row
//     that has no number there holds the radius of the zone
const textOf = (cell) => cell.textContent;
export const numberOf = (cell) => {
  const text = cell.querySelector("data")?.value ?? cell.textContent;
  return text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
};

function linesOf(spec, rows) {
  const values = {};
  const place = (cells, index) => (spec.from === undefined ? numberOf(cells[0]) : index + 1);
  values.series = spec.series.map(({ column, ends = [], ...one }) => ({
    ...one,
    points: rows.filter((cells) => numberOf(cells[column]) !== null)
      .map((cells, index) => [place(cells, index), ...[column, ...ends].map((each) => numberOf(cells[each]))])
      .filter(([at]) => at !== null),
  }));
  if (spec.from !== undefined) for (const one of values.series) one.points.unshift([0, spec.from]);
  if (spec.zone) {
    const radius = numberOf(rows.find((cells) => numberOf(cells[0]) === null)[1]);
    values.zone = { ...spec.zone, low: -radius, high: radius };
    values.y = { ...spec.y, radius };
  }
  return values;
}

export function valuesOf(spec, table) {
  const rows = [...table.tBodies[0].rows].map((row) => row.cells);
  switch (spec.chart) {
    case "lines": return linesOf(spec, rows);
    case "matrix": return { names: rows.map((cells) => textOf(cells[0])), counts: rows.map((cells) => [...cells].slice(1).map(numberOf)) };
    default: return { bars: rows.map((cells) => ({ name: textOf(cells[0]), value: numberOf(cells[spec.column]) })) };
  }
}

// A column that draws the intervals of a table, whose columns are name, value, from, to, noise. Figures of one kind have
// one scale where they are shares, so that they can be compared; each other figure has its own, whose ends stand beside it.
import { select } from "d3-selection";

import { percents } from "./frame.js";
import { numberOf } from "./values.js";

// The least of 1, 2 and 5 times powers of ten that is no less than `value`; 0 of what is not above 0.
function endOf(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((factor) => factor * power >= value) ?? 10) * power;
}

// Shares have scales in steps of 5 %, differences, which have a sign, have 0 in the middle, and others have 0 on theirs.
function scaleOf({ low, high, isShare, isDifference }) {
  const end = endOf(Math.max(-low, high));
  const [first, last] = isDifference ? [-end, end] : isShare ? [Math.floor(low * 20) / 20, Math.ceil(high * 20) / 20] : [-endOf(-low), endOf(high)];
  return first < last ? [first, last] : [0, 1];
}

function intervalOf(row) {
  const text = row.cells[2].textContent;
  const isShare = text.includes("%");
  return {
    value: numberOf(row.cells[1]), low: numberOf(row.cells[2]), high: numberOf(row.cells[3]), isShare, isDifference: isShare && /^[+-]/.test(text),
  };
}

function drawInterval(cell, { value, low, high, isShare }, [first, last]) {
  const place = (at) => (100 * (at - first)) / (last - first);
  const word = (end) => (isShare ? percents(Number.isInteger(Math.round(end * 1e6) / 1e4) ? 0 : 2)(end) : `${Number(end.toPrecision(3))}`).replace("-", "−");
  const drawn = select(cell).append("div").attr("class", "drawn").attr("aria-hidden", "true");
  drawn.append("span").text(word(first));
  const svg = drawn.append("svg").attr("class", "interval").attr("viewBox", "0 0 100 12").attr("preserveAspectRatio", "none");
  drawn.append("span").text(word(last));
  svg.append("rect").attr("class", "all").attr("width", 100).attr("y", 5.5).attr("height", 1);
  svg.append("rect").attr("class", "held").attr("x", place(low)).attr("width", Math.max(place(high) - place(low), 0.5)).attr("y", 4).attr("height", 4);
  if (first < 0 && last > 0) svg.append("path").attr("class", "zero").attr("d", `M${place(0)} 0V12`);
  if (value !== null) {
    svg.append("rect").attr("class", "mark").attr("x", Math.min(Math.max(place(value) - 0.5, 0), 99)).attr("width", 1).attr("y", 2).attr("height", 8);
  }
}

export function drawIntervals(table) {
  const rows = [...table.tBodies[0].rows];
  const intervals = rows.map(intervalOf);
  const scales = intervals.map(scaleOf);
  const isCommon = table.dataset.intervals === "of one kind" && intervals.every((one) => one.isShare);
  const common = [Math.min(...scales.map(([first]) => first)), Math.max(...scales.map(([, last]) => last))];
  const head = table.tHead.rows[0];
  head.insertBefore(document.createElement("th"), head.cells[4]).textContent = "drawn";
  rows.forEach((row, index) => drawInterval(row.insertCell(4), intervals[index], isCommon ? common : scales[index]));
}

// Series of points over a number: accuracy over epsilon, norms over rounds, eigenvalues, a budget as it is spent.
//
// spec: {x: {label, scale: "linear" | "log" | "count", unit: "share" | ""},
//        y: {label, scale: "linear" | "symlog", radius, unit: "share" | ""},
//        series: [{name, points: [[x, y, low, high]...], draw: "line" | "curve" | "step" | "dots", band: name | none}],
//        zone: {name, low, high}, diagonal: name}
// With a diagonal both axes are shares, and the drawing is square. A curve has no marks. More than a few series
// are a panel each, with the others in gray behind.
import { format } from "d3-format";
import { scaleLinear, scaleLog, scaleSymlog } from "d3-scale";
import { select } from "d3-selection";
import { area, curveLinear, curveStepAfter, line } from "d3-shape";

import { colorOf, drawing, legend, markOf, percents, withPowers, xAxis, yAxis } from "./frame.js";

const number = format(".3~g");
const percent = percents(0);
const DASHES = ["", "7 3", "14 4", "9 3 2 3"];
const MOST_IN_ONE = DASHES.length;
const LARGEST_SQUARE = 420;

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e4 || size < 1e-3 ? withPowers(format(".2~e")(value)) : number(value);
}

const formOf = (axis) => (axis.unit === "share" ? percent : short);

function rangeOf(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

// Log scales end at what is there; counts and lines begin where the data do.
function xScale(spec, range) {
  const [low, high] = rangeOf(spec.series.flatMap((one) => one.points.map((point) => point[0])));
  if (spec.x.scale === "log") {
    const around = low === high ? 2 : 1;
    return scaleLog([low / around, high * around], range);
  }
  if (spec.x.unit === "share") return scaleLinear([0, 1], range);
  return scaleLinear(low === high ? [low - 1, high + 1] : [low, high], range);
}

function xTicks(spec, scale, width) {
  const most = Math.max(2, Math.floor(width / 70));
  if (spec.x.scale === "log") {
    const stated = [...new Set(spec.series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
    const kept = [];
    for (const value of stated) if (!kept.length || scale(value) - scale(kept.at(-1)) >= 34) kept.push(value);
    return kept;
  }
  const ticks = scale.ticks(most);
  return spec.x.scale === "count" ? ticks.filter(Number.isInteger) : ticks;
}

// Shares that are close to one another and far from 0 would be one line on a scale from 0: theirs begins at a twentieth
// below the least, and says so.
function scaleOfShares(values) {
  const [low, high] = rangeOf(values);
  if (high - low > 0.3 || low < 0.35) return [0, 1];
  return [Math.max(0, Math.floor(low * 20 - 0.5) / 20), Math.min(1, Math.ceil(high * 20 + 0.5) / 20)];
}

// Other linear scales hold 0. The other kind is linear within the radius of the noise and logarithmic outside.
function yScale(spec, range) {
  const values = spec.series.flatMap((one) => one.points.map((point) => point[1]));
  if (spec.zone) values.push(spec.zone.low, spec.zone.high);
  if (spec.diagonal) return scaleLinear([0, 1], range);
  if (spec.y.unit === "share") return scaleLinear(scaleOfShares(values), range);
  let [low, high] = rangeOf([0, ...values]);
  if (low === high) high = 1;
  if (spec.y.scale !== "symlog") return scaleLinear([low, high], range).nice(5);
  const room = 1.25;
  return scaleSymlog([low < 0 ? low * room : 0, high * room], range).constant(spec.y.radius);
}

function yTicks(spec, scale) {
  if (spec.y.scale !== "symlog") return scale.ticks(5);
  const [low, high] = scale.domain();
  const kept = [0];
  // Powers of ten first, then 5 and 2 times them where there is room.
  for (const factor of [1, 5, 2]) {
    for (let power = Math.floor(Math.log10(spec.y.radius)); factor * 10 ** power <= Math.max(high, -low); ++power) {
      for (const tick of [factor * 10 ** power, -factor * 10 ** power]) {
        const isSeen = tick <= high && tick >= low && Math.abs(tick) >= spec.y.radius;
        if (isSeen && kept.every((other) => Math.abs(scale(other) - scale(tick)) >= 16)) kept.push(tick);
      }
    }
  }
  return kept;
}

function labelOf(spec, scale) {
  const [first] = scale.domain();
  return first > 0 ? `${spec.y.label}; the scale begins at ${percent(first)}` : spec.y.label;
}

export function drawLines(plot, spec) {
  if (spec.series.length <= MOST_IN_ONE) return drawTogether(plot, spec, 320);
  select(plot).append("p").attr("class", "of-panels").text(labelOf(spec, yScale(spec, [0, 1])));
  const panels = select(plot).append("div").attr("class", "panels");
  spec.series.forEach((one, index) => {
    const panel = panels.append("div").node();
    select(panel).append("h4").text(one.name);
    drawTogether(panel, { ...spec, label: `${one.name}: ${spec.label}` }, 190, index);
  });
}

// All series in one drawing; all but the one that is `lit` in gray, if one is.
function drawTogether(plot, spec, high, lit = null) {
  const side = Math.min(LARGEST_SQUARE, plot.clientWidth - 76);
  const { svg, width, height } = drawing(plot, spec, spec.diagonal ? side + 74 : high);
  const [left, right, top, bottom] = [52, spec.diagonal ? 52 + side : width - 12, lit === null ? 28 : 12, height - 46];
  const edge = spec.diagonal ? 0 : 8;
  const x = xScale(spec, [left + edge, right - edge]);
  const y = yScale(spec, [bottom, top]);
  if (spec.zone) {
    svg.append("rect").attr("class", "zone").attr("x", left).attr("width", right - left)
      .attr("y", y(spec.zone.high)).attr("height", Math.max(1, y(spec.zone.low) - y(spec.zone.high)));
  }
  const [first] = y.domain();
  yAxis(svg, y, left, right, lit === null ? labelOf(spec, y) : "", { format: formOf(spec.y), values: yTicks(spec, y) });
  xAxis(svg, x, bottom, spec.x.label, width, { format: formOf(spec.x), values: xTicks(spec, x, right - left) });
  if (first <= 0) svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", right).attr("y1", y(0)).attr("y2", y(0));
  if (spec.diagonal) svg.append("line").attr("class", "diagonal").attr("x1", x(0)).attr("x2", x(1)).attr("y1", y(0)).attr("y2", y(1));
  if (lit === null) {
    spec.series.forEach((one, index) => drawSeries(svg, one, index, x, y));
    const keys = keysOf(spec);
    if (keys.length > 1) legend(plot, keys);
    return;
  }
  spec.series.forEach((one, index) => index !== lit && drawSeries(svg, { ...one, draw: "curve" }, null, x, y));
  drawSeries(svg, spec.series[lit], lit, x, y);
}

function drawSeries(svg, one, index, x, y) {
  const group = svg.append("g").attr("class", index === null ? "series others" : `series ${colorOf(index)}`);
  const curve = one.draw === "step" ? curveStepAfter : curveLinear;
  if (one.band) {
    group.append("path").attr("class", "band")
      .attr("d", area(([at]) => x(at), (point) => y(point[2]), (point) => y(point[3]))(one.points));
  }
  if (one.draw !== "dots") {
    group.append("path").attr("class", "line").attr("stroke-dasharray", DASHES[index % DASHES.length])
      .attr("d", line(([at]) => x(at), ([, value]) => y(value)).curve(curve)(one.points));
  }
  const crowded = one.points.length > 60;
  if (one.draw === "curve" || (crowded && one.draw !== "dots")) return;
  for (const [at, value] of one.points) {
    group.append("path").attr("class", "mark").attr("d", markOf(index, crowded ? 12 : 36))
      .attr("transform", `translate(${x(at)},${y(value)})`)
      .append("title").text(`${one.name}: ${short(at)}, ${short(value)}`);
  }
}

function keysOf(spec) {
  const keys = spec.series.map((one, index) => ({
    name: one.name,
    draw: (key) => {
      const group = key.append("g").attr("class", `series ${colorOf(index)}`);
      if (one.draw !== "dots") {
        group.append("path").attr("class", "line").attr("stroke-dasharray", DASHES[index % DASHES.length]).attr("d", "M0,6H28");
      }
      if (one.draw !== "curve" && (one.draw === "dots" || one.points.length <= 60)) {
        group.append("path").attr("class", "mark").attr("d", markOf(index)).attr("transform", "translate(14,6)");
      }
    },
  }));
  const box = (kind) => (key) => key.append("rect").attr("class", kind).attr("width", 28).attr("height", 12);
  for (const one of spec.series) if (one.band) keys.push({ name: one.band, draw: box("band") });
  if (spec.diagonal) keys.push({ name: spec.diagonal, draw: (key) => key.append("path").attr("class", "diagonal").attr("d", "M0,6H28") });
  if (spec.zone) keys.push({ name: spec.zone.name, draw: box("zone") });
  return keys;
}

// Lengths from 0: shares of a budget (rows), recalls of classes (columns).
//
// rows:    {x: {label}, bars: [{name, value: share}]}
// columns: {x: {label}, y: {label}, bars: [{name, value: share or null}]}
import { scaleBand, scaleLinear } from "d3-scale";

import { colorOf, drawing, percents, writeWithin, xAxis, yAxis } from "./frame.js";

const percent = percents(0);

// A bar a name.
export function drawRows(plot, spec) {
  const row = 26;
  const { svg, width, height } = drawing(plot, spec, spec.bars.length * row + 56);
  const room = Math.min(width * 0.45, 12 + 6.8 * Math.max(...spec.bars.map((bar) => bar.name.length)));
  const [left, right, bottom] = [room, width - 58, height - 46];
  const x = scaleLinear([0, 1], [left, right]);
  const y = scaleBand(spec.bars.map((_, index) => index), [6, bottom]).paddingInner(0.35).paddingOuter(0.2);
  xAxis(svg, x, bottom, spec.x.label, width, { ticks: Math.floor((right - left) / 80), format: percent });
  svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", left).attr("y1", 0).attr("y2", bottom);
  spec.bars.forEach((bar, index) => {
    const middle = y(index) + y.bandwidth() / 2;
    const name = svg.append("text").attr("class", "name").attr("x", left - 8).attr("y", middle).attr("dy", "0.35em").attr("text-anchor", "end");
    writeWithin(name, bar.name, room - 10);
    const group = svg.append("g").attr("class", `series ${colorOf(0)}`);
    group.append("rect").attr("class", "bar").attr("x", left).attr("width", Math.max(0.5, x(bar.value) - left))
      .attr("y", y(index)).attr("height", y.bandwidth());
    svg.append("text").attr("class", "value").attr("x", x(bar.value) + 7).attr("y", middle).attr("dy", "0.35em").text(percents(1)(bar.value));
  });
}

// Shares from 0 to 1, one a class, in the order of classes.
export function drawColumns(plot, spec) {
  const { svg, width, height } = drawing(plot, spec, 260);
  const [left, right, top, bottom] = [46, width - 8, 28, height - 46];
  const x = scaleBand(spec.bars.map((_, index) => index), [left, right]).padding(spec.bars.length > 60 ? 0 : 0.25);
  const y = scaleLinear([0, 1], [bottom, top]);
  yAxis(svg, y, left, right, spec.y.label, { format: percent });
  const every = Math.ceil((Math.max(...spec.bars.map((bar) => Math.min(bar.name.length, 10))) * 7 + 10) / x.step());
  xAxis(svg, x, bottom, spec.x.label, width, {
    values: spec.bars.map((_, index) => index).filter((index) => index % every === 0),
    format: (index) => spec.bars[index].name,
    room: Math.min(every * x.step() - 6, 2 * left + x.step()),
  });
  const group = svg.append("g").attr("class", `series ${colorOf(0)}`);
  spec.bars.forEach((bar, index) => {
    if (bar.value === null) return;
    group.append("rect").attr("class", "bar").attr("x", x(index)).attr("width", Math.max(0.5, x.bandwidth()))
      .attr("y", y(bar.value)).attr("height", bottom - y(bar.value))
      .append("title").text(`${bar.name}: ${percents(1)(bar.value)}`);
  });
  svg.append("line").attr("class", "zero").attr("x1", left).attr("x2", right).attr("y1", bottom).attr("y2", bottom);
}

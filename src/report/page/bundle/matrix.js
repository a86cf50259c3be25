// A confusion matrix: rows of each true class by predicted class, each cell as dark as its share of its row.
//
// spec: {x: {label}, y: {label}, names: [K], counts: K x K}
import { scaleBand } from "d3-scale";

import { colorOf, drawing, writeWithin, xAxis } from "./frame.js";

const MOST_COUNTED = 14;
const STEPS = 20; // of the scale of colors

export function drawMatrix(plot, spec) {
  const classes = spec.names.length;
  const side = Math.min(560, Math.max(240, plot.clientWidth));
  const longest = Math.max(...spec.names.map((name) => name.length));
  const left = Math.min(side * 0.3, 22 + 6.8 * longest);
  const size = side - left - 4;
  const { svg, width } = drawing(plot, spec, size + 122);
  const top = 26;
  const scale = scaleBand(spec.names.map((_, index) => index), [0, size]);
  const every = Math.ceil(14 / scale.step());
  const everyAcross = Math.ceil((7 * Math.min(longest, 8) + 6) / scale.step());
  const shown = (index) => index % every === 0;
  svg.append("text").attr("class", "axis-label").attr("x", 0).attr("y", 12).text(spec.y.label);
  xAxis(svg, scale.copy().range([left, left + size]), top + size, spec.x.label, width, {
    values: spec.names.map((_, index) => index).filter((index) => index % everyAcross === 0),
    format: (index) => spec.names[index],
    room: Math.min(everyAcross * scale.step() - 4, scale.step() + 8),
  });
  const group = svg.append("g").attr("class", `series ${colorOf(0)}`).attr("transform", `translate(${left},${top})`);
  spec.counts.forEach((row, trueClass) => {
    if (shown(trueClass)) {
      const name = svg.append("text").attr("class", "name").attr("x", left - 8).attr("y", top + scale(trueClass) + scale.bandwidth() / 2)
        .attr("dy", "0.35em").attr("text-anchor", "end");
      writeWithin(name, spec.names[trueClass], left - 10);
    }
    const sum = row.reduce((a, b) => a + b, 0);
    row.forEach((count, predicted) => {
      const share = sum > 0 ? count / sum : 0;
      const cell = group.append("g").attr("transform", `translate(${scale(predicted)},${scale(trueClass)})`);
      cell.append("rect").attr("class", "cell").attr("width", scale.bandwidth()).attr("height", scale.bandwidth()).attr("fill-opacity", share);
      if (classes <= MOST_COUNTED && count > 0) {
        cell.append("text").attr("class", share > 0.5 ? "count on-dark" : "count").attr("x", scale.bandwidth() / 2)
          .attr("y", scale.bandwidth() / 2).attr("dy", "0.35em").attr("text-anchor", "middle").text(count);
      }
      cell.append("title").text(`${spec.names[trueClass]} as ${spec.names[predicted]}: ${count}`);
    });
  });
  group.append("rect").attr("class", "outline").attr("width", size).attr("height", size);
  drawScale(svg, left, top + size + 54, Math.min(200, size));
}

// Legend: the share of its row for each color.
function drawScale(svg, left, top, width) {
  const group = svg.append("g").attr("class", `scale series ${colorOf(0)}`).attr("transform", `translate(${left},${top})`);
  for (let step = 0; step < STEPS; ++step) {
    group.append("rect").attr("class", "cell").attr("x", (step * width) / STEPS).attr("width", width / STEPS)
      .attr("height", 10).attr("fill-opacity", (step + 0.5) / STEPS);
  }
  group.append("rect").attr("class", "outline").attr("width", width).attr("height", 10);
  const words = [["start", 0, "0\u00a0%"], ["middle", 0.5, "of its row"], ["end", 1, "100\u00a0%"]];
  for (const [anchor, at, word] of words) {
    group.append("text").attr("class", "axis-label").attr("x", at * width).attr("y", 24).attr("text-anchor", anchor).text(word);
  }
}

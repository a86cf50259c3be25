// Draws the charts of the page. Each figure holds the table of its values, which the page shows where there are no scripts,
// a place to draw them in, and as JSON how: axes, and which column is what (values.js). Values stand in the table alone.
import { drawColumns, drawRows } from "./bars.js";
import { drawIntervals } from "./intervals.js";
import { drawLines } from "./lines.js";
import { drawMatrix } from "./matrix.js";
import { valuesOf } from "./values.js";

const DRAW = { lines: drawLines, rows: drawRows, columns: drawColumns, matrix: drawMatrix };

// A folded chart has no width, so it is drawn once it is seen.
function draw(plot, spec) {
  if (plot.clientWidth === 0) return;
  plot.replaceChildren();
  DRAW[spec.chart](plot, spec);
}

for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  Object.assign(spec, valuesOf(spec, figure.querySelector("table")));
  const plot = figure.querySelector(".plot");
  plot.hidden = false;
  draw(plot, spec);
  figure.querySelector("details").open = false;
  let width = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth === width) return;
    width = plot.clientWidth;
    draw(plot, spec);
  }).observe(plot);
}
document.querySelectorAll("table[data-intervals]").forEach(drawIntervals);
document.documentElement.dataset.drawn = "yes";

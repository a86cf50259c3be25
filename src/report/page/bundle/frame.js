// What all charts share: the drawing's size, its axes, its colors and marks.
import { axisBottom, axisLeft } from "d3-axis";
import { format } from "d3-format";
import { select } from "d3-selection";
import { symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle } from "d3-shape";

const SYMBOLS = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross, symbolStar]; // those that are filled
const COLORS = 7;

// Shares as per cent, with so many decimals.
export const percents = (decimals) => (share) => format(`.${decimals}%`)(share).replace("%", "\u00a0%");

const POWERS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// "1e-06" in a text as 10⁻⁶.
export function withPowers(text) {
  return text.replace(/\b(\d(?:\.\d+)?)e\+?(-?)0*(\d+)\b/g, (_, factor, sign, power) =>
    `${factor === "1" ? "" : `${factor}·`}10${[...sign + power].map((one) => POWERS[one]).join("")}`);
}

// The class that page.css gives the color of series number `index`.
export const colorOf = (index) => `series-${index % COLORS}`;

// A series is told by its mark as well as by its color.
export const markOf = (index, size = 36) => symbol(SYMBOLS[index % SYMBOLS.length], size)();

// A drawing of `height` within `plot`, which it fills from side to side. The table beside it tells its values, so that
// a screen reader hears one sentence of it.
export function drawing(plot, spec, height) {
  const width = Math.max(240, plot.clientWidth);
  const svg = select(plot)
    .append("svg")
    .attr("viewBox", `0 0 ${width} ${height}`)
    .attr("role", "img")
    .attr("aria-label", spec.label);
  return { svg, width, height };
}

export function xAxis(svg, scale, y, label, width, { ticks = 6, format = null, values = null, room = null } = {}) {
  const axis = axisBottom(scale).ticks(ticks).tickSizeOuter(0).tickPadding(6);
  if (values) axis.tickValues(values);
  if (format) axis.tickFormat(format);
  const drawn = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y})`).call(axis);
  if (room) writeWithin(drawn.selectAll(".tick text"), format, room);
  const [left, right] = scale.range();
  svg.append("text").attr("class", "axis-label").attr("x", (left + right) / 2).attr("y", y + 36)
    .attr("text-anchor", "middle").text(withPowers(label));
}

export function yAxis(svg, scale, x, right, label, { ticks = 5, format = null, values = null } = {}) {
  const axis = axisLeft(scale).ticks(ticks).tickSizeOuter(0).tickSizeInner(-(right - x)).tickPadding(6);
  if (values) axis.tickValues(values);
  if (format) axis.tickFormat(format);
  svg.append("g").attr("class", "axis grid").attr("transform", `translate(${x},0)`).call(axis);
  svg.append("text").attr("class", "axis-label").attr("x", 0).attr("y", 12).text(withPowers(label));
}

// The names of the series, each with its mark and line, outside the drawing: they may be many, or long.
export function legend(plot, series) {
  const list = select(plot).append("ul").attr("class", "legend").attr("aria-hidden", "true");
  for (const one of series) {
    const entry = list.append("li");
    const key = entry.append("svg").attr("viewBox", "0 0 28 12").attr("width", 28).attr("height", 12);
    one.draw(key);
    entry.append("span").text(one.name);
  }
}

// Writes a text into each element, its middle cut out where it is longer than `pixels`: names often differ at their ends.
// The whole of it is then what the pointer shows.
export function writeWithin(elements, text, pixels) {
  elements.text(text).each(function () {
    const whole = [...this.textContent];
    let kept = Math.min(whole.length, Math.ceil(pixels / 2));
    const isCut = () => kept > 1 && this.getComputedTextLength() > pixels;
    while (isCut()) {
      --kept;
      this.textContent = `${whole.slice(0, Math.ceil(kept / 2)).join("")}…${whole.slice(whole.length - Math.floor(kept / 2)).join("")}`;
    }
    if (kept < whole.length) select(this).append("title").text(whole.join(""));
  });
}

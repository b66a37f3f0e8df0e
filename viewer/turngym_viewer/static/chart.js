// Charts by hand, in SVG: lines or stacked areas over training steps, the horizon's stages shaded behind them. Each can be
// read with the pointer, with the arrow keys, and as a table.

import { h, lazyDetails, number, percent, put, s } from "./dom.js";

const WIDTH = 520;
const HEIGHT = 220;
const PAD = { left: 46, right: 12, top: 14, bottom: 26 };
const SMOOTH = 5;
const MOST_POINTS = 1200;

/**
 * A chart. `steps` is the x axis; `series` are `{name, values, colour: 1..6, dash}`; `horizons` (one a step, or null)
 * shades stages; `points` are `{x, y, low, high, name}`; `range` fixes the y axis; `stacked` stacks areas; `smooth` adds a
 * running mean over five steps and draws the raw line faintly.
 */
export function chart({ title, note, steps, series, horizons, points = [], range, stacked = false, smooth = false, format = number }) {
  const drawn = series.filter((one) => one.values.some((value) => typeof value === "number"));
  if (!steps.length || !drawn.length) {
    return h("section", { class: "panel chart" }, h("h3", {}, title), h("p", { class: "muted small" }, "Nothing yet."));
  }
  const layers = stacked ? stack(drawn, steps.length) : drawn.map((one) => ({ ...one, top: smooth ? mean(one.values) : one.values }));
  const x = scale([steps[0] - (points.length ? 1 : 0.5), steps.at(-1) + 0.5], [PAD.left, WIDTH - PAD.right]);
  const y = scale(range ?? spanOf(layers, points, stacked), [HEIGHT - PAD.bottom, PAD.top]);
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: 0, "aria-label": `${title}: ${summary(drawn, steps, format)}. Arrow keys read single steps.` },
    stages(horizons, steps, x), axes(x, y, steps, format),
    layers.map((layer) => (stacked ? area(layer, steps, x, y) : lines(layer, steps, x, y, smooth))),
    points.map((point) => mark(point, x, y)));
  const cursor = s("line", { class: "cursor", y1: PAD.top, y2: HEIGHT - PAD.bottom, visibility: "hidden" });
  svg.append(cursor);
  const values = drawn.map((one) => h("span", { class: "number" }));
  const at = h("span", { class: "muted" });
  const read = (index) => {
    cursor.setAttribute("visibility", index === null ? "hidden" : "visible");
    const shown = index ?? steps.length - 1;
    cursor.setAttribute("x1", x(steps[shown]));
    cursor.setAttribute("x2", x(steps[shown]));
    put(at, `step ${steps[shown]}`);
    drawn.forEach((one, i) => put(values[i], format(one.values[shown])));
  };
  listen(svg, steps, x, read);
  read(null);
  const legend = h("ul", { class: "legend" }, h("li", {}, at), drawn.map((one, i) =>
    h("li", {}, h("i", { class: `c${one.colour}${stacked ? " area" : ""}` }), one.name, " ", values[i])));
  return h("section", { class: "panel chart" }, h("h3", {}, title), note ? h("p", { class: "muted small" }, note) : null, svg, legend, table(title, drawn, steps, format));
}

function scale([from, to], [low, high]) {
  const span = to - from || 1;
  const place = (value) => Math.round((low + ((value - from) / span) * (high - low)) * 10) / 10;
  place.domain = [from, to];
  return place;
}

function spanOf(layers, points, stacked) {
  let [low, high] = [Infinity, -Infinity];
  const see = (value) => {
    if (typeof value !== "number") return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const layer of layers) {
    layer.top.forEach(see);
    if (!stacked) layer.values.forEach(see);
  }
  for (const point of points) see(point.y);
  if (stacked || low > 0 && low < high * 0.6) low = 0;
  if (low === high) return [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  return [low, high + (high - low) * 0.06];
}

function mean(values) {
  return values.map((value, at) => {
    const near = values.slice(Math.max(0, at + 1 - SMOOTH), at + 1).filter((one) => typeof one === "number");
    return typeof value === "number" && near.length ? near.reduce((sum, one) => sum + one, 0) / near.length : null;
  });
}

function stack(series, length) {
  const below = new Array(length).fill(0);
  return series.map((one) => {
    const base = [...below];
    one.values.forEach((value, at) => { below[at] += typeof value === "number" ? value : 0; });
    return { ...one, base, top: [...below] };
  });
}

/** Which of many points are drawn: as many as there are pixels for. */
function thinned(length) {
  const stride = Math.max(1, Math.ceil(length / MOST_POINTS));
  const kept = [];
  for (let at = 0; at < length; at += stride) kept.push(at);
  if (length && kept.at(-1) !== length - 1) kept.push(length - 1);
  return kept;
}

function path(values, steps, x, y) {
  let text = "";
  let pen = false;
  for (const at of thinned(values.length)) {
    const value = values[at];
    if (typeof value !== "number") {
      pen = false;
      continue;
    }
    text += `${pen ? "L" : "M"}${x(steps[at])} ${y(value)}`;
    pen = true;
  }
  return text;
}

function lines(layer, steps, x, y, smooth) {
  const kind = `line c${layer.colour}${layer.dash ? " dash" : ""}`;
  const single = layer.values.length === 1 ? s("circle", { class: `fill c${layer.colour}`, cx: x(steps[0]), cy: y(layer.values[0]), r: 3 }) : null;
  return [smooth ? s("path", { class: `${kind} raw`, d: path(layer.values, steps, x, y) }) : null, s("path", { class: kind, d: path(layer.top, steps, x, y) }), single];
}

function area(layer, steps, x, y) {
  const kept = thinned(steps.length);
  const over = kept.map((at) => `${x(steps[at])} ${y(layer.top[at])}`);
  const under = kept.map((at) => `${x(steps[at])} ${y(layer.base[at])}`).reverse();
  return s("path", { class: `fill c${layer.colour}`, d: `M${[...over, ...under].join("L")}Z` });
}

function mark(point, x, y) {
  return s("g", {}, s("title", {}, point.name),
    point.low === undefined ? null : s("line", { class: "whisker", x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) }),
    s("circle", { class: "point", cx: x(point.x), cy: y(point.y), r: 4 }));
}

function stages(horizons, steps, x) {
  if (!horizons) return null;
  const bands = [];
  let start = 0;
  for (let at = 1; at <= steps.length; at += 1) {
    if (at < steps.length && horizons[at] === horizons[start]) continue;
    const [from, to] = [x(steps[start] - 0.5), x(steps[at - 1] + 0.5)];
    if (horizons[start] !== null) {
      bands.push(s("rect", { class: bands.length % 4 ? "stage-b" : "stage-a", x: from, y: PAD.top, width: Math.max(0, to - from), height: HEIGHT - PAD.bottom - PAD.top }),
        to - from > 18 ? s("text", { class: "stage", x: from + 3, y: PAD.top + 10 }, to - from > 62 ? `horizon ${horizons[start]}` : String(horizons[start])) : s("g"));
    }
    start = at;
  }
  return bands;
}

function axes(x, y, steps, format) {
  const rows = ticks(...y.domain, 4).map((value) => [
    s("line", { class: "gridline", x1: PAD.left, x2: WIDTH - PAD.right, y1: y(value), y2: y(value) }),
    s("text", { class: "axis", x: PAD.left - 5, y: y(value) + 4, "text-anchor": "end" }, format === percent ? percent(value, 0) : format(value)),
  ]);
  const columns = ticks(steps[0], steps.at(-1), 6).filter((value) => Number.isInteger(value)).map((value) =>
    s("text", { class: "axis", x: x(value), y: HEIGHT - 8, "text-anchor": "middle" }, String(value)));
  return [rows, columns];
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough) ?? rough;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9 && found.length < 20; value += step) found.push(Number(value.toPrecision(12)));
  return found.length ? found : [low];
}

function listen(svg, steps, x, read) {
  let chosen = null;
  const show = (index) => { chosen = index; read(index); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * WIDTH;
    let nearest = 0;
    steps.forEach((step, at) => { if (Math.abs(x(step) - pixel) < Math.abs(x(steps[nearest]) - pixel)) nearest = at; });
    show(nearest);
  });
  svg.addEventListener("pointerleave", () => show(null));
  svg.addEventListener("blur", () => show(null));
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(Math.min(steps.length - 1, Math.max(0, (chosen ?? steps.length - 1) + moves[event.key])));
  });
}

function summary(series, steps, format) {
  return `steps ${steps[0]} to ${steps.at(-1)}; last ${series.map((one) => `${one.name} ${format(one.values.at(-1))}`).join(", ")}`;
}

/** The numbers as a table, made when it is opened. */
function table(title, series, steps, format) {
  return lazyDetails("as a table", () => {
    const kept = thinned(steps.length).slice(-500);
    return h("div", { class: "plain-table", tabindex: 0, role: "region", "aria-label": `numbers: ${title}` }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { class: "number", scope: "col" }, "step"), series.map((one) => h("th", { class: "number", scope: "col" }, one.name)))),
      h("tbody", {}, kept.map((at) => h("tr", {}, h("td", { class: "number" }, steps[at]), series.map((one) => h("td", { class: "number" }, format(one.values[at]))))))));
  });
}

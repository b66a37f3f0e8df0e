// Elements made from data. Everything that comes from outside becomes a text node or an attribute that can't run, never
// markup: no function here or elsewhere in these pages takes HTML.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "readOnly"]);
// Controls, and marks that change the order or the look of the text around them.
const STRANGE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Children in one row, without those that stand for nothing. */
const given = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "class") node.setAttribute("class", value);
    else if (PROPERTIES.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...given(children));
  return node;
}

/** An HTML element: `h("p", {class: "muted", on: {click: act}}, "text", child)`. Strings become text. */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Text with nothing invisible in it: control characters and marks that reorder text are shown by name. */
export function visible(text) {
  return String(text).replace(/\r\n/g, "\n").replace(STRANGE, nameOf);
}

function nameOf(char) {
  const code = char.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** A short form of a text for one line. */
export function brief(text, length = 90) {
  const line = visible(String(text).slice(0, 4 * length)).replace(/\s+/g, " ").trim();
  return line.length > length || text.length > 4 * length ? `${line.slice(0, length - 1)}…` : line;
}

const FIRST = 8_000;
const MORE = 64_000;

/** A text of any length: its beginning, and a button for more, so that megabytes don't stall the page. */
export function longText(text, properties = {}) {
  const whole = String(text ?? "");
  const body = h("pre", { class: "text", ...properties }, visible(whole.slice(0, FIRST)));
  if (whole.length <= FIRST) return body;
  let shown = FIRST;
  const label = () => `Show more (${count(Math.min(MORE, whole.length - shown))} of ${count(whole.length - shown)} characters left)`;
  const more = h("button", { type: "button", class: "quiet", on: { click: grow } }, label());
  function grow() {
    body.append(visible(whole.slice(shown, shown + MORE)));
    shown = Math.min(whole.length, shown + MORE);
    if (shown >= whole.length) more.remove();
    else more.textContent = label();
  }
  return h("div", {}, body, more);
}

/** A number of things, with separators. */
export function count(number) {
  return Number(number).toLocaleString("en-US");
}

/** A number as people read it: at most `digits` after the point, and no trailing zeros. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 10 ** -digits || size >= 1e7)) return value.toExponential(2);
  return String(Number(value.toFixed(digits)));
}

/** A share as percent. */
export function percent(value, digits = 1) {
  return typeof value === "number" && Number.isFinite(value) ? `${(100 * value).toFixed(digits)} %` : "–";
}

/** Seconds, minutes or hours. */
export function duration(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return "–";
  if (seconds > 0 && seconds < 0.001) return "< 1 ms";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 120) return `${number(seconds, 1)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** Replaces what is in a node. */
export function put(node, ...children) {
  node.replaceChildren(...given(children));
  return node;
}

/** A `details` whose content, a node or several, `make` gives when it is opened first: there may be much of it. */
export function lazyDetails(summary, make, properties = {}) {
  const details = h("details", properties, h("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(...given([make()])), { once: true });
  return details;
}

/** A button that copies a text, and says so. */
export function copyButton(text, label = "Copy") {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    const whole = typeof text === "function" ? text() : text;
    button.textContent = (await copied(whole)) ? "Copied" : "Copying failed: select the text";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
  return button;
}

async function copied(text) {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch (error) {
    console.info("the clipboard refused", error.name);
  }
  // Pages over plain HTTP from another machine have no clipboard object.
  const field = h("textarea", { class: "unseen", readOnly: true, value: text, "aria-hidden": true });
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

/** JSON, indented, for reading. */
export function json(value) {
  return JSON.stringify(value, null, 2);
}

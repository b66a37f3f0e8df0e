// The trajectories of a run: filters, a page of the list.

import { brief, count, duration, h, number, percent, put } from "./dom.js";
import { address, ask, place, successTag, tabs } from "./parts.js";
import { problemCard } from "./api.js";

const FIELDS = ["step_from", "step_to", "task", "success", "stop", "turns_from", "turns_to", "partition", "text", "sort"];
const LIMIT = 50;

/** Filters above, the list below; the address holds the filters, so that a link shows the same. */
export async function trajectoriesPage(page, { parts, query, signal }) {
  const name = parts[1];
  const offset = Math.max(0, Number(query.get("offset")) || 0);
  const list = h("div", { class: "panel", id: "list", "aria-live": "polite" }, h("p", { class: "muted" }, "…"));
  const fields = {};
  let delay = null;
  let asked = 0; // an answer that comes after a later question's is thrown away
  const wanted = () => Object.fromEntries(FIELDS.map((field) => [field, fields[field].value.trim()]).filter(([, value]) => value !== ""));
  const show = async (from) => {
    clearTimeout(delay);
    const mine = ++asked;
    history.replaceState(null, "", address(["runs", name, "trajectories"], { ...wanted(), offset: from || undefined }));
    list.setAttribute("aria-busy", "true");
    try {
      const question = new URLSearchParams({ ...wanted(), offset: from, limit: LIMIT });
      const found = await ask(`${place("runs", name)}/trajectories?${question}`, signal);
      if (mine !== asked) return;
      offer(fields, found.choices);
      const { done, size } = found.index;
      const whole = done > 0.999 * size || size === 0;
      put(list, whole ? null : h("p", { class: "small muted" }, `Indexed: ${percent(done / size, 0)}. What comes is added here.`), table(name, found), pager(found, show));
      if (!whole) delay = setTimeout(() => more(from), 1500);
    } catch (error) {
      if (error.name === "AbortError" || mine !== asked) return;
      put(list, problemCard(error, () => show(from)));
      if (error.problem?.code === "not_ready") delay = setTimeout(() => show(from), 1500);
    } finally {
      if (mine === asked) list.setAttribute("aria-busy", "false");
    }
  };
  // Nothing is taken from under the hands of somebody who has a row.
  const more = (from) => {
    if (list.contains(document.activeElement)) delay = setTimeout(() => more(from), 1500);
    else show(from);
  };
  signal.addEventListener("abort", () => clearTimeout(delay));
  const later = () => {
    clearTimeout(delay);
    delay = setTimeout(() => show(0), 250);
  };
  const field = (key, label, node, wide) => {
    fields[key] = node;
    node.id = `filter-${key}`;
    node.value = query.get(key) ?? "";
    node.addEventListener(node.tagName === "SELECT" ? "change" : "input", later);
    return h("label", { for: node.id, class: wide ? "wide" : undefined }, label, node);
  };
  const numeric = () => h("input", { type: "number", min: 0, autocomplete: "off" });
  const choice = (...pairs) => h("select", {}, pairs.map(([value, label]) => h("option", { value }, label)));
  const kept = (key, label) => choice(["", label], ...(query.get(key) ? [[query.get(key), query.get(key)]] : []));
  const form = h("form", { class: "filters", on: { submit: (event) => { event.preventDefault(); show(0); } } },
    field("text", "Text: words that all occur", h("input", { type: "search", maxlength: 1000, autocomplete: "off" }), true),
    field("task", "Task begins with", h("input", { autocomplete: "off", spellcheck: "false" }), true),
    field("success", "Success", choice(["", "any"], ["yes", "success"], ["no", "no success"], ["unknown", "unknown"])),
    field("stop", "Stop reason", kept("stop", "any")),
    field("partition", "Partition", kept("partition", "any")),
    field("step_from", "Step from", numeric()), field("step_to", "Step to", numeric()),
    field("turns_from", "Turns from", numeric()), field("turns_to", "Turns to", numeric()),
    field("sort", "Order", choice(["", "latest step first"], ["oldest", "first step first"], ["turns", "most turns first"], ["reward", "highest reward first"], ["seconds", "slowest first"]), true),
    h("button", { type: "button", on: { click: () => { for (const node of Object.values(fields)) node.value = ""; show(0); } } }, "Clear"));
  put(page, tabs(name, "trajectories"), h("div", { class: "stack" }, h("section", { class: "panel", "aria-label": "Filters" }, form), list));
  await show(offset);
}

/** Fills the selects with what the run has. */
function offer(fields, choices) {
  for (const [key, values] of [["stop", choices.stops], ["partition", choices.partitions]]) {
    const select = fields[key];
    const there = new Set([...select.options].map((option) => option.value));
    for (const value of values) if (!there.has(value)) select.append(h("option", { value }, brief(value, 40)));
  }
  fields.step_from.placeholder = String(choices.steps[0] ?? "");
  fields.step_to.placeholder = String(choices.steps[1] ?? "");
  fields.turns_to.placeholder = String(choices.most_turns ?? "");
}

function table(run, found) {
  if (!found.trajectories.length) return h("p", { class: "muted" }, "No trajectory fits the filters.");
  const head = [["episode"], ["goal"], ["outcome"], ["stopped"], ["step", 1], ["turns", 1], ["no effect", 1], ["reward", 1], ["time", 1], ["group"]];
  const row = (one) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: address(["runs", run, "trajectory", one.file, one.line]) }, brief(one.task_id, 60))),
    h("td", { class: "goal" }, brief(one.goal, 160)), h("td", {}, successTag(one.success)), h("td", {}, brief(one.stop.replaceAll("_", " "), 40)),
    h("td", { class: "number" }, one.step), h("td", { class: "number" }, `${one.turns} of ${number(one.horizon)}`), h("td", { class: "number" }, one.invalid),
    h("td", { class: "number" }, number(one.reward)), h("td", { class: "number" }, duration(one.seconds)),
    h("td", {}, h("a", { href: address(["runs", run, "group", one.partition, one.step, one.group]), "aria-label": `group of sample ${one.sample}` }, `sample ${one.sample}`)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "trajectories" }, h("table", { id: "trajectories" },
    h("thead", {}, h("tr", {}, head.map(([label, right]) => h("th", { scope: "col", class: right ? "number" : "" }, label)))), h("tbody", {}, found.trajectories.map(row))));
}

function pager(found, show) {
  const { offset, limit, total } = found;
  const turn = (to, label) => h("button", { type: "button", on: { click: () => show(to) } }, label);
  return h("div", { class: "row" }, offset > 0 ? turn(Math.max(0, offset - limit), "← before") : null,
    h("span", { class: "muted small", id: "total" }, total ? `${count(offset + 1)} to ${count(Math.min(total, offset + limit))} of ${count(total)}` : "0"),
    offset + limit < total ? turn(offset + limit, "after →") : null);
}

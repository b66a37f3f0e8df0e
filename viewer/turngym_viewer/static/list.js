// The list of runs, and two runs beside each other.

import { brief, h, number, percent, put, visible } from "./dom.js";
import { chart } from "./chart.js";
import { address, ago, ask, place, result, statusTag } from "./parts.js";

/** The list. It is drawn again while a run is running. */
export async function listPage(page, { again }) {
  const { runs } = await ask("runs");
  if (!runs.length) {
    put(page, h("div", { class: "panel" }, h("h2", {}, "No runs yet"),
      h("p", {}, "A run appears here as soon as it starts:"), h("pre", { class: "box" }, "make train TASK=textcraft")));
    again(5000);
    return;
  }
  const chosen = new Set();
  const compare = h("button", { type: "button", class: "primary", disabled: true, id: "compare", on: { click: () => { location.hash = address(["compare", ...chosen]); } } }, "Compare two");
  const choose = (name) => (event) => {
    if (event.target.checked) chosen.add(name);
    else chosen.delete(name);
    compare.disabled = chosen.size !== 2;
  };
  const row = (run) => h("tr", {},
    h("td", {}, h("input", { type: "checkbox", "aria-label": `choose ${visible(run.name)}`, on: { change: choose(run.name) } })),
    h("th", { scope: "row" }, h("a", { href: address(["runs", run.name]) }, visible(run.name))),
    h("td", {}, statusTag(run.status)), h("td", {}, brief(String(run.task ?? "–"), 40)),
    h("td", { class: "number" }, number(run.step)), h("td", { class: "number" }, number(run.horizon)),
    h("td", { class: "number" }, percent(run.training_success)),
    h("td", { class: "number" }, result(run.before)), h("td", { class: "number" }, result(run.after)),
    h("td", { class: "number" }, number(run.infra_failures)), h("td", { class: "number" }, ago(run.changed)));
  const head = ["", "run", "status", "task", "step", "horizon", "training success", "held-out before", "held-out after", "infra failures", "changed"];
  put(page, h("div", { class: "panel stack" }, h("div", { class: "spread" }, h("h2", {}, `${runs.length} ${runs.length === 1 ? "run" : "runs"}`), compare),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "runs" }, h("table", { id: "runs" },
      h("thead", {}, h("tr", {}, head.map((name, at) => h(name ? "th" : "td", { class: at > 3 ? "number" : "", scope: name ? "col" : undefined }, name)))),
      h("tbody", {}, runs.map(row))))));
  if (runs.some((run) => run.status === "running")) again(10000);
}

const COMPARED = [
  ["Success in training", "rollout/success", [0, 1]], ["Reward", "rollout/reward", undefined],
  ["Turns of an episode", "rollout/turns/mean", undefined], ["Invalid actions, share", "rollout/invalid_share", [0, 1]],
  ["KL from the policy that sampled", "actor/ppo_kl", undefined], ["Seconds of a step", "wall_s/step", undefined],
];

/** Two runs: figures, curves over each other, and what their configurations differ in. */
export async function comparePage(page, { parts }) {
  const names = parts.slice(1, 3);
  const [one, two] = await Promise.all(names.map((name) => ask(place("runs", name))));
  const [first, second] = await Promise.all(names.map((name) => ask(`${place("runs", name)}/metrics`)));
  const figures = [["status", (run) => run.status], ["task", (run) => run.task], ["algorithm", (run) => run.algorithm], ["seed", (run) => run.seed],
    ["steps", (run) => number(run.step)], ["held-out before", (run) => result(run.before)], ["held-out after", (run) => result(run.after)],
    ["last training success", (run) => percent(run.training_success)]];
  const steps = [...new Set([...first.steps, ...second.steps])].sort((a, b) => a - b);
  const laid = (found, name) => {
    const at = new Map(found.steps.map((step, i) => [step, i]));
    return steps.map((step) => (at.has(step) ? found.series[name]?.[at.get(step)] ?? null : null));
  };
  const curves = COMPARED.map(([title, name, range]) => chart({ title, steps, range, smooth: true,
    series: [{ name: brief(names[0], 40), colour: 1, values: laid(first, name) }, { name: brief(names[1], 40), colour: 3, dash: true, values: laid(second, name) }] }));
  const differing = [...new Set([...Object.keys(one.config), ...Object.keys(two.config)])].filter((name) => one.config[name] !== two.config[name]).sort();
  const linked = (name) => h("th", { scope: "col" }, h("a", { href: address(["runs", name]) }, visible(name)));
  const table = (label, rows, empty) => rows.length ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, h("td"), names.map(linked))), h("tbody", {}, rows))) : h("p", { class: "muted" }, empty);
  put(page, h("div", { class: "stack" },
    h("section", { class: "panel" }, h("h2", {}, "Figures"), table("figures", figures.map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, of(one) ?? "–"), h("td", {}, of(two) ?? "–"))))),
    h("div", { class: "charts" }, curves),
    h("section", { class: "panel" }, h("h2", {}, "Configuration: what differs"),
      table("configuration", differing.map((name) => h("tr", {}, h("th", { scope: "row", class: "mono" }, brief(name, 120)),
        [one, two].map((run) => h("td", { class: "mono" }, brief(run.config[name] ?? "–", 300))))), "Nothing."))));
}

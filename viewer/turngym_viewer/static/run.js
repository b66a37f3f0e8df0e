// One run: its headline, its curves while it trains, and what its files say.

import { brief, count, duration, h, json, longText, number, percent, put, visible } from "./dom.js";
import { chart } from "./chart.js";
import { address, ago, ask, place, result, statusTag, tabs } from "./parts.js";

const STOPS = ["success", "failure", "agent_stop", "max_turns", "invalid_limit", "token_limit", "token_budget", "error"];
const TIMES = [["generate", "sampling"], ["wait_env", "waiting for environments"], ["update", "update"], ["weights", "weights to the sampler"], ["checkpoint", "checkpoint"]];
const MORE = ["actor/grad_norm", "actor/pg_loss", "actor/pg_clipfrac", "rollout_probs_diff", "actor/lr", "response_length/mean", "perf/throughput"];

let chosen = ""; // the metric that somebody picked stays when the page is drawn again

/** The run's curves. */
export async function runPage(page, { parts, again }) {
  const name = parts[1];
  const [run, metrics] = await Promise.all([ask(place("runs", name)), ask(`${place("runs", name)}/metrics`)]);
  const extra = h("div");
  const names = Object.keys(metrics.series);
  const pick = h("select", { id: "metric" }, h("option", { value: "" }, "choose one"), names.map((one) => h("option", { value: one }, one)));
  if (names.includes(chosen)) pick.value = chosen;
  const showExtra = () => {
    put(extra, pick.value ? chart({ title: pick.value, steps: metrics.steps, horizons: metrics.series["rollout/horizon"], series: [line(metrics, pick.value, pick.value, 1)], smooth: true }) : null);
  };
  pick.addEventListener("change", () => {
    chosen = pick.value;
    showExtra();
  });
  showExtra();
  put(page, tabs(name, "curves"), h("div", { class: "stack" }, headline(run), metrics.steps.length
    ? h("div", { class: "charts", id: "charts" }, curves(run, metrics))
    : h("p", { class: "note" }, "The run has no training step yet. Its curves begin with the first one."),
  metrics.steps.length ? h("section", { class: "panel stack" }, h("label", { for: "metric" }, "Any other metric", pick), extra) : null));
  if (run.status === "running") again(5000);
}

function line(metrics, metric, name, colour, more = {}) {
  return { name, colour, values: metrics.series[metric] ?? [], ...more };
}

function headline(run) {
  const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const { episodes, done, size, skipped, problem } = run.index;
  const part = size ? done / size : 1;
  return h("section", { class: "panel" }, h("div", { class: "spread" }, h("h2", {}, visible(run.name), " ", statusTag(run.status)), h("span", { class: "muted small" }, `changed ${ago(run.changed)}`)),
    h("dl", { class: "figures" }, fact("task", brief(String(run.task ?? "–"), 60)), fact("algorithm", String(run.algorithm ?? "–")), fact("step", number(run.step)),
      fact("horizon", number(run.horizon)), fact("training success", percent(run.training_success)),
      fact("held-out before", result(run.before)), fact("held-out after", result(run.after)),
      run.infra_failures === null ? null : fact("infrastructure failures", number(run.infra_failures)),
      fact("trajectories", h("a", { href: address(["runs", run.name, "trajectories"]) }, count(episodes)), part < 0.999 ? h("span", { class: "muted small" }, ` indexed ${percent(part, 0)}`) : null)),
    skipped ? h("p", { class: "small" }, h("span", { class: "tag warn" }, `${count(skipped)} lines are no trajectories and were left out`)) : null,
    problem ? h("p", { class: "small" }, h("span", { class: "tag bad" }, "index"), ` ${visible(problem)}`) : null);
}

function curves(run, metrics) {
  const { steps, series } = metrics;
  const horizons = series["rollout/horizon"];
  const shared = { steps, horizons };
  const ends = [["before", steps[0] - 1], ["after", steps.at(-1)]].filter(([when]) => run[when]).map(([when, x]) => ({
    x, y: run[when].success, low: run[when].ci95?.[0], high: run[when].ci95?.[1], name: `held-out, ${when}: ${percent(run[when].success)}` }));
  const stops = Object.keys(series).filter((one) => one.startsWith("stop/")).map((one) => one.slice(5));
  stops.sort((a, b) => (STOPS.indexOf(a) + 99) % 99 - (STOPS.indexOf(b) + 99) % 99);
  return [
    chart({ ...shared, title: "Success", note: ends.length ? "Dots: held-out goals, with 95 % intervals." : null, range: [0, 1], smooth: true, points: ends, format: percent, series: [line(metrics, "rollout/success", "in training", 1)] }),
    chart({ ...shared, title: "Reward and score", smooth: true, series: [line(metrics, "rollout/reward", "reward", 2), line(metrics, "rollout/score", "score", 3, { dash: true })] }),
    chart({ ...shared, title: "Turns of an episode", series: [line(metrics, "rollout/turns/mean", "mean", 1), line(metrics, "rollout/turns/p95", "95th percentile", 4), line(metrics, "rollout/horizon", "horizon", 5, { dash: true })] }),
    chart({ ...shared, horizons: null, title: "Why episodes ended", stacked: true, range: [0, 1], format: percent, series: stops.map((stop, at) => line(metrics, `stop/${stop}`, stop.replaceAll("_", " "), at % 6 + 1)) }),
    chart({ ...shared, title: "KL divergence", series: [line(metrics, "actor/ppo_kl", "from the policy that sampled", 2), line(metrics, "actor/kl_loss", "from the reference model", 3, { dash: true })] }),
    series["actor/entropy"] ? chart({ ...shared, title: "Entropy", series: [line(metrics, "actor/entropy", "entropy", 4)] }) : null,
    chart({ ...shared, title: "Invalid actions", range: [0, 1], smooth: true, format: percent, series: [line(metrics, "rollout/invalid_share", "share of turns", 3)] }),
    chart({ ...shared, horizons: null, title: "Where a step's time goes", stacked: true, format: duration, series: TIMES.map(([key, label], at) => line(metrics, `wall_s/${key}`, label, at + 1)) }),
    ...MORE.filter((one) => series[one]).slice(0, 2).map((one) => chart({ ...shared, title: one, series: [line(metrics, one, one, 2)] })),
  ];
}

/** What the run's small files say: evaluations, summary, configuration. */
export async function filesPage(page, { parts }) {
  const run = await ask(place("runs", parts[1]));
  const found = h("tbody");
  const filter = h("input", { id: "config-filter", placeholder: "filter", autocomplete: "off" });
  const entries = Object.entries(run.config);
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    put(found, entries.filter(([name, value]) => `${name} ${value}`.toLowerCase().includes(wanted)).slice(0, 400).map(([name, value]) =>
      h("tr", {}, h("th", { scope: "row", class: "mono" }, brief(name, 120)), h("td", { class: "mono" }, brief(value, 300)))));
  };
  filter.addEventListener("input", draw);
  draw();
  const file = (name, content) => h("details", { class: "panel" }, h("summary", {}, name), Object.keys(content ?? {}).length ? longText(json(content)) : h("p", { class: "muted" }, "not written yet"));
  put(page, tabs(parts[1], "files"), h("div", { class: "stack" },
    file("summary.json", run.summary), file("evaluation-before.json", run.evaluations.before), file("evaluation-after.json", run.evaluations.after),
    h("section", { class: "panel stack" }, h("h2", {}, "config.yaml"), entries.length ? [h("label", { for: "config-filter" }, `${count(entries.length)} values`, filter),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "configuration" }, h("table", {}, found))] : h("p", { class: "muted" }, "not written yet"))));
}

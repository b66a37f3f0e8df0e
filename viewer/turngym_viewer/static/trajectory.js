// One trajectory turn by turn, and the group of a prompt side by side.

import { brief, copyButton, duration, h, json, lazyDetails, longText, number, put, s, visible } from "./dom.js";
import { answered, problemCard } from "./api.js";
import { drawState, panelOf } from "./panels.js";
import { BASE, address, ask, place, playgroundLink, successTag, tabs } from "./parts.js";
import { openingMessages, rewardTag, serviceOf } from "./transcript.js";

const STRIP_TOKENS = 600;

/** The trajectory. */
export async function trajectoryPage(page, { parts }) {
  const [, run, , file, line] = parts;
  const found = await ask(`${place("runs", run)}/trajectories/${place(file, line)}`);
  const { trajectory } = found;
  const turns = await Promise.all(trajectory.turns.map((turn) => turnCard(trajectory, turn)));
  const steps = (to, label) => (to === null ? null : h("a", { class: "button", href: address(["runs", run, "trajectory", file, to]) }, label));
  put(page, tabs(run, "trajectories"), h("div", { class: "layout" },
    h("div", { class: "stack" }, openings(trajectory), h("ol", { class: "turns", id: "turns" }, turns.map((turn) => h("li", {}, turn))),
      trajectory.error ? h("div", { class: "problem" }, h("h2", {}, "Cut short by the infrastructure"), longText(trajectory.error), h("p", { class: "small" }, "It was not trained on.")) : null),
    h("aside", { class: "stack", "aria-label": "The episode" }, await facts(run, found), ownForm(trajectory), h("div", { class: "row" }, steps(found.before, "← before"), steps(found.after, "after →")))));
}

async function facts(run, found) {
  const { trajectory, file, line } = found;
  const { timings } = trajectory;
  const fact = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  const sampled = trajectory.turns.reduce((sum, turn) => sum + turn.token_ids.length, 0);
  const context = trajectory.turns.reduce((sum, turn) => sum + turn.context_ids.length, 0);
  const last = trajectory.turns.length;
  const over = ["success", "failure", "agent_stop"].includes(trajectory.stop_reason);
  return h("section", { class: "panel stack" }, h("h2", {}, brief(trajectory.task_id, 80)), h("div", { class: "row" }, successTag(trajectory.success),
    h("span", { class: "tag" }, brief(String(trajectory.stop_reason ?? "–").replaceAll("_", " "), 40))),
  h("dl", { class: "facts" }, fact("step", number(trajectory.step)), fact("partition", visible(trajectory.partition)), fact("turns", `${last} of ${trajectory.horizon}`),
    fact("reward", number(trajectory.reward)), fact("score", number(trajectory.score)), fact("seed", trajectory.seed),
    fact("tokens", `${trajectory.prompt_ids.length} prompt, ${sampled} sampled, ${context} context`),
    fact("sampling", duration(timings.generate)), fact("environment", duration(timings.env)), fact("waiting for a slot", duration(timings.slot)), fact("in all", duration(timings.total)),
    fact("opened again", number(trajectory.reopened)), fact("session", h("code", {}, brief(trajectory.session_id, 70))),
    Object.keys(trajectory.options).length ? fact("options", h("code", {}, brief(JSON.stringify(trajectory.options), 300))) : null),
  h("div", { class: "stack small" },
    h("a", { id: "to-group", href: address(["runs", run, "group", trajectory.partition, trajectory.step, trajectory.group]) }, `Its group of ${found.group_size}, side by side`),
    await playgroundLink(trajectory, over ? last - 1 : last, over ? "Before the last turn, in the playground" : "Its last state, in the playground")),
  exports(run, file, line), h("div", { class: "row" }, copyButton(() => json(trajectory), "Copy JSON")));
}

/** Two buttons that save an export, and where they say what went wrong. */
function exports(run, file, line) {
  const note = h("div");
  const button = (form, label) => h("button", { type: "button", id: `export-${form}`, on: { click: () => {
    put(note);
    save(`api/${place("runs", run)}/trajectories/${place(file, line, form)}`).catch((error) => put(note, problemCard(error)));
  } } }, `Save ${label}`);
  return [h("div", { class: "row" }, button("markdown", "Markdown"), button("json", "JSON")), note];
}

/** Saves what a path of the API gives as a file. A link could not carry the token. */
async function save(path) {
  const answer = await answered(BASE, "GET", path);
  const name = /filename\*=UTF-8''(.+)$/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "trajectory";
  const held = URL.createObjectURL(await answer.blob());
  h("a", { href: held, download: decodeURIComponent(name) }).click();
  setTimeout(() => URL.revokeObjectURL(held), 10_000);
}

function openings(trajectory) {
  return h("section", { class: "turn", "aria-label": "Opening" }, h("header", {}, h("h2", {}, "Opening"), h("span", { class: "right muted small" }, `${trajectory.prompt_ids.length} tokens of context`)),
    openingMessages(trajectory.messages, "context", "context"));
}

async function turnCard(trajectory, turn) {
  return h("section", { class: "turn", "aria-label": `Turn ${turn.turn}` }, h("header", {}, h("h2", {}, `Turn ${turn.turn}`), rewardTag(turn.reward), turn.invalid ? h("span", { class: "tag warn" }, "no effect") : null, advantageTag(turn),
    h("span", { class: "right muted small" }, `sampled in ${duration(turn.generate_s)}, environment ${duration(turn.env_s)}`, await playgroundLink(trajectory, turn.turn - 1, "play from before this turn"))),
  h("div", { class: "sampled" }, h("div", { class: "who" }, `sampled · ${turn.token_ids.length} tokens`), longText(turn.action), strip(turn), numbers(turn)),
  turn.observation === null ? null : h("div", { class: "context" }, h("div", { class: "who" }, `context · ${turn.context_ids.length} tokens`), longText(turn.observation)),
  turn.data || turn.image ? h("div", { class: "context" }, drawState(serviceOf(trajectory.task_id), viewOf(trajectory, turn.turn))) : null);
}

/** A trajectory's state after `turn` as the panels of the playground take it. */
function viewOf(trajectory, turn) {
  const turns = trajectory.turns.slice(0, turn).map((one) => ({ ...one, observation: { text: one.observation ?? "" } }));
  const { data = null, image = null } = trajectory.turns[turn - 1] ?? {};
  return { task: { goal: "" }, messages: trajectory.messages.map((one) => ({ content: String(one.content) })), turns, turn, data, image };
}

/** The environment's own form of the last state, made when it is opened: its texts may be long. */
function ownForm(trajectory) {
  const service = serviceOf(trajectory.task_id);
  const panel = panelOf(service);
  const last = trajectory.turns.at(-1);
  if (!panel || (panel.data && !last?.data && !last?.image)) return null;
  return lazyDetails(h("strong", {}, panel.title), () => drawState(service, viewOf(trajectory, trajectory.turns.length)), { class: "panel", id: "own-form" });
}

function advantageTag(turn) {
  if (!turn.advantages?.length) return null;
  const mean = turn.advantages.reduce((sum, value) => sum + value, 0) / turn.advantages.length;
  return h("span", { class: `tag ${mean > 0 ? "good" : mean < 0 ? "bad" : ""}` }, `advantage ${mean > 0 ? "+" : ""}${number(mean)}`);
}

/** One bar a token: as high as the sampler thought it likely, coloured by the sign of its advantage; context after it in grey. */
function strip(turn) {
  const tokens = turn.token_ids.slice(0, STRIP_TOKENS);
  if (!tokens.length) return null;
  const width = tokens.length < 120 ? 6 : 3;
  const bars = tokens.map((id, at) => {
    const likely = Math.exp(turn.log_probs[at] ?? 0);
    const advantage = turn.advantages?.[at];
    const kind = advantage > 0 ? "pos" : advantage < 0 ? "neg" : "zero";
    const high = Math.max(1.5, 22 * Math.min(1, likely));
    return s("rect", { class: kind, x: at * width, y: 24 - high, width: width - 1, height: high },
      s("title", {}, `token ${id}, probability ${number(likely)}${advantage === undefined ? "" : `, advantage ${number(advantage)}`}`));
  });
  const rest = Math.min(turn.context_ids.length, 60);
  const tail = Array.from({ length: rest }, (_, at) => s("rect", { class: "ctx", x: (tokens.length + 1 + at) * width, y: 20, width: width - 1, height: 4 }));
  const total = (tokens.length + 1 + rest) * width;
  return s("svg", { class: "strip", width: total, height: 26, viewBox: `0 0 ${total} 26`, role: "img", "aria-label": `${tokens.length} sampled tokens: height is probability, colour the sign of the advantage; ${turn.context_ids.length} context tokens follow in grey` }, bars, tail);
}

function numbers(turn) {
  return lazyDetails("token by token", () => {
    const rows = turn.token_ids.slice(0, STRIP_TOKENS).map((id, at) => h("tr", {}, [at + 1, id, number(turn.log_probs[at], 4), turn.advantages ? number(turn.advantages[at], 4) : "–"].map((value) => h("td", { class: "number" }, value))));
    return h("div", { class: "plain-table", tabindex: 0, role: "region", "aria-label": `tokens of turn ${turn.turn}` }, h("table", {}, h("thead", {}, h("tr", {}, ["", "token", "log-probability", "advantage"].map((name) => h("th", { class: "number", scope: "col" }, name)))), h("tbody", {}, rows)));
  });
}

/** The samples of one prompt in columns; where an action is not the first sample's, it is marked. */
export async function groupPage(page, { parts }) {
  const [, run, , partition, step, group] = parts;
  const found = await ask(`${place("runs", run)}/groups/${place(partition, step, group)}`);
  const { members } = found;
  const first = members[0].trajectory;
  const solved = members.filter((one) => one.trajectory.success).length;
  const column = ({ trajectory, file, line }) => h("section", { class: "panel stack", "aria-label": `sample ${trajectory.sample}` },
    h("div", { class: "spread" }, h("h3", {}, h("a", { href: address(["runs", run, "trajectory", file, line]) }, `sample ${trajectory.sample}`)), successTag(trajectory.success)),
    h("div", { class: "small muted" }, `reward ${number(trajectory.reward)} · ${trajectory.turns.length} turns · ${brief(String(trajectory.stop_reason ?? "error").replaceAll("_", " "), 40)}`),
    h("ol", { class: "turns" }, trajectory.turns.map((turn, at) => h("li", {}, h("div", { class: `turn${at < first.turns.length && first.turns[at].action === turn.action ? "" : " differs"}` },
      h("div", { class: "sampled" }, longText(turn.action), h("div", { class: "row" }, rewardTag(turn.reward), turn.invalid ? h("span", { class: "tag warn" }, "no effect") : null, advantageTag(turn))),
      turn.observation === null ? null : h("div", { class: "context small" }, longText(turn.observation)))))));
  put(page, tabs(run, "trajectories"), h("div", { class: "stack" },
    h("section", { class: "panel" }, h("h2", {}, `${brief(first.task_id, 80)}: ${solved} of ${members.length} samples succeeded`),
      h("p", { class: "muted small" }, `Step ${number(found.step)}, seed ${first.seed}. Outlined: actions that sample ${first.sample} did not take at that turn.`),
      h("details", {}, h("summary", {}, "first observation"), longText(first.messages.at(-1)?.content))),
    h("div", { class: "columns", tabindex: 0, role: "region", "aria-label": "samples side by side", id: "samples" }, members.map(column))));
}

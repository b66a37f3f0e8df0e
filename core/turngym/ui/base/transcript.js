// What the playground and the viewer both show of an episode.

import { h, longText, number, visible } from "./dom.js";

/** The messages of an opening, the last of which is the first observation; classes for it and for those before. */
export function openingMessages(messages, observed, earlier) {
  return messages.map((message, at) => at === messages.length - 1
    ? h("div", { class: observed }, h("div", { class: "who" }, "first observation"), longText(message.content))
    : h("details", { class: earlier }, h("summary", {}, `${visible(message.role)} message`), longText(message.content)));
}

/** A turn's reward as a tag, null where there is none. */
export function rewardTag(reward) {
  return reward ? h("span", { class: `tag ${reward > 0 ? "good" : "bad"}` }, `reward ${reward > 0 ? "+" : ""}${number(reward)}`) : null;
}

/** The name of the service that a task is of. */
export function serviceOf(task) {
  return task.split("/")[0];
}

/** The fragment of the playground's address that leads to a state: a SessionRequest of a task; what is undefined or empty is left out. */
export function stateFragment({ task_id: task, seed, options, actions, max_turns: most }) {
  const state = new URLSearchParams({ task_id: task, seed });
  if (Object.keys(options ?? {}).length) state.set("options", JSON.stringify(options));
  if (actions?.length) state.set("actions", JSON.stringify(actions));
  if (most !== undefined) state.set("max_turns", most);
  return `#${state}`;
}

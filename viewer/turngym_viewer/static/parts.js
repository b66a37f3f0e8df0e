// What several pages of the viewer are made of: addresses, tags, links, the playground's address.

import { h, percent } from "./dom.js";
import { call } from "./api.js";
import { serviceOf, stateFragment } from "./transcript.js";

export const BASE = new URL(location.pathname.replace(/[^/]*$/, ""), location.origin);

/** Asks the viewer's API for `path`; parts that come from outside must be encoded by the caller, see `place`. */
export function ask(path, signal) {
  return call(BASE, "GET", `api/${path}`, undefined, signal);
}

/** A path from parts, each encoded. */
export function place(...parts) {
  return parts.map((part) => encodeURIComponent(String(part))).join("/");
}

/** The address of a page. */
export function address(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${place(...parts)}${text ? `?${text}` : ""}`;
}

const KINDS = { finished: "good", running: "live", stopped: "warn" };

/** A run's status as a tag. */
export function statusTag(status) {
  return h("span", { class: `tag ${KINDS[status] ?? ""}` }, status);
}

/** Whether an episode succeeded, as a tag. */
export function successTag(success) {
  if (success === null || success === undefined) return h("span", { class: "tag" }, "unknown");
  return h("span", { class: `tag ${success ? "good" : "bad"}` }, success ? "success" : "no success");
}

/** Success with its interval. */
export function result(found) {
  if (!found) return "–";
  const [low, high] = found.ci95 ?? [];
  return h("span", {}, percent(found.success), low === undefined ? null : h("span", { class: "muted small" }, ` ${percent(low)} to ${percent(high)}`));
}

/** How long ago, in words. */
export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  if (!seconds) return "–";
  if (past < 60) return "just now";
  if (past < 3600) return `${Math.round(past / 60)} min ago`;
  if (past < 86400 * 2) return `${Math.round(past / 3600)} h ago`;
  return new Date(1000 * seconds).toISOString().slice(0, 10);
}

/** The run's tabs. */
export function tabs(run, current) {
  const tab = (label, parts) => h("a", { href: address(parts), "aria-current": label === current ? "page" : undefined }, label);
  return h("nav", { class: "tabs", "aria-label": "The run" }, tab("curves", ["runs", run]), tab("trajectories", ["runs", run, "trajectories"]), tab("files", ["runs", run, "files"]));
}

let known = null;

async function viewer() {
  known ??= ask("viewer");
  return known;
}

/** The address of the playground of a task's service: the settings', else the usual port on this host, else null. */
async function playgroundOf(task) {
  const { playgrounds, ports } = await viewer();
  const service = serviceOf(task);
  if (Object.hasOwn(playgrounds, service)) return playgrounds[service];
  return Object.hasOwn(ports, service) ? `${location.protocol}//${location.hostname}:${ports[service]}` : null;
}

/** A link to the playground in the state after `turn`, or a word on how to have one. */
export async function playgroundLink(trajectory, turn, label) {
  const base = await playgroundOf(trajectory.task_id);
  if (base === null) return h("span", { class: "muted small" }, "no playground known: TURNGYM_PLAYGROUNDS names one");
  const { task_id, seed, options } = trajectory;
  // Without the horizon, so that one may play on from where an episode was cut off.
  const state = stateFragment({ task_id, seed, options, actions: trajectory.turns.slice(0, turn).map((one) => one.action) });
  return h("a", { href: `${base}/ui${state}`, target: "_blank", rel: "noopener", class: "to-playground" }, label);
}

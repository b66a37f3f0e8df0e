// One session on the page: its opening, its turns, where it stands. Moves are calls to the server; nothing is decided here.

import { brief, copyButton, duration, h, json, lazyDetails, longText, number, put } from "./dom.js";
import { ApiProblem, call } from "./api.js";
import { curl, curlBox } from "./curl.js";
import { openingMessages, rewardTag, stateFragment } from "./transcript.js";

/** A session id that nobody else has: 120 random bits. */
function mint() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** A SessionRequest as JSON text; the seed's digits go in as they are, since JavaScript rounds large numbers. */
function requestJson(request) {
  const { seed, ...rest } = request;
  const body = JSON.stringify(rest);
  const digits = /^\d{1,19}$/.test(String(seed ?? 0)) ? String(seed ?? 0) : JSON.stringify(seed);
  return `${body.slice(0, -1)}${body === "{}" ? "" : ","}"seed":${digits}}`;
}

/** A session's state, and the calls that move it. Every method gives its promise; problems are thrown. */
export class Episode {
  constructor(base) {
    this.base = base;
    this.clear();
  }

  clear() {
    this.result = null;
    this.messages = [];
    this.turns = [];
    this.views = new Map();
    this.seed = "0";
    this.options = {};
    this.origin = null;
  }

  get over() {
    return this.result !== null && (this.result.terminated || this.result.truncated);
  }

  /** Starts an episode. A repeat of the same request, after a lost answer, starts nothing twice. */
  async open(request) {
    request.session_id ??= mint();
    const result = await call(this.base, "POST", "sessions", requestJson(request));
    await this._take(result);
  }

  /** Goes on with a session that the server has. */
  async resume(id) {
    await this._take(await call(this.base, "GET", `sessions/${id}`));
  }

  async _take(result) {
    const transcript = await call(this.base, "GET", `sessions/${result.session_id}/transcript`);
    const kept = this.result?.session_id === result.session_id ? this.views : new Map();
    this.clear();
    this.views = kept;
    this.result = result;
    this.messages = transcript.messages;
    this.seed = transcript.seed;
    this.options = transcript.options;
    this.turns = transcript.turns;
    for (const turn of transcript.turns) this.views.set(turn.turn, { ...this.views.get(turn.turn), ...withoutEmpty(turn.observation) });
    this.views.set(result.turn, { ...this.views.get(result.turn), ...withoutEmpty(result.observation) });
  }

  /** Plays one turn. */
  async step(action) {
    const { session_id: id, turn } = this.result;
    const result = await call(this.base, "POST", `sessions/${id}/step`, { action, turn: turn + 1 });
    const { observation, reward, info } = result;
    if (this.result.session_id !== id || this.turns.length !== turn) return;
    this.turns.push({ turn: result.turn, action, observation, reward, info });
    this.views.set(result.turn, observation);
    this.result = { ...result, messages: null };
  }

  /**
   * A new session in the state after `turn`. The server copies an open session; one that is over, or failed, is played again
   * up to that turn.
   */
  async fork(turn) {
    const { session_id: id } = this.result;
    let result = null;
    if (!this.over) {
      try {
        result = await call(this.base, "POST", `sessions/${id}/fork`, { turn });
      } catch (error) {
        if (!(error instanceof ApiProblem) || ![409, 410].includes(error.problem.status)) throw error;
      }
    }
    result ??= await call(this.base, "POST", "sessions", requestJson({ ...this.request(turn), session_id: mint() }));
    const views = new Map([...this.views].filter(([at]) => at <= turn));
    await this._take(result);
    this.views = new Map([...views, ...this.views]);
    this.origin = { id, turn };
  }

  /** The SessionRequest that leads to the state after `turn`. */
  request(turn) {
    const actions = this.turns.slice(0, turn).map((one) => one.action);
    return { task_id: this.result.task.task_id, max_turns: this.result.max_turns, options: this.options, seed: this.seed, ...(actions.length ? { actions } : {}) };
  }

  /** What another page needs to get to the state after `turn`, as a fragment of this page's address. */
  link(turn) {
    return stateFragment(this.request(turn));
  }
}

function withoutEmpty(observation) {
  return Object.fromEntries(Object.entries(observation).filter(([, value]) => value !== null));
}

/** The turns as a list of cards. `fork(turn)` and `choose(turn)` are what their buttons do. */
export class Timeline {
  constructor({ base, fork, choose }) {
    this.base = base;
    this.fork = fork;
    this.choose = choose;
    this.cards = [];
    this.node = h("ol", { class: "timeline", id: "timeline" });
  }

  /** Shows an episode from its beginning, or what is new of the same one. */
  show(episode) {
    const id = episode.result.session_id;
    if (this.id !== id || this.cards.length > episode.turns.length + 1) {
      this.id = id;
      this.cards = [this._opening(episode)];
      put(this.node, this.cards);
    }
    while (this.cards.length <= episode.turns.length) {
      const card = this._turn(episode, episode.turns[this.cards.length - 1]);
      this.cards.push(card);
      this.node.append(card);
    }
  }

  /** Marks the turn whose state is shown. */
  mark(turn) {
    this.cards.forEach((card, at) => {
      card.firstElementChild.classList.toggle("chosen", at === turn);
      card.querySelector(".choose")?.setAttribute("aria-pressed", String(at === turn));
    });
  }

  _tools(turn) {
    return h("div", { class: "tools" },
      h("button", { type: "button", class: "quiet choose", "aria-pressed": "false", "aria-label": `Show the state after turn ${turn}`, on: { click: () => this.choose(turn) } }, "State"),
      h("button", { type: "button", class: "quiet fork", "aria-label": `Fork from turn ${turn}`, on: { click: () => this.fork(turn) } }, "Fork from here"));
  }

  _opening(episode) {
    const place = () => curl(new URL("sessions", this.base), requestJson(episode.request(0)));
    return h("li", {}, h("article", { class: "turn", "aria-label": "Opening" },
      h("header", {}, h("h3", {}, "Opening"), this._tools(0)), openingMessages(episode.messages, "seen"), curlDetails(place, "the opening")));
  }

  _turn(episode, turn) {
    const { session_id: id } = episode.result;
    const { parsed_action: read, invalid_action: invalid, step_ms: ms, ...extras } = turn.info ?? {};
    const place = () => curl(new URL(`sessions/${id}/step`, this.base), JSON.stringify({ action: turn.action, turn: turn.turn }));
    const differs = read !== null && read !== undefined && read !== turn.action.trim();
    return h("li", { class: "arrives" }, h("article", { class: "turn", "aria-label": `Turn ${turn.turn}` },
      h("header", {}, h("h3", {}, `Turn ${turn.turn}`),
        rewardTag(turn.reward),
        read === null ? h("span", { class: "tag bad" }, "unreadable") : invalid ? h("span", { class: "tag warn" }, "had no effect") : null,
        typeof ms === "number" ? h("span", { class: "muted small" }, duration(ms / 1000)) : null,
        this._tools(turn.turn)),
      h("div", { class: "said" }, h("div", { class: "who" }, "action"), longText(turn.action),
        differs ? h("p", { class: "small muted" }, "read as ", h("code", {}, brief(read, 300))) : null),
      h("div", { class: "seen" }, h("div", { class: "who" }, "observation"), longText(turn.observation.text),
        Object.keys(extras).length ? h("details", {}, h("summary", {}, "info"), longText(json(extras))) : null),
      curlDetails(place, `turn ${turn.turn}`)));
  }
}

/** The curl call, made when it is opened: an action may be long. */
function curlDetails(place, what) {
  return lazyDetails("as curl", () => curlBox(place(), what), { class: "as-curl" });
}

/** Goal, turns, reward, score, and how it ended. */
export function standing(episode) {
  const { task, turn, max_turns: most, reward, score, success, stop_reason: stop, session_id: id } = episode.result;
  const fact = (name, value, label) => h("div", {}, h("dt", {}, name), h("dd", { class: "number", id: label }, value));
  const end = episode.over ? h("span", { class: `tag ${success ? "good" : "bad"}`, id: "outcome" }, `${success ? "success" : "no success"} · ${stop.replaceAll("_", " ")}`)
    : h("span", { class: "tag live", id: "outcome" }, "open");
  return h("div", { class: "panel" },
    h("div", { class: "spread" }, h("h2", { class: "goal" }, brief(task.goal, 400)), end),
    h("dl", { class: "standing" }, fact("turn", `${turn} of ${most}`, "turn-of"), fact("left", String(Math.max(0, most - turn))),
      fact("reward", number(reward)), fact("score", number(score), "score"), fact("task", task.task_id)),
    h("progress", { class: "turns-bar", max: most, value: turn, "aria-label": "turns used" }),
    h("div", { class: "spread small muted" },
      h("span", {}, "session ", h("code", { id: "session-id" }, id), " ", copyButton(() => new URL(`#session=${id}`, location.href).href, "Copy its URL")),
      h("span", {}, copyButton(() => new URL(episode.link(turn), location.href).href, "Copy a link to this very state")),
      episode.origin ? h("a", { href: `#session=${episode.origin.id}` }, `forked after turn ${episode.origin.turn} of ${episode.origin.id}`) : null));
}

// The playground: what to start on the left, the episode in the middle, its state and what may be done on the right.

import { brief, count, h, put, visible } from "./dom.js";
import { ApiProblem, call, problemCard } from "./api.js";
import { ResumeForm, StartForm } from "./start.js";
import { Episode, Timeline, standing } from "./episode.js";
import { drawState, panelOf } from "./panels.js";

const BASE = new URL(location.pathname.replace(/ui\/?$/, ""), location.origin);
const area = (name) => document.getElementById(name);
const SHOWN_ACTIONS = 150;

class Playground {
  constructor(metadata, abilities) {
    this.metadata = metadata;
    this.abilities = abilities;
    this.panel = panelOf(metadata.name) ?? {};
    this.episode = new Episode(BASE);
    this.timeline = new Timeline({ base: BASE, fork: (turn) => this.fork(turn), choose: (turn) => this.choose(turn) });
    this.busy = false;
    this.playing = null;
    this.chosen = 0;
    this.actions = null;
    this.listable = true;
    this._head();
    this._build();
    window.addEventListener("hashchange", () => this.follow());
    document.addEventListener("keydown", (event) => this._key(event));
  }

  _head() {
    const { name, version, description, protocol_version: protocol, shared_state: shared } = this.metadata;
    document.title = `${name} · TurnGym playground`;
    area("service-name").textContent = name;
    area("service-about").textContent = `${brief(description, 160)} · version ${version}, protocol ${protocol}`;
    if (shared) area("problems").append(h("p", { class: "note" }, visible(shared)));
  }

  _build() {
    this.form = new StartForm({ base: BASE, metadata: this.metadata, image: this.panel.image, start: (request) => this.start(request) });
    const resume = new ResumeForm({ base: BASE, resume: (id) => this.resume(id) });
    put(area("start-area"), this.form.node, resume.node, this._about());
    this.input = h("textarea", { id: "action", rows: 2, spellcheck: "false", "aria-label": "Your action", placeholder: "Your action; Enter plays it, Shift+Enter starts a new line" });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      }
    });
    this.buttons = {
      send: h("button", { type: "submit", class: "primary", id: "send" }, "Play the turn"),
      expert: this._player("expert", "Ask the expert", "TURNGYM_EXPERTS=1", this.abilities.expert, () => this.suggest("expert")),
      expertAll: this._player("expert-all", "Expert to the end", "TURNGYM_EXPERTS=1", this.abilities.expert, () => this.playOut("expert")),
      model: this._player("model", "Model turn", "TURNGYM_MODEL=name", this.abilities.model, () => this.playOut("model", 1)),
      modelAll: this._player("model-all", "Model to the end", "TURNGYM_MODEL=name", this.abilities.model, () => this.playOut("model")),
      halt: h("button", { type: "button", id: "halt", hidden: true, on: { click: () => { this.playing?.abort(); } } }, "Stop playing"),
    };
    const { send, expert, expertAll, model, modelAll, halt } = this.buttons;
    this.composer = h("form", { class: "composer", hidden: true, on: { submit: (event) => { event.preventDefault(); this.send(); } } },
      this.input, h("div", { class: "row" }, send, expert, expertAll, model, modelAll, halt));
    this.head = h("div", { id: "standing" });
    this.note = h("div");
    this.end = h("div");
    put(area("episode-area"), this.head, this.timeline.node, this.note, this.end, this.composer, this.welcome = this._welcome());
    this.state = h("div", { class: "panel", hidden: true });
    this.list = h("div", { class: "panel", hidden: true });
    put(area("side-area"), this.state, this.list);
  }

  _player(id, label, setting, there, act) {
    return h("button", { type: "button", id, "data-there": there ? "yes" : "no", title: there ? undefined : `not on this server: start it with ${setting}`, on: { click: act } }, label);
  }

  _welcome() {
    return h("div", { class: "panel" }, h("h2", {}, "No episode yet"),
      h("p", {}, "Choose a task and start. You play what an agent would play: one action a turn, typed or clicked; the observation is exactly what a model reads."),
      h("p", { class: "muted small" }, "Keys: ", h("kbd", {}, "/"), " goes to the action, ", h("kbd", {}, "Enter"), " plays it."));
  }

  _about() {
    const { instruction, grammar } = this.metadata;
    return h("details", { class: "panel", open: window.innerWidth > 1250 && !location.hash }, h("summary", {}, h("strong", {}, "How to play")),
      h("pre", { class: "text small" }, visible(instruction)),
      h("ul", {}, grammar.commands.map((command) => h("li", {}, h("code", {}, visible(command.template)), ` ${visible(command.description)}`))));
  }

  _key(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || this.composer.hidden) return;
    event.preventDefault();
    this.input.focus();
  }

  /** Goes where the address says: a session, or a task with a seed and actions. */
  async follow() {
    const place = new URLSearchParams(location.hash.slice(1));
    const id = place.get("session");
    if (id && id !== this.episode.result?.session_id) await this.resume(id);
    if (!place.has("task_id")) return;
    const request = { task_id: place.get("task_id"), seed: place.get("seed") ?? "0" };
    await this.attempt(async () => {
      for (const name of ["options", "actions", "max_turns"]) if (place.has(name)) request[name] = inAddress(name, place.get(name));
      if (this.panel.image) request.options = { image: true, ...request.options };
      // What was played with a longer horizon than the default still fits, and leaves room to go on.
      const { default_max_turns: usual, max_turns: most } = this.metadata;
      if (!request.max_turns && request.actions?.length >= usual) request.max_turns = Math.min(most, request.actions.length + usual);
      await this.episode.open(request);
      this.arrived();
    });
  }

  /** Runs one move at a time; a problem is shown with a button for the same again. */
  async attempt(move) {
    if (this.busy) return false;
    this.busy = true;
    this.refresh();
    put(this.note);
    try {
      await move();
      return true;
    } catch (error) {
      if (error.name !== "AbortError") {
        put(this.note, problemCard(error, () => this.attempt(move)));
        if (!(error instanceof ApiProblem)) console.error(error);
        this.note.scrollIntoView({ block: "nearest" });
      }
      return false;
    } finally {
      this.busy = false;
      this.refresh();
    }
  }

  start(request) {
    return this.attempt(async () => { await this.episode.open(request); this.arrived(); });
  }

  resume(id) {
    return this.attempt(async () => { await this.episode.resume(id); this.arrived(); });
  }

  fork(turn) {
    return this.attempt(async () => { await this.episode.fork(turn); this.arrived(); this.say(`forked from turn ${turn}`); });
  }

  /** Another session is on the page. */
  arrived() {
    const here = `#session=${this.episode.result.session_id}`;
    // A link that starts something must not start it again when somebody goes back.
    const passing = !location.hash || location.hash.includes("task_id=");
    if (location.hash !== here) history[passing ? "replaceState" : "pushState"](null, "", here);
    if (window.innerWidth < 832) area("start-panel").open = false;
    this.moved();
    if (!this.episode.over) this.input.focus({ preventScroll: true });
  }

  /** The episode has moved: show where it stands. */
  moved() {
    this.chosen = this.episode.result.turn;
    this.actions = null;
    this.refresh();
    this.listActions(false);
    const { observation, turn } = this.episode.result;
    this.say(`Turn ${turn}. ${brief(observation.text, 200)}`);
    if (this.episode.over) this.end.scrollIntoView({ block: "nearest" });
    else if (turn > 0) this.timeline.cards.at(-1)?.scrollIntoView({ block: "nearest" });
  }

  say(text) {
    area("said").textContent = text;
  }

  choose(turn) {
    this.chosen = turn;
    this.refresh();
  }

  async send(text = this.input.value) {
    if (!text.trim() || this.composer.hidden || this.episode.over) return;
    const played = await this.attempt(async () => { await this.episode.step(text); this.moved(); });
    if (!played) return;
    if (text === this.input.value) this.input.value = "";
    if (!this.episode.over) this.input.focus({ preventScroll: true });
  }

  async suggest(who) {
    await this.attempt(async () => { this.input.value = await this.ask(who); this.input.focus(); });
  }

  async ask(who, signal) {
    const id = this.episode.result.session_id;
    return (await call(BASE, who === "model" ? "POST" : "GET", `sessions/${id}/${who}`, who === "model" ? "{}" : undefined, signal)).action;
  }

  /** Lets the expert or the model play until the end, or so many turns. */
  async playOut(who, turns = Infinity) {
    const playing = new AbortController();
    this.playing = playing;
    await this.attempt(async () => {
      for (let played = 0; played < turns && !this.episode.over && !playing.signal.aborted; played += 1) {
        await this.episode.step(await this.ask(who, playing.signal));
        this.chosen = this.episode.result.turn;
        this.refresh();
      }
    });
    this.playing = null;
    this.moved();
  }

  /** The valid actions, unless listing them is known to be costly and nobody asked. */
  async listActions(asked) {
    if (!this.listable || this.episode.over || (this.panel.costly && !asked)) return;
    const { session_id: id, turn } = this.episode.result;
    try {
      const { actions } = await call(BASE, "GET", `sessions/${id}/actions`);
      if (this.episode.result.session_id === id && this.episode.result.turn === turn) this.actions = actions;
    } catch (error) {
      if (error instanceof ApiProblem && error.problem.code === "not_supported") this.listable = false;
      else if (asked) put(this.note, problemCard(error, () => this.listActions(true)));
      else console.info("the valid actions can't be listed now:", error.message);
    }
    this._drawActions();
  }

  refresh() {
    const { episode, buttons } = this;
    const there = episode.result !== null;
    this.welcome.hidden = there;
    this.composer.hidden = !there || episode.over;
    for (const [name, button] of Object.entries(buttons)) if (name !== "halt") button.disabled = this.busy || button.dataset.there === "no";
    buttons.halt.hidden = this.playing === null;
    area("episode-area").setAttribute("aria-busy", String(this.busy));
    if (!there) return;
    put(this.head, standing(episode));
    this.timeline.show(episode);
    this.timeline.mark(this.chosen);
    put(this.end, episode.over ? this._ended() : null);
    this._drawState();
    this._drawActions();
  }

  _ended() {
    const { task, success, score, turn } = this.episode.result;
    const next = task.index + 1 < this.metadata.splits[task.split];
    const request = { options: this.episode.options, seed: this.episode.seed, split: task.split };
    return h("div", { class: "note", id: "ended" }, h("h3", {}, success ? `Solved in ${turn} turns` : `Over after ${turn} turns, score ${score}`),
      h("p", { class: "small muted" }, "Fork from any turn above to try another way."),
      h("div", { class: "row" },
        h("button", { type: "button", id: "again", on: { click: () => this.start({ ...request, index: task.index }) } }, "Play it again"),
        next ? h("button", { type: "button", id: "next-task", on: { click: () => this.start({ ...request, index: task.index + 1 }) } }, "Next task") : null));
  }

  _drawState() {
    const { episode, chosen } = this;
    const seen = episode.views.get(chosen) ?? {};
    const turns = episode.turns.slice(0, chosen);
    const view = { task: episode.result.task, messages: episode.messages, turns, turn: chosen, data: seen.data ?? null, image: seen.image ?? null };
    const past = chosen !== episode.result.turn;
    this.state.hidden = false;
    put(this.state, h("div", { class: "spread" }, h("h2", {}, this.panel.title ?? "State"),
      h("span", { class: `tag ${past ? "warn" : ""}` }, past ? `after turn ${chosen}, not now` : `after turn ${chosen}`)), drawState(this.metadata.name, view));
  }

  _drawActions() {
    const { episode, list } = this;
    list.hidden = episode.over;
    if (episode.over) return;
    if (!this.listable) {
      put(list, h("h2", {}, "Commands"), h("p", { class: "small muted" }, "This environment can't list what is valid now. A click writes an example."),
        h("div", { class: "actions" }, this.metadata.grammar.commands.map((command) => this._chip(command.example, () => { this.input.value = command.example; this.input.focus(); }))));
    } else if (this.actions === null) {
      put(list, h("h2", {}, "Valid actions"), this.panel.costly
        ? h("button", { type: "button", id: "list-actions", on: { click: () => this.listActions(true) } }, "List them (takes a while)")
        : h("p", { class: "muted small" }, "…"));
    } else {
      const filter = h("input", { id: "filter", "aria-label": "Filter the valid actions", placeholder: `filter ${count(this.actions.length)}`, autocomplete: "off" });
      const chips = h("div", { class: "actions", id: "valid-actions" });
      const draw = () => {
        const wanted = filter.value.toLowerCase();
        const found = this.actions.filter((action) => action.toLowerCase().includes(wanted));
        put(chips, found.slice(0, SHOWN_ACTIONS).map((action) => this._chip(action, () => this.send(action))),
          found.length > SHOWN_ACTIONS ? h("span", { class: "muted small" }, `and ${count(found.length - SHOWN_ACTIONS)} more: filter`) : null);
      };
      filter.addEventListener("input", draw);
      draw();
      put(list, h("div", { class: "spread" }, h("h2", {}, "Valid actions"), h("span", { class: "muted small" }, "a click plays it")),
        this.actions.length > 12 ? filter : null, chips);
    }
  }

  _chip(action, act) {
    return h("button", { type: "button", class: "chip", disabled: this.busy, on: { click: act } }, brief(action, 200));
  }
}

function inAddress(name, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiProblem({ code: "bad_link", status: 0, title: "The address of this page is damaged", retryable: false, detail: `${name} in it is no JSON: ${text.slice(0, 200)}` });
  }
}

/** Loads what the page must know; a service that still loads is waited for. */
async function boot() {
  const waiting = area("problems");
  for (;;) {
    try {
      const metadata = await call(BASE, "GET", "metadata");
      const abilities = await call(BASE, "GET", "ui/abilities");
      put(waiting);
      const playground = new Playground(metadata, abilities);
      playground.form.look();
      await playground.follow();
      return;
    } catch (error) {
      const passing = error instanceof ApiProblem && ["not_ready", "no_answer"].includes(error.problem.code);
      put(waiting, problemCard(error, passing ? undefined : boot));
      if (!(error instanceof ApiProblem)) throw error;
      if (!passing) return;
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

await boot();

// What to play: a split and a task of it, a seed, a horizon, the session's options; or a session that is open already.

import { brief, count, h, put } from "./dom.js";
import { call, problemCard } from "./api.js";

const PAGE = 25;
const SESSION = /[A-Za-z0-9_-]{12,64}/;

/** The form that starts an episode. `start(request)` is called with a SessionRequest, `image` says if pictures are wanted at first. */
export class StartForm {
  constructor({ base, metadata, image, start }) {
    this.base = base;
    this.metadata = metadata;
    this.start = start;
    const splits = Object.entries(metadata.splits).filter(([, total]) => total > 0);
    const first = splits.some(([name]) => name === "test") ? "test" : splits[0]?.[0];
    this.split = h("select", { id: "split" }, splits.map(([name, total]) => h("option", { value: name }, `${name} (${count(total)})`)));
    if (first) this.split.value = first;
    this.index = h("input", { id: "index", type: "number", min: 0, value: "0", required: true });
    this.seed = h("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]{1,19}", value: "0", title: "a whole number from 0 on" });
    this.turns = h("input", { id: "max-turns", type: "number", min: 1, max: metadata.max_turns, placeholder: String(metadata.default_max_turns) });
    this.task = h("p", { class: "small", id: "task-goal" });
    this.list = h("ul", { class: "task-list" });
    this.options = optionFields(metadata.options, image);
    this.note = h("div");
    this.asked = 0;
    this.node = this._draw();
    this.split.addEventListener("change", () => { this.index.value = "0"; this.look(); if (this.browser.open) this.browse(0); });
    this.index.addEventListener("input", () => this.look());
  }

  _draw() {
    const form = h("form", { class: "stack", id: "start-form", on: { submit: (event) => { event.preventDefault(); this.submit(); } } },
      h("label", { for: "split" }, "Split", this.split),
      h("div", { class: "fields" },
        h("label", { for: "index" }, "Task number", this.index),
        h("label", { for: "seed" }, "Seed", this.seed),
        h("label", { for: "max-turns" }, "Most turns", this.turns)),
      this.task,
      this.options.length ? h("details", {}, h("summary", {}, "Options"), h("div", { class: "stack" }, this.options.map((option) => option.node))) : null,
      this.note,
      h("div", { class: "row" },
        h("button", { class: "primary", type: "submit", id: "start" }, "Start"),
        h("button", { type: "button", on: { click: () => this.random() } }, "Any task")));
    this.browser = h("details", { id: "browse", on: { toggle: () => { if (this.browser.open && !this.list.firstChild) this.browse(0); } } },
      h("summary", {}, "Browse the tasks"), this.list);
    return h("details", { class: "panel", open: true, id: "start-panel" },
      h("summary", {}, h("strong", {}, "Start an episode")), h("div", { class: "stack" }, form, this.browser));
  }

  total() {
    return this.metadata.splits[this.split.value] ?? 0;
  }

  /** Shows the goal of the task that is chosen. */
  async look() {
    const asked = ++this.asked;
    const index = Number(this.index.value);
    this.index.max = String(Math.max(0, this.total() - 1));
    if (!this.index.checkValidity()) {
      put(this.task, `${this.split.value} has the tasks 0 to ${count(this.total() - 1)}.`);
      return;
    }
    try {
      const page = await call(this.base, "GET", `tasks?split=${this.split.value}&offset=${index}&limit=1`);
      if (asked === this.asked) put(this.task, h("strong", {}, brief(page.tasks[0]?.goal ?? "no such task", 240)), " ", facts(page.tasks[0]));
    } catch (error) {
      if (asked === this.asked) put(this.task, problemCard(error, () => this.look()));
    }
  }

  async browse(offset) {
    try {
      const page = await call(this.base, "GET", `tasks?split=${this.split.value}&offset=${offset}&limit=${PAGE}`);
      const rows = page.tasks.map((task) => h("li", {}, h("button", { type: "button", on: { click: () => this.choose(task) } },
        `${task.index} · ${brief(task.goal, 120)} `, facts(task))));
      const turn = (to, label) => h("button", { type: "button", on: { click: () => this.browse(to) } }, label);
      put(this.list, rows, h("li", { class: "row" },
        offset > 0 ? turn(Math.max(0, offset - PAGE), "← before") : null,
        offset + PAGE < page.total ? turn(offset + PAGE, "after →") : null));
    } catch (error) {
      put(this.list, h("li", {}, problemCard(error, () => this.browse(offset))));
    }
  }

  choose(task) {
    this.index.value = String(task.index);
    this.look();
    this.index.focus();
  }

  random() {
    this.index.value = String(Math.floor(Math.random() * this.total()));
    this.look();
    this.submit();
  }

  submit() {
    put(this.note);
    try {
      const options = {};
      for (const option of this.options) {
        const value = option.read();
        if (value !== undefined) options[option.name] = value;
      }
      const request = { split: this.split.value, index: Number(this.index.value), seed: this.seed.value.trim() || "0", options };
      if (this.turns.value) request.max_turns = Number(this.turns.value);
      this.start(request);
    } catch (error) {
      put(this.note, problemCard(error));
    }
  }
}

function facts(task) {
  const known = Object.entries(task?.info ?? {}).filter(([, value]) => ["string", "number"].includes(typeof value)).slice(0, 4);
  return known.map(([name, value]) => [h("span", { class: "tag" }, `${name.replaceAll("_", " ")} ${brief(String(value), 40)}`), " "]);
}

/** One field per option of the JSON schema. `read` gives its value, undefined where it is the default. */
function optionFields(schema, image) {
  return Object.entries(schema.properties ?? {}).map(([name, raw]) => {
    const definition = raw.$ref ? { ...schema.$defs?.[raw.$ref.split("/").pop()], ...raw } : raw;
    const kinds = definition.anyOf ?? [definition];
    const listed = definition.enum ?? kinds.find((kind) => kind.enum)?.enum;
    const kind = kinds.find((one) => one.type && one.type !== "null")?.type;
    const preset = name === "image" && image ? true : definition.default;
    return optionField(name, kind, listed, definition, preset);
  });
}

function optionField(name, kind, listed, definition, preset) {
  const id = `option-${name}`;
  const title = definition.description ?? undefined;
  const differs = (value) => (JSON.stringify(value) === JSON.stringify(definition.default) ? undefined : value);
  if (kind === "boolean") {
    const field = h("input", { type: "checkbox", id, checked: Boolean(preset) });
    return { name, node: h("label", { class: "check", for: id, title }, field, name), read: () => differs(field.checked) };
  }
  if (listed) {
    const field = h("select", { id }, listed.map((value) => h("option", { value }, String(value))));
    field.value = String(preset);
    return { name, node: h("label", { for: id, title }, name, field), read: () => differs(listed.find((value) => String(value) === field.value)) };
  }
  if (kind === "integer" || kind === "number") {
    const step = kind === "integer" ? 1 : "any";
    const field = h("input", { type: "number", id, step, min: definition.minimum, max: definition.maximum, value: String(preset ?? "") });
    return { name, node: h("label", { for: id, title }, name, field), read: () => (field.value === "" ? undefined : differs(Number(field.value))) };
  }
  const plain = kind === "string";
  const field = h("input", { id, value: plain || preset === undefined ? preset ?? "" : JSON.stringify(preset), spellcheck: "false" });
  const label = plain ? name : `${name} (JSON)`;
  const read = () => {
    if (field.value.trim() === "") return undefined;
    if (plain) return differs(field.value);
    try {
      return differs(JSON.parse(field.value));
    } catch {
      throw new Error(`The option ${name} must be JSON, for example ${JSON.stringify(definition.default ?? [])}`);
    }
  };
  return { name, node: h("label", { for: id, title }, label, field), read };
}

/** The panel that goes on with a session that is open, by its id or any URL that holds it. */
export class ResumeForm {
  constructor({ base, resume }) {
    this.base = base;
    this.resume = resume;
    const field = h("input", { id: "session", placeholder: "id or URL", autocomplete: "off", spellcheck: "false", required: true });
    const note = h("p", { class: "small", role: "alert" });
    this.open = h("ul", { class: "task-list" });
    const form = h("form", { class: "stack", on: { submit: (event) => {
      event.preventDefault();
      const id = sessionOf(field.value);
      put(note, id ? "" : "There is no session id in this: 12 to 64 letters, digits, - and _.");
      if (id) resume(id);
    } } }, h("label", { for: "session" }, "Session", field), note, h("div", { class: "row" }, h("button", { type: "submit" }, "Resume")));
    this.node = h("details", { class: "panel", id: "resume-panel", on: { toggle: (event) => { if (event.target.open) this.look(); } } },
      h("summary", {}, h("strong", {}, "Resume a session")), h("div", { class: "stack" }, form, this.open));
  }

  async look() {
    try {
      const page = await call(this.base, "GET", "sessions?limit=20");
      put(this.open, h("li", { class: "muted small" }, `${count(page.total)} open on this server`), page.sessions.map((one) =>
        h("li", {}, h("button", { type: "button", on: { click: () => this.resume(one.session_id) } },
          `${one.session_id} · ${brief(one.task.goal, 50)} · turn ${one.turn}`))));
    } catch (error) {
      put(this.open, h("li", {}, problemCard(error, () => this.look())));
    }
  }
}

/** The session id in what somebody pasted, or null. */
function sessionOf(text) {
  const trimmed = text.trim();
  const placed = /sessions?[=/]([A-Za-z0-9_-]{12,64})/.exec(trimmed);
  if (placed) return placed[1];
  return SESSION.exec(trimmed)?.[0] === trimmed ? trimmed : null;
}

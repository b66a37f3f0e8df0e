// Calls to the server that gave the page. A problem document becomes an ApiProblem; where a token is wanted the page asks for
// it once and keeps it for this tab alone.

import { h } from "./dom.js";

const KEPT = "turngym-token";

/** A call that failed: `problem` is the problem document, or one made here where no answer came. */
export class ApiProblem extends Error {
  constructor(problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
  }
}

/** Whether this tab holds a token. */
export function hasToken() {
  return sessionStorage.getItem(KEPT) !== null;
}

/** JSON in which whole numbers that JavaScript can't hold are kept as their digits. */
export function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? context.source : value);
}

/**
 * Calls `path`, relative to `base` (a URL that ends in a slash), and gives the JSON of the answer.
 * `body` is an object, or a string that is JSON already.
 */
export async function call(base, method, path, body, signal) {
  return parse(await (await answered(base, method, path, body, signal)).text());
}

/** The same, and gives the answer itself, for one that is no JSON. */
export async function answered(base, method, path, body, signal) {
  for (;;) {
    const headers = {};
    const token = sessionStorage.getItem(KEPT);
    if (token !== null) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await sent(new URL(path, base), {
      method, headers, signal, cache: "no-store",
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    if (answer.ok) return answer;
    if (answer.status === 401) {
      await askToken(token !== null);
      continue;
    }
    throw new ApiProblem(problemOf(answer, await answer.text()));
  }
}

async function sent(url, request) {
  try {
    return await fetch(url, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiProblem({
      code: "no_answer", status: 0, title: "The server does not answer", retryable: true,
      detail: `${request.method} ${url.pathname} got no answer. Is the server still running? The same call may be sent again.`,
    });
  }
}

function problemOf(answer, text) {
  try {
    const found = JSON.parse(text);
    if (typeof found.code === "string") return found;
  } catch {
    // not JSON: an answer of something between the page and the server, shown below as it is
  }
  return {
    code: `http_${answer.status}`, status: answer.status, title: answer.statusText || "The call failed",
    detail: text.slice(0, 500), retryable: answer.status >= 500,
  };
}

let asking = null;

function askToken(wrong) {
  asking ??= new Promise((done) => {
    const field = h("input", { type: "password", name: "token", required: true, autocomplete: "off", id: "token" });
    const dialog = h("dialog", { "aria-labelledby": "token-title" },
      h("form", { on: { submit: (event) => { event.preventDefault(); dialog.close(); } } },
        h("h2", { id: "token-title" }, "This server wants a token"),
        wrong ? h("p", { class: "problem", role: "alert" }, "The token was not accepted.") : null,
        h("p", { class: "muted small" }, "It is the value of TURNGYM_TOKEN where the server was started. It stays in this tab and is sent to this server alone."),
        h("label", { for: "token" }, "Token", field),
        h("div", { class: "row end" }, h("button", { class: "primary", type: "submit" }, "Use it"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEPT, field.value.trim());
      dialog.remove();
      asking = null;
      done();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

const ADVICE = {
  invalid_request: "Mend the request: the detail says which part is wrong.",
  unknown_task: "Choose another task: the list on the left has all of them.",
  unknown_session: "The session is elsewhere or gone. Start it again with the same task, seed and actions.",
  session_finished: "The episode is over. Fork from an earlier turn, or start another.",
  session_closed: "The session was closed. Start it again with the same task, seed and actions.",
  session_expired: "Nobody called for too long. Start it again with the same task, seed and actions.",
  turn_conflict: "Somebody else moves this session too. Load it again to see where it stands.",
  at_capacity: "All sessions are taken. Wait a little and try again; nothing was lost.",
  not_ready: "The service is still loading. Try again in a moment.",
  storage_failure: "The server can't write its journal (is the disk full?). No action was taken; try again.",
  step_timeout: "The session has failed. Fork is not possible any more: start it again with the actions so far.",
  environment_failure: "The session has failed. Start it again with the actions so far.",
  model_failure: "The language model's endpoint gave no answer. The episode is as it was; try again.",
  internal: "A mistake of the server. Its log says more.",
};

/** A problem, shown as it is: its code, what was wrong, what to do. `again` is called by the button that it may have. */
export function problemCard(error, again) {
  const problem = error instanceof ApiProblem ? error.problem
    : { code: "page_error", title: "The page made a mistake", detail: String(error?.message ?? error), retryable: false };
  const advice = ADVICE[problem.code];
  return h("div", { class: "problem arrives", role: "alert" },
    h("h2", {}, problem.title, " ", h("code", {}, problem.code), problem.status ? ` · ${problem.status}` : ""),
    h("pre", { class: "text" }, problem.detail),
    advice ? h("p", { class: "small" }, advice) : null,
    again && problem.retryable ? h("button", { type: "button", on: { click: again } }, "Try again") : null);
}

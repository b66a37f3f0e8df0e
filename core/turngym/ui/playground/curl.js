// The command line that does what a click did.

import { copyButton, h } from "./dom.js";
import { hasToken } from "./api.js";

/** The curl call that posts `body`, JSON text. A token is named, never shown. */
export function curl(url, body) {
  const token = hasToken() ? ['-H "Authorization: Bearer $TURNGYM_TOKEN"'] : [];
  return ["curl -s", quoted(String(url)), ...token, "-H 'Content-Type: application/json'", `-d ${quoted(body)}`].join(" ");
}

function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const SHOWN = 2_000;

/** The call in a box, with a button that copies the whole of it; `what` says which call it is. */
export function curlBox(command, what) {
  const shown = command.length > SHOWN ? `${command.slice(0, SHOWN)} …` : command;
  return h("div", { class: "stack" },
    h("pre", { class: "box", tabindex: 0, role: "region", "aria-label": `curl command: ${what}` }, shown),
    h("div", { class: "row end" }, copyButton(command, "Copy curl")));
}

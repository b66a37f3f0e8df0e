// Which page the address means, and drawing it; one at a time, again where it says so.

import { h, put, visible } from "./dom.js";
import { problemCard } from "./api.js";
import { address } from "./parts.js";
import { comparePage, listPage } from "./list.js";
import { filesPage, runPage } from "./run.js";
import { trajectoriesPage } from "./trajectories.js";
import { groupPage, trajectoryPage } from "./trajectory.js";

const PAGES = { trajectories: trajectoriesPage, trajectory: trajectoryPage, group: groupPage, files: filesPage };
const area = document.getElementById("page");
let stop = new AbortController();

function choose(parts) {
  if (!parts.length) return listPage;
  if (parts[0] === "compare" && parts.length === 3) return comparePage;
  if (parts[0] === "runs" && parts.length > 1) return parts.length === 2 ? runPage : PAGES[parts[2]];
  return undefined;
}

function crumbs(parts) {
  const run = parts[0] === "runs" ? parts[1] : null;
  document.getElementById("title").textContent = run ? visible(run) : parts[0] === "compare" ? "two runs" : "runs";
  document.title = `${run ? `${visible(run)} · ` : ""}TurnGym runs`;
  put(document.getElementById("nav"), h("a", { href: "#/" }, "all runs"), run ? h("a", { href: address(["runs", run]) }, visible(run)) : null);
}

async function draw(moved) {
  stop.abort();
  stop = new AbortController();
  const { signal } = stop;
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  let timer = null;
  signal.addEventListener("abort", () => clearTimeout(timer));
  // While a run trains its page is drawn again, unless that would take something from under somebody's hands.
  const again = (milliseconds) => {
    if (signal.aborted) return;
    timer = setTimeout(() => (document.hidden || busy() ? again(milliseconds) : draw(false)), milliseconds);
  };
  try {
    const parts = path ? path.split("/").filter(Boolean).map(decodeURIComponent) : [];
    crumbs(parts);
    const page = choose(parts);
    if (page === undefined) {
      put(area, h("p", { class: "note" }, "There is no such page. ", h("a", { href: "#/" }, "All runs")));
      return;
    }
    // A page is drawn aside and put in whole: one that was left meanwhile never appears.
    const made = h("div");
    if (moved) put(area, h("p", { class: "muted", "aria-busy": "true" }, "…"));
    const live = page === trajectoriesPage;
    if (live) put(area, made);
    await page(made, { parts, query: new URLSearchParams(text ?? ""), again, signal });
    if (!signal.aborted && !live) put(area, made);
    if (moved && !signal.aborted) arrive();
  } catch (error) {
    if (signal.aborted) return;
    put(area, problemCard(error, () => draw(true)), h("p", {}, h("a", { href: "#/" }, "All runs")));
    if (error.problem?.code === "not_ready") again(1500);
    else if (error.problem === undefined) console.error(error);
  }
}

let visited = false;

/** Another page is there: its beginning is shown, and the keyboard starts from it. */
function arrive() {
  document.getElementById("said").textContent = document.title;
  if (visited) {
    window.scrollTo(0, 0);
    area.focus({ preventScroll: true });
  }
  visited = true;
}

/** Whether somebody reads a chart, holds a control, or has opened or ticked something on the page. */
function busy() {
  return area.contains(document.activeElement) && document.activeElement !== area || area.querySelector("details[open], input:checked") !== null;
}

window.addEventListener("hashchange", () => draw(true));
await draw(true);

// An environment's own form of its state, beside the text. A panel is keyed by the service's name and made from what the
// transcript holds; a service without one has its picture and its data shown as they are.
//
// A panel has `title`, `draw(view)` (a node, or null where there is nothing to show), `image` (ask for pictures at first) and
// `costly` (don't list the valid actions unasked), `data` (it is drawn from data and pictures alone, not from texts). A view has
// `task`, `messages`, `turns` (up to the one shown), `turn` (its number), `data`, `image`.

import { brief, count, h, json, longText, s, visible } from "./dom.js";

const PANELS = {
  textcraft: { title: "Inventory and recipes", draw: textcraft },
  babyai: { title: "What is in view", draw: babyai, image: true, data: true },
  sciworld: { title: "The room", draw: sciworld, costly: true },
  search: { title: "Documents", draw: search },
  webarena: { title: "The page", draw: webarena, image: true, data: true },
};

/** The panel of a service; undefined where it has none. */
export function panelOf(service) {
  return Object.hasOwn(PANELS, service) ? PANELS[service] : undefined;
}

/** Picture, panel and raw data of a state. */
export function drawState(service, view) {
  const panel = panelOf(service);
  const parts = [];
  if (typeof view.image === "string") parts.push(h("img", { class: "picture", alt: `the state after turn ${view.turn}, as a picture`, src: `data:image/png;base64,${view.image.replace(/[^A-Za-z0-9+/=]/g, "")}` }));
  const own = panel?.draw(view);
  if (own) parts.push(own);
  if (view.data) parts.push(h("details", {}, h("summary", {}, "data"), longText(json(view.data), { class: "text box", tabindex: 0, role: "region", "aria-label": "data" })));
  return parts.length ? parts : [h("p", { class: "muted small" }, "This state has no other form than its text.")];
}

// -- textcraft -------------------------------------------------------------------------------------------------------------

const CRAFT = /^craft (\d+) (.+?) using (.+)$/;

function textcraft(view) {
  const listed = view.messages.map((message) => message.content.split("\n")).flat();
  const recipes = new Map();
  for (const line of listed) {
    const match = CRAFT.exec(line);
    if (!match || line.startsWith("- ")) continue;
    const needs = match[3].split(", ").map((part) => /^(\d+) (.+)$/.exec(part)).filter(Boolean).map((part) => ({ count: Number(part[1]), item: part[2] }));
    recipes.set(match[2], { count: Number(match[1]), needs });
  }
  const goal = view.task.goal.replace(/^craft /, "");
  const held = view.data?.inventory ?? {};
  const pieces = Object.entries(held);
  const own = listed.find((line) => line.startsWith("Goal: craft "))?.slice("Goal: craft ".length) ?? goal;
  return h("div", { class: "stack" },
    h("div", {}, h("h3", {}, "Inventory"), pieces.length
      ? h("ul", { class: "pieces", id: "inventory" }, pieces.map(([item, amount]) => h("li", {}, `${amount} ${visible(item)}`)))
      : h("p", { class: "muted small", id: "inventory" }, view.data ? "empty" : "not recorded")),
    recipes.has(own) ? h("div", {}, h("h3", {}, "Recipe tree"), h("ul", { class: "tree", id: "recipe-tree" }, branch(own, 1, recipes, held, new Set()))) : null);
}

/** An item of the tree with what it is made from. A family such as "planks" is made by the recipe of any of its members. */
function branch(item, wanted, recipes, held, above) {
  const kind = item.replace(/^any /, "");
  const maker = recipes.has(item) ? item : [...recipes.keys()].find((made) => made === kind || made.endsWith(` ${kind.replace(/s$/, "")}`) || made.endsWith(` ${kind}`));
  const recipe = maker && !above.has(maker) ? recipes.get(maker) : null;
  const has = Object.entries(held).reduce((sum, [name, amount]) => sum + (name === item || name === maker || name === kind || name.endsWith(` ${kind}`) ? amount : 0), 0);
  const name = visible(maker && maker !== item ? `${item} (${maker})` : item);
  const state = has >= wanted ? h("span", { class: "tag good" }, `${has} held`) : has ? h("span", { class: "tag warn" }, `${has} of ${wanted} held`) : null;
  const how = recipe ? `makes ${recipe.count}` : "fetched";
  return h("li", {}, `${wanted} ${name} `, h("span", { class: "muted small" }, how), " ", state,
    recipe ? h("ul", {}, recipe.needs.map((need) => branch(need.item, need.count, recipes, held, new Set([...above, maker])))) : null);
}

// -- babyai ----------------------------------------------------------------------------------------------------------------

// minigrid's encoding: object, colour, state.
const COLOURS = ["#e5484d", "#46a758", "#3b82f6", "#a855f7", "#eab308", "#9ca3af"];
const THINGS = ["unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent"];
const HUES = ["red", "green", "blue", "purple", "yellow", "grey"];
const CELL = 20;

function babyai(view) {
  const grid = view.data?.grid;
  if (view.image || !Array.isArray(grid) || !Array.isArray(grid[0])) return null;
  const columns = grid.length;
  const rows = grid[0].length;
  const cells = grid.map((column, x) => column.map((cell, y) => cellOf(cell, x * CELL, y * CELL)));
  const [ax, ay] = [(Math.floor(columns / 2) + 0.5) * CELL, (rows - 0.5) * CELL];
  const agent = s("path", { d: `M${ax} ${ay - 7} L${ax + 6} ${ay + 6} L${ax - 6} ${ay + 6} Z`, fill: "#ff5c5c", stroke: "#fff" });
  return h("div", {}, s("svg", { class: "grid-view", viewBox: `0 0 ${columns * CELL} ${rows * CELL}`, role: "img", "aria-label": "the agent's view; it stands at the bottom and looks up" }, cells, agent),
    h("p", { class: "small muted" }, `Step ${count(view.data.steps ?? 0)} of ${count(view.data.limit ?? 0)} in minigrid's clock. The agent stands at the bottom and looks up.`));
}

function cellOf([thing, colour, state], x, y) {
  const fill = COLOURS[colour] ?? "#9ca3af";
  const title = s("title", {}, [HUES[colour], THINGS[thing]].filter(Boolean).join(" "));
  const floor = s("rect", { x: x + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, fill: thing === 0 ? "#20262d" : "#0d1013" });
  const middle = { cx: x + CELL / 2, cy: y + CELL / 2 };
  const shapes = {
    2: () => s("rect", { x, y, width: CELL, height: CELL, fill: "#6b7280" }),
    3: () => s("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, fill, opacity: 0.35 }),
    4: () => s("rect", { x: x + 2, y: y + 2, width: state === 0 ? 3 : CELL - 4, height: CELL - 4, fill: state === 2 ? fill : "none", stroke: fill, "stroke-width": 2 }),
    5: () => s("path", { d: `M${x + 9} ${y + 4} a4 4 0 1 1 0.1 0 M${x + 10} ${y + 11} v6 h4`, fill: "none", stroke: fill, "stroke-width": 2.4 }),
    6: () => s("circle", { ...middle, r: 6, fill }),
    7: () => s("rect", { x: x + 4, y: y + 4, width: CELL - 8, height: CELL - 8, fill: "none", stroke: fill, "stroke-width": 2.6 }),
    8: () => s("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, fill: "#46a758" }),
    9: () => s("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, fill: "#f97316" }),
  };
  return s("g", {}, title, floor, shapes[thing]?.() ?? null);
}

// -- sciworld --------------------------------------------------------------------------------------------------------------

function sciworld(view) {
  const texts = [view.messages.at(-1)?.content ?? "", ...view.turns.map((turn) => turn.observation.text)];
  const text = texts.reverse().find((one) => /This room is called|This outside location is called/.test(one));
  if (!text) return null;
  const room = /(?:room|location) is called (?:the )?([^.\n]+)/.exec(text)?.[1] ?? "unknown";
  const lines = text.slice(text.search(/(?:room|location) is called/)).split("\n").slice(1).map((line) => line.trim()).filter(Boolean);
  const at = lines.findIndex((line) => /^You also see/.test(line));
  const things = (at < 0 ? lines : lines.slice(0, at)).filter((line) => !/:$/.test(line));
  const ways = at < 0 ? [] : lines.slice(at + 1);
  const list = (title, items) => items.length ? [h("h3", {}, title), h("ul", {}, items.map((item) => h("li", {}, brief(item, 200))))] : null;
  return h("div", {}, h("h3", {}, visible(room)), list("Here", things), list("Ways and more", ways));
}

// -- search ----------------------------------------------------------------------------------------------------------------

const DOCUMENT = /^(?:<information>)?Doc (\d+)\(Title: (.*?)\) (.*?)(?:<\/information>)?$/;

function search(view) {
  const turn = view.turns.findLast((one) => DOCUMENT.test(one.observation.text.split("\n")[0]));
  if (!turn) return h("p", { class: "muted small" }, "Nothing was searched yet.");
  const read = String(turn.info?.parsed_action ?? turn.action);
  const query = /search[>[\s]*([^\]<]*)/i.exec(read)?.[1] ?? read;
  const found = turn.observation.text.split("\n").map((line) => DOCUMENT.exec(line)).filter(Boolean);
  return h("div", { class: "stack" }, h("p", {}, h("span", { class: "muted" }, "query "), h("strong", {}, brief(query, 300))),
    h("ol", { class: "documents" }, found.map(([, , title, text]) => h("li", {}, h("h3", {}, brief(title.replace(/^"|"$/g, ""), 120)), longText(text)))));
}

// -- webarena --------------------------------------------------------------------------------------------------------------

function webarena(view) {
  const { url, tabs, nodes } = view.data ?? {};
  if (!url) return null;
  return h("dl", { class: "facts" }, h("dt", {}, "address"), h("dd", { class: "mono" }, brief(url, 300)),
    h("dt", {}, "tabs"), h("dd", {}, (tabs ?? []).map((tab) => h("div", {}, brief(tab.title || tab.url || "empty", 100)))),
    nodes === undefined ? null : [h("dt", {}, "elements"), h("dd", {}, count(nodes))]);
}

// The explorer's page: the path is what follows the # of the address.

import { byId, el, fill } from "./dom.js";
import { drawGraph } from "./graph.js";
import { offline } from "./offline.js";
import { showPicture } from "./picture.js";
import { guardDetails, showStarts, showView } from "./sections.js";
import { beginSearch } from "./searches.js";

const LAST = {};
let about = null;
let view = null;
let longest = ""; // the path seen last that begins with the one that is shown: what redo takes again

const without = offline(); // a page that is one file answers itself

async function ask(name, query = {}) {
  if (without) return without(name, query);
  const answer = await fetch(`api/${name}?${new URLSearchParams(query)}`);
  return answered(answer);
}

async function command(name, body) {
  return answered(await fetch(`api/${name}`, { method: "POST", body: JSON.stringify(body) }));
}

async function answered(answer) {
  const data = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(data.error), { model: Boolean(data.model) });
  return data;
}

function path() {
  return location.hash.slice(1);
}

function go(to) {
  location.hash = to;
}

function showProblem(...lines) {
  byId("problem").hidden = lines.length === 0;
  fill("problem", ...lines);
}

export function showFailure(error) {
  if (!without && (error.message === "Failed to fetch" || error instanceof TypeError)) {
    const words = ["reassure", "explore", about?.source ?? "MODEL", ...(about?.settings ?? []).map((pair) => `--set ${pair}`)];
    showProblem(`The explorer has ended. To go on here: ${words.join(" ")} --at '${path()}'`);
  } else {
    if (error.model) hidePath(true); // what the page shows is of a model that is no more
    showProblem(error.message);
  }
}

async function load() {
  try {
    about = await ask("about");
    showAbout();
    if (!path() && about.count === 1) {
      history.replaceState(null, "", `#${about.starts[0].path}`);
    }
    await show();
  } catch (error) {
    showFailure(error);
  }
}

function showAbout() {
  document.title = `${about.model}: reassure explore`;
  fill("model", about.model);
  fill("config", Object.entries(about.config).map(([key, value]) => `${key}=${value}`).join(", "));
}

async function show() {
  const wanted = path();
  LAST.wanted = wanted;
  byId("starts").hidden = true;
  if (!wanted) {
    hidePath(true);
    showProblem();
    showStarts(about);
    return;
  }
  try {
    const found = await ask("view", { path: wanted });
    if (LAST.wanted !== wanted) return;
    if (about.digest !== found.digest) {
      about = await ask("about");
      showAbout();
    }
    showFound(found);
  } catch (error) {
    hidePath(true);
    showFailure(error);
    if (!error.model && about.count > 0) showStarts(about);
  }
}

function hidePath(hidden) {
  for (const part of document.querySelectorAll(".of-path")) part.hidden = hidden;
  if (hidden) byId("undo").disabled = byId("redo").disabled = true;
}

function showFound(found) {
  view = found;
  const problem = found.problem;
  showProblem(...(problem ? problemLines(problem) : []));
  hidePath(found.path === "");
  if (found.path === "") {
    showStarts(about);
    return;
  }
  if (!`${longest}/`.startsWith(`${found.path}/`)) longest = found.path;
  const inActions = byId("enabled").contains(document.activeElement);
  showView(found);
  showPicture({ ask, go, shown: found, longest }).catch(showFailure);
  showExport(found);
  showNavigation(found);
  showGraph();
  showValues();
  const last = found.steps[found.steps.length - 1];
  fill("said", `After ${found.steps.length - 1} step${found.steps.length === 2 ? "" : "s"}, the last one ${last.call}`);
  if (inActions) stepLinks()[0]?.focus();
}

function problemLines(problem) {
  const where = problem.step === 0 ? "The path does not begin" : `Step ${problem.step} of the path is not possible`;
  const line = el("p", {}, `${where}: ${problem.call}: ${problem.reason}. Shown is what comes before it.`);
  return problem.guard ? [line, guardDetails(problem.guard)] : [line];
}

const FORM_NAMES = { itf: "ITF trace", steps: "Plain steps", test: "pytest test", page: "Page with picture", story: "Story" };

function showExport(found) {
  fill("export", ...about.forms.map((form) =>
    el("a", { href: `api/export?${new URLSearchParams({ form, path: found.path })}`, download: "", "data-form": form }, FORM_NAMES[form])));
}

function showNavigation(found) {
  byId("undo").disabled = found.parent === null && about.count === 1;
  byId("redo").disabled = longest === found.path;
}

async function showGraph() {
  if (!view) return;
  const radius = byId("radius").value;
  const shown = view.path;
  if (radius === "0") {
    fill("graph");
    return;
  }
  try {
    const graph = await ask("neighbourhood", { path: shown, radius });
    if (view.path === shown) drawGraph(byId("graph"), graph);
  } catch (error) {
    fill("graph", el("p", { class: "bad" }, error.message));
  }
}

/* The value of the watched expression in each state of the path; a value that is that of the state before is left out. */
async function showValues() {
  const expression = byId("watched").value.trim();
  if (!expression || !view || without) {
    fill("values");
    return;
  }
  const shown = view.path;
  try {
    const { values } = await ask("values", { path: shown, expression });
    if (view.path !== shown) return;
    fill("values", ...values.map((value, i) =>
      el("li", { class: i > 0 && value === values[i - 1] ? "soft" : null }, i > 0 && value === values[i - 1] ? "the same" : value)));
  } catch (error) {
    fill("values", el("li", { class: "bad" }, error.message));
  }
}

function undo() {
  if (!view || byId("undo").disabled) return;
  go(view.parent ?? "");
}

function redo() {
  if (!view || longest === view.path) return;
  go(longest.split("/").slice(0, view.path.split("/").length + 1).join("/"));
}

function stepLinks() {
  return [...document.querySelectorAll("#enabled a.step")];
}

function moveFocus(by) {
  const links = stepLinks();
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  links[Math.max(0, Math.min(links.length - 1, next))]?.focus();
}

const KEYS = {
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  ArrowDown: () => moveFocus(1),
  ArrowUp: () => moveFocus(-1),
  ArrowLeft: undo,
  ArrowRight: redo,
  Backspace: undo,
  Home: () => go(view ? view.steps[0].path : ""),
  "/": () => byId("expression").focus(),
  "?": () => byId("keys").showModal(),
};

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const number = /^[1-9]$/.test(event.key) ? document.querySelector(`#enabled [data-step="${event.key}"]`) : null;
  if (number) {
    go(number.getAttribute("href").slice(1));
  } else if (KEYS[event.key]) {
    KEYS[event.key]();
  } else {
    return;
  }
  event.preventDefault();
}

window.addEventListener("hashchange", show);
document.addEventListener("keydown", onKey);
byId("watch").addEventListener("submit", (event) => {
  event.preventDefault();
  showValues();
});
byId("undo").addEventListener("click", undo);
byId("redo").addEventListener("click", redo);
byId("start").addEventListener("click", () => go(about.count === 1 ? about.starts[0].path : ""));
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("radius").addEventListener("change", showGraph);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  stepLinks()[0]?.focus();
});
beginSearch({ ask, command, go, showFailure, changed: load, digest: () => about?.digest, offline: without !== null });
load();

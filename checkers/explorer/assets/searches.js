// The search behind the page, and the search for an expression.

import { breakable, byId, counted, el, fill } from "./dom.js";
import { folded } from "./sections.js";

const OFTEN = 400;
const SELDOM = 1000;
const GOOD = ["holds", "proved", "reached"];
const BAD = ["violated", "raised", "unreachable"];

export function beginSearch(page) {
  let asked = "";
  let mine = ""; // the expression that this page asked for: the answer to another one is not its message
  let broken = false;

  async function look() {
    let wait = SELDOM;
    try {
      const [search, found] = await Promise.all([page.ask("search"), page.ask("find")]);
      showSearch(search);
      if (found.expression === mine) showFind(found, asked, page.go);
      if (found.state !== "running") asked = "";
      if (search.state === "running" || found.state === "running") wait = OFTEN;
      if (broken || (page.digest() && search.model !== page.digest())) await page.changed();
      broken = false;
    } catch (error) {
      broken = true;
      page.showFailure(error);
    }
    if (!page.offline) setTimeout(look, wait);
  }

  byId("search-button").addEventListener("click", async () => {
    const act = byId("search-button").dataset.act;
    try {
      showSearch(await page.command("search", { do: act }));
    } catch (error) {
      page.showFailure(error);
    }
  });
  byId("find").addEventListener("submit", async (event) => {
    event.preventDefault();
    asked = mine = byId("expression").value.trim();
    try {
      showFind(await page.command("find", { expression: asked }), asked, page.go);
    } catch (error) {
      fill("found", error.message);
    }
  });
  look();
}

function showSearch(search) {
  const size = search.states === undefined ? "" : `${counted(search.states, "state")}, ${counted(search.levels, "level")}`;
  const words = {
    idle: "not started",
    running: size ? `searching: ${size}, ${search.seconds} s` : search.text,
    complete: `every reachable state was visited: ${size}`,
    incomplete: `incomplete: ${size}; stopped because ${search.text}`,
    interrupted: search.text,
    refused: `refused: ${search.text}`,
  };
  const clipped = search.clipped ? `; ${counted(search.clipped, "step")} beyond a bound` : "";
  const stale = search.stale ? " This is of the model as it was before its last change." : "";
  setText("search", `${words[search.state]}${clipped}.${stale}`);
  const button = byId("search-button");
  button.dataset.act = search.state === "running" ? "stop" : "start";
  setText("search-button", search.state === "running" ? "Stop" : search.state === "idle" ? "Search" : "Search again");
  const results = [...(search.properties ?? []), ...(search.covers ?? [])];
  const key = JSON.stringify(results);
  if (byId("results").dataset.key === key) return;
  byId("results").dataset.key = key;
  const linked = results.filter((result) => result.path !== null && BAD.includes(result.status));
  const others = results.filter((result) => !linked.includes(result));
  const parts = [...new Set(others.map((result) => result.status))].map((status) => {
    const lines = others.filter((result) => result.status === status).map(resultLine);
    return folded(lines, status.replaceAll("_", " "));
  });
  fill("results", el("ul", { class: "plain" }, ...linked.map(resultLine)), ...parts);
}

function setText(id, text) {
  if (byId(id).textContent !== text) fill(id, text);
}

function resultLine(result) {
  const status = result.status.replaceAll("_", " ");
  const kind = BAD.includes(result.status) ? "bad" : GOOD.some((word) => result.status.startsWith(word)) ? "good" : "soft";
  const steps = result.path === null ? 0 : result.path.split("/").length - 1;
  return el("li", { "data-result": result.name },
    el("span", { class: `badge ${kind}` }, status), " ",
    el("strong", {}, ...breakable(result.name === "deadlock" && status.startsWith("holds") ? "no deadlock" : result.name)), " ",
    result.path === null ? null : el("a", { href: `#${result.path}` }, counted(steps, "step")),
    result.note ? el("div", { class: "soft" }, result.note) : null,
    result.loop ? el("div", { class: "soft" }, result.loop) : null);
}

function showFind(found, asked, go) {
  if (found.state === "idle") return;
  const text = found.state === "running" ? `looking for ${found.expression}: ${found.states ? counted(found.states, "state") : found.text}` : found.text;
  const key = JSON.stringify([text, found.path]);
  if (byId("found").dataset.key === key) return;
  byId("found").dataset.key = key;
  fill("found", text, " ",
    found.path ? el("a", { href: `#${found.path}` }, "go there") : null,
    ...(found.reasons ?? []).map((line) => el("div", { class: "because" }, line)));
  if (asked && found.state === "found") go(found.path);
}

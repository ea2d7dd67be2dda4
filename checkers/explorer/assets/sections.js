// The parts of the page that show the end of a path.

import { breakable, byId, counted, el, fill } from "./dom.js";

const LISTED_KEYS = 9;
const SHORT = 4;

export function showStarts(about) {
  byId("starts").hidden = false;
  const first = new Map(about.starts[0]?.state.map((row) => [row.field, row.value]));
  const differs = new Set(about.starts.flatMap((start) => start.state.filter((row) => first.get(row.field) !== row.value).map((row) => row.field)));
  const listed = about.starts.map((start) =>
    el("a", { class: "step", href: `#${start.path}` },
      el("span", { class: "call" }, start.call),
      ...start.state.filter((row) => about.count === 1 || differs.has(row.field)).map((row) => el("span", { class: "change" }, `${row.field} = ${row.value}`))));
  const more = about.count - about.starts.length;
  if (more > 0) listed.push(el("p", { class: "soft" }, `and ${more} more, which ${more === 1 ? "is" : "are"} not listed`));
  fill("starts-list", ...listed);
}

export function showView(view) {
  showPath(view);
  showState(view);
  showEnabled(view);
  showDisabled(view);
  showProperties(view);
}

function showPath(view) {
  const last = view.steps.length - 1;
  fill("path", ...view.steps.map((step, i) =>
    el("li", { "aria-current": i === last ? "step" : null },
      el("a", { href: `#${step.path}`, class: "call" }, step.call),
      step.actor ? el("span", { class: "soft" }, ` ${step.actor}`) : null)));
  byId("path").scrollTop = byId("path").scrollHeight;
}

function showState(view) {
  const caption = el("caption", { class: "hidden" }, "The last state, field by field");
  fill("state", caption, el("tbody", {}, ...view.state.map((row) =>
    el("tr", { class: row.changed ? "changed" : null },
      el("th", { scope: "row" }, ...breakable(row.field)),
      el("td", {}, row.value,
        row.changed ? el("span", { class: "was" }, ` was ${row.old}`) : null)))));
}

function showEnabled(view) {
  let number = 0;
  const shown = view.actions.filter((action) => action.enabled.length + action.raises.length > 0);
  fill("enabled", ...shown.map((action) =>
    el("div", { class: "action" },
      hasOneCall(action) ? null : actionHead(action),
      ...action.enabled.map((step) => enabledStep(step, step.path === null ? null : ++number, hasOneCall(action))),
      action.unlisted > 0 ? el("p", { class: "soft" }, `and ${action.unlisted} more ${action.unlisted === 1 ? "step, which is" : "steps, which are"} not listed`) : null,
      ...action.raises.map((one) => el("div", { class: "step" },
        el("span", { class: "badge bad" }, "raises"), `${one.call}: ${one.error}`)),
      ...refusals(action))));
  if (shown.length === 0) fill("enabled", el("p", {}, "Nothing is enabled in this state."));
}

function actionHead(action) {
  return el("h3", { title: action.doc }, action.name, el("span", { class: "soft" }, ` ${action.who}`));
}

function hasOneCall(action) {
  return action.enabled.length === 1 && action.enabled[0].call === `${action.name}()`;
}

function enabledStep(step, number, withActor) {
  if (step.path === null) {
    return el("div", { class: "step" }, el("span", { class: "call" }, step.call),
      el("span", { class: "change" }, `leaves the bound of ${step.leaves}`));
  }
  const changes = step.changes.length
    ? step.changes.map((change) => el("span", { class: "change" }, changeText(change)))
    : [el("span", { class: "change" }, "changes nothing")];
  return el("a", { class: "step", href: `#${step.path}`, "data-step": number },
    number <= LISTED_KEYS ? el("kbd", { "aria-hidden": "true" }, `${number}`) : null,
    el("span", { class: "call" }, step.call),
    withActor ? el("span", { class: "soft" }, ` ${step.who}`) : null,
    ...changes,
    ...badges(step.violates, "violates", "bad"),
    ...badges(step.raises, "raises in", "bad"),
    ...badges(step.reaches, "reaches", "good"));
}

function badges(names, word, kind) {
  return names.flatMap((name) => [" ", el("span", { class: `badge ${kind}` }, `${word} ${name}`)]);
}

function changeText(change) {
  if (change.old && change.new) return `${change.field}: ${change.old} → ${change.new}`;
  return change.old ? `${change.field}: − ${change.old}` : `${change.field}: + ${change.new}`;
}

function showDisabled(view) {
  const shown = view.actions.filter((action) => action.enabled.length + action.raises.length === 0);
  fill("disabled", ...shown.map((action) =>
    el("div", { class: "action" },
      actionHead(action),
      ...refusals(action))));
  if (shown.length === 0) fill("disabled", el("p", { class: "soft" }, "Every action is enabled."));
}

function refusals(action) {
  const undrawn = action.undrawn.map((name) =>
    el("p", { class: "soft" }, `no value for ${name}: the set that it is drawn from is empty`));
  return [...action.guards.map(guardDetails), ...undrawn];
}

export function guardDetails(guard) {
  const more = guard.count - guard.refused.length;
  const choices = guard.refused.map((one) =>
    el("li", {}, el("span", { class: "mono" }, one.call),
      ...one.values.map((value) => el("div", { class: "because soft" }, value))));
  if (more > 0) choices.push(el("li", { class: "soft" }, `and ${more} more`));
  return el("details", { open: guard.count === 1 ? "" : null },
    el("summary", {}, "forbidden by ", el("code", {}, guard.text),
      guard.note ? ` (${guard.note})` : "",
      el("span", { class: "soft" }, ` ${guard.place}, ${counted(guard.count, "time")}`)),
    el("ul", {}, ...choices));
}

const STATUS = {
  holds: ["✓ holds", "good"],
  violated: ["✗ violated", "bad"],
  reached: ["✓ reached", "good"],
  not_reached: ["– not reached", "soft"],
  not_checked: ["– not checked", "soft"],
  raised: ["✗ raises", "bad"],
};

const AT_ONCE = ["violated", "raised", "reached"];
const LATER = [["holds", "holds"], ["not_reached", "covers not reached"], ["not_checked", "not checked"]];

function showProperties(view) {
  const lines = (wanted) => view.properties.filter((property) => wanted.includes(property.status)).map(propertyLine);
  const parts = LATER.map(([status, word]) => folded(lines([status]), word));
  fill("properties", el("ul", { class: "plain" }, ...lines(AT_ONCE)), ...parts);
}

/* A list that is read when it is opened; short ones are open. */
export function folded(lines, word) {
  if (lines.length === 0) return null;
  const list = el("ul", { class: "plain" }, ...lines);
  return el("details", { open: lines.length <= SHORT ? "" : null, "data-fold": word }, el("summary", {}, `${word}: ${lines.length}`), list);
}

function propertyLine(property) {
  const [word, kind] = STATUS[property.status];
  return el("li", { "data-property": property.name },
    el("span", { class: `badge ${kind}` }, word), " ",
    el("strong", {}, ...breakable(property.name === "deadlock" && property.status === "holds" ? "no deadlock" : property.name)),
    property.note ? el("div", { class: "soft" }, property.note) : null,
    property.doc && property.status === "violated" ? el("div", {}, property.doc) : null,
    property.because.length ? el("div", { class: "because" }, property.because.join("\n")) : null);
}

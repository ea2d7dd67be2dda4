// The answers of a page that was written as one file: from the data in it, without a server.

import { byId } from "./dom.js";

/* The questions of the page as a server answers them; null where there is a server. */
export function offline() {
  if (!byId("offline-data")) return null;
  const ready = unpacked(byId("offline-data").textContent);
  for (const part of document.querySelectorAll(".needs-server")) part.hidden = true;
  return async (name, query = {}) => {
    const data = await ready;
    return ANSWERS[name](data, query);
  };
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = JSON.parse(await new Response(stream).text());
  if (data.begin && !location.hash) history.replaceState(null, "", `#${data.begin}`);
  if (data.space) prepare(data.space);
  return data;
}

const ANSWERS = {
  about: (data) => data.about,
  search: (data) => data.search ?? { state: "idle", model: data.about.digest },
  find: () => ({ state: "idle" }),
  view: (data, { path }) => data.views[path] ?? { digest: data.about.digest, ...walked(data, path) },
  picture: pictureOf,
  neighbourhood: around,
};

function prepare(space) {
  space.memo = new Map();
  space.firstEdge = [];
  let edges = 0;
  for (const following of space.steps) {
    space.firstEdge.push(edges);
    edges += following.length / 2;
  }
  const sets = (hits) => new Map(Object.entries(hits).map(([name, numbers]) => [name, new Set(numbers)]));
  space.ofState = sets(space.state_hits);
  space.ofStep = sets(space.step_hits);
}

/* The fields of a state, in their order: those of the state before it on a shortest path, with what differs. */
function fieldsOf(space, number) {
  if (space.memo.has(number)) return space.memo.get(number);
  const [before, ...pairs] = space.states[number];
  const fields = new Map(before < 0 ? [] : fieldsOf(space, before));
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i + 1] < 0) fields.delete(space.fields[pairs[i]]);
    else fields.set(space.fields[pairs[i]], space.values[pairs[i + 1]]);
  }
  space.memo.set(number, fields);
  return fields;
}

function stepsOf(space, number) {
  const flat = space.steps[number];
  return Array.from({ length: flat.length / 2 }, (_, i) => {
    const [action, call, text] = space.calls[flat[2 * i]];
    return { action, call, text, target: number + flat[2 * i + 1], edge: space.firstEdge[number] + i };
  });
}

/* The fields of two states with both values; an optional record that only one of them has is one field, as in Python's `beside`. */
export function beside(old, now) {
  const rows = new Map();
  for (const field of [...now.keys(), ...old.keys()]) {
    const at = old.has(field) && now.has(field) ? field : recordOf(now.has(field) ? old : now, field);
    if (!rows.has(at)) rows.set(at, { field: at, old: valueAt(old, at), value: valueAt(now, at) });
  }
  return [...rows.values()];
}

/* Of a field that a state has not: the field that is none in it. */
function recordOf(fields, field) {
  const ends = [...field.matchAll(/[.[]/g)].map((match) => match.index);
  return ends.map((end) => field.slice(0, end)).find((path) => fields.has(path)) ?? field;
}

/* The value at a path as people write it, of a record or map too. */
function valueAt(fields, path) {
  if (fields.has(path)) return fields.get(path);
  const parts = new Map();
  for (const field of fields.keys()) {
    const part = field.startsWith(path) ? /^(?:\.([^.[]+)|\[([^\]]*)\])/.exec(field.slice(path.length)) : null;
    if (part) parts.set(part[0], part);
  }
  const texts = [...parts.values()].map(([whole, name, key]) => name === undefined ? `${key}: ${valueAt(fields, path + whole)}` : `${name} ${valueAt(fields, path + whole)}`);
  return [...parts.keys()].some((part) => part.startsWith("[")) ? `{${texts.join(", ")}}` : `(${texts.join(", ")})`;
}

function changed(space, from, to) {
  return beside(fieldsOf(space, from), fieldsOf(space, to)).filter((row) => row.old !== row.value)
    .map(({ field, old, value }) => ({ field, old, new: value }));
}

function asText(change) {
  return `${change.field}: ${change.old} -> ${change.new}`;
}

/* The states and steps of a path, as far as the file has it. */
function follow(data, path) {
  const space = data.space;
  if (!space) throw new Error("This file has the states of its own paths alone; `reassure explore` shows every one.");
  const parts = path.split("/");
  if (!(parts[0] in space.starts)) throw new Error(`No initial state of this file is ${decodeURIComponent(parts[0])}.`);
  const states = [space.starts[parts[0]]], taken = [];
  for (const part of parts.slice(1)) {
    const step = stepsOf(space, states[states.length - 1]).find((one) => one.text === part);
    if (!step) return { states, taken, parts, missing: part };
    taken.push(step);
    states.push(step.target);
  }
  return { states, taken, parts, missing: null };
}

function kindsOf(space, kinds) {
  return space.properties.filter((property) => kinds.includes(property.kind)).map((property) => property.name);
}

function hitsOf(space, step) {
  const hit = [...space.ofState].filter(([, set]) => set.has(step.target)).map(([name]) => name);
  hit.push(...[...space.ofStep].filter(([, set]) => set.has(step.edge)).map(([name]) => name));
  const covers = kindsOf(space, ["cover"]);
  return { violates: hit.filter((name) => !covers.includes(name)), reaches: hit.filter((name) => covers.includes(name)), raises: [] };
}

function walked(data, path) {
  const space = data.space, { states, taken, parts, missing } = follow(data, path);
  const number = states[states.length - 1], last = taken[taken.length - 1] ?? null;
  const until = (count) => parts.slice(0, count).join("/");
  const here = until(states.length);
  const before = last ? fieldsOf(space, states[states.length - 2]) : null;
  const following = stepsOf(space, number);
  return {
    problem: missing === null ? null : { step: states.length, call: decodeURIComponent(missing), reason: "the state has no such step" },
    path: here,
    parent: states.length > 1 ? until(states.length - 1) : null,
    steps: [{ call: decodeURIComponent(parts[0]), actor: "", path: parts[0], changes: [] },
      ...taken.map((step, i) => ({ call: step.call, actor: space.actions[step.action].who, path: until(i + 2), changes: changed(space, states[i], states[i + 1]) }))],
    state: beside(before ?? fieldsOf(space, number), fieldsOf(space, number)).map((row) => {
      const differs = row.old !== row.value;
      return { field: row.field, value: row.value, changed: differs, old: differs ? row.old : null };
    }),
    actions: space.actions.map((action, i) => ({
      ...action,
      enabled: following.filter((step) => step.action === i).map((step) =>
        ({ call: step.call, who: action.who, path: `${here}/${step.text}`, changes: changed(space, number, step.target), ...hitsOf(space, step) })),
      unlisted: 0, raises: [], undrawn: [],
      guards: (space.explained[number]?.[i] ?? []).map((guard) => space.guards[guard]),
    })),
    properties: space.properties.map((property) => ({ ...property, note: "", because: [], status: status(space, property, number, last) })),
  };
}

function status(space, property, number, last) {
  const hit = space.ofState.get(property.name)?.has(number) || (last !== null && space.ofStep.get(property.name)?.has(last.edge));
  if (property.kind === "cover") return hit ? "reached" : "not_reached";
  if (property.kind === "invariant") return hit ? "violated" : "holds";
  if (property.kind === "step") return hit ? "violated" : last === null ? "not_checked" : "holds";
  return "not_checked";
}

function pictureOf(data, { path }) {
  const whole = Object.keys(data.pictures).find((one) => one === path || one.startsWith(`${path}/`));
  if (whole) return data.pictures[whole];
  throw new Error("This file has no picture of this path; it is listed below.");
}

function around(data, { path, radius }) {
  const space = data.space, { states } = follow(data, path);
  const start = states[states.length - 1], numbers = new Map([[start, 0]]);
  const nodes = [{ path, distance: 0, changes: [], violates: [] }], edges = [];
  let level = [start], left_out = 0;
  for (let distance = 1; distance <= Number(radius); distance++) {
    const next = [];
    for (const from of level) {
      for (const step of stepsOf(space, from)) {
        if (!numbers.has(step.target)) {
          if (nodes.length >= 60) {
            left_out++;
            continue;
          }
          numbers.set(step.target, nodes.length);
          next.push(step.target);
          nodes.push({ path: `${nodes[numbers.get(from)].path}/${step.text}`, distance, changes: changed(space, start, step.target).map(asText), violates: [] });
        }
        const node = nodes[numbers.get(step.target)];
        node.violates.push(...hitsOf(space, step).violates.filter((name) => !node.violates.includes(name)));
        edges.push({ from: numbers.get(from), to: numbers.get(step.target), call: step.call, who: space.actions[step.action].who });
      }
    }
    level = next;
  }
  return { nodes, edges, left_out, radius: Number(radius) };
}

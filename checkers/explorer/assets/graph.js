// The states around one, in columns by distance.

import { counted, el, svg } from "./dom.js";

const WIDTH = 230;
const GAP_X = 190;
const GAP_Y = 14;
const LINE = 14;
const LETTERS = 32;

export function drawGraph(container, graph) {
  const columns = new Map();
  const boxes = graph.nodes.map((node) => {
    const lines = linesOf(node).map((line) => (line.length > LETTERS ? `${line.slice(0, LETTERS - 1)}…` : line));
    const column = columns.get(node.distance) ?? 10;
    const height = LINE * lines.length + 10;
    columns.set(node.distance, column + height + GAP_Y);
    return { node, lines, x: 2 + node.distance * (WIDTH + GAP_X), y: column, height };
  });
  const height = Math.max(...columns.values());
  const width = 4 + (Math.max(...columns.keys()) + 1) * (WIDTH + GAP_X) - GAP_X;
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "States around this one" });
  const between = new Map();
  for (const edge of graph.edges) {
    const key = `${edge.from}>${edge.to}`;
    between.set(key, [...(between.get(key) ?? []), edge]);
  }
  const labelled = new Set();
  const labels = [];
  for (const edges of between.values()) {
    const [line, label] = drawEdges(boxes, edges);
    if (line) drawing.append(line);
    if (label && !labelled.has(edges[0].to)) labels.push(label);
    labelled.add(edges[0].to);
  }
  drawing.append(...labels); // over every line
  for (const box of boxes) drawing.append(drawBox(box));
  const parts = [drawing];
  if (graph.left_out > 0) parts.push(el("p", { class: "soft" }, `${counted(graph.left_out, "step")} to further states ${graph.left_out === 1 ? "is" : "are"} not shown`));
  container.replaceChildren(...parts);
}

function linesOf(node) {
  if (node.distance === 0) return ["this state"];
  const told = node.changes.slice(0, 4).map((line) => line.replace("->", "→"));
  if (node.changes.length > 4) told.push(`and ${node.changes.length - 4} more`);
  return [...told, ...node.violates.map((name) => `✗ ${name}`)];
}

function drawBox({ node, lines, x, y, height }) {
  const kind = node.distance === 0 ? "here" : node.violates.length ? "violated" : null;
  const label = node.distance === 0 ? "this state" : [...node.changes, ...node.violates.map((name) => `violates ${name}`)].join(", ");
  return svg("a", { href: `#${node.path}`, class: kind, "aria-label": label },
    svg("title", {}, label),
    svg("rect", { x, y, width: WIDTH, height, rx: 6 }),
    ...lines.map((line, i) => svg("text", { x: x + 8, y: y + 15 + i * LINE }, line)));
}

/* The line for the steps between two states, and its label if it leads away from this state. */
function drawEdges(boxes, edges) {
  const from = boxes[edges[0].from];
  const to = boxes[edges[0].to];
  const label = edges.length === 1 ? edges[0].call : `${edges[0].call.split("(")[0]} and ${edges.length - 1} more`;
  const whole = edges.map((edge) => edge.call).join(", ");
  if (from === to) return [];
  const forward = to.x > from.x;
  const same = to.x === from.x;
  const x1 = forward || same ? from.x + WIDTH : from.x;
  const x2 = forward ? to.x : same ? to.x + WIDTH : to.x + WIDTH;
  const y1 = from.y + from.height / 2;
  const y2 = to.y + to.height / 2;
  const bend = same ? 40 : (x2 - x1) / 2;
  const path = `M${x1},${y1} C${x1 + bend},${y1} ${same ? x2 + bend : x2 - bend},${y2} ${x2},${y2}`;
  const drawn = [svg("path", { class: "edge", d: path }, svg("title", {}, whole))];
  if (forward && to.node.distance === from.node.distance + 1) {
    const text = label.length > 28 ? `${label.slice(0, 27)}…` : label;
    drawn.push(svg("text", { class: "edge-text", x: x2 - 4, y: y2 - 4, "text-anchor": "end" }, text));
  }
  return drawn;
}

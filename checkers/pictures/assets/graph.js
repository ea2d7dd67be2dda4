/* Makes the nodes of a drawing of states choosable: chooseNodes(svg, panel, graph).
 *
 * graph: the JSON of pictures/state_picture.py. The panel tells of the chosen node: an example and its steps.
 */
"use strict";

globalThis.chooseNodes = (svg, panel, graph) => {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const name = (id) => (nodes.has(id) ? nodes.get(id).label.join(", ") : "not drawn");

  function add(parent, tag, text) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function choose(id) {
    for (const edge of svg.querySelectorAll(".edge, .label")) {
      const near = edge.dataset.from === id || edge.dataset.to === id;
      edge.classList.toggle("near", near);
      edge.classList.toggle("faded", !near);
    }
    for (const node of svg.querySelectorAll(".node")) node.classList.toggle("near", node.dataset.node === id);
    tell(nodes.get(id));
  }

  function tell(node) {
    panel.replaceChildren();
    if (!node) return;
    add(panel, "h2", name(node.id));
    if (node.states > 1) add(panel, "p", `${node.states} states; the first of them:`);
    add(add(panel, "p"), "code", node.example.map(([field, value]) => `${field} = ${value}`).join(", "));
    const list = add(panel, "ul");
    for (const edge of graph.edges.filter((one) => one.from === node.id)) {
      const count = edge.steps > 1 ? ` (${edge.steps} steps)` : "";
      const item = add(list, "li", `${edge.action}${count} to `);
      if (!nodes.has(edge.to)) {
        item.append("what is not drawn");
        continue;
      }
      const button = add(item, "button", name(edge.to));
      button.type = "button";
      button.addEventListener("click", () => choose(edge.to));
    }
  }

  const first = svg.querySelector(".node.initial"), frame = svg.parentElement;
  if (first) { // the initial state in the middle of what is seen
    const box = first.getBoundingClientRect(), around = frame.getBoundingClientRect();
    frame.scrollLeft += box.left + box.width / 2 - around.left - around.width / 2;
  }
  for (const node of svg.querySelectorAll(".node")) {
    if (!nodes.has(node.dataset.node)) continue;
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", name(node.dataset.node));
    node.addEventListener("click", () => choose(node.dataset.node));
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(node.dataset.node);
    });
  }
};

/* Draws a picture of lifelines: drawLifelines(container, picture, options).
 *
 * picture: the JSON of pictures/lifelines.py. options, all of them optional:
 *   selected: the number of the step chosen at first (default: the last one)
 *   onSelect: called with the number of a step when another one is chosen
 *   details: false leaves out the panel with the state
 * Returns {selected, select(number), update(picture, selected), destroy()}.
 */
"use strict";

globalThis.drawLifelines = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const GUTTER = 30; // left of the first lifeline: the loop
  const LEAST_LANE = 66, MOST_LEAST_LANE = 110, SCROLLED_LANE = 88, MOST_LANE = 150;
  const HEAD_GAP = 8, MARK_GAP = 4; // between the texts of neighbouring lanes
  const CHARACTER = 6.3, WIDE_CHARACTER = 7.3; // widths of a character, of text and of code
  const HEAD_CHARACTER = 7.6, OTHER_CHARACTER = 5.7, MARK_CHARACTER = 6.4;
  const MARK_HEIGHT = 13, OTHER_HEIGHT = 15;
  const HEAD_SIZE = 12, SMALL_HEAD = 5 / 6; // a long word is a little smaller before it is cut
  let drawn = 0;

  function svg(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function html(parent, name, className, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  /* A name that breaks after an underscore and before a bracket, where a line ends. */
  function named(parent, name, text) {
    const element = html(parent, name);
    text.split(/(?<=_)|(?=\[)/).forEach((part, i) => {
      if (i) html(element, "wbr");
      element.append(part);
    });
  }

  function cut(text, room, character) {
    const most = Math.max(3, Math.floor(room / character + 0.01));
    return text.length <= most ? text : text.slice(0, most - 1) + "…";
  }

  /* Text that is cut to a room; the whole of it is its title. */
  function line(parent, attributes, text, room, character = CHARACTER, whole = text) {
    const short = cut(text, room, character);
    const element = svg(parent, "text", attributes, short);
    if (short !== whole) svg(element, "title", {}, whole);
    return element;
  }

  /* The parts of a text as lines of at most that many characters, where its parts allow it. */
  function wrapped(parts, most) {
    const lines = [parts[0]];
    for (const part of parts.slice(1)) {
      const longer = lines[lines.length - 1] + part;
      if (longer.trimEnd().length <= most) lines[lines.length - 1] = longer;
      else lines.push(part);
    }
    return lines.map((one) => one.trimEnd());
  }

  const headLines = (label, room) => wrapped(label.split(/(?<= )/), Math.floor(room / HEAD_CHARACTER));

  /* What changes elsewhere, in lines that are seen without scrolling. */
  const otherLines = (step, room) => (step.other.length ? wrapped(step.other.join(", ").split(/(?<=, )/), Math.floor(room / OTHER_CHARACTER)) : []);

  const signOf = (mark) => (mark.sign ? mark.sign.replace("-", "−") + " " : "");

  /* The parts of a mark that stay in one line: it breaks after an underscore and at a space. */
  const markParts = (mark) => (signOf(mark) + mark.brief).split(/(?<=_)|(?<=[^+−] )/);

  /* A mark in one line, or a briefer one in as many as it needs. */
  function markLines(mark, room) {
    const whole = signOf(mark) + mark.text, most = Math.floor(room / MARK_CHARACTER);
    const lines = whole.length <= most ? [whole] : wrapped(markParts(mark), most);
    return lines.map((text) => ({ text, whole, kind: { "+": "come", "-": "gone" }[mark.sign] || "" }));
  }

  /* Where everything stands: x of lifelines by id, and of each step its rows. */
  function layOut(picture, width) {
    const count = Math.max(1, picture.lifelines.length);
    const share = (width - GUTTER - 8) / count;
    const marks = picture.steps.flatMap((step) => step.marks);
    const widest = (texts, character) => Math.max(0, ...texts.map((text) => text.length * character));
    const least = Math.min(MOST_LEAST_LANE, Math.max(LEAST_LANE, // no word is cut
      widest(picture.lifelines.flatMap((one) => headLines(one.label, 0)), HEAD_CHARACTER * SMALL_HEAD) + HEAD_GAP,
      widest(marks.flatMap((mark) => markParts(mark)).map((part) => part.trimEnd()), MARK_CHARACTER) + MARK_GAP));
    const most = Math.max(MOST_LANE, widest(marks.map((mark) => mark.text), MARK_CHARACTER) + 2 * MARK_CHARACTER + MARK_GAP);
    const lane = share >= least ? Math.min(most, share) : share > 0.8 * least ? least : Math.max(SCROLLED_LANE, least);
    const x = new Map(picture.lifelines.map((one, i) => [one.id, GUTTER + lane * (i + 0.5)]));
    const sending = new Set(picture.messages.map((message) => message.sent));
    const rows = [];
    let top = 4;
    for (const step of picture.steps) {
      const below = new Map();
      for (const mark of step.marks) {
        below.set(mark.lifeline, [...(below.get(mark.lifeline) || []), ...markLines(mark, lane - MARK_GAP)]);
      }
      const deepest = Math.max(0, ...[...below.values()].map((list) => list.length));
      const others = otherLines(step, width - GUTTER - 8);
      const band = top + 20 + others.length * OTHER_HEIGHT;
      const dot = band + (sending.has(step.number) ? 16 : 9); // room for the message's name above the line
      const bottom = step.lifeline === null ? band + 6 : dot + 12 + deepest * MARK_HEIGHT + 3;
      rows.push({ step, marks: below, top, others, dot, bottom });
      top = bottom;
    }
    return { lane, x, rows, heads: headsOf(picture.messages, x), seen: width, width: Math.max(width, GUTTER + lane * count + 8), height: top + 6 };
  }

  function drawHeads(parent, picture, plan) {
    const room = plan.lane - HEAD_GAP, texts = picture.lifelines.map((one) => headLines(one.label, room));
    const longest = Math.max(1, ...texts.flat().map((text) => text.length));
    const scale = Math.max(SMALL_HEAD, Math.min(1, room / (HEAD_CHARACTER * longest)));
    const height = 12 + 14 * Math.max(1, ...texts.map((lines) => lines.length));
    const canvas = svg(parent, "svg", { width: plan.width, height, "aria-hidden": "true" });
    picture.lifelines.forEach((one, i) => {
      const shift = (height - 14 * texts[i].length) / 2 + 11;
      texts[i].forEach((text, n) => {
        const attributes = { class: "head", x: plan.x.get(one.id), y: shift + 14 * n, "text-anchor": "middle" };
        const head = line(canvas, attributes, text, room, HEAD_CHARACTER * scale);
        if (scale < 1) head.style.fontSize = `${HEAD_SIZE * scale}px`;
      });
    });
  }

  function drawStep(canvas, row, plan, prefix) {
    const { step, top, bottom } = row;
    const group = svg(canvas, "g", {
      class: "step", role: "option", id: `${prefix}-${step.number}`, "aria-selected": "false",
      "aria-label": `${step.number}. ${step.actor ? step.actor + ": " : ""}${step.call}`,
    });
    svg(group, "rect", { x: 0, y: top, width: plan.width, height: bottom - top });
    return group;
  }

  function drawTexts(group, row, plan) {
    const { step, top, dot } = row, room = plan.seen - GUTTER - 8;
    svg(group, "text", { class: "number halo", x: GUTTER - 6, y: top + 15, "text-anchor": "end" }, String(step.number));
    const again = step.closing ? " (and again)" : "";
    line(group, { class: "call halo", x: GUTTER, y: top + 15 }, step.label + again, room, WIDE_CHARACTER);
    row.others.forEach((text, i) => {
      line(group, { class: "other halo", x: GUTTER, y: top + 31 + i * OTHER_HEIGHT }, text, room, OTHER_CHARACTER);
    });
    if (step.lifeline === null) return;
    const from = plan.x.get(step.lifeline);
    const named = [...new Set(step.names.map((one) => one.lifeline))], ends = named.map((id) => plan.x.get(id));
    const [left, right] = [Math.min(from, ...ends), Math.max(from, ...ends)];
    if (left < right) svg(group, "line", { class: "names", x1: left, y1: dot, x2: right, y2: dot });
    for (const id of named) {
      const parameters = step.names.filter((one) => one.lifeline === id).map((one) => one.parameter);
      const circle = svg(group, "circle", { class: "named", cx: plan.x.get(id), cy: dot, r: 4 });
      svg(circle, "title", {}, parameters.join(", "));
    }
    svg(group, "circle", { class: "actor", cx: from, cy: dot, r: 5.5 });
    for (const [id, marks] of row.marks) {
      marks.forEach(({ text, whole, kind }, i) => {
        const attributes = { class: `mark halo ${kind}`, x: plan.x.get(id), y: dot + 17 + i * MARK_HEIGHT };
        line(group, attributes, text, plan.lane - MARK_GAP, MARK_CHARACTER, whole);
      });
    }
  }

  /* From where a message is sent to where it is taken; dashed to the end if it is not. */
  function drawMessage(canvas, message, plan) {
    const taken = message.taken !== null;
    const start = plan.rows[message.sent], end = taken ? plan.rows[message.taken] : null;
    const y1 = message.sent === 0 ? start.bottom - 4 : start.dot, y2 = taken ? end.dot : plan.height - 6;
    const known = [message.from, message.to].map((id) => (id === null ? null : plan.x.get(id)));
    const x1 = known[0] ?? known[1] ?? GUTTER, x2 = known[1] ?? x1;
    const side = Math.min(24, plan.lane / 3);
    const path = x1 === x2
      ? `M ${x1} ${y1} C ${x1 + side} ${y1 + 12}, ${x1 + side} ${y2 - 12}, ${x2 + 6} ${y2}`
      : `M ${x1} ${y1} L ${x2 - Math.sign(x2 - x1) * 7} ${y2 - 2}`;
    const group = svg(canvas, "g");
    svg(group, "title", {}, message.text + (taken ? "" : " (not taken)"));
    svg(group, "path", { class: taken ? "message" : "message waiting", d: path });
    if (taken) {
      const tip = x1 === x2 ? x2 + 6 : x2 - Math.sign(x2 - x1) * 6;
      const angle = x1 === x2 ? 150 : (Math.atan2(y2 - 2 - y1, x2 - x1) * 180) / Math.PI;
      svg(group, "path", { class: "arrow", d: "M 0 0 L -9 -4 L -9 4 Z", transform: `translate(${tip} ${y2 - 1}) rotate(${angle})` });
    }
    const right = x2 >= x1 && x1 + 130 < plan.width;
    const away = plan.heads.has(`${message.sent} ${x1} ${right}`) ? 22 : 9; // beside the head of an arrow
    const attributes = { class: "what halo", x: x1 + (right ? away : -away), y: y1 - 5, "text-anchor": right ? "start" : "end" };
    svg(group, "text", attributes, message.type + (taken ? "" : " (not taken)"));
  }

  /* The heads of arrows: number of the step, x of the lifeline, whether the arrow comes from the right. */
  function headsOf(messages, x) {
    const heads = new Set();
    for (const { taken, from, to } of messages) {
      if (taken === null) continue;
      const x1 = x.get(from ?? to) ?? GUTTER, x2 = x.get(to) ?? x1;
      heads.add(`${taken} ${x2} ${x1 >= x2}`);
    }
    return heads;
  }

  function drawLoop(canvas, picture, plan) {
    if (picture.loop === null || picture.loop + 1 >= plan.rows.length) return;
    const first = plan.rows[picture.loop + 1].top + 4, last = plan.rows[plan.rows.length - 1].bottom - 6;
    svg(canvas, "path", { class: "loop", d: `M 12 ${last} H 6 V ${first} H 9` });
    svg(canvas, "path", { class: "loop-head", d: "M 15 0 L 7 -4.5 L 7 4.5 Z", transform: `translate(0 ${first})` });
  }

  function drawNotes(parent, picture) {
    for (const note of picture.notes) {
      const box = html(parent, "div", `picture-note ${note.kind}`);
      box.dataset.step = note.step;
      html(box, "strong", "", note.text);
      if (note.lines.length) html(box, "pre", "", note.lines.join("\n"));
    }
  }

  function fillTable(table, step) {
    const changed = new Map();
    for (const one of step.changes) changed.set(one.field, [...(changed.get(one.field) || []), one]);
    const values = new Map(step.state);
    for (const [field, list] of changed) {
      const row = html(table, "tr", "changed");
      named(row, "td", field);
      const cell = html(row, "td");
      list.forEach((one, i) => {
        if (i) html(cell, "br");
        if (one.old) html(cell, "del", "", one.new ? one.old : "− " + one.old);
        if (one.old && one.new) cell.append(" → ");
        if (one.new) html(cell, "ins", "", one.old ? one.new : "+ " + one.new);
      });
    }
    for (const [field, value] of values) {
      if (changed.has(field)) continue;
      const row = html(table, "tr");
      named(row, "td", field);
      html(row, "td", "", value);
    }
  }

  function fillDetails(panel, picture, number, select) {
    panel.replaceChildren();
    const step = picture.steps[number], last = picture.steps.length - 1;
    const keys = html(panel, "div", "picture-keys");
    for (const [label, name, to] of [["←", "previous step", number - 1], ["→", "next step", number + 1]]) {
      const button = html(keys, "button", "", label);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", name);
      button.disabled = to < 0 || to > last;
      button.addEventListener("click", () => select(to));
    }
    html(panel, "h2", "", number === 0 ? "Initial state" : `Step ${number} of ${last}`);
    const who = html(panel, "p");
    if (step.actor) html(who, "strong", "", step.actor + ": ");
    html(who, "code", "", step.call);
    if (step.about) html(panel, "p", "quiet", step.about);
    for (const message of picture.messages) {
      for (const [at, word] of [[message.sent, "sent"], [message.taken, "taken"]]) {
        if (at !== number || (at === 0 && word === "sent")) continue;
        const told = html(panel, "p");
        told.append(`${word}: ${message.type}`);
        html(told, "code", "", message.text);
      }
    }
    if (number > 0 && !step.changes.length) html(panel, "p", "quiet", "Nothing changes.");
    fillTable(html(panel, "table"), step);
  }

  return function drawLifelines(container, picture, options = {}) {
    const prefix = `lifelines-${++drawn}`;
    const root = html(container, "div", options.details === false ? "picture no-details" : "picture");
    const board = html(root, "div", "picture-board");
    const panel = options.details === false ? null : html(root, "section", "picture-details");
    if (panel) panel.setAttribute("aria-live", "polite");
    board.tabIndex = 0;
    board.setAttribute("role", "listbox");
    board.setAttribute("aria-label", "Steps of the trace; arrow keys choose one");
    let chosen = options.selected ?? picture.steps.length - 1, groups = [], width = 0, plan = null;

    function draw() {
      width = board.clientWidth || 640;
      plan = layOut(picture, width);
      board.replaceChildren();
      drawHeads(html(board, "div", "picture-heads"), picture, plan);
      const canvas = svg(board, "svg", { width: plan.width, height: plan.height, role: "presentation" });
      groups = plan.rows.map((row) => drawStep(canvas, row, plan, prefix));
      const lines = svg(canvas, "g", { "pointer-events": "none" });
      for (const x of plan.x.values()) svg(lines, "line", { class: "lane", x1: x, y1: 0, x2: x, y2: plan.height });
      for (const message of picture.messages) drawMessage(canvas, message, plan);
      drawLoop(canvas, picture, plan);
      plan.rows.forEach((row, i) => {
        const texts = svg(canvas, "g", { class: "texts" });
        drawTexts(texts, row, plan);
        for (const group of [groups[i], texts]) group.addEventListener("click", () => select(row.step.number));
        groups[i].texts = texts;
      });
      drawNotes(board, picture);
      show();
    }

    function show() {
      groups.forEach((group, i) => {
        group.classList.toggle("chosen", i === chosen);
        group.texts.classList.toggle("chosen", i === chosen);
        group.setAttribute("aria-selected", String(i === chosen));
      });
      board.setAttribute("aria-activedescendant", `${prefix}-${chosen}`);
      if (options.details === false) { // the explorer: a step that is undone violates nothing
        for (const note of board.querySelectorAll(".picture-note")) note.hidden = Number(note.dataset.step) > chosen;
      }
      if (panel) fillDetails(panel, picture, chosen, select);
    }

    /* Scrolls the board, and not the page, so that the step and who takes it are seen; with the last step, the notes. */
    function reveal() {
      const row = groups[chosen].getBoundingClientRect(), frame = board.getBoundingClientRect();
      const head = board.firstChild.offsetHeight;
      if (row.top < frame.top + head) board.scrollTop -= frame.top + head - row.top;
      else if (row.bottom > frame.bottom) board.scrollTop += row.bottom - frame.bottom;
      const from = row.top - frame.top + board.scrollTop;
      const notesFit = board.scrollHeight - from < board.clientHeight - head;
      if (chosen === groups.length - 1 && notesFit) board.scrollTop = board.scrollHeight;
      const x = plan.x.get(picture.steps[chosen].lifeline), room = plan.lane / 2;
      if (x === undefined) return;
      if (x - room < board.scrollLeft) board.scrollLeft = x - room;
      else if (x + room > board.scrollLeft + board.clientWidth) board.scrollLeft = x + room - board.clientWidth;
    }

    function select(number) {
      const wanted = Math.min(picture.steps.length - 1, Math.max(0, number));
      if (wanted === chosen) return;
      chosen = wanted;
      show();
      reveal();
      if (options.onSelect) options.onSelect(chosen);
    }

    board.addEventListener("keydown", (event) => {
      const to = {
        ArrowDown: chosen + 1, ArrowRight: chosen + 1, ArrowUp: chosen - 1, ArrowLeft: chosen - 1,
        Home: 0, End: picture.steps.length - 1,
      }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      select(to);
    });
    const observer = new ResizeObserver(() => {
      if (board.clientWidth && board.clientWidth !== width) draw();
    });
    draw();
    observer.observe(board);
    return {
      get selected() { return chosen; },
      select,
      update(next, selected) {
        picture = next;
        chosen = Math.min(picture.steps.length - 1, selected ?? picture.steps.length - 1);
        draw();
        reveal();
      },
      destroy() {
        observer.disconnect();
        root.remove();
      },
    };
  };
})();

// The path as lifelines, with the steps that were undone behind it.

import { byId, el, fill } from "./dom.js";

let drawn = null;
let shownPath = "";
let paths = [];

export async function showPicture({ ask, go, shown, longest }) {
  shownPath = shown.path;
  let answer;
  try {
    answer = await ask("picture", { path: longest });
  } catch {
    try {
      answer = await ask("picture", { path: shown.path }); // the model may have changed since
    } catch (error) {
      drawn = null;
      fill("picture", el("p", { class: "bad" }, error.message));
      return;
    }
  }
  if (shownPath !== shown.path) return;
  paths = answer.paths;
  const selected = paths.indexOf(shown.path);
  if (drawn === null) {
    fill("picture");
    const onSelect = (number) => go(paths[number]);
    drawn = globalThis.drawLifelines(byId("picture"), answer.picture, { selected, onSelect, details: false });
  } else {
    drawn.update(answer.picture, selected);
  }
}

"""Pages in HTML that need nothing else: the frame, table and tag of every page; a trace as picture and story."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from reassure.checkers.pictures.lifelines import Json, picture
from reassure.checkers.traces.without_model import NOT_CHECKED, ForeignTrace
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
PAGE_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --raised: #f4f6f8; --ink: #1c2126; --quiet: #5d6672; --line: #c9d0d8;
  --good: #1a7037; --bad: #b42318; --open: #7a4b00; --link: #0b57a4 }
@media (prefers-color-scheme: dark) { :root { --ground: #14181c; --raised: #1e242b; --ink: #dfe4ea; --quiet: #98a3b0;
  --line: #3d4752; --good: #6fd08c; --bad: #ff8f85; --open: #f0c36d; --link: #8cc2ff } }
body { margin: 0 auto; max-width: 90rem; padding: 1rem; font: 15px/1.45 system-ui, sans-serif }
body { background: var(--ground); color: var(--ink); overflow-wrap: break-word }
h1 { font-size: 1.25rem; margin: 0 0 .4rem; overflow-wrap: anywhere } h2 { font-size: 1rem }
a { color: var(--link) }
.text { max-width: 50rem; margin: .2rem 0 .6rem } .quiet { color: var(--quiet) }
.good { color: var(--good) } .bad { color: var(--bad) } .open { color: var(--open) }
.tag { padding: 0 .5rem; border: 1px solid currentColor; border-radius: 1rem; font-weight: 600 }
@media (min-width: 761px) { .tag { white-space: nowrap } }
pre, code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: var(--raised); padding: .8rem; overflow-x: auto }
.word { display: inline-block; max-width: 100% }
details { margin: 1rem 0 } summary { cursor: pointer; font-weight: 600 }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
.scroll { overflow-x: auto } .scroll table { border-collapse: collapse; margin: .6rem 0 }
.scroll td, .scroll th { padding: .15rem 1rem .15rem 0; text-align: left; vertical-align: top }
.scroll tr { border-bottom: 1px solid var(--line) } .scroll .number { text-align: right }
.story li { margin: .4rem 0 } .story ul { padding-left: 1.2rem; overflow-wrap: anywhere }
@media (max-width: 760px) {
  body { padding: .5rem } pre { white-space: pre-wrap }
  .scroll td, .scroll th { padding-right: .6rem }
  .rows thead { display: none } .rows tr { display: block; padding: .4rem 0 }
  .rows td, .rows .number { display: inline-block; max-width: 100%; padding: 0 .6rem 0 0 }
  .rows td { text-align: left; overflow-wrap: anywhere }
}
"""
DRAW = """
const picture = JSON.parse(document.getElementById("picture").textContent);
const drawn = drawLifelines(document.getElementById("drawing"), picture, { selected: 0 });
document.addEventListener("keydown", (event) => { // before anything is in focus; up and down scroll the page
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by === undefined || event.target !== document.body || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  drawn.select(drawn.selected + by);
});
"""


def asset(name: str) -> str:
    """The text of a file of `assets`."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def script_json(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element, a comment or a line."""
    text = json.dumps(data, separators=(",", ":"))  # ASCII, so that U+2028 and U+2029 are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def html_page(trace: Trace, bound: BoundModel) -> str:
    """The page of a trace."""
    data = picture(trace, bound)
    return page(
        data["title"],
        [
            *introduction(data),
            '<div id="drawing"><noscript>The picture needs JavaScript; the story below does not.</noscript></div>',
            *story(data, Markup("The story as text")),
            f'<script type="application/json" id="picture">{script_json(data)}</script>',
            f"<script>{asset('lifelines.js')}{DRAW}</script>",
        ],
        asset("picture.css"),
    )


def foreign_page(trace: ForeignTrace) -> str:
    """The page of a trace of another tool, without a model: its steps, opened, and no picture."""
    steps: list[Json] = [{"number": 0, "actor": "", "call": "first state", "changes": [], "state": trace.first.items()}]
    for number, step in enumerate(trace.steps, 1):
        call = f"step {number}" if step.back_to is None else f"back to state {step.back_to}"
        changes = [{"field": path, "old": old, "new": new} for path, old, new in step.changes]
        steps.append({"number": number, "actor": "", "call": call, "changes": changes, "state": ()})
    notes = [{"text": trace.ending, "lines": []}] if trace.ending else []
    steps_of_it = story({"steps": steps, "notes": notes}, Markup("The steps"), opened=True)
    return page(trace.title, [f'<p class="text">{NOT_CHECKED}</p>', *steps_of_it])


class Markup(str):
    """Text that is HTML already."""


def tag(tone: str, text: str) -> Markup:
    """A word in a frame. tone: good, bad or open."""
    return Markup(f'<span class="tag {tone}">{escape(text)}</span>')


def html_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[str] = (), attributes: str = ""
) -> str:
    """A table that scrolls by itself; without headers it has no head.

    numbers: the headers of columns that are aligned to the right.
    """
    classes = [' class="number"' if header in numbers else "" for header in headers]

    def row(name: str, cells: Sequence[str]) -> str:
        texts = (cell if isinstance(cell, Markup) else escape(cell) for cell in cells)
        columns = zip(classes or [""] * len(cells), texts, strict=True)
        return f"<tr>{''.join(f'<{name}{kind}>{text}</{name}>' for kind, text in columns)}</tr>"

    head = f"<thead>{row('th', headers)}</thead>" if headers else ""
    body = "\n".join(row("td", cells) for cells in rows)
    return f'<div class="scroll"><table{attributes}>{head}<tbody>{body}</tbody></table></div>'


def breakable(name: str) -> Markup:
    """A name that breaks after an underscore and before a bracket, where a line ends."""
    return Markup(escape(name).replace("_", "_<wbr>").replace("[", "<wbr>["))


def command_markup(words: str) -> Markup:
    """A command whose lines break between its words, and not within an option."""
    return Markup(
        "<code>" + " ".join(f'<span class="word">{escape(word)}</span>' for word in words.split()) + "</code>"
    )


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """A page of these parts that loads nothing from elsewhere."""
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{PAGE_STYLE}{style}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def introduction(data: Json) -> list[str]:
    """The text of the property, the configuration and the command of a trace."""
    parts = []
    if data["property"] is not None and data["property"]["text"]:
        paragraphs = data["property"]["text"].split("\n\n")
        parts += [f'<p class="text">{escape(text)}</p>' for text in paragraphs]
    settings = ", ".join(f"{name}={value}" for name, value in data["config"])
    if settings:
        parts.append(f'<p class="quiet">Configuration: {escape(settings)}.</p>')
    if data["repro"]:
        parts.append(f'<p class="quiet">Found by {command_markup(data["repro"])}.</p>')
    return parts


def story(data: Json, summary: Markup, before: Iterable[str] = (), opened: bool = False) -> list[str]:
    """The steps as a list that can be read without the script, and printed; it opens at the summary."""
    parts = [f'<details class="story"{" open" * opened}><summary>{summary}</summary>', *before, '<ol start="0">']
    for step in data["steps"]:
        who = f"<strong>{escape(step['actor'])}</strong>: " if step["actor"] else ""
        lines = [_change(c) for c in step["changes"]] or ["nothing changes"]
        if step["number"] == 0:
            lines = [f"{name} = {value}" for name, value in step["state"]]
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        parts.append(f"<li>{who}<code>{escape(step['call'])}</code><ul>{items}</ul></li>")
    parts.append("</ol>")
    for note in data["notes"]:
        parts.append(f"<p><strong>{escape(note['text'])}</strong></p>")
        parts += [f"<pre>{escape(chr(10).join(note['lines']))}</pre>"] if note["lines"] else []
    return [*parts, "</details>"]


def _change(change: Json) -> str:
    if change["old"] and change["new"]:
        return f"{change['field']}: {change['old']} → {change['new']}"
    return f"{change['field']}: - {change['old']}" if change["old"] else f"{change['field']}: + {change['new']}"

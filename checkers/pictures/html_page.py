"""A trace as one HTML file that needs nothing else: the picture, the state at each step, and the story as text."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from reassure.checkers.pictures.lifelines import Json, picture
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
PAGE_STYLE = """
:root { color-scheme: light dark }
body { margin: 0 auto; max-width: 90rem; padding: 1rem; font: 15px/1.45 system-ui, sans-serif }
body { background: #fff; color: #1c2126 }
h1 { font-size: 1.25rem; margin: 0 0 .4rem; overflow-wrap: anywhere } h2 { font-size: 1rem }
.text { max-width: 50rem; margin: .2rem 0 .6rem } .quiet { color: #5d6672 }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
details { margin: 1rem 0 } summary { cursor: pointer; font-weight: 600 }
.story li { margin: .4rem 0 } .story ul { padding-left: 1.2rem; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) { body { background: #14181c; color: #dfe4ea } .quiet { color: #98a3b0 } }
@media (max-width: 760px) { body { padding: .5rem } }
"""
DRAW = """
const picture = JSON.parse(document.getElementById("picture").textContent);
drawLifelines(document.getElementById("drawing"), picture, { selected: 0 });
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
    drawn = picture(trace, bound)
    return page(
        drawn["title"],
        [
            *_introduction(drawn),
            '<div id="drawing"><noscript>The picture needs JavaScript; the story below does not.</noscript></div>',
            *_story(drawn),
            f'<script type="application/json" id="picture">{script_json(drawn)}</script>',
            f"<script>{asset('lifelines.js')}{DRAW}</script>",
        ],
        asset("picture.css"),
    )


def page(title: str, body: list[str], style: str = "") -> str:
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


def _introduction(drawn: Json) -> list[str]:
    parts = []
    if drawn["property"] is not None and drawn["property"]["text"]:
        paragraphs = drawn["property"]["text"].split("\n\n")
        parts += [f'<p class="text">{escape(text)}</p>' for text in paragraphs]
    settings = ", ".join(f"{name}={value}" for name, value in drawn["config"])
    if settings:
        parts.append(f'<p class="quiet">Configuration: {escape(settings)}.</p>')
    if drawn["repro"]:
        parts.append(f'<p class="quiet">Found by <code>{escape(drawn["repro"])}</code>.</p>')
    return parts


def _story(drawn: Json) -> list[str]:
    """The steps as a list that can be read without the script, and printed."""
    parts = ['<details class="story"><summary>The story as text</summary><ol start="0">']
    for step in drawn["steps"]:
        who = f"<strong>{escape(step['actor'])}</strong>: " if step["actor"] else ""
        parts.append(f"<li>{who}<code>{escape(step['call'])}</code>")
        lines = [_change(c) for c in step["changes"]] or ["nothing changes"]
        if step["number"] == 0:
            lines = [f"{name} = {value}" for name, value in step["state"]]
        parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul></li>")
    parts.append("</ol>")
    for note in drawn["notes"]:
        parts.append(f"<p><strong>{escape(note['text'])}</strong></p>")
        parts += [f"<pre>{escape(chr(10).join(note['lines']))}</pre>"] if note["lines"] else []
    return [*parts, "</details>"]


def _change(change: Json) -> str:
    if change["old"] and change["new"]:
        return f"{change['field']}: {change['old']} → {change['new']}"
    return f"{change['field']}: - {change['old']}" if change["old"] else f"{change['field']}: + {change['new']}"

"""A picture of lifelines as a Mermaid sequence diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reassure.checkers.pictures.lifelines import Json

ESCAPES = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "%": "#37;", "\n": " "}
"""Mermaid's own signs in a text: a statement ends with `;`, an entity begins with `#`."""
RESERVED = (
    "activate|actor|alt|and|as|autonumber|box|break|create|critical|deactivate|destroy|details|else|end|left|links?|loop"
    "|note|opt|option|over|par|participant|properties|rect|right|title"
)
"""Words of Mermaid, which no participant can have as its name."""


def mermaid(picture: Json) -> str:
    """The diagram: a lifeline for each actor, messages where they are taken, what changes and is violated as notes."""
    return "\n".join(["sequenceDiagram", *(f"  {line}" for line in _Diagram(picture).lines())]) + "\n"


class _Diagram:
    def __init__(self, picture: Json) -> None:
        self.picture = picture
        self.names: dict[str, str] = {}
        for line in picture["lifelines"]:
            self.names[line["id"]] = _name(line["label"], self.names.values())

    def lines(self) -> Iterable[str]:
        """The statements."""
        for line in self.picture["lifelines"]:
            yield f"participant {self.names[line['id']]} as {_text(line['label'])}"
        yield self._over_all(f"0. {self.picture['steps'][0]['label']}")
        loop = self.picture["loop"]
        closed = any(step["closing"] for step in self.picture["steps"])
        for step in self.picture["steps"][1:]:
            if closed and step["number"] == loop + 1:
                yield "loop for ever"
            yield from self._step(step)
        if closed:
            yield "end"
        for message in self.picture["messages"]:
            if message["taken"] is None:
                yield self._over_all(f"not taken: {message['type']} {message['text']}")
        for note in self.picture["notes"]:
            if note["kind"] != "loop" or not closed:
                yield self._over_all(note["text"], *note["lines"])

    def _step(self, step: Json) -> Iterable[str]:
        number, actor = step["number"], self.names[step["lifeline"]]
        for message in self.picture["messages"]:
            if message["taken"] == number and message["from"] is not None:
                yield f"{self.names[message['from']]}-){actor}: {_text(message['type'])}"
        yield f"{actor}->>{actor}: {number}. {_text(step['label'])}"
        for named in step["names"]:
            yield f"{actor}-->>{self.names[named['lifeline']]}: {_text(named['parameter'])}"
        notes: dict[str, list[str]] = {}
        for message in self.picture["messages"]:
            text = f"{message['type']} {message['text']}"
            if message["sent"] == number:
                notes.setdefault(actor, []).append(f"sends {text}")
            if message["taken"] == number and message["from"] is None:
                notes.setdefault(actor, []).append(f"takes {text}")
        for mark in step["marks"]:
            notes.setdefault(self.names[mark["lifeline"]], []).append(f"{mark['sign']} {mark['text']}".strip())
        notes.setdefault(actor, []).extend(step["other"])
        if not step["changes"]:
            notes[actor].append("nothing changes")
        for name, texts in notes.items():
            if texts:
                yield f"Note over {name}: {'<br/>'.join(map(_text, texts))}"

    def _over_all(self, *texts: str) -> str:
        names = list(self.names.values())
        over = names[0] if len(names) == 1 else f"{names[0]},{names[-1]}"
        return f"Note over {over}: {'<br/>'.join(map(_text, texts))}"


def _text(text: str) -> str:
    return "".join(ESCAPES.get(sign, sign) for sign in text.strip())


def _name(label: str, used: Iterable[str]) -> str:
    """A name that Mermaid reads as one, and no other lifeline has."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", label) or "_"
    if re.fullmatch(RESERVED, name, re.IGNORECASE) or not name[0].isalpha():
        name = f"the_{name}"
    while name in used:
        name += "_"
    return name

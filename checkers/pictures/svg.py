"""A trace as one SVG: time runs downwards, a lifeline for each actor and id, and beside it what the id is.

The file needs nothing else: no script, no font, no page around it. It follows the light or dark mode of its reader.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

from reassure.checkers.pictures.bands import Band, Bands, bands_of
from reassure.checkers.pictures.lifelines import Json, picture
from reassure.checkers.traces.render import filled
from reassure.checkers.traces.without_model import ForeignTrace
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

MOST_BYTES = 60_000
LETTER, LINE = 7.25, 16.0
"""Width and height of a letter of the monospaced text, in pixels at natural size."""
TEXT_LETTER = 6.7
"""Mean width of a letter of the other text."""
HEAD_LETTER = 8.0
"""Most of what a letter of a head takes, which is bold."""
STORY_LETTERS = 100
"""Most letters of a line of a story without lifelines."""
GUTTER = 34
"""Letters of a line of the story, left of the lifelines."""
LEFT, INDENT, PAD = 18.0, 24.0, 10.0
BAND, BAR, ROLE, GAP = 12.0, 7.0, 18.0, 13.0
NARROWEST = 452.0
LABEL = 20
"""Most letters of a label that stands upright above a band."""
TINTS = ("#3b73b9", "#2a8f80", "#b07d12", "#8a5cb8", "#5b7f2b", "#a65a86")
TINTS_IN_THE_DARK = ("#6fa3e0", "#56bdad", "#d6a945", "#b48fdc", "#93b965", "#d48bb6")
STYLE = """
svg { --ground: #fff; --ink: #1c2126; --quiet: #5d6672; --line: #dfe3e8; --bad: #b42318; --pale: #fdf1f0 }
@media (prefers-color-scheme: dark) { svg { --ground: #14181c; --ink: #dfe4ea; --quiet: #98a3b0; --line: #2d353d;
  --bad: #ff8f85; --pale: #2a1817 } }
text { fill: var(--ink); font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
text { white-space: pre }
.s { font: 12.5px system-ui, sans-serif } .t { font-size: 15px } .t, .h { font-weight: 700 } .u { font-size: 10.5px }
.q { fill: var(--quiet) } .bad { fill: var(--bad) } .g { fill: var(--ground) } .l { stroke: var(--line) }
.box { fill: var(--pale); stroke: var(--bad); stroke-width: 1.5 } .end { fill: none; stroke: var(--quiet) }
.x, .dot { fill: var(--ink) } .ring { fill: var(--ground); stroke: var(--ink); stroke-width: 1.5 }
.m { fill: none; stroke: var(--ink); stroke-width: 1.5 } .w { fill: none; stroke: var(--ground); stroke-width: 4 }
""" + "".join(
    [
        *(f".b{n} {{ fill: {tint} }} " for n, tint in enumerate(TINTS)),
        "\n@media (prefers-color-scheme: dark) { ",
        *(f".b{n} {{ fill: {tint} }} " for n, tint in enumerate(TINTS_IN_THE_DARK)),
        "}\n",
    ]
)
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(trace: Trace, bound: BoundModel) -> str:
    """The picture of a trace, of 60 kB at most: of a long one, steps in the middle are left out, and a line says so."""
    data, bands = picture(trace, bound), bands_of(trace, bound)
    number = len(data["steps"])
    kept = number
    while True:
        text = _Sheet(data, bands, _kept(number, kept)).text()
        if len(text.encode()) <= MOST_BYTES or kept <= 2:
            return text
        kept = max(2, kept * 3 // 4)


def foreign_svg(trace: ForeignTrace) -> str:
    """The story of another tool's trace as a picture, without a model: lines of text alone, of 60 kB at most."""
    title, *lines = [piece for line in trace.lines() for piece in _wrapped(line, STORY_LETTERS)]
    most = len(lines)
    while True:
        kept = _kept(len(lines), most)
        shown = [title, *(lines[number] for number in kept)]
        if most < len(lines):
            shown.insert(1 + most // 3, f"  ({len(lines) - most:,} lines are left out)")
        width, height = 2 * LEFT + max(map(len, shown)) * LETTER, 2 * PAD + len(shown) * LINE
        rows = [
            f'<text x="{_n(LEFT)}" y="{_n(PAD + LINE * n)}">{_safe(line)}</text>' for n, line in enumerate(shown, 1)
        ]
        text = _file(title, width, height, rows)
        if len(text.encode()) <= MOST_BYTES or most <= 2:
            return text
        most = max(2, most * 3 // 4)


def _file(title: str, width: float, height: float, parts: list[str]) -> str:
    """The whole file."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}"',
            f' viewBox="0 0 {_n(width)} {_n(height)}" style="max-width:100%;height:auto" role="img">',
            f"<title>{_safe(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="g" width="{_n(width)}" height="{_n(height)}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _kept(number: int, most: int) -> list[int]:
    """The numbers of the steps that are drawn: the first third, and the last ones."""
    first = most // 3 if most < number else most
    return [*range(first), *range(max(first, number - (most - first)), number)]


@dataclass
class _Row:
    """A step on the sheet. number: of the step; None stands for those that are left out.

    lines: who does what; changes: what that changes.
    """

    number: int | None
    lines: list[str]
    changes: list[str] = field(default_factory=list)
    top: float = 0.0
    height: float = 0.0

    @property
    def middle(self) -> float:
        """The height at which the step is taken: that of its first line."""
        return self.top + 14


@dataclass
class _Sheet:
    data: Json
    bands: Bands
    kept: list[int]
    parts: list[str] = field(default_factory=list)
    at: dict[str, float] = field(default_factory=dict)
    """The place of each lifeline, by its id."""

    def text(self) -> str:
        """The whole file."""
        columns = self._columns()
        letters = max(GUTTER, int((NARROWEST - LEFT - INDENT - columns - PAD) / LETTER))
        gutter = LEFT + INDENT + letters * LETTER
        width = gutter + columns + PAD
        y = self._title(width)
        y = self._heads(gutter, y)
        rows = self._rows(letters, y)
        bottom = rows[-1].top + rows[-1].height
        behind = self.parts
        self.parts = []
        self._rules(rows, width)
        self._bands(rows, bottom)
        self._arrows(rows, bottom)
        for row in rows:
            self._row(row)
        self._loop(rows, bottom)
        y = self._foot(width, self._end(width, bottom + 12))
        return _file(self.data["title"], width, y, [*behind, *self.parts])

    # -- columns

    def _groups(self) -> list[tuple[Json, list[Band]]]:
        """Each lifeline with the bands beside it: those that hold a member of its sort."""
        lines = self.data["lifelines"]
        groups = []
        for line in lines:
            alike = {other["id"] for other in lines if other["sort"] == line["sort"] and line["sort"]}
            groups.append((line, [b for b in self.bands.drawn if any(alike & held for held in b.holders)]))
        return groups

    def _columns(self) -> float:
        return sum(_width(bands) for _, bands in self._groups())

    def _heads(self, gutter: float, y: float) -> float:
        """The labels above the lifelines; the height below them."""
        groups = self._groups()
        upright = [self._label(b.name) for _, bands in groups for b in bands]
        upright += [_short(line["label"]) for line, bands in groups if not bands]
        room = max(map(len, upright), default=0) * 6.5
        low = y + 18 + room
        x = gutter + GAP / 2
        for line, bands in groups:
            self.at[line["id"]] = x
            if not bands:
                self._upright(_short(line["label"]), x + 4, low - 4, line["label"], "u h")
            else:
                fits = len(line["label"]) * HEAD_LETTER + PAD <= _width(bands)
                name = line["label"] if fits else _initials(line["label"])
                self._text(x - 3, y + 11, name, "s h", line["label"] if not fits else "")
            for number, band in enumerate(bands):
                self._upright(self._label(band.name), x + 11 + BAND * number, low - 4, band.name, "u")
            x += _width(bands)
        return low

    def _label(self, name: str) -> str:
        """The name of a band as it stands upright; of a value of a map the value, if no other band is called so."""
        values = [band.name.rpartition(" = ")[2] for band in self.bands.drawn]
        value = name.rpartition(" = ")[2]
        return _short(value if values.count(value) == 1 else name)

    # -- rows

    def _rows(self, letters: int, y: float) -> list[_Row]:
        rows: list[_Row] = []
        for number in self.kept:
            if rows and rows[-1].number is not None and rows[-1].number + 1 < number:
                out = f"steps {rows[-1].number + 1} to {number - 1} are left out"
                rows.append(_Row(None, textwrap.wrap(out, letters)))
            rows.append(self._story(self.data["steps"][number], letters))
        for row in rows:
            row.top, row.height = y, len(row.lines + row.changes) * LINE + 8
            y += row.height
        return rows

    def _story(self, step: Json, letters: int) -> _Row:
        """A step as a row: who does what, the messages, and the changes of what is not folded."""
        who = f"{step['actor']}: " if step["number"] else ""
        lines = [
            line
            for message in self.data["messages"]
            for verb, number in (("takes", message["taken"]), ("sends", message["sent"]))
            if number == step["number"] != 0
            for line in _wrapped(f"{verb} {message['type']}", letters)
        ]
        changes = [c for c in step["changes"] if not self._is_message(c)]
        told = [c for c in changes if self._name(c["field"]) not in self.bands.alike]
        shown = [c for c in told if _shape(c["field"]) not in self.bands.folded]
        for change in shown or ([] if lines else changes):
            lines += _wrapped(_changed(self._name(change["field"]), change), letters)
        return _Row(step["number"], _wrapped(f"{who}{step['label']}", letters, " ("), lines)

    def _name(self, path: str) -> str:
        """The last name of a field, with the key of a map; the whole path where another field has that name too."""
        alone = self._leaves[_shape(path).rpartition(".")[2]] == 1
        return path.rpartition(".")[2] if alone else path

    @cached_property
    def _leaves(self) -> Counter[str]:
        """By the last name of a field: how many fields have it, all of a map as one."""
        paths = {other for step in self.data["steps"] for other, _ in step["state"]}
        return Counter(shape.rpartition(".")[2] for shape in set(map(_shape, paths)))

    def _is_message(self, change: Json) -> bool:
        return not (change["old"] and change["new"]) and any(
            m["field"] == change["field"] for m in self.data["messages"]
        )

    def _rules(self, rows: list[_Row], width: float) -> None:
        """A thin line above each step, and one for each lifeline."""
        for row in rows:
            self._line(LEFT, row.top, width - PAD, row.top)
        for x in self.at.values():
            self._line(x, rows[0].top, x, rows[-1].top + rows[-1].height)

    def _line(self, x: float, y: float, to: float, low: float) -> None:
        self.parts.append(f'<line class="l" x1="{_n(x)}" y1="{_n(y)}" x2="{_n(to)}" y2="{_n(low)}"/>')

    def _row(self, row: _Row) -> None:
        y = row.top + 17
        if row.number is None:
            self._text(LEFT + INDENT, y, row.lines[0], "q")
            return
        step = self.data["steps"][row.number]
        self._text(LEFT, y, str(row.number), "q")
        actor = f"{step['actor']}:" if row.number else ""
        for number, line in enumerate(row.lines):
            bold = actor if number == 0 and line.startswith(actor) else ""
            who = f'<tspan class="h">{_safe(bold)}</tspan>' if bold else ""
            self.parts.append(f'<text x="{_n(LEFT + INDENT)}" y="{_n(y)}">{who}{_safe(line[len(bold) :])}</text>')
            y += LINE
        for line in row.changes:
            self._text(LEFT + INDENT, y, line, "q")
            y += LINE
        for named in step["names"]:
            if named["lifeline"] in self.at:
                self._mark("ring", named["lifeline"], row, named["parameter"])
        if step["lifeline"] in self.at:
            self._mark("dot", step["lifeline"], row, step["actor"])

    def _mark(self, kind: str, line: str, row: _Row, title: str) -> None:
        x, y = _n(self.at[line]), _n(row.middle)
        self.parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="5"><title>{_safe(title)}</title></circle>')

    # -- what runs along the lifelines

    def _bands(self, rows: list[_Row], bottom: float) -> None:
        edges = [*(row.top for row in rows), bottom]
        for line, bands in self._groups():
            for number, band in enumerate(bands):
                x = self.at[line["id"]] + 8 + BAND * number - 3
                tint = "x" if band.single else f"b{self._tint(band)}"
                held = [row.number is not None and line["id"] in band.holders[row.number] for row in rows]
                for first, last in _runs(held):
                    top, low = edges[first] + 1, edges[last + 1] - 1
                    self.parts.append(
                        f'<rect class="{tint}" x="{_n(x)}" y="{_n(top)}" width="{_n(BAR)}" height="{_n(low - top)}"'
                        f' rx="2"><title>{_safe(line["label"])}: {_safe(band.name)}</title></rect>'
                    )

    def _tint(self, band: Band) -> int:
        return [b.name for b in self.bands.drawn if not b.single].index(band.name) % len(TINTS)

    def _arrows(self, rows: list[_Row], bottom: float) -> None:
        """An arrow for each message whose two ends are drawn, dashed while it stays under way."""
        by_number = {row.number: row for row in rows}
        for message in self.data["messages"]:
            sent, taken = by_number.get(message["sent"]), by_number.get(message["taken"])
            begin, end = self.at.get(message["from"]), self.at.get(message["to"])
            if begin is None or sent is None or (message["taken"] is not None and (taken is None or end is None)):
                continue
            y, dash = sent.middle, ""
            if taken is None:
                end, low, dash = begin if end is None else end, bottom - 4, ' stroke-dasharray="4 3"'
            else:
                low = taken.middle
            assert end is not None
            bow = 14 if abs(end - begin) < 1 else 0
            stop = end + (0 if bow else 7 if end < begin else -7)
            path = f"M{_n(begin)} {_n(y)}Q{_n((begin + stop) / 2 + bow * 2)} {_n((y + low) / 2)} {_n(stop)} {_n(low)}"
            aside = 0.0 if bow else 4.0 if end < begin else -4.0
            head = (
                f"M{_n(stop)} {_n(low)}l{_n(aside + 4 if aside >= 0 else aside - 4)} -5v10z"
                if not bow
                else f"M{_n(stop)} {_n(low - 5)}l-4 -8h8z"
            )
            self.parts.append(
                f'<g><title>{_safe(message["type"])} {_safe(message["text"])}</title><path class="w" d="{path}"/>'
                f'<path class="m"{dash} d="{path}"/><path class="x" d="{head}"/></g>'
            )

    def _loop(self, rows: list[_Row], bottom: float) -> None:
        """A bracket at the left of the steps that repeat for ever."""
        loop = self.data["loop"]
        if loop is None:
            return
        closing = any(step["closing"] for step in self.data["steps"])
        first = loop + 1 if closing else loop
        repeated = [row for row in rows if row.number is not None and row.number >= first]
        top = (repeated[0] if repeated else rows[-1]).top + 8
        low, x = bottom - 8, LEFT - 9
        self.parts.append(
            f'<path class="m" d="M{_n(x + 7)} {_n(low)}h-7V{_n(top)}h3"/>'
            f'<path class="x" d="M{_n(x + 8)} {_n(top)}l-6 -4v8z"/>'
        )

    # -- words above and below

    def _title(self, width: float) -> float:
        y = 10.0
        for line in textwrap.wrap(self.data["title"], int((width - LEFT - PAD) / 8.9)):
            y += 19
            self._text(LEFT, y - 3, line, "s t")
        return y + 8

    def _end(self, width: float, y: float) -> float:
        """The box at the end: the promise, and what makes it false; red if it is violated."""
        notes = self.data["notes"]
        for note in [note for note in notes if note["kind"] != "loop" or len(notes) == 1]:
            letters = int((width - LEFT - 3 * PAD) / LETTER)
            lines = [
                (line, "s h bad" if note["kind"] == "violated" else "s h") for line in _sentences(note["text"], width)
            ]
            prop = self.data["property"]
            if note["kind"] != "loop" and prop is not None:
                lines += [(line, "s") for line in _sentences(" ".join(prop["text"].split()), width)]
            for text in note["lines"]:
                lines += [(line, "") for line in _wrapped(text, letters)]
            height = len(lines) * LINE + 14
            kind = "box" if note["kind"] == "violated" else "end"
            self.parts.append(
                f'<rect class="{kind}" x="{_n(LEFT)}" y="{_n(y)}" width="{_n(width - LEFT - PAD)}" '
                f'height="{_n(height)}" rx="4"/>'
            )
            for number, (line, style) in enumerate(lines):
                self._text(LEFT + PAD, y + 20 + number * LINE, line, style)
            y += height + 10
        return y

    def _foot(self, width: float, y: float) -> float:
        """What is what in the picture, and what it does not show."""
        alike = [f"{name} always equals {same}" for name, same in self.bands.alike.items()]
        names = {"not drawn as bands": self.bands.crowded, "folded": sorted(self.bands.folded)}
        lists = [f"{title}: {', '.join(each)}" for title, each in names.items() if each]
        for line in [*self._legend(width), *_sentences("; ".join([*alike, *lists]), width)]:
            self._text(LEFT, y + 10, line, "s q")
            y += LINE
        return y + PAD

    def _legend(self, width: float) -> list[str]:
        """The meaning of each kind of mark that the picture has, in lines that break between marks."""
        steps = [self.data["steps"][number] for number in self.kept]
        marks = {
            "● acts": any(step["lifeline"] in self.at for step in steps),
            "○ is named by a parameter": any(named["lifeline"] in self.at for step in steps for named in step["names"]),
            "▌ the field holds it": bool(self.bands.drawn),
            "→ a message (dashed: under way)": bool(self.data["messages"]),
        }
        texts = [text for text, is_there in marks.items() if is_there]
        return filled(texts, "   ", int((width - LEFT - 3 * PAD) / TEXT_LETTER))

    def _text(self, x: float, y: float, text: str, style: str, title: str = "") -> None:
        kind = f' class="{style}"' if style else ""
        inner = f"<title>{_safe(title)}</title>" if title else ""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}"{kind}>{inner}{_safe(text)}</text>')

    def _upright(self, text: str, x: float, y: float, title: str, style: str) -> None:
        self.parts.append(
            f'<text class="{style}" transform="translate({_n(x)} {_n(y)})rotate(-90)"><title>{_safe(title)}</title>'
            f"{_safe(text)}</text>"
        )


def _safe(text: Any) -> str:
    """A text inside of an element: escaped, and without what XML cannot have."""
    return escape(NOT_XML.sub("\ufffd", str(text)))


def _n(number: float) -> str:
    """A number in as few letters as a tenth of a pixel needs."""
    return f"{number:.1f}".removesuffix(".0")


def _wrapped(text: str, letters: int, behind: str = " ") -> list[str]:
    """A text in lines of so many letters; those after the first one are indented. behind: where a line may end."""
    hanging = " " * (len(text) - len(text.lstrip()) + 2)
    lines = [hanging[2:]]
    for word in re.split(f"(?<=[{behind}])", text.lstrip()):
        for piece in [word] if len(word) <= letters - len(hanging) else textwrap.wrap(word, letters - len(hanging)):
            if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > letters:
                lines.append(hanging)
            lines[-1] += piece
    return [line.rstrip() for line in lines]


def _sentences(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int((width - LEFT - 3 * PAD) / TEXT_LETTER))


def _changed(name: str, change: Json) -> str:
    """A change in a line."""
    if change["old"] and change["new"]:
        return f"{name} {change['old']} → {change['new']}"
    return f"{name} {'+' if change['new'] else '-'} {change['new'] or change['old']}"


def _shape(path: str) -> str:
    return re.sub(r"\[[^]]*\]", "", path)


def _width(bands: list[Band]) -> float:
    return BAND * len(bands) + GAP if bands else ROLE


def _short(text: str) -> str:
    return text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"


def _initials(label: str) -> str:
    """`broker 1` as `b1`."""
    return "".join(word if word.isdigit() else word[0] for word in label.split())


def _runs(held: Iterable[bool]) -> list[tuple[int, int]]:
    """The first and last number of each run of `True`."""
    runs: list[tuple[int, int]] = []
    for number, one in enumerate(held):
        if one and runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        elif one:
            runs.append((number, number))
    return runs

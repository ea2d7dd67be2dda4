"""The index of counterexamples: a page lists the traces of a protocol, or, if they are many, of a model or release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from reassure.checkers.publish.markdown import BY, table
from reassure.checkers.publish.model_pages import PROTOCOLS, protocol_of

MOST = 150
"""Traces on a page; a page with more is divided."""


class TraceRow(NamedTuple):
    """A trace that is published."""

    model: str
    settings: tuple[str, ...]
    name: str
    """The property that it violates, or the cover that it reaches."""
    states: int
    story: str
    """The file that tells it."""

    @property
    def release(self) -> str:
        """The Kafka release that the configuration names, or ""."""
        return next((s.removeprefix("release=") for s in self.settings if s.startswith("release=")), "")


class TracePage(NamedTuple):
    """A page that lists traces."""

    protocol: str
    name: str
    """Its file."""
    title: str
    rows: list[TraceRow]


def pages_of_traces(rows: Sequence[TraceRow], folder: Path) -> dict[Path, str]:
    """The index and its pages, by path; folder: of the traces."""
    pages = [page for p in PROTOCOLS for page in _divided(p, [row for row in rows if protocol_of(row.model) == p])]
    return {folder / "README.md": _index(pages)} | {folder / "index" / page.name: _page(page) for page in pages}


def _divided(protocol: str, rows: list[TraceRow]) -> Iterator[TracePage]:
    """The pages of a protocol: one; one a model; or, of a model with many traces, one a Kafka release."""
    if len(rows) <= MOST:
        if rows:
            yield TracePage(protocol, f"{protocol}.md", "All models", rows)
        return
    for model, of_model in _groups(rows, lambda row: row.model):
        if len(of_model) <= MOST:
            yield TracePage(protocol, f"{model}.md", f"`{model}`", of_model)
            continue
        for release, of_release in _groups(of_model, lambda row: row.release):
            title = f"`{model}`, Kafka {release}" if release else f"`{model}`, default release"
            yield TracePage(protocol, f"{model}{'-' * bool(release)}{release}.md", title, of_release)


def _groups(rows: list[TraceRow], key: Callable[[TraceRow], str]) -> Iterator[tuple[str, list[TraceRow]]]:
    for value in sorted({key(row) for row in rows}):
        yield value, [row for row in rows if key(row) == value]


def _index(pages: list[TracePage]) -> str:
    rows, told = [], ""
    for page in pages:
        title = PROTOCOLS[page.protocol][0]
        rows.append((title if title != told else "", f"[{page.title}](index/{page.name})", str(len(page.rows))))
        told = title
    return (
        "# Counterexamples\n\n"
        f"{BY} from the checks of `gate.toml` and from the claims' ledger.\n"
        "The pages list traces that violate a property, and traces to covers. Each trace is an ITF file with its text\n"
        "as Markdown beside it: `reassure replay` executes the file in plain Python, `reassure show` prints it.\n"
        "[Which mistakes the properties notice](mutants.md) is about mutants.\n\n"
        f"{table(('protocol', 'models', 'traces'), rows)}\n"
    )


def _page(page: TracePage) -> str:
    """The traces, configuration by configuration."""
    title = f"{PROTOCOLS[page.protocol][0]}: counterexamples" if page.title == "All models" else page.title
    lines = [f"# {title}", "", f"{BY}. [All counterexamples](../README.md).", ""]
    for model, settings in dict.fromkeys((row.model, row.settings) for row in page.rows):
        cells = [
            (f"`{row.name}`", f"[{row.states} states](../{row.story})")
            for row in page.rows
            if (row.model, row.settings) == (model, settings)
        ]
        lines += [f"## {' '.join([model, *settings])}", "", table(("property or cover", "trace"), cells), ""]
    return "\n".join(lines)

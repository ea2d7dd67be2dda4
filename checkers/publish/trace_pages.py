"""The index of counterexamples: a page lists the traces of a protocol, or, if they are many, of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.trace_store import StoredTrace
from reassure.checkers.publish.model_pages import PROTOCOLS, protocol_of

MOST = 120
"""Traces of a protocol on one page."""


class TracePage(NamedTuple):
    """A page that lists traces."""

    protocol: str
    name: str
    """Its file."""
    title: str
    traces: list[StoredTrace]


def pages_of_traces(traces: Sequence[StoredTrace], folder: Path) -> dict[Path, str]:
    """The index and its pages, by path; folder: of the traces."""
    protocols = {model: protocol_of(model) for model in {trace.model for trace in traces}}
    pages = [page for p in PROTOCOLS for page in _divided(p, [t for t in traces if protocols[t.model] == p])]
    return {folder / "README.md": _index(pages)} | {folder / "index" / page.name: _page(page) for page in pages}


def _divided(protocol: str, traces: list[StoredTrace]) -> Iterator[TracePage]:
    """The pages of a protocol: one, or one a model."""
    if 0 < len(traces) <= MOST:
        yield TracePage(protocol, f"{protocol}.md", "All models", traces)
    elif traces:
        for model in sorted({trace.model for trace in traces}):
            yield TracePage(protocol, f"{model}.md", f"`{model}`", [t for t in traces if t.model == model])


def _index(pages: list[TracePage]) -> str:
    rows, above = [], ""
    for page in pages:
        title = PROTOCOLS[page.protocol][0]
        rows.append((title if title != above else "", f"[{page.title}](index/{page.name})", str(len(page.traces))))
        above = title
    return (
        "# Counterexamples\n\n"
        f"{BY} from the checks of `gate.toml` and from the claims' ledger.\n"
        "The pages list runs that violate a property. Each run is an ITF file: `reassure show FILE` prints it, and\n"
        "`reassure replay FILE` executes it in plain Python. The file names the properties that the run violates, and\n"
        "the releases of Kafka that have it.\n"
        "[Which mistakes the properties notice](mutants.md) is about mutants.\n\n"
        f"{table(('protocol', 'models', 'traces'), rows)}\n"
    )


def _page(page: TracePage) -> str:
    """The traces, configuration by configuration."""
    title = f"{PROTOCOLS[page.protocol][0]}: counterexamples" if page.title == "All models" else page.title
    lines = [
        f"# {title}",
        "",
        f"{BY}. [All counterexamples](../README.md). `reassure show counterexamples/FILE` prints a trace.",
        "",
    ]
    by_heading: dict[str, list[tuple[str, str]]] = {}
    for trace in page.traces:
        releases = f", Kafka {', '.join(trace.releases)}" if trace.releases else ""
        names = ", ".join(f"`{name}`" for name in trace.properties)
        cells = (names, f"[{trace.states} states](../{trace.name})")
        by_heading.setdefault(" ".join([trace.model, *trace.settings]) + releases, []).append(cells)
    for heading, rows in by_heading.items():
        lines += [f"## {heading}", "", table(("violated", "trace"), rows), ""]
    return "\n".join(lines)

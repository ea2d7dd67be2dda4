"""A command as a kind of check in a gate: `KIND` beside the `OPTIONS` of its module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]
"""The run record of a command, with the keys that it adds."""

SEARCH_FIGURES = ("distinct", "generated", "depth", "clipped")


def search_figures(record: Record) -> dict[str, int]:
    """The counts of a search or a walk."""
    return {name: n for name, n in record["stats"].items() if name in SEARCH_FIGURES}


def verdict_figures(rows: Iterable[Record], names: tuple[str, ...]) -> dict[str, int]:
    """The numbers of a record's rows by verdict; nothing if there is no row."""
    counts = Counter(str(row["verdict"]).replace(" ", "_").replace("-", "_") for row in rows)
    return {name: counts[name] for name in names} if counts else {}


def itself(record: Record) -> dict[str, Record]:
    """The one run of a record that is of one run."""
    return {"": record}


@dataclass(frozen=True)
class GateKind:
    """A command as a kind of check.

    pins: the whole numbers of its record that may be pinned. figures: finds them. left_out: options that a check
    cannot have. models: the keys that name a model. decides: whether a property or cover without an answer is a
    failure beside an expected violation. by_digest: whether the texts of its model and files say all that its answer
    depends on. runs: the runs that a record is of, by what they differ in.
    """

    pins: tuple[str, ...] = ()
    figures: Callable[[Record], dict[str, int]] = search_figures
    left_out: frozenset[str] = frozenset()
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Options of which only some choices are open to a gate."""
    models: tuple[str, ...] = ("model",)
    decides: bool = False
    by_digest: bool = True
    runs: Callable[[Record], Mapping[str, Record]] = itself
    seldom: frozenset[str] = frozenset()
    """Pins that are written into a file only where they are not 0."""

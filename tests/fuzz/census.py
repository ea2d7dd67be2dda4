"""What drawn models have: how many of them show each feature, so that a rare one is not taken for tested."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.symmetry.cells import NotRenamed, sorts_to_rename
from reassure.spec.semantics.interpreter import Clipped, ModelError
from tests.fuzz.compare_commands import asked_of
from tests.fuzz.constructs import OF_KEYS, OF_NUMBERS, constructs
from tests.fuzz.generate import Source
from tests.fuzz.subject import Refused, Subject, loaded
from tests.fuzz.worker import placed

BROAD, LONG, DEEP = 100, 40, 1_000
"""Steps of one state, words of a state, and levels from which a model counts as large."""
STATES = 20
"""States of which the steps are counted."""


def counted(sources: Iterable[Source], number: int) -> Counter[str]:
    """How many of these models have each feature. number: of the first; further ones are counted up."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="reassure-fuzz-") as folder:
        sys.path.append(folder)
        for seed, source in enumerate(sources, number):
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    found.update(["models", *features(loaded(placed(source, Path(folder), seed), seed))])
            except Refused:
                found.update(["models", "refused"])
        sys.path.remove(folder)
    return found


def features(subject: Subject) -> set[str]:
    """Of one model."""
    bound, lowered = subject.bound, subject.lowered
    found = {f"claims: {p.kind}" for p in (*bound.properties, *bound.covers)}
    found |= {"claims: over a view"} if ": View)" in subject.path.read_text() else set()
    found |= {"terminal states"} if lowered.terminal_formulas else set()
    found |= {"fair actions"} if any(a.fair for a in bound.model.actions) else set()
    found |= {"raises"} if subject.error is not None else set()
    found |= {"steps clipped"} if _clips(subject) else set()
    found |= {"whole and small: commands are asked"} if asked_of(subject) else set()
    shown = constructs(Source({subject.path.stem: subject.path.read_text()}))
    found |= {"sequences of records, numbers or sets"} if any("sequence of" in word for word in shown) else set()
    found |= {f"maps from {kind}" for kind in OF_KEYS.values() if any(w.endswith(f"map from {kind}") for w in shown)}
    found |= {"sets of numbers"} if any("set of numbers" in word for word in shown) else set()
    found |= {"tuples as values"} if any(word.endswith((": tuple", ": map to tuples")) for word in shown) else set()
    found |= {"ids as numbers"} if OF_NUMBERS & set(shown) else set()
    layout = state_layout(bound)
    found |= {f"{LONG} words or more"} if layout.bytes_per_state >= 8 * LONG else set()
    found |= {f"{DEEP} levels or more"} if len(subject.levels) >= DEEP else set()
    found |= {f"{BROAD} steps of a state or more"} if _broad(subject) else set()
    renamed = {f"symmetry: {mode}" for mode in ("on", "any-order") if _renames(subject, mode)}
    also = {
        "sequences of records, numbers or sets",
        "sets of numbers",
        "ids as numbers",
        *(f"maps from {kind}" for kind in OF_KEYS.values()),
        "claims: over a view",
        "terminal states",
        "raises",
        "whole and small: commands are asked",
    }
    return found | renamed | {f"{mode}, and {feature}" for mode in renamed for feature in found & also}


def _renames(subject: Subject, mode: str) -> bool:
    """Whether ids can be renamed; in any order: whether an order that actions read is forgotten."""
    try:
        starts = [s for _, _, s in subject.bound.initial_states() if not isinstance(s, Clipped)]
        sorts = sorts_to_rename(subject.lowered, starts, mode == "any-order")
    except (NotRenamed, ModelError):
        return False
    return mode == "on" or any(sort.order_forgotten for sort in sorts)


def _steps(subject: Subject) -> Iterator[list[object]]:
    for state in subject.states[:STATES]:
        with contextlib.suppress(ModelError):
            yield [step.after for step in subject.bound.steps(state)]


def _broad(subject: Subject) -> bool:
    return any(len(steps) >= BROAD for steps in _steps(subject))


def _clips(subject: Subject) -> bool:
    return any(isinstance(after, Clipped) for steps in _steps(subject) for after in steps)

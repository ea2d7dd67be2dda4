"""Looking through the levels of a search again: for several things at a time, and within the budget."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native import engine, exploration, level_look
from reassure.checkers.engines.native.counterexample import Row, Wanted
from reassure.checkers.engines.native.exploration import Exploration, Limits, Start, compiled, explore
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.level_look import LevelLook
from reassure.checkers.engines.native.levels import as_arrays
from reassure.checkers.engines.native.probe import Probe, rows_in_order
from reassure.checkers.engines.native.search import Clock, Search
from reassure.checkers.engines.native.symmetry.reduced_search import ExactClasses
from reassure.checkers.engines.native.symmetry.renamings import Renamings
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import Interrupted, budget_ended
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from tests.helpers.alike_models import alike
from tests.helpers.command import said
from tests.helpers.raising_model import ACTION, model_file
from tests.helpers.runs import bind, checked, everything, result_of


def found_in(level: list[Rows], wanted: Wanted, probe: Probe) -> Row | None:
    """The smallest row that is wanted."""
    for row in rows_in_order(np.concatenate(level)):
        if _is(row.reshape(1, -1), wanted, probe):
            return tuple(row.tolist())
    return None


def _is(row: Rows, wanted: Wanted, probe: Probe) -> bool:
    if wanted.raises:
        return probe.run(row, lambda _: probe.worker.raised)
    if wanted.successor:
        return probe.leads_to(row, wanted.successor)
    return probe.flagged(row, wanted.flag)


def explored(name: str, nodes: int, symmetry: str, threads: int, tmp_path: Path) -> tuple[Exploration, Any]:
    """A finished search, and the states of a class."""
    if name == "raising":
        bound, lowered = bind(load_model(model_file(tmp_path, ACTION, "")), {"nodes": nodes})
    else:
        bound, lowered = alike(name, tmp_path, nodes=nodes)
    layout = state_layout(bound)
    start = Start.of(bound, layout)
    classes = ExactClasses.of(lowered, start, layout, symmetry)
    kernel = compiled(lowered, layout, representatives=classes.functions)
    found = explore(bound, kernel, classes.start(start), Search(kernel, threads), Limits())
    return found, classes.renamings.class_of if classes.renamings is not None else None


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("name", "nodes", "symmetry", "most"),
    [
        ("queue", 3, "off", 0),
        ("raising", 3, "off", 0),
        ("queue", 4, "on", 24),
        ("queue", 4, "on", 23),  # classes have too many states: representatives are computed
        ("gossip", 3, "on", 24),
        ("pairs", 3, "on", 24),
    ],
)
def test_the_smallest_states(
    name: str, nodes: int, symmetry: str, most: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found for several things together, by threads, is what a look at one after the other finds."""
    monkeypatch.setattr(level_look, "PIECE", 7)
    found, every_class = explored(name, nodes, symmetry, threads, tmp_path)
    class_of = None if every_class is None else partial(every_class, most=most)
    search, rng, kinds = found.search, random.Random(3), set[str]()
    assert isinstance(search, Search)
    look = LevelLook(found.kernel, search, class_of=class_of)
    for level, parts in enumerate(search.found, 1):
        rows = [
            tuple(row)
            for after in ([search.found[level]] if level < len(search.found) else [])
            for part in as_arrays(after)
            for row in part.tolist()
        ]
        wanted = [Wanted.before(row) for row in rng.sample(rows, min(len(rows), 12))]
        wanted += [*map(Wanted, found.kernel.model.flags().values()), Wanted(raises=True)]
        wanted += wanted[:2]
        expected = [found_in(as_arrays(parts), one, Probe(found.kernel)) for one in wanted]
        assert look.smallest(level, wanted) == expected
        kinds |= {
            "successor" if w.successor else "raises" if w.raises else "step" if w.flag[0] else "state"
            for w, row in zip(wanted, expected, strict=True)
            if row is not None
        }
    assert kinds >= ({"raises", "state", "step", "successor"} if name == "raising" else {"state", "successor"})


def test_more_states_than_there_are_tags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = explored("queue", 4, "off", 2, tmp_path)
    assert isinstance(found.search, Search)
    level = max(range(1, len(found.search.found)), key=lambda n: sum(map(len, found.search.found[n])))
    rows = [tuple(row) for one in as_arrays(found.search.found[level]) for row in one.tolist()]
    assert len(rows) > 300
    wanted = [Wanted.before(row) for row in rows]
    look = LevelLook(found.kernel, found.search)
    assert look.smallest(level, wanted) == [row for one in wanted for row in look.smallest(level, [one])]


# -- one pass ----------------------------------------------------------------------------------------------------------


@dataclass
class Passes:
    """The level of each pass that begins, with how many things are looked for. last: the time ends there, backwards."""

    begun: list[tuple[int, int]] = field(default_factory=list)
    last: int = 0

    def begin(self, level: int, wanted: Sequence[Wanted]) -> None:
        if level <= self.last:
            raise budget_ended(60)
        self.begun.append((level, len(wanted)))


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Of all looks of a test."""
    made, right = Passes(), LevelLook.smallest

    def smallest(self: LevelLook, level: int, wanted: Sequence[Wanted]) -> list[Row | None]:
        made.begin(level, wanted)
        return right(self, level, wanted)

    monkeypatch.setattr(LevelLook, "smallest", smallest)
    return made


@pytest.fixture
def looked_at(passes: Passes) -> list[tuple[int, int]]:
    """Gets the level of each pass, and how many things are looked for."""
    return passes.begun


@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_every_level_is_looked_at_once(symmetry: str, looked_at: list[tuple[int, int]], tmp_path: Path) -> None:
    """For all that is violated together: on the level of a hit for the hit too. One path goes on where two meet."""
    model = model_file(tmp_path)
    found, _ = checked(model, ["nodes=4"], "native", symmetry=symmetry)
    assert {p.name: p.depth for p in found.properties} == {"two_are_alive": 4, "one_is_alive": 5, "the_last_stays": 5}
    assert [level for level, _ in looked_at] == [5, 4, 3, 2, 1]
    assert looked_at[0] == (5, 1) and looked_at[1] == (4, 3)
    looked_at.clear()
    plain, _ = checked(model, ["nodes=4"], "reference", witness=True)
    assert str(everything(plain)) == str(everything(checked(model, ["nodes=4"], "native", witness=True)[0]))
    assert [level for level, _ in looked_at] == [5, 4, 3, 2, 1]


# -- without traces, and within the budget -----------------------------------------------------------------------------


def test_stories_0_rebuilds_none(
    looked_at: list[tuple[int, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last states are confirmed by plain Python; the record has the lengths."""
    model, record = model_file(tmp_path), tmp_path / "out.json"
    code, out, _ = said(capsys, "check", model, "--stories=0", "--json", str(record))
    assert code == 12
    assert "  one_is_alive    violated (after 3 steps; its trace is left out (--stories 0))\n" in out
    rows = json.loads(record.read_text(encoding="utf-8"))["properties"]
    assert {row["name"]: (row["status"], row["depth"]) for row in rows} == {
        "two_are_alive": ("violated", 3),
        "one_is_alive": ("violated", 4),
        "the_last_stays": ("violated", 4),
    }
    assert [level for level, _ in looked_at] == [4, 3]


@pytest.mark.parametrize("options", [["--trace-dir"], ["--full"], ["--stories=1"]])
def test_traces_that_are_asked_for(
    options: list[str], looked_at: list[tuple[int, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--trace-dir={tmp_path}/traces" if option == "--trace-dir" else option for option in options]
    code, out, _ = said(capsys, "check", model_file(tmp_path), "--stories=0", *words)
    assert (code, "  one_is_alive    violated after 3 steps\n" in out) == (12, True)
    assert [level for level, _ in looked_at] == [4, 3, 2, 1]


@pytest.mark.parametrize("symmetry", ["off", "on"])
def test_a_violation_stays_where_the_time_for_its_trace_ends(
    symmetry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], passes: Passes
) -> None:
    model = model_file(tmp_path)
    passes.last = 1
    code, out, _ = said(capsys, "check", model, "--budget=60s", "--set=nodes=4", f"--symmetry={symmetry}", "--witness")
    assert code == 12
    why = "its trace was not rebuilt: the budget of 60 s ended"
    assert f"  one_is_alive, the_last_stays: after 4 steps; {why}\n" in out
    assert f"  two_are_alive   violated (after 3 steps; {why})\n" in out
    assert "lonely  reached after 3 steps" in out and "stopped because every reachable state was visited" in out


def test_what_raises_where_the_time_for_its_trace_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], passes: Passes
) -> None:
    model = model_file(tmp_path, ACTION, "")
    passes.last = 1
    code, out, _ = said(capsys, "check", model, "--budget=60s")
    assert code == 150
    assert "raised (in a state of level 4, to which the trace was not rebuilt: the budget of 60 s ended)" in out


def test_find_says_that_it_is_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str], passes: Passes) -> None:
    """Also where the state is of the last level, so that all states were visited."""
    model = model_file(tmp_path)
    passes.last = 9
    code, out, _ = said(capsys, "find", model, "s.alive == NOBODY", "--budget=60s")
    assert code == 5
    assert "found after 3 steps; its trace was not rebuilt: the budget of 60 s ended\n" in out


def test_classes_that_there_is_no_time_to_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_time(*_: Any) -> int:
        raise budget_ended(60)

    words = ["check", model_file(tmp_path), "--budget=60s", "--symmetry=on", f"--json={tmp_path}/out.json"]
    assert "4 classes under renaming of Node 0-2, which have 8 states\n" in said(capsys, *words)[1]
    quiet = said(capsys, *words, "--stories=0")[1]
    monkeypatch.setattr(Renamings, "states_of", no_time)
    code, out, _ = said(capsys, *words)
    for one in (out, quiet):
        assert (code, "4 classes under renaming of Node 0-2\n" in one) == (12, True)
    symmetry = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["symmetry"]
    assert (symmetry["classes"], symmetry["states"]) == (4, None)


def test_time_for_traces_is_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first hit on, and again after each further one; half of the budget at most. Nothing without a hit."""
    reserved = list[float]()

    class Noting(Clock):
        """It shows a quarter of its budget."""

        @property
        def seconds(self) -> float:
            return (self.budget or 0) / 4

        def reserve(self, seconds: float) -> None:
            super().reserve(seconds)
            reserved.append(self.reserved)

    monkeypatch.setattr(exploration, "Clock", Noting)
    bound, lowered = bind(load_model(model_file(tmp_path)), {})
    for budget, most in ((60.0, 30.0), (1000.0, 500.0)):
        reserved.clear()
        assert result_of(engine.check, bound, SearchOptions(budget=budget), lowered).exit() is Exit.SAFETY
        assert reserved == [budget / 8 + 0.1] * 2 and reserved[0] < most
    reserved.clear()
    for options in (SearchOptions(properties=["lonely"]), SearchOptions(traces=False)):
        result_of(engine.check, bound, options, lowered)
    assert reserved == []
    result_of(engine.check, bound, SearchOptions(properties=["lonely"], witness=True), lowered)
    assert len(reserved) == 1


def test_what_is_reserved_is_left_for_what_follows() -> None:
    clock = Clock(10)
    clock.began -= 7
    clock.reserve(2)
    clock.look()
    clock.reserve(4)
    with pytest.raises(Interrupted, match="10 s"):
        clock.look()
    clock.look_to_the_end()
    clock.began -= 3.1
    with pytest.raises(Interrupted, match="10 s"):
        clock.look_to_the_end()
    clock.reserve(9)
    assert clock.reserved == 5

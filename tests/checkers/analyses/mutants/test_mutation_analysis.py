"""What becomes of each mutant of a small model, and that plain Python finds the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants.analysis import Fate, Judge, Judged
from reassure.checkers.analyses.mutants.mutant_search import MutantLimits, MutantSearch, same_behaviour
from reassure.checkers.analyses.mutants.mutants import Mutant, mutants_of
from reassure.checkers.engines.native.exploration import Start
from reassure.checkers.machine.stop import budget_ended
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.result import PropertyStatus
from tests.helpers.command import model_file
from tests.helpers.mutated_model import LIVE_TOKENS, TOKENS
from tests.helpers.runs import plain_result

EXPECTED = {
    ("begin", "left == NONE", ""): ("survived", {}, "+4 states, +9 steps"),
    ("begin", "left == NONE", "left != NONE"): ("survived", {}, "+4 states, +8 steps"),
    ("begin", "0", "1"): ("killed", {"deadlock": 1, "has_a_token": None}, ""),
    ("begin", "0", "-1"): ("refused", {}, "it has no initial state"),
    ("is_small", "s.value < 1", "s.value <= 1"): ("killed", {"value_is_small": 3}, ""),
    ("is_small", "1", "2"): ("killed", {"value_is_small": 3}, ""),
    ("is_small", "1", "0"): ("killed", {"deadlock": 1, "has_a_token": None}, ""),
    ("up", "up", ""): ("killed", {"deadlock": 1, "has_a_token": None}, ""),
    ("up", "is_small(s)", ""): ("killed", {"value_is_small": 3}, ""),
    ("up", "token not in s.left", ""): ("equivalent", {}, "the same states and steps"),
    ("up", "is_small(s) and token not in s.left", "is_small(s) or token not in s.left"): (
        "killed", {"value_is_small": 3}, ""),
    ("up", "token not in s.left", "token in s.left"): ("killed", {"deadlock": 1, "has_a_token": None}, ""),
    ("up", "value=s.value + 1", ""): ("survived", {}, "+1 states, +3 steps"),
    ("up", "left=s.left | {token}", ""): ("killed", {"deadlock": 2, "has_a_token": None}, ""),
    ("up", "s.value + 1", "s.value - 1"): ("killed", {"has_a_token": None}, ""),
    ("up", "1", "2"): ("killed", {"value_is_small": 2}, ""),
    ("up", "1", "0"): ("survived", {}, "+1 states, +3 steps"),
    ("up", "s.left | {token}", "s.left & {token}"): ("killed", {"deadlock": 2, "has_a_token": None}, ""),
    ("take", "take", ""): ("killed", {"deadlock": 2}, ""),
    ("take", "s.left != NONE", ""): (
        "raised", {}, "take() raised ValueError: min() arg is an empty sequence (mine.py:34)"),
    ("take", "s.left != NONE", "s.left == NONE"): (
        "raised", {}, "take() raised ValueError: min() arg is an empty sequence (mine.py:34)"),
    ("take", "min(s.left)", "max(s.left)"): ("equivalent", {}, "the same states and steps"),
    ("take", "value=0", ""): ("killed", {"deadlock": 3}, ""),
    ("take", "left=s.left - {first}", ""): ("survived", {}, "+4 states, +6 steps"),
    ("take", "0", "1"): ("killed", {"deadlock": 3}, ""),
    ("take", "0", "-1"): ("clipped", {}, "it leaves the bound of value"),
    ("take", "s.left - {first}", "s.left"): ("survived", {}, "+4 states, +6 steps"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    prepared = prepare(model_file(tmp_path_factory.mktemp("mutants"), TOKENS), [])
    bound, lowered = prepared.bound, prepared.lowered
    return Judge(bound, lowered, SearchOptions(), MutantLimits(), lambda states: None)


def key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.where, mutant.before, mutant.after


def test_what_becomes_of_every_mutant(judge: Judge) -> None:
    found = {key(m): judge.judge(m) for m in mutants_of(judge.bound)}
    assert {k: (str(j.fate), j.killers, j.note) for k, j in found.items()} == EXPECTED


def look(states: int) -> None:
    """Lets a search go on."""


def searched(judge: Judge, every: int) -> Iterator[tuple[Mutant, MutantSearch, Start]]:
    for mutant in mutants_of(judge.bound)[::every]:
        bound = mutant.of(judge.bound)
        start = Start.of(bound, judge.layout)
        if start.rows:
            lowered = judge._lowered(mutant)
            whole_runs = [p.name for p in bound.properties if p.temporal]
            yield (
                mutant,
                MutantSearch(bound, lowered, judge.layout, SearchOptions(), MutantLimits(), look, whole_runs),
                start,
            )


@pytest.fixture(params=["tokens", "live", "two_phase_commit"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Judge, int, int]:
    """A model, which of its mutants are compared, and how many these are."""
    texts = {"tokens": TOKENS, "live": LIVE_TOKENS}
    name = model_file(tmp_path, texts[request.param]) if request.param in texts else request.param
    prepared = prepare(name, [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), lambda states: None)
    return judge, *{"tokens": (1, 26), "live": (1, 26), "two_phase_commit": (3, 13)}[request.param]


def test_plain_python_finds_the_same_of_every_mutant(other: tuple[Judge, int, int]) -> None:
    """Counts, shortest traces, covers, and what raises."""
    judge, every, expected = other
    compared = 0
    for mutant, search, start in searched(judge, every):
        native = search.decide_whole_runs(search.run(start))
        plain = plain_result(search.bound)
        fallen = [p for p in plain.properties if p.status is PropertyStatus.VIOLATED]
        assert native.violated == {p.name: None if p.temporal else p.depth for p in fallen}, mutant
        assert [native.raised] == [p.note for p in plain.properties if p.status is PropertyStatus.RAISED] or [""], (
            mutant
        )
        assert native.reached == {c.name for c in plain.covers if c.reached}, mutant
        n, s = native.stats, plain.stats
        assert (n.distinct, n.generated, n.clipped_at) == (s.distinct, s.generated, s.clipped_at), mutant
        compared += 1
    assert compared == expected


def test_a_mutant_that_is_given_up_is_undecided(judge: Judge) -> None:
    mutant = next(m for m in mutants_of(judge.bound) if key(m) == ("take", "s.left - {first}", "s.left"))
    most, judge.most = judge.most, 4
    judge.judgements.clear()
    try:
        assert judge.judge(mutant) == Judged(Fate.UNDECIDED, {}, "it has more than 4 states")
    finally:
        judge.most = most


@pytest.mark.parametrize(
    ("limits", "why"),
    [(MutantLimits(seconds=0), "the budget of 0 s ended"), (MutantLimits(memory=1), "the memory limit of 0 MiB")],
)
def test_a_limit_of_one_search_ends_no_other(limits: MutantLimits, why: str, judge: Judge) -> None:
    search = MutantSearch(judge.bound, judge.lowered, judge.layout, SearchOptions(), limits, look, [])
    outcome = search.run(judge.start)
    assert (outcome.complete, outcome.ended.startswith(why)) == (False, True)


@pytest.mark.parametrize("error", [budget_ended(3), KeyboardInterrupt()])
def test_the_end_of_the_run_is_raised_by_every_search(error: BaseException, judge: Judge) -> None:
    def ends(states: int) -> None:
        raise error

    search = MutantSearch(judge.bound, judge.lowered, judge.layout, SearchOptions(), MutantLimits(), ends, [])
    with pytest.raises(type(error)) as raised:
        search.run(judge.start)
    assert str(raised.value) == str(error)


def test_other_steps_between_the_same_states_are_another_behaviour(tmp_path: Path) -> None:
    """Where the bag holds both tokens, `max` for `min` takes the other one."""
    prepared = prepare(model_file(tmp_path, TOKENS.replace("< 1", "< 3").replace("== 1", "< 9")), [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), lambda states: None)
    mutant = next(m for m in mutants_of(bound) if m.after == "max(s.left)")
    assert judge.judge(mutant) == Judged(Fate.SURVIVED, {}, "the same number of states and steps, but different ones")
    assert same_behaviour(judge.search.states, judge.search.kernel, judge.search.kernel)


def test_what_the_model_itself_violates_kills_nothing(tmp_path: Path) -> None:
    text = TOKENS.replace("len(s.left) < 3", "len(s.left) < 1")
    prepared = prepare(model_file(tmp_path, text), [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), lambda states: None)
    assert judge.base.violated == {"is_no_set_of_three": 2}
    assert all("is_no_set_of_three" not in judge.judge(m).killers for m in mutants_of(bound))


def test_properties_of_whole_runs_kill(tmp_path: Path) -> None:
    prepared = prepare(model_file(tmp_path, LIVE_TOKENS), [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(["the_bag_empties"]), MutantLimits(), lambda states: None)
    assert judge.base.violated == {}
    found = {key(m): judge.judge(m) for m in mutants_of(bound)}
    assert all(j.killers == {"the_bag_empties": None} for j in found.values() if j.fate is Fate.KILLED)
    assert [k for k, j in found.items() if j.fate is Fate.KILLED and k[0] == "take"] == [
        ("take", "take", ""),
        ("take", "left=s.left - {first}", ""),
        ("take", "s.left - {first}", "s.left"),
    ]


BY_PARAMETERS = """
from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, infinitely_often, initial, replace, require


class Who(Id, size=2):
    pass


@dataclass(frozen=True)
class Config:
    pass


@dataclass(frozen=True)
class State:
    phase: Annotated[int, Range(0, 1)]
    at: Annotated[int, Range(0, 2)]
    first: Who


@initial
def start(first: Who) -> State:
    return State(phase=0, at=0, first=first)


@action(who="a", fair="strong", fair_each=("x",))
def go(s: State, x: Who) -> State:
    require(s.at == 0)
    left = x == s.first if s.phase <= 1 else x != s.first
    return replace(s, at=1 if left else 2)


@action(who="b", fair="weak")
def back(s: State) -> State:
    require(s.at != 0)
    return replace(s, at=0, phase=1 - s.phase)


@infinitely_often
def left_again(s: State) -> bool:
    return s.at == 1


MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_equal_steps_with_other_parameters_may_violate_a_property_of_whole_runs(tmp_path: Path) -> None:
    """What is fair depends on who goes, and the states and steps are the same."""
    prepared = prepare(model_file(tmp_path, BY_PARAMETERS), [])
    judge = Judge(prepared.bound, prepared.lowered, SearchOptions(), MutantLimits(), look)
    assert judge.base.violated == {}
    (mutant,) = (m for m in mutants_of(prepared.bound) if m.after == "s.phase < 1")
    assert judge.judge(mutant) == Judged(Fate.KILLED, {"left_again": None}, "")
    result = plain_result(mutant.of(prepared.bound))
    assert [p.status for p in result.properties if p.name == "left_again"] == [PropertyStatus.VIOLATED]


def test_what_parameters_are_drawn_from_keeps_its_text(tmp_path: Path) -> None:
    """A mutant that changed it nowhere would be called equivalent."""
    drawn = TOKENS.replace(
        "def is_small", "def others(s: Bag) -> frozenset[Token]:\n    return s.left - s.left\n\ndef is_small"
    )
    drawn = drawn.replace('@action(who="anybody")', '@action(who="anybody", token=lambda s: others(s))', 1)
    assert "others(s))" in drawn
    prepared = prepare(model_file(tmp_path, drawn), [])
    assert not [m for m in mutants_of(prepared.bound) if m.where == "others"]


def test_a_refused_mutant_says_why() -> None:
    prepared = prepare("core", [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), lambda states: None)
    mutant = next(m for m in mutants_of(bound) if (m.where, m.before, m.after) == ("three_in_sync", "2", "3"))
    why = (
        "`Broker(3)`, whose number may be 3: keep it within 0..2: by `% n`, by `min` and `max`, or by a test before it"
    )
    assert judge.judge(mutant) == Judged(Fate.REFUSED, {}, why)


STAYING = """@action(who="anybody")
def stay(s: Bag) -> Bag:
    return replace(s, value=s.value + 0)

@step_property(tags=["moves"], watches=["value"])
def something_moves(before: Bag, after: Bag) -> bool:
    return before != after

MODEL ="""


def test_a_mutant_that_changes_what_is_watched_is_refused(tmp_path: Path) -> None:
    """As the model of its text is when it is loaded."""
    text = TOKENS.replace('who="anybody"', 'who="anybody", tags=["moves"]').replace("MODEL =", STAYING)
    prepared = prepare(model_file(tmp_path, text.replace("import Id", "import step_property, Id")), [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), look)
    judged = {key(m): judge.judge(m) for m in mutants_of(bound) if m.where == "stay"}
    assert judged["stay", "s.value + 0", "s.value - 0"].fate is Fate.EQUIVALENT
    refused = judged["stay", "0", "1"]
    assert (refused.fate, "stay can change value, which something_moves" in refused.note) == (Fate.REFUSED, True)


def test_properties_of_whole_runs_are_decided_where_nothing_else_kills(tmp_path: Path) -> None:
    prepared = prepare(model_file(tmp_path, LIVE_TOKENS), [])
    bound, lowered = prepared.bound, prepared.lowered
    judge = Judge(bound, lowered, SearchOptions(), MutantLimits(), look)
    by_key = {key(m): m for m in mutants_of(bound)}
    removed = by_key["take", "take", ""]
    assert judge.judge(removed).killers == {"deadlock": 2}
    assert judge.violated_runs(removed, ["the_bag_empties"]) == {"the_bag_empties"}
    assert judge.judge(by_key["take", "left=s.left - {first}", ""]).killers == {"the_bag_empties": None}

"""Claims over steps: lowered once for all actions, or for each action that they ask about.

Claims over sets: what cannot fail there is accepted, what may fail is not.
"""

# ruff: noqa: E501 - a row of a table is one line

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.spec.frontend.ir import Graph
from reassure.spec.frontend.lowered_model import Formula
from reassure.spec.frontend.lowering import check, lower_model
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text
from tests.helpers.command import model_file
from tests.helpers.model_text import model
from tests.helpers.record_types import SEQUENCE_PRELUDE
from tests.helpers.runs import checked, everything

TWO_ACTIONS = """
    @action(who="tester")
    def up(s: State, by: Annotated[int, Range(0, 1)]) -> State:
        return replace(s, number=s.number + by)

    @action(who="tester")
    def down(s: State, by: Annotated[int, Range(0, 3)]) -> State:
        return replace(s, number=s.number - by)

    @step_property
    def the_first_stays(before: State, after: State) -> bool:
        return min(after.alive) == Node(1)

    @step_property
    def in_small_steps(before: State, after: State, by: int) -> bool:
        return by <= 1

    @step_property
    def only_up_raises(before: State, after: State, action: Action) -> bool:
        return action == up or after.number <= before.number
"""


def formulas(folder: Path) -> tuple[Graph, dict[str, Formula], dict[str, Formula]]:
    """The claims over the steps of `up` and of `down`, by name."""
    lowered = lower_model(BoundModel(model(TWO_ACTIONS, folder)))
    up, down = ({f.name: f for f in of_one} for of_one in lowered.step_formulas)
    return lowered.graph, up, down


def test_a_claim_that_reads_states_alone_is_one_formula(tmp_path: Path) -> None:
    _, up, down = formulas(tmp_path)
    assert up["the_first_stays"] is down["the_first_stays"]
    assert [c.text for c in down["the_first_stays"].checks] == ["min(after.alive)"]


def test_a_claim_that_reads_the_action_is_lowered_for_each(tmp_path: Path) -> None:
    graph, up, down = formulas(tmp_path)
    assert up["only_up_raises"].condition is graph.true
    assert down["only_up_raises"].condition.op == "not"


def test_a_claim_that_reads_a_parameter_is_lowered_for_each(tmp_path: Path) -> None:
    graph, up, down = formulas(tmp_path)
    assert up["in_small_steps"].condition is graph.true
    assert down["in_small_steps"].condition.params == {"by"}


OVER_A_SET = {
    # name: what a claim returns, or its statements; all of it may fail before or after a set has ended it
    "up to its length": "all(s.logs[x][s.n].term > 0 for x in s.w.to if 0 <= s.n <= len(s.logs[x]))",
    "from zero": "all(s.logs[x][max(0, s.n - 1)].term > 0 for x in s.w.to if 0 <= s.n <= len(s.logs[x]))",
    "another one's length": "all(s.logs[x][s.n - 1].term > 0 for x in s.w.to for y in s.w.to if 0 < s.n <= len(s.logs[y]))",
    "another number": "all(s.logs[x][s.e.term].term > 0 for x in s.w.to if 0 < s.n <= len(s.logs[x]))",
    "a guard behind it": "all(s.logs[x][max(0, s.n)].term > 0 and s.n < len(s.logs[x]) for x in s.w.to)",
    "an or for an and": "all(s.logs[x][s.e.term].term > 0 for x in s.w.to if s.e.term < len(s.logs[x]) or s.n > 0)",
    "one too far": "all(s.logs[x][i + 1].term > 0 for x in s.w.to for i in range(len(s.logs[x])))",
    "one too far, of a set of one": "all(s.logs[x][i + 1].term > 0 for x in frozenset({Server(0)}) for i in range(len(s.logs[x])))",
    "enumerated, one too far": "all(s.log[i + 1].term >= e.term for x in s.w.to for i, e in enumerate(s.log))",
    "enumerated, another log": "all(s.logs[x][i].term >= e.term for x in s.w.to for i, e in enumerate(s.log))",
    "the greater length": "all(s.logs[x][i] == s.logs[y][i] for x in s.w.to for y in s.w.to for i in range(max(len(s.logs[x]), len(s.logs[y]))))",
    "the lesser with another": "all(s.logs[x][i] == s.logs[y][i] for x in s.w.to for y in s.w.to for i in range(min(s.e.term, len(s.logs[x]))))",
    "half of it and one": "any(s.logs[x][(len(s.logs[x]) + 1) // 2].by == x for x in s.w.to if len(s.logs[x]) > 0)",
    "numbers": "all(s.nums[int(x)] > 0 for x in s.w.to if int(x) <= len(s.nums))",
    "ids": "any(s.order[int(x)] == x for x in s.w.to if int(x) <= len(s.order))",
    "inner sets": "any(s.logs[x][s.e.term] == s.e for y in s.w.to if y != s.e.by for x in s.w.to)",
    "a test of an inner set": "all(s.logs[x][0].term > 0 for x in s.w.to if any(len(s.logs[y]) > 0 for y in s.w.to))",
    "a loop": "for x in s.w.to:\n        if s.n >= 0 and s.logs[x][s.n].by == x:\n            return False\n    return True",
    "a loop in a loop": "for x in s.w.to:\n        for i in range(len(s.logs[x])):\n            if s.logs[x][i].term > s.logs[x][i + 1].term:\n                return False\n    return True",
}


@pytest.mark.parametrize("name", OVER_A_SET)
def test_what_may_fail_over_a_set_is_refused(name: str, tmp_path: Path) -> None:
    (refusal,) = check(claim(OVER_A_SET[name], tmp_path))
    assert refusal.construct == "what may fail in a comprehension or loop over a set, whose order would show"


LAST = "s.logs[x][len(s.logs[x]) - 1].term > 0"
AT_LAST = {
    # name: what a claim returns, or its statements
    "behind a number": f"all({LAST} for x in s.w.to if 0 < s.n <= len(s.logs[x]))",
    "of what is sorted": f"all({LAST} for x in sorted(s.w.to) if 0 < s.n <= len(s.logs[x]))",
    "from zero": f"any({LAST} for x in s.w.to if 0 <= s.n < len(s.logs[x]))",
    "of sequences": "any(s.order[len(s.order) - 1] == x for x in s.w.to if 0 < s.n <= len(s.order))",
    "behind a return": f"for x in s.w.to:\n        if s.n < 1 or len(s.logs[x]) < s.n:\n            continue\n        if {LAST}:\n            return True\n    return False",
    "but for it": "all(len(s.logs[x][: len(s.logs[x]) - 1]) < 2 for x in s.w.to if s.n > 0 and len(s.logs[x]) >= s.n)",
}
NOT_AT_LAST = {
    "from zero, up to it": f"all({LAST} for x in s.w.to if 0 <= s.n <= len(s.logs[x]))",
    "below it": f"all({LAST} for x in s.w.to if -1 <= s.n < len(s.logs[x]))",
    "another log": f"all({LAST} for x in s.w.to for y in s.w.to if 0 < s.n <= len(s.logs[y]))",
    "an or": f"all({LAST} for x in s.w.to if 0 < s.n or s.n <= len(s.logs[x]))",
    "one more": "all(s.logs[x][len(s.logs[x]) - 2].term > 0 for x in s.w.to if 0 < s.n <= len(s.logs[x]))",
    "enumerated, one too far": "all(s.log[i - 2].term <= e.term for i, e in enumerate(s.log) if i > 0)",
    "behind it": f"all({LAST} and 0 < s.n <= len(s.logs[x]) for x in sorted(s.w.to))",
}


@pytest.mark.parametrize("name", AT_LAST)
def test_a_length_that_another_number_keeps_from_being_zero(name: str, tmp_path: Path) -> None:
    assert check(claim(AT_LAST[name], tmp_path)) == []


@pytest.mark.parametrize("name", NOT_AT_LAST)
def test_a_length_that_may_be_zero(name: str, tmp_path: Path) -> None:
    (refusal,) = check(claim(NOT_AT_LAST[name], tmp_path))
    assert refusal.construct == "an index that may be negative"


MORE = """    e: Entry = Entry()
    at: Map[Server, Entry | None] = Map({Server(0): None, Server(1): None, Server(2): None})
"""


def claim(text: str, folder: Path) -> BoundModel:
    """A model of one action that does nothing, and of one claim."""
    body = text if "return" in text else f"return {text}"
    text = f"""
@action(who="tester")
def act(s: State) -> State:
    return s

@invariant
def held(s: State, c: Config) -> bool:
    {body}
"""
    made = model_text.module(text, folder, prelude=SEQUENCE_PRELUDE.replace("    e: Entry = Entry()\n", MORE))
    return BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))


NARROWED = {
    # name: what a claim returns or its statements, and what may be None there
    "an id that is another": (
        "for x in s.w.to:\n        if s.at[x] is not None:\n            x = s.e.by\n            if s.at[x].term > 0:\n                return False\n    return True",
        "s.at[x]",
    ),
    "a filter of an inner loop": (
        "all(s.at[x].term > 0 for x in s.w.to for y in s.w.to if s.at[y] is not None)",
        "s.at[x]",
    ),
    "a variable of the same name": (
        "all(s.at[x] is None or any(s.at[x].term > 0 for x in s.w.to) for x in s.w.to)",
        "s.at[x]",
    ),
    "an or": ("all(s.at[x].term > 0 for x in s.w.to if s.at[x] is not None or s.n > 0)", "s.at[x]"),
    "a key that is calculated": (
        "s.n < 0 or s.n > 1 or s.at[Server(s.n)] is None or s.at[Server(s.n)].term > 0",
        "s.at[Server(s.n)]",
    ),
    "another id": (
        "any(s.at[Server(0)].term > 0 for x in s.w.to if s.at[Server(1)] is not None)",
        "s.at[Server(0)]",
    ),
}


@pytest.mark.parametrize("name", NARROWED)
def test_a_test_of_another_value_does_not_narrow(name: str, tmp_path: Path) -> None:
    text, value = NARROWED[name]
    (refusal,) = check(claim(text, tmp_path))
    assert refusal.construct == f"`{value}` may be None here"


def test_a_guard_narrows_where_the_value_at_a_key_is_read(tmp_path: Path) -> None:
    text = """
@action(who="tester")
def read(s: State, x: Server, y: Server) -> State:
    require(s.at[x] is not None)
    require(s.at[y] is not None)
    return replace(s, e=s.at[x])

@action(who="tester")
def read_at_once(s: State, x: Server) -> State:
    require(s.e == s.at[x] and s.at[x].term > 0)
    return s

@invariant
def held(s: State, c: Config) -> bool:
    return True
"""
    prelude = SEQUENCE_PRELUDE.replace("    e: Entry = Entry()\n", MORE)
    made = model_text.module(text, tmp_path, prelude=prelude)
    bound = BoundModel(Model.of(made.__name__, state=made.State, config=made.Config))
    narrowing = [g.text for g in lower_model(bound, switches=True).guards if g.narrows]
    assert narrowing == ["s.at[x] is not None", "s.e == s.at[x]"]


LOGS = """from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Map, MaxLen, Model, Range, action, every, fill, initial, invariant, replace, require

class Server(Id, size=2): ...

@dataclass(frozen=True)
class Config: ...

@dataclass(frozen=True)
class Entry:
    term: Annotated[int, Range(0, 1)]

@dataclass(frozen=True)
class State:
    log: Map[Server, Annotated[tuple[Entry, ...], MaxLen(2)]]
    last: Map[Server, Entry | None]
    commit: Annotated[int, Range(0, 2)]

@initial
def start(c: Config) -> State:
    return State(fill(Server, c, ()), fill(Server, c, None), 0)

@action(who="client")
def append(s: State, a: Server, term: Annotated[int, Range(0, 1)]) -> State:
    require(len(s.log[a]) < 2 and (s.last[a] is None or s.last[a].term <= term))
    return replace(s, log=s.log.put(a, s.log[a] + (Entry(term),)), last=s.last.put(a, Entry(term)))

@action(who="leader")
def agree(s: State, c: Config) -> State:
    require(s.commit < 2 and all(s.commit < len(s.log[a]) for a in every(Server, c)))
    return replace(s, commit=s.commit + 1)

@invariant
def last_is_last(s: State, c: Config) -> bool:
    return all(s.log[a][len(s.log[a]) - 1] == s.last[a] for a in every(Server, c) if len(s.log[a]) > 0)

@invariant
def committed_is_there(s: State, c: Config) -> bool:
    return all(s.log[a][s.commit - 1].term <= 1 and s.commit <= len(s.log[a]) if 0 < s.commit <= len(s.log[a]) else s.commit == 0 for a in every(Server, c))

@invariant
def last_of_committed(s: State, c: Config) -> bool:
    return all(s.log[a][len(s.log[a]) - 1] == s.last[a] for a in every(Server, c) if 0 < s.commit <= len(s.log[a]))

@invariant
def last_of_committed_is_old(s: State, c: Config) -> bool:
    return not any(s.log[a][len(s.log[a]) - 1].term > 0 for a in every(Server, c) if 0 < s.commit <= len(s.log[a]))

@invariant
def last_of_the_first(s: State, c: Config) -> bool:
    return all(s.last[Server(0)].term == 0 for a in every(Server, c) if s.last[Server(0)] is not None)

@invariant
def last_of_the_first_is_there(s: State, c: Config) -> bool:
    return any(len(s.log[Server(0)]) > 0 for a in every(Server, c)) if s.last[Server(0)] is not None and s.last[Server(0)].term < 2 else s.log[Server(0)] == ()

@action(who="leader")
def look(s: State, a: Server) -> State:
    require(0 < s.commit <= len(s.log[a]))
    require(s.log[a][len(s.log[a]) - 1].term == 0)
    return s

@invariant
def terms_rise(s: State, c: Config) -> bool:
    return all(s.log[a][i].term <= s.log[a][i + 1].term for a in every(Server, c) for i in range(len(s.log[a]) - 1))

@invariant
def last_is_none(s: State, c: Config) -> bool:
    return all(s.last[a].term == 0 for a in every(Server, c) if s.last[a] is not None)

@invariant
def same_committed(s: State, c: Config) -> bool:
    for a in every(Server, c):
        for b in every(Server, c):
            for i in range(min(s.commit, len(s.log[a]), len(s.log[b]))):
                if s.log[a][i] != s.log[b][i]:
                    return False
    return True

@invariant
def last_is_new(s: State, c: Config) -> bool:
    return any(s.log[a][len(s.log[a]) - 1].term == 1 for a in every(Server, c) if len(s.log[a]) > 0) or s.commit < 2

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_claims_over_sets_of_servers_with_logs(tmp_path: Path) -> None:
    """Native and plain Python: what holds, what does not, and the runs that show it."""
    path = model_file(tmp_path, LOGS)
    found = {}
    for engine in ("native", "reference"):
        result, _ = checked(path, [], engine)
        found[engine] = repr(everything(result))
        assert (result.returned.stats.distinct, result.returned.stats.generated) == (70, 151)
        violated = {p.name: len(p.trace.steps) - 1 for p in result.properties if p.trace is not None}
        assert violated == {
            "last_of_the_first": 1,
            "last_is_none": 1,
            "last_of_committed_is_old": 3,
            "same_committed": 3,
            "last_is_new": 6,
            "deadlock": 6,
        }
        assert {p.name for p in result.properties} - set(violated) == {
            "last_is_last",
            "last_of_committed",
            "last_of_the_first_is_there",
            "committed_is_there",
            "terms_rise",
        }
    assert found["native"] == found["reference"]

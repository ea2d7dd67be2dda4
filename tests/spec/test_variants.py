"""Variants made of a model's own functions: a further guard, another fairness, another rule that actions call."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reassure.checkers.analyses.diff.analysis import guards_added
from reassure.checkers.analyses.guards.analysis import Unguarded
from reassure.checkers.analyses.mutants.mutants import mutants_of
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.tla.module import export
from reassure.checkers.traces.outcomes import Watched
from reassure.checkers.traces.refusals import ExplainingModel
from reassure.spec.frontend.lowering import check, lower_model
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers import model_text
from tests.helpers.command import said
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import Native, plain_steps
from tests.helpers.symbolic_steps import difference

ACTIONS = """
def limit(s: State) -> int:
    return 2

def below(s: State, by: int = 1) -> bool:
    return s.number + by <= limit(s)

@action(who="x", fair="weak", fair_each=["node"])
def count(s: State, node: Node, c: Config) -> State:
    require(below(s))
    return replace(s, number=s.number + 1, leader=node)

@action(who="x", node=lambda s: s.alive if limit(s) > 1 else NOBODY)
def stop(s: State, node: Node) -> State:
    return replace(s, alive=s.alive - {node})

@invariant
def few(s: State) -> bool:
    return s.number <= limit(s)

MODEL = Model.of(__name__, state=State, config=Config)
"""


@pytest.fixture
def base(tmp_path: Path) -> ModuleType:
    made: ModuleType = model_text.module(ACTIONS, tmp_path)
    return made


def variant(base: ModuleType, text: str, folder: Path) -> Model:
    """The variant that a file of this text declares."""
    head = f"from reassure import *\nimport {base.__name__} as base\nfrom {base.__name__} import *\n"
    made: Any = model_text.module(text, folder, prelude=head)
    model: Model = made.MODEL
    return model


GUARDED = """
def nobody_leads(s: State, given: Config) -> bool:  # stop does not take it
    return s.leader is None and given.nodes > 1

MODEL = base.MODEL.guarded(base.count, lambda s, node, c: node in s.alive and s.number < c.nodes - 1).guarded("stop", nobody_leads)
"""  # noqa: E501


def test_a_guard_only_forbids(base: ModuleType, tmp_path: Path) -> None:
    guarded = variant(base, GUARDED, tmp_path)
    assert guarded.base is not None and guarded.module != base.MODEL.module
    bound, plain, rng = BoundModel(guarded), BoundModel(base.MODEL), random.Random(1)
    native, fewer = Native(bound), 0
    for _ in range(60):
        state = drawn(bound.type, rng)
        steps = [(s.action.name, s.params, s.after) for s in plain.steps(state)]
        wanted = [
            (name, params, after)
            for name, params, after in steps
            if (name == "stop" and state.leader is None)
            or (name == "count" and params["node"] in state.alive and state.number < 2)
        ]
        assert [(s.action.name, s.params, s.after) for s in bound.steps(state)] == wanted
        assert native.steps(state) == plain_steps(bound, state)
        fewer += len(steps) - len(wanted)
    assert fewer > 20
    alone = BoundModel(variant(base, GUARDED + 'MODEL = MODEL.without("stop")\n', tmp_path))
    found, compared = difference(alone, Machine(lower_model(alone)), rng, states=25)
    assert found is None and compared


def test_each_guard_that_is_added_is_one_that_can_be_left_out(base: ModuleType, tmp_path: Path) -> None:
    bound = BoundModel(variant(base, GUARDED, tmp_path))
    added = [g for g in lower_model(bound, switches=True).guards if not g.file.endswith(f"{base.__name__}.py")]
    texts = [(g.text, g.part, g.reached_by) for g in added]
    assert texts == [
        ("node in s.alive", (0, 2), ("count",)),
        ("s.number < c.nodes - 1", (1, 2), ("count",)),
        ("nobody_leads", (0, 1), ("stop",)),
    ]
    start = base.start.function(bound.config)
    state = base.replace(start, leader=base.Node(1), alive=frozenset({base.Node(2)}))
    without = [Unguarded(bound, g.file, g.line, g.column, g.part) for g in added]
    taken = [{(s.action.name, s.params["node"]) for s in one.steps(state)} for one in without]
    assert taken == [
        {("count", 1), ("count", 2), ("count", 3)},
        {("count", 2)},
        {("count", 2), ("stop", 2)},
    ]


def test_an_added_guard_is_seen_by_other_commands(base: ModuleType, tmp_path: Path) -> None:
    guarded = variant(base, GUARDED, tmp_path)
    bound = BoundModel(guarded)
    start = base.start.function(bound.config)
    refusal = ExplainingModel(bound).refusal(base.replace(start, number=2), "count", {"node": base.Node(1)})
    assert refusal is not None
    assert (refusal.text, refusal.line) == ("node in s.alive and s.number < c.nodes - 1", 8)
    assert refusal.examples[0].values == ("because false: s.number < c.nodes - 1", "s.number = 2", "c.nodes - 1 = 2")
    watched = Watched(bound)
    assert [site.text for site in watched.sites if site.kind == "guard"] == [
        "<lambda>(node in s.alive)",
        "<lambda>(s.number < c.nodes - 1)",
        "nobody_leads(s.leader is None)",
        "nobody_leads(given.nodes > 1)",
        "require(below(s))",
    ]
    with watched.watching():
        tried = {(site.text, value) for site, value in watched.outcomes(start).tried}
    assert ("<lambda>(node in s.alive)", True) in tried and ("nobody_leads(s.leader is None)", True) in tried
    changed = [(m.where, m.before, m.after) for m in mutants_of(bound)]
    assert ("nobody_leads", "s.leader is None", "s.leader is not None") in changed
    assert ("<lambda>", "node in s.alive", "") in changed
    text = export(bound).text
    assert "count(node) ==\n    /\\ node \\in alive\n    /\\ number < Nodes - 1\n" in text
    assert "stop(node) ==\n    /\\ nobody_leads\n" in text


def test_a_model_that_only_forbids_is_known_by_its_making(base: ModuleType, tmp_path: Path) -> None:
    guarded = variant(base, GUARDED, tmp_path)
    assert guards_added(base.MODEL, guarded) == ["count", "stop"]
    assert guards_added(guarded, base.MODEL) == []
    assert guards_added(base.MODEL, base.MODEL) == []
    without = variant(base, 'MODEL = base.MODEL.guarded("stop", lambda s: s.number > 0).without("count")', tmp_path)
    assert guards_added(base.MODEL, without) == []


def test_another_fairness(base: ModuleType, tmp_path: Path) -> None:
    fair = variant(base, 'MODEL = base.MODEL.fair(count=None, stop="strong")', tmp_path)
    assert [(a.name, a.fair, a.fair_each) for a in fair.actions] == [("count", None, ()), ("stop", "strong", ())]
    strong = variant(base, 'MODEL = base.MODEL.fair(count="strong")', tmp_path)
    assert [(a.name, a.fair, a.fair_each) for a in strong.actions] == [
        ("count", "strong", ("node",)),
        ("stop", None, ()),
    ]
    assert [a.function for a in fair.actions] == [a.function for a in base.MODEL.actions]


def test_another_rule_is_called_by_actions_alone(base: ModuleType, tmp_path: Path) -> None:
    text = "def limit(s: State) -> int:\n    return 1 if s.leader is None else 5\n\nMODEL = base.MODEL.replacing(limit)"
    changed = BoundModel(variant(base, text, tmp_path))
    plain = BoundModel(base.MODEL)
    assert check(changed) == []
    rng, native, differing = random.Random(2), Native(changed), 0
    for _ in range(60):
        state = drawn(changed.type, rng)
        most = 1 if state.leader is None else 5
        steps = {(s.action.name, s.params["node"]) for s in changed.attempts(state) if hasattr(s, "after")}
        counts = {("count", n) for n in (1, 2, 3)} if state.number + 1 <= most else set()
        assert steps == counts | ({("stop", n) for n in state.alive} if most > 1 else set())
        assert native.steps(state) == plain_steps(changed, state)
        differing += steps != {(s.action.name, s.params["node"]) for s in plain.attempts(state) if hasattr(s, "after")}
    assert differing > 10
    alone = BoundModel(variant(base, text + '.without("stop")', tmp_path))
    found, compared = difference(alone, Machine(lower_model(alone)), rng, states=25)
    assert found is None and compared
    state = base.replace(base.start.function(changed.config), number=3)
    (few,) = changed.properties
    assert [changed.holds(few, state), plain.holds(few, state)] == [False, False]
    assert [m.where for m in mutants_of(changed) if m.before == "5"] == ["limit", "limit"]
    (guard,) = lower_model(changed, switches=True).guards
    free = Unguarded(changed, guard.file, guard.line, guard.column, guard.part)
    assert {s.action.name for s in free.steps(state)} == {"count"}


WRONG = [
    # (text of the variant, part of the message)
    ("base.MODEL.guarded('counts', lambda s: True)", "has no action 'counts'; it has count, stop"),
    ("base.MODEL.guarded(base.count, lambda s, nodes: True)", "no parameter nodes; it has node, c"),
    ("base.MODEL.guarded(base.stop, lambda s, given: True)", "no parameter given; it has node"),
    ("base.MODEL.guarded(base.stop, lambda node: True)", "its first parameter is the state"),
    ("base.MODEL.guarded(base.stop, lambda: True)", "its first parameter is the state"),
    ("base.MODEL.guarded(base.stop, base.few)", "a condition is a function or a lambda"),
    ("base.MODEL.fair(counts='weak')", "has no action 'counts'"),
    ("base.MODEL.fair(count='very')", "not 'very'"),
    ("base.MODEL.replacing(lowest)", "write its decorator; nor does an action call a function of its name"),
    ("base.MODEL.replacing(limits)", "did you mean limit?"),
    ("base.MODEL.replacing(below)", "below takes (s), and that of the model (s, by)"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[m for _, m in WRONG])
def test_refused(text: str, message: str, base: ModuleType, tmp_path: Path) -> None:
    rules = "".join(
        f"def {name}(s: State) -> bool:\n    return True\n\n" for name in ("lowest", "limits", "below") if name in text
    )
    with pytest.raises(LanguageError) as caught:
        variant(base, f"{rules}MODEL = {text}", tmp_path)
    assert message in str(caught.value)


def test_a_rule_that_is_called_by_way_of_a_class_is_refused(tmp_path: Path) -> None:
    text = ACTIONS.replace("return s.number + by <= limit(s)", "return Limits.of(s)").replace(
        "def below", "class Limits:\n    def of(s: State) -> bool:\n        return limit(s) > 1\n\ndef below"
    )
    base = model_text.module(text, tmp_path)
    with pytest.raises(LanguageError, match=r"below calls limit by way of Limits\.of: import the function by its name"):
        variant(base, "def limit(s: State) -> int:\n    return 1\n\nMODEL = base.MODEL.replacing(limit)", tmp_path)


def test_a_guard_that_is_no_bool_is_refused_at_its_place(base: ModuleType, tmp_path: Path) -> None:
    text = "def odd(s: State) -> int:\n    return s.number\n\nMODEL = base.MODEL.guarded(base.stop, odd)"
    (refusal,) = check(BoundModel(variant(base, text, tmp_path)))
    assert (refusal.construct, refusal.line) == ("an int as a guard", 4)
    text = "MODEL = base.MODEL.guarded(base.stop, lambda s: s.number)"
    (refusal,) = check(BoundModel(variant(base, text, tmp_path)))
    assert refusal.construct == "`s.number` is an int, not a bool"


def test_the_guards_that_a_variant_adds_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that a budget is spent on them."""
    text = "from reassure.models.examples import core\nfrom reassure.models.examples.core import *\n"
    text += "MODEL = core.MODEL.guarded(core.cancel, lambda p: p.leader is not None)\n"
    (tmp_path / "careful.py").write_text(text)
    said(capsys, "guards", str(tmp_path / "careful.py"), f"--json={tmp_path / 'g.json'}")
    guards = json.loads((tmp_path / "g.json").read_text())["guards"]
    assert [(g["file"], g["line"]) for g in guards[:2]] == [("careful.py", 3), ("core.py", guards[1]["line"])]
    assert {g["file"] for g in guards[1:]} == {"core.py"} and len(guards) == 14

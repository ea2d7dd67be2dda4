"""Drawn candidates that no sample has filtered: what is proved for any number holds at three to six members, and each
means in one configuration what it means for any number."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.symbolic.any_number.certificate import named_by, written_node
from reassure.checkers.engines.symbolic.any_number.induction import AnyInduction, Quantified, own_lemmas
from reassure.checkers.engines.symbolic.any_number.instantiation import Instantiation, search_near
from reassure.checkers.engines.symbolic.any_number.samples import instance_of
from reassure.checkers.engines.symbolic.any_number.terms import AnyTerms
from reassure.checkers.engines.symbolic.cross_check import draw
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, candidates
from reassure.checkers.engines.symbolic.sample_evaluator import Sample, columns
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, ModelError, make_config
from tests.helpers import model_text
from tests.helpers.any_number import REFUSED, bound_to, of_construct, system_of
from tests.helpers.constructs import CONSTRUCTS
from tests.helpers.drawn_states import reachable
from tests.helpers.runs import checked

DRAWN = 40
"""Candidates of each model."""
SIZES = (3, 4, 5, 6)


def proved_and_false(bound: BoundModel, seed: int) -> tuple[list[Lemma], list[tuple[int, str]]]:
    """The drawn candidates that are inductive, and those of them that are false in a reachable state of some size."""
    system, rng = system_of(bound), random.Random(seed)
    numbers = [system.graph.config(name, kind.low) for name, kind in system.config]
    every = candidates(system.lowered, lambda node: rng.random() < 0.2, system.type, numbers)
    lemmas = rng.sample(every, min(DRAWN, len(every)))
    induction = AnyInduction(system, lemmas, lambda what: None, lambda: None)
    induction.run(goal for i in range(len(lemmas)) for goal in induction.goals_of(i))
    proved = [lemmas[i] for i in sorted(induction.remaining)]
    false = []
    for size in SIZES:
        sized = BoundModel(bound.model, make_config(bound.model, {"nodes": size}))
        for state in states_of(sized, rng):
            instance: Any = instance_of(system, sized, state)
            false += [(size, lemma.text) for lemma in proved if not instance.holds(lemma.node)]
    return proved, false


def states_of(bound: BoundModel, rng: random.Random) -> list[Any]:
    """Reachable states; the initial ones alone of a model that raises in a step."""
    try:
        return reachable(bound, rng, 30, {a.name for a in bound.model.actions})
    except ModelError:
        return [state for _, _, state in bound.initial_states()]


NAMES = [name for name in CONSTRUCTS if name not in REFUSED]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=[n.split(" |")[0].replace(" ", "") for n in NAMES])
def test_what_is_proved_for_any_number_holds_at_each_size(name: str, tmp_path: Path) -> None:
    proved, false = proved_and_false(of_construct(name, tmp_path), 1)
    assert proved and false == []


def test_a_wrong_translation_proves_what_is_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any two sets are taken for equal."""
    monkeypatch.setattr(AnyTerms, "_same_sets", lambda self, a, b, env, polarity: self.truth(self.graph.true))
    assert any(proved_and_false(of_construct(name, tmp_path), 1)[1] for name in NAMES)


def differing(bound: BoundModel, share: float) -> tuple[int, list[str]]:
    """The number of drawn candidates and the model's own conditions, and those whose value in a drawn state is another
    one in this configuration."""
    system, rng = system_of(bound), random.Random(1)
    lowered, layout = lower_model(bound), state_layout(bound)
    numbers = [system.graph.config(name, kind.low) for name, kind in system.config]
    lemmas = candidates(system.lowered, lambda node: rng.random() < share, system.type, numbers)
    states = [draw(bound.type, rng) for _ in range(60)]
    rows = np.array([layout.encode(state) for state in states], np.uint64).view(np.int64)
    sample = Sample(columns(rows, layout, [leaf.path for leaf in lowered.leaves]))
    instances, here = [instance_of(system, bound, state) for state in states], Instantiation(lowered)
    conditions = [(lemma.text, lemma.node) for lemma in lemmas]
    conditions += [(formula.name, formula.condition) for formula in system.lowered.state_formulas]
    return len(conditions), [
        text
        for text, node in conditions
        if (np.broadcast_to(sample(here(node)), len(states)) != 0).tolist()
        != [instance.holds(node) for instance in instances]
    ]


@pytest.mark.parametrize(("model", "pairs"), [("core", ["brokers=4"]), ("two_phase_commit", [])])
def test_a_candidate_means_the_same_in_one_configuration(model: str, pairs: list[str]) -> None:
    drawn, different = differing(bound_to(model, *pairs), 0.3)
    assert drawn > 50 and different == []


RECORDS_OF_TABLES = """
@dataclass(frozen=True)
class Vote:
    by: Node
    seen: Map[Node, frozenset[Node]]
    links: Map[Node, Inner]

@dataclass(frozen=True)
class State:
    votes: Annotated[frozenset[Vote], MaxSize(2)]
    seen: Map[Node, frozenset[Node]]

NOTHING: frozenset[Node] = frozenset()

@initial
def start(c: Config) -> State:
    return State(frozenset(), fill(Node, c, NOTHING))

@action(who="any")
def vote(s: State, by: Node, on: bool, c: Config) -> State:
    return replace(s, votes=s.votes | {Vote(by, s.seen.put(by, every(Node, c)), fill(Node, c, Inner(1, on)))})

@invariant
def no_vote_of_nothing(s: State, c: Config) -> bool:
    return Vote(Node(1), fill(Node, c, NOTHING), fill(Node, c, Inner())) not in s.votes

@invariant
def seen_now(s: State, c: Config) -> bool:
    return all(v == Vote(v.by, s.seen, fill(Node, c, v.links[v.by])) or v.by > Node(1) for v in s.votes)

@invariant
def of_the_first(s: State, c: Config) -> bool:
    vote = Vote(Node(1), s.seen, fill(Node, c, Inner(1, True)))
    return all((v if v.by == Node(1) else vote) in s.votes and v.links[v.by].on for v in s.votes)

@invariant
def not_these_alone(s: State, c: Config) -> bool:
    return s != State(frozenset({Vote(Node(1), s.seen, fill(Node, c, Inner(1, True)))}), s.seen)
"""


def test_records_with_tables_mean_the_same_in_each_configuration(tmp_path: Path) -> None:
    """The invariants as lemmas, by a search of each configuration; and by plain Python."""
    path = model_text.file(RECORDS_OF_TABLES, tmp_path, model_text.BEFORE_STATE)
    system = system_of(bound_to(path))
    lemmas = [Lemma(f.name, f.condition) for f in system.lowered.state_formulas]
    for searched in itertools.islice(search_near(system, lemmas, 60.0, 1 << 30, lambda what: None), 3):
        assert searched.complete
        plain, _ = checked(path, searched.settings.split(", "), engine="reference")
        assert set(searched.false) == {p.name for p in plain.properties if str(p.status) == "violated"}
        assert searched.states == plain.stats.distinct


@pytest.mark.slow
@pytest.mark.parametrize(("model", "pairs"), [("kraft", []), ("kraft_kafka", ["brokers=4"])])
def test_a_candidate_about_messages_means_the_same_in_one_configuration(model: str, pairs: list[str]) -> None:
    drawn, different = differing(bound_to(model, *pairs), 0.01)
    assert drawn > 50 and different == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=[n.split(" |")[0].replace(" ", "") for n in NAMES])
def test_a_candidate_about_a_construct_means_the_same_at_three_members(name: str, tmp_path: Path) -> None:
    bound = of_construct(name, tmp_path)
    drawn, different = differing(BoundModel(bound.model, make_config(bound.model, {"nodes": 3})), 0.2)
    assert drawn and different == []


@pytest.mark.parametrize("name", NAMES[::6], ids=[n.split(" |")[0].replace(" ", "") for n in NAMES[::6]])
def test_a_certificate_has_every_candidate(name: str, tmp_path: Path) -> None:
    """What a candidate's text names is the same condition, also for a program that has not made it before."""
    bound, rng = of_construct(name, tmp_path), random.Random(1)
    system, other = system_of(bound), system_of(bound)
    lemmas = candidates(system.lowered, lambda node: rng.random() < 0.01, system.type, [])
    lemmas += own_lemmas(system.claims()[0])
    named, named_other = named_by(system), named_by(other)
    for lemma in lemmas:
        nodes, others = named(lemma.text), named_other(lemma.text)
        assert len(nodes) == len(others)
        node = others[nodes.index(lemma.node)]
        assert sorted(map(row, written_node(node))) == sorted(map(row, written_node(lemma.node)))
        assert "(assert" in Quantified(other.graph).script(node)


def row(written_row: list[Any]) -> str:
    """A row without its places: the two sides of an equation may be the other way round."""
    op, kind, _, data = written_row
    return f"{op} {kind} {data}"

"""`prove --any-number`: what is proved, what is not, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.console.files import read_trace
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.traces.replay import replay_trace
from tests.helpers import model_text
from tests.helpers.any_number import bound_to, proof, statuses

CORE = Path(__file__).parents[5] / "models" / "examples" / "core.py"


def test_core_for_every_number_of_brokers_and_every_min_isr() -> None:
    result = proof("core")
    assert statuses(result) == dict.fromkeys(("isr_within_replicas", "isr_never_empty", "leader_in_isr"), "proved")
    assert result.exit() is Exit.OK
    assert result.proof is not None and result.proof.any_number == {
        "free": {"brokers": 3, "min_isr": 1},
        "lifted": [],
        "remarks": [],
    }
    assert "(proposed is not empty if proposed is not None)" in result.proof.lemmas


def test_two_phase_commit_for_every_number_of_managers() -> None:
    result = proof("two_phase_commit")
    assert statuses(result) == {"consistent": "proved"}
    assert result.proof is not None and result.proof.any_number is not None
    assert result.proof.any_number["free"] == {"managers": 1}


def test_what_is_set_is_not_free() -> None:
    result = proof("core", "min_isr=2")
    assert statuses(result)["leader_in_isr"] == "proved"
    assert result.proof is not None and result.proof.any_number is not None
    assert result.proof.any_number["free"] == {"brokers": 3}
    with pytest.raises(Failure, match="no number of the configuration is left"):
        proof("core", "min_isr=2", "brokers=3")


KEYS = """
@action(who="tester")
def act(s: State, m: Map[tuple[Node, bool], bool]) -> State:
    return replace(s, number=1 if m[Node(1), True] else 0)

@invariant
def small(s: State) -> bool:
    return s.number < 2
"""


def test_why_no_number_is_free(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="not set; nodes sizes a map from tuples, which is proved with one number alone"):
        proof(model_text.file(KEYS, tmp_path))


MANY_FACTS = """
@dataclass(frozen=True)
class Chosen:
    nodes: frozenset[Node] = frozenset()

@dataclass(frozen=True)
class Known:
    chosen: Chosen
    links: Map[Node, Node]

@dataclass(frozen=True)
class State:
    node: Node
    known: Known | None
    chosen: Chosen

@initial
def start(node: Node, chosen: Chosen) -> State:
    return State(node, None, chosen)

@action(who="any", node=lambda s, c: next(
    (s.chosen.nodes for n in range(1, 3) if s.known == Known(Chosen(), fill(Node, c, s.node))), s.known.chosen.nodes
) if s.known is not None else s.chosen.nodes)
def act(s: State, node: Node) -> State:
    return s

@invariant
def fine(s: State) -> bool:
    return True
"""


def test_the_budget_ends_the_making_of_formulas(tmp_path: Path) -> None:
    """Facts about members name further members: of this model so many that no query is asked for minutes."""
    result = proof(model_text.file(MANY_FACTS, tmp_path, model_text.BEFORE_STATE), budget=1.0)
    assert (result.stopped.reason, result.stopped.text) == (StopReason.BUDGET, "the budget of 1 s ended")
    assert "proved" not in statuses(result).values()


def changed(folder: Path, old: str, new: str) -> str:
    """The file of core with another text in one place."""
    text = CORE.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = folder / "changed_core.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("len(p.isr) > 1:", "len(p.isr) > 0:", "isr_never_empty"),
        ("require(isr <= p.replicas & p.unfenced)", "require(isr <= p.unfenced)", "isr_within_replicas"),
        ("leader=p.leader if p.leader in final else lowest(final),", "leader=p.leader,", "leader_in_isr"),
    ],
)
def test_a_fault_is_violated_with_a_trace(old: str, new: str, violated: str, tmp_path: Path) -> None:
    result = proof(changed(tmp_path, old, new))
    (found,) = [p for p in result.properties if p.name == violated]
    assert found.status == "violated"
    assert found.trace is not None
    assert result.exit() is Exit.SAFETY


def test_a_fault_of_more_brokers_than_are_at_hand_is_violated_with_a_trace(tmp_path: Path) -> None:
    """With three brokers the ISR is never empty; with four it is."""
    model = changed(tmp_path, "len(p.isr) > 1:", "(len(p.isr) > 1 or len(p.unfenced) > 3):")
    result = proof(model)
    (found,) = [p for p in result.properties if p.name == "isr_never_empty"]
    assert (found.status, found.note) == ("violated", "with --set brokers=4; the fewest brokers found: 4")
    assert found.trace is not None and found.trace.meta["config"] == {"brokers": 4, "min_isr": 2}
    assert found.elsewhere is not None and found.elsewhere.settings == ("brokers=4",)
    assert result.identity.config["brokers"] == 3
    assert result.exit() is Exit.SAFETY
    (path,) = result.write_traces(tmp_path, bound_to(model)).values()
    assert path.endswith("changed_core--brokers-4--isr_never_empty.itf.json")
    trace, bound, _ = read_trace(Path(path), model)
    assert "isr_never_empty is violated at its end" in replay_trace(trace, bound, path).lines


EVEN = """
@action(who="tester")
def act(s: State, c: Config, node: Node) -> State:
    require(node in s.alive and s.number < 6)
    return replace(s, number=s.number + 2)

@invariant
def not_five(s: State) -> bool:
    return s.number != 5
"""


def test_what_is_true_and_not_inductive_has_a_step_that_breaks_it(tmp_path: Path) -> None:
    """The numbers are even, which no candidate says."""
    result = proof(model_text.file(EVEN, tmp_path))
    (found,) = [p for p in result.properties if p.name == "not_five"]
    assert found.status == "unknown"
    assert found.note == "act(node=1) breaks it from a state that satisfies all lemmas, with --set nodes=1"
    before, after = found.counterexample_to_induction
    assert (before.number, after.number) == (3, 5)
    assert result.exit() is Exit.INCONCLUSIVE


ORDER = """
@dataclass(frozen=True)
class State:
    listed: Annotated[tuple[Node, ...], MaxLen("nodes")]
    before: Annotated[tuple[Node, ...], MaxLen("nodes")]
    added: Nodes

@initial
def start(c: Config) -> State:
    return State((), (), NOBODY)

@action(who="tester")
def add(s: State, node: Node) -> State:
    require(node not in s.listed)
    return replace(s, listed=s.listed + (node,), added=s.added | {node})

@action(who="tester")
def agree(s: State) -> State:
    return replace(s, before=s.listed, added=NOBODY)

@action(who="tester")
def give_up(s: State) -> State:
    return replace(s, listed=tuple(n for n in s.listed if n not in s.added), added=NOBODY)

@invariant
def as_before(s: State) -> bool:
    return s.added != NOBODY or s.listed == s.before
"""


def test_a_lemma_about_an_order_is_tried_although_a_small_state_does_not_know_the_order(tmp_path: Path) -> None:
    result = proof(model_text.file(ORDER, tmp_path, model_text.BEFORE_STATE))
    assert statuses(result) == {"as_before": "proved"}
    assert result.proof is not None and "listed without added == before" in result.proof.lemmas


RAISES = """
@action(who="tester")
def act(s: State, c: Config, node: Node) -> State:
    return replace(s, leader=min(s.alive), alive=s.alive - {node})

@invariant
def leader_is_somebody(s: State) -> bool:
    return s.leader is None or s.leader in every(Node, Config())
"""


def test_nothing_is_proved_of_a_model_that_may_raise(tmp_path: Path) -> None:
    text = RAISES.replace("every(Node, Config())", "frozenset({s.leader})")
    result = proof(model_text.file(text, tmp_path))
    assert statuses(result)["leader_is_somebody"] != "proved"


NAMED = """
@action(who="tester")
def act(s: State) -> State:
    return s

@invariant
def fine(s: State) -> bool:
    return s.leader is None

def settled(s: State) -> bool:
    return s.leader == Node(3)

@leads_to(settled)
def settles(s: State) -> bool:
    return fine(s)
"""


def test_a_property_of_whole_runs_may_name_a_member_that_smaller_configurations_lack(tmp_path: Path) -> None:
    found = {p.name: str(p.status) for p in proof(model_text.file(NAMED, tmp_path)).properties}
    assert found == {"fine": "proved", "settles": "not_checked", "deadlock": "not_checked"}


NESTED = """
@dataclass(frozen=True)
class Listed:
    items: Annotated[tuple[Node, ...], MaxLen(2)] | None
    on: bool

Listeds = Annotated[frozenset[Listed], MaxSize(2)]

@dataclass(frozen=True)
class State:
    some: Listeds | None
    by: Map[Colour, Listeds]
    one: Inner | None
    least: Annotated[int, Range(2, 4)] | None
    table: Map[Node, Annotated[int, Range(-3, -1)]] | None
    listed: Annotated[tuple[Colour, ...], MaxLen(2)] | None

@initial
def start(given: Map[bool, bool] | None, c: Config) -> State:
    return State(None, fill(Colour, c, frozenset()), None, None, None, None)

@action(who="tester")
def put(s: State, node: Node, colour: Colour, c: Config) -> State:
    s = replace(s, least=3, table=fill(Node, c, -2))
    return replace(s, by=s.by.put(colour, frozenset({Listed((node,), True)})), one=Inner(1, True))

@action(who="tester")
def take(s: State, colour: Colour) -> State:
    return replace(s, some=s.by[colour])

@invariant
def on(s: State) -> bool:
    return all(x.on for x in s.by[Colour.RED])

@invariant
def never_so(s: State) -> bool:
    return s.by[Colour.RED] != frozenset({Listed((), False)}) or s.one != Inner(3)

@invariant
def none_listed(s: State) -> bool:
    return s.listed is None or Colour.RED not in s.listed

@invariant
def never_put(s: State) -> bool:
    return s.by[Colour.GREEN] == frozenset()
"""


def test_sets_of_records_in_maps_and_optionals_are_proved(tmp_path: Path) -> None:
    result = proof(model_text.file(NESTED, tmp_path, model_text.BEFORE_STATE), "flag=False")
    assert statuses(result) == {"on": "proved", "never_so": "proved", "none_listed": "proved", "never_put": "violated"}
    assert result.proof is not None and result.proof.certificate is not None
    assert "Listed" in str(result.proof.certificate.lemmas)  # a record is written as it stands


TRUTHS = """
@dataclass(frozen=True)
class Vote:
    said: frozenset[bool]
    log: Map[Colour, Annotated[tuple[Colour, ...], MaxLen(1)]]
    logs: Map[Node, Annotated[tuple[Colour, ...], MaxLen(1)]]

@dataclass(frozen=True)
class Votes(State):
    votes: Annotated[frozenset[Vote], MaxSize(2)] = frozenset()

@action(who="tester")
def act(s: Votes, c: Config) -> Votes:
    require(len(s.votes) == 0)
    return replace(s, votes=frozenset({Vote(frozenset({False}), fill(Colour, c, ()), fill(Node, c, ()))}))

@invariant
def false_alone(s: Votes) -> bool:
    return all(False in v.said and True not in v.said for v in s.votes)

@invariant
def none(s: Votes) -> bool:
    return all(len(v.said) == 0 for v in s.votes)

@invariant
def logged(s: Votes) -> bool:
    return all(Colour.RED not in v.log[Colour.RED] for v in s.votes)
"""


def test_sets_of_records_of_sets_of_truth_values_and_of_tables_of_sequences(tmp_path: Path) -> None:
    prelude = model_text.PRELUDE.replace("return State(", "return Votes(")
    assert statuses(proof(model_text.file(TRUTHS, tmp_path, prelude, "Votes"))) == {
        "false_alone": "proved",
        "none": "violated",
        "logged": "proved",
    }


NAMED_ALIKE = """
@dataclass(frozen=True)
class State:
    up: Nodes

@initial
def start() -> State:
    return State(frozenset({Node(1)}))

@action(who="tester")
def empty(s: State, p: Node) -> State:
    return s if p in s.up else State(frozenset())

@action(who="tester")
def fill_again(s: State, p: Annotated[int, Range(-3, -1)]) -> State:
    require(Node(1) not in s.up)
    return State(frozenset({Node(1)}))

@invariant
def first_is_up(s: State) -> bool:
    return Node(1) in s.up
"""


def test_parameters_of_one_name_and_two_types(tmp_path: Path) -> None:
    path = model_text.file(NAMED_ALIKE, tmp_path, model_text.BEFORE_STATE.replace("= 3", "= 1"))
    assert statuses(proof(path, "flag=False")) == {"first_is_up": "violated"}


OWNED = """
@dataclass(frozen=True)
class State:
    owned: Map[Node, Nodes]
    seen: Nodes

@initial
def start(c: Config) -> State:
    return State(fill(Node, c, NOBODY), NOBODY)

@action(who="tester")
def take(s: State, c: Config, node: Node, one: Node) -> State:
    require(all(one not in s.owned[n] for n in every(Node, c)))
    return replace(s, owned=s.owned.put(node, s.owned[node] | {one}), seen=s.seen | {one})

@action(who="tester")
def drop(s: State, node: Node) -> State:
    return replace(s, owned=s.owned.put(node, NOBODY))

@invariant
def all_seen(s: State, c: Config) -> bool:
    return all(s.owned[n] <= s.seen for n in every(Node, c))

@invariant
def one_owner(s: State, c: Config) -> bool:
    return all(all(a == b or s.owned[a] & s.owned[b] == NOBODY for a in every(Node, c)) for b in every(Node, c))
"""


def test_three_members_that_refute_a_property_of_sets_in_a_map(tmp_path: Path) -> None:
    """Two that own, and what both own."""
    result = proof(model_text.file(OWNED, tmp_path, model_text.BEFORE_STATE), "flag=False")
    assert statuses(result) == {"all_seen": "proved", "one_owner": "proved"}


COVERED = """
@action(who="tester")
def act(s: State, node: Node) -> State:
    return replace(s, alive=s.alive | {node})

@invariant
def nobody_leads(s: State) -> bool:
    return s.leader is None

@cover(when=lambda c: c.nodes > 2)
def several(s: State) -> bool:
    return len(s.alive) > 2
"""


def test_a_cover_of_some_numbers_does_not_keep_the_properties_from_a_proof(tmp_path: Path) -> None:
    """Walks of the configuration at hand decide covers."""
    result = proof(model_text.file(COVERED, tmp_path))
    assert statuses(result) == {"nobody_leads": "proved"}
    assert [(one.name, one.depth is not None) for one in result.covers] == [("several", True)]

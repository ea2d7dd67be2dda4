"""States from which a goal is out of reach: known graphs, what is not known is not called trapped, the command."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure import leads_to
from reassure.checkers.analyses.stuck.analysis import Stuck, _path_to
from reassure.checkers.cli.main import main
from reassure.checkers.engines.native.state_graph import reachable_graph
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.models.kraft import kraft
from reassure.models.kraft.state import Cluster, Config, Unclean
from reassure.spec.kafka.partition import reassigning, target_of
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, replay
from tests.helpers.configurations import small
from tests.helpers.labelled_graph import Steps, graph_file, leads_to_text
from tests.helpers.model_text import PRELUDE, model, module
from tests.helpers.trapped_states import PlainGraph, stuck_in_several_ways, stuck_states

pytestmark = pytest.mark.usefixtures("quick_kernels")

WALK = """
@action(who="a")
def walk(s: State) -> State:
    require(s.number < 2)
    return replace(s, number=s.number + 1)

@action(who="a")
def turn(s: State) -> State:
    require(s.number == 1)
    return replace(s, number=-1)

@action(who="a")
def circle(s: State) -> State:
    require(s.number < 0)
    return replace(s, number=-3 - s.number)

def at_two(s: State) -> bool:
    return s.number == 2

@leads_to(at_two)
def arrives(s: State) -> bool:
    return s.number != 0

@leads_to(at_two)
def asked_of_nobody(s: State) -> bool:
    return s.number == 5

"""
"""0 -> 1 -> 2 is the goal; 1 -> -1 <-> -2 is a way without return, but for a step from -1 back to 0."""

NO_RETURN = WALK.replace("require(s.number < 2)", "require(s.number < 2 and s.number >= 0)")


def analysed(text: str, folder: Path, limit: int | None = None, fair_only: bool = False) -> dict[str, Stuck]:
    return stuck_states(BoundModel(model(text, folder)), fair_only=fair_only, limit=limit)


def test_trapped(tmp_path: Path) -> None:
    found = analysed(NO_RETURN, tmp_path)["arrives"]
    assert (found.states, found.claimed, found.can_end, found.trapped, found.undecided) == (5, 4, 2, 2, 0)
    assert found.exit is Exit.LIVENESS
    assert found.trace is not None
    assert [s.number for s in found.trace.states] == [0, 1, -1]
    assert [s.action for s in found.trace.steps] == ["start", "walk", "turn"]


def test_with_a_way_back_nobody_is_trapped(tmp_path: Path) -> None:
    """And yet the run that circles for ever never arrives: the analysis says no more than that nobody is trapped."""
    found = analysed(WALK, tmp_path)["arrives"]
    assert (found.states, found.claimed, found.can_end, found.trapped) == (5, 4, 4, 0)
    assert (found.exit, found.trace, found.status) == (Exit.INCONCLUSIVE, None, "unknown")


def test_what_is_never_asked_for_is_no_success(tmp_path: Path) -> None:
    found = analysed(WALK, tmp_path)["asked_of_nobody"]
    assert (found.claimed, found.can_end, found.trapped, found.exit) == (0, 0, 0, Exit.VACUOUS)


PREMISE_AND_GOAL = """
def goal(s: State) -> bool:
    return s.at == 1 or s.at == 2

@leads_to(goal)
def arrives(s: State) -> bool:
    return s.at == 0 or s.at == 1
"""


def test_plain_python_is_asked_about_premise_and_goal(tmp_path: Path) -> None:
    """Of 0 the premise is true and the goal is not: such a state is told, and no other."""
    prepared = prepare(graph_file(tmp_path, {"walk": Steps(((0, 1), (1, 2), (2, 3)))}, PREMISE_AND_GOAL), [])
    graph = reachable_graph(prepared, SearchOptions(), Progress(quiet=True))
    (claim,) = prepared.bound.properties
    numbers = {graph.state(n).at: n for n in range(graph.count)}
    assert len(_path_to(graph, numbers[0], claim)) == 1
    for at in (1, 2, 3):  # both are true; the goal alone; neither
        with pytest.raises(Disagreement, match="arrives: the kernel and plain Python differ"):
            _path_to(graph, numbers[at], claim)


@pytest.mark.parametrize(
    ("limit", "states", "counts"),
    [(1, 1, (0, 0, 0, 0)), (2, 2, (1, 0, 0, 1)), (3, 4, (3, 2, 0, 1)), (4, 4, (3, 2, 0, 1)), (5, 5, (4, 2, 2, 0))],
)
def test_a_limit_makes_nothing_trapped(
    limit: int, states: int, counts: tuple[int, int, int, int], tmp_path: Path
) -> None:
    found = analysed(NO_RETURN, tmp_path, limit)["arrives"]
    assert found.states == states
    assert (found.claimed, found.can_end, found.trapped, found.undecided) == counts
    assert found.complete == (limit == 5)
    assert found.exit is (Exit.LIVENESS if limit == 5 else Exit.INCONCLUSIVE)


def test_a_step_out_of_a_bound_might_lead_anywhere(tmp_path: Path) -> None:
    text = NO_RETURN.replace("number=-3 - s.number", "number=s.number - 1")
    found = analysed(text, tmp_path)["arrives"]
    assert (found.claimed, found.can_end, found.trapped, found.undecided) == (4, 2, 0, 2)
    assert (found.clipped, found.complete, found.exit) == (1, True, Exit.INCONCLUSIVE)


FAIR_WALK = WALK.replace('@action(who="a")\ndef walk', '@action(who="a", fair="weak")\ndef walk')
FAIR_CIRCLE = WALK.replace('@action(who="a")\ndef circle', '@action(who="a", fair="strong")\ndef circle')


@pytest.mark.parametrize(
    ("text", "trapped", "length"), [(WALK, 3, 2), (FAIR_WALK, 0, None), (FAIR_CIRCLE, 3, 2), (NO_RETURN, 3, 2)]
)
def test_what_is_not_fair_need_not_happen(text: str, trapped: int, length: int | None, tmp_path: Path) -> None:
    """Of 1, 2, -1 and -2 all but the goal are trapped if nobody need walk."""
    found = analysed(text, tmp_path, fair_only=True)["arrives"]
    assert (found.claimed, found.trapped, found.undecided) == (4, trapped, 0)
    assert (None if found.trace is None else len(found.trace)) == length


def test_an_unfair_step_out_of_a_bound_need_not_happen(tmp_path: Path) -> None:
    text = NO_RETURN.replace("number=-3 - s.number", "number=s.number - 1")
    text = text.replace('@action(who="a")\ndef walk', '@action(who="a", fair="weak")\ndef walk')
    assert [analysed(text, tmp_path, fair_only=f)["arrives"].trapped for f in (False, True)] == [0, 2]
    text = text.replace('@action(who="a")\ndef circle', '@action(who="a", fair="weak")\ndef circle')
    assert analysed(text, tmp_path, fair_only=True)["arrives"].trapped == 0


def test_only_leads_to(tmp_path: Path) -> None:
    made = module(WALK + "@invariant\ndef fine(s: State) -> bool:\n    return True\n", tmp_path)
    bound = BoundModel(kraft.MODEL)
    with pytest.raises(ValueError, match="is not a leads_to"):
        stuck_states(bound, [made.fine])


# -- all models, and drawn graphs, against plain Python -----------------------------------------------------------


COMPARED = [
    "batching_example", "core_liveness", "intermediate_half_open", "kraft", "kraft_racks", "throttle", "throttled_batch"
]  # fmt: skip
"""A model of each kind that has a leads-to; others vary these."""


def compared(bound: BoundModel) -> None:
    plain, claims = PlainGraph(bound), {p.name: p for p in bound.properties}
    both = (False, True)
    for fair_only, answers in zip(both, stuck_in_several_ways(bound, (), both), strict=True):
        for name, found in answers.items():
            assert (found.claimed, found.can_end, found.trapped) == plain.counts(claims[name], fair_only), name
            assert found.states == len(plain.before)
            assert (found.trace is not None) == (found.trapped > 0)


@pytest.mark.parametrize("name", COMPARED)
def test_every_model(name: str) -> None:
    compared(prepare(name, small(name)).bound)


EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8)), max_size=6, unique=True).map(tuple)
SOME = st.sets(st.integers(0, 6), max_size=3)


@settings(max_examples=20, deadline=None)
@given(st.fixed_dictionaries({"one": EDGES, "two": EDGES, "three": EDGES}), SOME, SOME)
def test_drawn_graphs(edges: dict[str, tuple[tuple[int, int], ...]], premise: set[int], goal: set[int]) -> None:
    """The first action is fair; steps to states above 6 leave the bound."""
    actions = {name: Steps(steps, "weak" if name == "one" else None) for name, steps in edges.items()}
    with TemporaryDirectory() as folder:
        compared(prepare(graph_file(Path(folder), actions, leads_to_text(premise, goal)), []).bound)


# -- K11 -----------------------------------------------------------------------------------------------------


def over(s: Cluster) -> bool:
    return not reassigning(s.partition)


@leads_to(over)
def reassignment_is_over(s: Cluster) -> bool:
    return reassigning(s.partition)


def test_a_target_below_min_isr_is_all_that_traps_without_disturbances() -> None:
    config = Config(unclean=Unclean.OFF, admin_requests=1, disturbances=0)
    bound = BoundModel(kraft.MODEL.adding(reassignment_is_over), config)
    counts = stuck_states(bound)
    found = counts.pop("reassignment_is_over")
    assert (found.states, found.claimed, found.can_end, found.trapped) == (124, 105, 62, 43)
    assert found.trace is not None
    replay(found.trace, bound)
    assert len(found.trace) == 2
    assert len(target_of(found.trace.states[-1].partition)) < config.min_isr
    states = [s.partition for s in PlainGraph(bound).before]
    assert sum(reassigning(p) and len(target_of(p)) < config.min_isr for p in states) == 43
    others = {name: other.trapped for name, other in counts.items()}
    assert others == {
        "reassignment_ends_or_can_be_cancelled": 0,
        "reassignment_ends": 0,
    }


# -- the command -----------------------------------------------------------------------------------------------

POSSIBILITY = (
    "\n`stuck` asks whether the goal can be reached (possibility); `reassure check` decides whether every fair run "
    "reaches it (liveness)\n"
)
LOSS = ["kraft", "--set", "unclean=off", "--set", "admin_requests=1"]


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["stuck", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_last_complete_log_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, traces = tmp_path / "r.json", tmp_path / "traces"
    code, out, _ = said(capsys, *LOSS, "--json", str(record), "--trace-dir", str(traces))
    assert code == 13
    assert "violated: from 96 of them the goal is unreachable" in out
    assert "shut_down_uncleanly" in out
    assert "from here on the goal is unreachable" in out
    assert POSSIBILITY in out
    data: JsonObject = json.loads(record.read_text())
    assert (data["verdict"], data["exit_code"], data["complete"]) == ("liveness-violation", 13, True)
    assert data["stats"]["distinct"] == 2_775
    assert data["stats"]["generated"] == 5_869
    assert data["stats"]["depth"] == 16
    assert [(p["name"], p["claimed"], p["can_end"], p["trapped"], p["depth"]) for p in data["properties"]] == [
        ("reassignment_ends_or_can_be_cancelled", 2_210, 2_114, 96, 3),
        ("reassignment_ends", 2_210, 2_150, 60, 3),
    ]
    files = sorted(traces.iterdir())
    assert [p.name for p in files] == [
        "kraft--admin-requests-1-unclean-off--reassignment_ends.itf.json",
        "kraft--admin-requests-1-unclean-off--reassignment_ends_or_can_be_cancelled.itf.json",
    ]
    assert main(["replay", str(files[0])]) == 5
    assert "accepts the trace: 2 steps" in capsys.readouterr().out


def test_nobody_is_trapped(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, *LOSS, "--set", "shutdowns=0", "--property", "reassignment_ends")
    assert code == 5
    assert "inconclusive (exit code 5)" in out
    assert "\n  from each of them the goal can be reached\n" in out
    assert POSSIBILITY in out
    assert "or_can_be_cancelled" not in out


def test_fair_actions_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An administrator may raise the rate; he need not."""
    record = tmp_path / "r.json"
    rate = ["throttle", "--set", "leader_rate=1", "--set", "moves=0", "--set", "lapses=0", "--json", str(record)]
    code, out, _ = said(capsys, *rate, "--fair-only")
    assert code == 13
    assert "violated: from 536 of them the goal is unreachable by fair actions alone" in out
    assert "from here on the goal is unreachable by fair actions alone" in out
    assert json.loads(record.read_text())["repro"].endswith("--fair-only")
    code, out, _ = said(capsys, *rate)
    assert "violated: from 520 of them the goal is unreachable on every path" in out


def test_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "r.json"
    code, out, _ = said(capsys, *LOSS, "--set", "shutdowns=0", "--limit", "100", "--json", str(record))
    assert code == 5
    assert "undecided" in out
    assert "stopped because the limit of 100 states was reached" in out
    data = json.loads(record.read_text())
    assert (data["complete"], data["exit_code"], data["verdict"]) == (False, 5, "inconclusive")
    assert "--limit=100" in data["repro"]


CHAIN = PRELUDE + NO_RETURN + "\nMODEL = Model.of(__name__, state=State, config=Config)\n"


@pytest.mark.parametrize(
    ("expression", "code", "status", "counts"),
    [
        ("s.number == 2", 13, "violated", [5, 3, 2, 0]),
        ("s.number == 2 or s.number < 0", 0, "holds", [5, 5, 0, 0]),
        ("s.number == 0", 13, "violated", [5, 1, 4, 0]),
        ("True", 0, "holds", [5, 5, 0, 0]),
        ("s.number == 9", 13, "violated", [5, 0, 5, 0]),
    ],
)
def test_an_expression(
    expression: str, code: int, status: str, counts: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From which states none can be reached of which it is true; that it can from all is the whole answer."""
    (tmp_path / "chain.py").write_text(CHAIN)
    record, traces = tmp_path / "r.json", tmp_path / "traces"
    words = [str(tmp_path / "chain.py"), expression, f"--json={record}", f"--trace-dir={traces}"]
    found, out, _ = said(capsys, *words)
    data = json.loads(record.read_text())
    (row,) = data["properties"]
    assert (found, data["exit_code"], data["expression"], row["status"]) == (code, code, expression, status)
    assert [row[key] for key in ("claimed", "can_end", "trapped", "undecided")] == counts
    assert f"\n{expression}\n  5 states\n" in out
    assert ("from each of them the goal can be reached" in out) == (code == 0)
    assert (row["trace"] is None) == (code == 0)
    if code:
        assert "from here on the goal is unreachable" in out
        assert json.loads(Path(row["trace"]).read_text())["#meta"]["expression"] == expression


def test_an_expression_is_not_decided_by_half_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chain.py").write_text(CHAIN)
    assert said(capsys, str(tmp_path / "chain.py"), "s.number != 5", "--limit=2")[0] == 5


def test_an_expression_behind_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chain.py").write_text(CHAIN)
    found, out, err = said(capsys, str(tmp_path / "chain.py"), "--fair-only", "s.number == 0")
    assert (found, "\ns.number == 0\n" in out, err) == (13, True, "")


def test_an_expression_of_the_fair_actions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No action is fair, so that none needs happen."""
    (tmp_path / "chain.py").write_text(CHAIN)
    assert said(capsys, str(tmp_path / "chain.py"), "s.number == 2 or s.number < 0", "--fair-only")[0] == 13


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["before.number == 2"], 64, "an expression about a state `s` is needed"),
        (["s.number =="], 64, "is not a Python expression"),
        (["s.numbr == 2"], 64, "did you mean `.number`?"),
        (["s.number"], 64, "the value of the expression: a bool is needed"),
        (["nobody == 2"], 64, "`nobody` is not defined; `s` is a state"),
        (["s.number == 2", "--property=arrives"], 64, "leave out --property"),
    ],
)
def test_expressions_that_are_refused(
    words: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chain.py").write_text(CHAIN)
    found, out, err = said(capsys, str(tmp_path / "chain.py"), *words)
    assert (found, out) == (code, "")
    assert message in err


def test_a_model_that_raises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "raising.py"
    made = NO_RETURN.replace("return s.number == 2", "return s.order[0] == s.order[0]")
    path.write_text(PRELUDE + made + "\nMODEL = Model.of(__name__, state=State, config=Config)\n")
    got, _, err = said(capsys, str(path))
    assert got == 150
    assert "IndexError" in err

"""Seeded faults of the engines that get a second opinion: TLC's answers differ from ours, or ours is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import z3

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.encoding.state_layout import layout_of
from reassure.checkers.engines.native.liveness.decide import Liveness
from reassure.checkers.engines.native.model.emit_loops import LoopEmitter
from reassure.checkers.engines.native.model.emit_nodes import OPERATIONS, NodeEmitter
from reassure.checkers.engines.native.model.loop_form import LoopGuard, nodes_of, statements
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.checkers.engines.reference.search import ReferenceSearch
from reassure.checkers.engines.spark.distributed_search import DistributedRun
from reassure.checkers.engines.spark.tasks import Sent
from reassure.checkers.engines.symbolic.cross_check import CrossCheck
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.tla import second_opinion
from reassure.checkers.tla.second_opinion import ComparedAnswer, ask_tlc
from reassure.checkers.tla.tlc import TlcInstallation, TlcRun
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.operations import LEAVES, arguments_first
from reassure.spec.language.types import BoolType
from tests.fuzz.second_opinion import TlcServer, outcomes
from tests.helpers import spark_runs
from tests.helpers.command import said
from tests.helpers.model_text import PRELUDE
from tests.helpers.runs import checked
from tests.helpers.tlc_jar import tlc

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_kernels")]
MODELS = ("die_hard", "two_phase_commit", "core", "core_liveness", "reassignment_contexts")


@pytest.fixture(scope="module")
def jar() -> TlcInstallation:
    return tlc()


@pytest.fixture(autouse=True, scope="module")
def runs_of_tlc() -> Iterator[None]:
    """TLC runs once on each text: a fault of ours changes nothing in it."""
    found: dict[Any, TlcRun] = {}
    right = second_opinion.run_tlc

    def run(tlc: TlcInstallation, folder: Path, module: str, *others: Any) -> TlcRun:
        key = (others[2:], *(path.read_text() for path in sorted(folder.iterdir())))
        if key not in found:
            found[key] = right(tlc, folder, module, *others)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_opinion, "run_tlc", run)
        yield


def noticed(model: str, tlc: TlcInstallation, engine: str = "native") -> list[ComparedAnswer] | Exit:
    """What differs, or the exit code with which our own search ends."""
    options = SearchOptions()
    try:
        if engine == "spark":
            result, bound = spark_runs.checked(model, [], spark_runs.far()), prepare(model, []).bound
        else:
            result, bound = checked(model, [], engine)
        return ask_tlc(result, bound, options, tlc, Progress(quiet=True)).differences
    except Failure as failure:
        return failure.code
    except RuntimeError:
        return Exit.INTERNAL


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("model", MODELS)
def test_without_a_fault_nothing_differs(model: str, engine: str, jar: TlcInstallation) -> None:
    assert noticed(model, jar, engine) == []


def uses() -> dict[str, list[str]]:
    """The models by the operations and the statements of their loops."""
    found: dict[str, list[str]] = {}
    for model in MODELS:
        prepared = prepare(model, [])
        for loops in model_kernel(prepared.lowered, layout_of(prepared.bound.type), parameters=True).loops:
            every = list(statements(loops.body))
            names = {type(s).__name__ for s in every}
            names |= {n.op for n in arguments_first([node for s in every for node in nodes_of(s)])} - set(LEAVES)
            for name in names:
                found.setdefault(name, [])
                if model not in found[name]:
                    found[name].append(model)
    return found


def is_noticed(models: list[str], tlc: TlcInstallation, engine: str = "native") -> bool:
    """Whether TLC differs about some model under a fault that a test has put in, or our own search finds the fault."""
    answers = [noticed(model, tlc, engine) for model in models]
    return any(a in (Exit.DISAGREE, Exit.INTERNAL) if isinstance(a, Exit) else bool(a) for a in answers)


OPERATIONS_USED = (
    "add", "and", "card", "eq", "inter", "ite", "lowest", "lt", "member", "min", "minus", "not", "or", "single", "sub",
    "union",
)  # fmt: skip


def test_these_operations_are_used() -> None:
    assert set(OPERATIONS_USED) == set(uses()) & set(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS_USED)
def test_a_fault_in_an_operation_is_noticed(
    operation: str, jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, right = uses()[operation], OPERATIONS[operation]

    def wrong(e: NodeEmitter, node: Node) -> str:
        value = right(e, node)
        return e.f.negated(value) if isinstance(node.type, BoolType) else e.f.op(f"add i64 {value}, 1")

    monkeypatch.setitem(OPERATIONS, operation, wrong)
    assert is_noticed(models, jar)


def test_a_guard_left_out_is_noticed(jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    right = LoopEmitter._block

    def wrong(self: LoopEmitter, block: Any) -> None:
        right(self, tuple(s for s in block if not isinstance(s, LoopGuard)))

    monkeypatch.setattr(LoopEmitter, "_block", wrong)
    assert is_noticed(["two_phase_commit"], jar)


def test_a_loop_that_ends_early_is_noticed(jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    right = LoopEmitter._counted
    monkeypatch.setattr(
        LoopEmitter, "_counted", lambda self, loop, count, bind: right(self, loop, max(1, count - 1), bind)
    )
    assert is_noticed(["two_phase_commit"], jar)


def test_fair_loops_that_are_not_found_are_noticed(jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Liveness, "violating_run", lambda *_: None)
    (row,) = differences("core_liveness", jar)
    assert (row.ours, row.theirs) == ("holds", "violated")


def differences(model: str, tlc: TlcInstallation, engine: str = "native") -> list[ComparedAnswer]:
    """What differs about a model."""
    answer = noticed(model, tlc, engine)
    assert isinstance(answer, list)
    return answer


FAULTS_OF_PLAIN_PYTHON: dict[str, tuple[str, str, Callable[[Any], Any], set[str]]] = {
    # what is wrong: method, model, what is in its place, what differs
    "the last step of a state is forgotten": (
        "ask_all",
        "two_phase_commit",
        lambda right: lambda self, s: iter(list(right(self, s))[:-1]),
        {"distinct states", "generated states", "depth", "everybody_commits"},
    ),
    "every property holds": (
        "ask",
        "die_hard",
        lambda right: lambda self, *_: True,
        {"goal_not_reached"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS_OF_PLAIN_PYTHON)
def test_a_fault_in_the_search_of_plain_python_is_noticed(
    fault: str, jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, model, wrong, about = FAULTS_OF_PLAIN_PYTHON[fault]
    monkeypatch.setattr(ReferenceSearch, method, wrong(getattr(ReferenceSearch, method)))
    assert {row.about for row in differences(model, jar, "reference")} == about


FAULTS_OF_SPARK: dict[str, tuple[str, str, Callable[[Any], Any], set[str]]] = {
    # what is wrong: method, model, what is in its place, some of what differs
    "the last piece of a level is forgotten": (
        "pieces",
        "core",
        lambda right: lambda self, level: right(self, level)[:-1] or right(self, level),
        {"distinct states", "generated states"},
    ),
    "a task's counts of steps are forgotten": (
        "_expanded",
        "core",
        lambda right: lambda *given: ([o for o in right(*given)[0] if not isinstance(o, Sent) or o.raised], 0),
        {"generated states"},
    ),
    "what a level violates is forgotten": (
        "_expanded",
        "die_hard",
        lambda right: lambda *given: ([_without_flags(o) for o in right(*given)[0]], 0),
        {"goal_not_reached"},
    ),
}


def _without_flags(output: Any) -> Any:
    return replace(output, flags=output.flags * 0) if isinstance(output, Sent) else output


@spark_runs.needs_spark
def test_without_a_fault_spark_and_tlc_agree(jar: TlcInstallation) -> None:
    assert [noticed(model, jar, "spark") for model in ("core", "die_hard")] == [[], []]


@spark_runs.needs_spark
@pytest.mark.parametrize("fault", FAULTS_OF_SPARK)
def test_a_fault_in_the_search_of_spark_is_noticed(
    fault: str, jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, model, wrong, about = FAULTS_OF_SPARK[fault]
    monkeypatch.setattr(DistributedRun, method, wrong(getattr(DistributedRun, method)))
    assert about <= {row.about for row in differences(model, jar, "spark")}


def proofs_that_tlc_refutes(model: str, method: str, tlc: TlcInstallation) -> tuple[set[str], set[str]]:
    """What a proof claims of a model, and what of it is violated for TLC."""
    request = CheckRequest(model, [], f"prove:{method}", SearchOptions())
    answers = run(request, Progress(quiet=True))[0].properties
    proved = {answer.name for answer in answers if answer.status is PropertyStatus.PROVED}
    result, bound = checked(model, [], "native")
    rows = ask_tlc(result, bound, SearchOptions(), tlc, Progress(quiet=True)).rows
    return proved, {row.about for row in rows if row.about in proved and row.theirs != "holds"}


def test_without_a_fault_tlc_refutes_no_proof(jar: TlcInstallation) -> None:
    assert proofs_that_tlc_refutes("die_hard", "induction", jar) == (set(), set())
    proved = {"isr_within_replicas", "isr_never_empty", "leader_in_isr"}
    assert proofs_that_tlc_refutes("core", "pdr", jar) == (proved, set())


def test_a_proof_that_forgets_the_steps_is_noticed(jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the comparison with plain Python, and by TLC without it."""
    right = Machine.steps

    def without_steps(self: Machine, k: int) -> list[Any]:
        return [replace(step, taken=z3.BoolVal(False)) for step in right(self, k)]

    monkeypatch.setattr(Machine, "steps", without_steps)
    with pytest.raises(Failure) as failure:
        proofs_that_tlc_refutes("die_hard", "induction", jar)
    assert failure.value.code is Exit.DISAGREE
    monkeypatch.setattr(CrossCheck, "run", lambda *_: None)
    assert proofs_that_tlc_refutes("die_hard", "induction", jar) == ({"goal_not_reached"}, {"goal_not_reached"})


def test_deadlocks_that_are_not_looked_for_are_noticed(
    tmp_path: Path, jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stops.py"
    guarded = "require(s.number < 3)\n    return replace(s, number=s.number + 1)"
    action = f'\n@action(who="x")\ndef act(s: State) -> State:\n    {guarded}\n'
    path.write_text(PRELUDE + action + "\nMODEL = Model.of(__name__, state=State, config=Config)\n", encoding="utf-8")
    assert differences(str(path), jar, "reference") == []
    monkeypatch.setattr(ReferenceSearch, "ask_deadlock", lambda *_: None)
    (row,) = differences(str(path), jar, "reference")
    assert (row.about, row.ours, row.theirs) == ("deadlock", "holds", "violated: 4 states")


def test_drawn_models(jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m tests.fuzz.second_opinion` draws more of them."""
    server = TlcServer(jar)
    monkeypatch.setattr(second_opinion, "run_tlc", server.run)
    found = [outcome for _, outcome in outcomes(range(2_000, 2_100), jar, 300, 8)]
    server.stop()
    assert found.count("same") == 8


def test_both_sides_are_printed(
    jar: TlcInstallation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(OPERATIONS, "union", OPERATIONS["inter"])
    code, out, _ = said(capsys, "check", "two_phase_commit", "--second-opinion", "tlc", "--jar", str(jar.jar))
    assert code == 19
    assert "TLC's 288" in next(line for line in out.splitlines() if line.startswith("  distinct states: ours "))

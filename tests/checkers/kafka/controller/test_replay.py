"""Traces of `kraft_kafka` executed by Kafka's own controller."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf, run_of_controller
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.replay import controller_trace, replayed, trace_of_controller
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, TraceStep, to_itf
from tests.helpers.committed_traces import committed_trace
from tests.helpers.kafka_jars import EACH, class_path, shared_driver
from tests.helpers.kafka_traces import JOIN, ONE, TWO, trace_of

STRANGER: list[tuple[str, dict[str, object]]] = [
    *JOIN,
    ("start", {"target": frozenset({ONE})}),
    ("shut_down_uncleanly", {"broker": ONE}),
    ("start", {"target": frozenset({TWO})}),
]
"""The ELR holds broker 2, which is not a replica any more, when it becomes the target: Kafka throws."""
DEFECTS = Path(__file__).parents[4] / "checkers" / "kafka" / "controller" / "defects"


@pytest.fixture(scope="module")
def bound() -> BoundModel:
    return prepare_plain("kraft_kafka", [])[0]


@pytest.mark.parametrize("version", EACH)
def test_a_follower_joins_as_in_kafka(bound: BoundModel, version: str) -> None:
    trace = controller_trace(trace_of(bound, JOIN), ModelView(bound))
    assert [step.text for step in trace.commands] == ["alter_partition(from 1, ISR {1, 2}, epochs 0 and 0)"]
    driver = shared_driver(version)
    assert replayed(trace, driver) is None


def test_a_state_that_kafka_does_not_reach_is_shown_side_by_side(bound: BoundModel) -> None:
    made = trace_of(bound, [*JOIN, ("fence", {"broker": TWO})])
    wrong = made.states[-1]
    partition = type(wrong.partition)(**{**vars(wrong.partition), "elr": frozenset()})
    made.states[-1] = type(wrong)(**{**vars(wrong), "partition": partition})
    driver = shared_driver("4.4.0")
    found = replayed(controller_trace(made, ModelView(bound)), driver)
    assert found is not None and found.step.number == 4
    assert found.rows() == [("ELR", "{}", "{2}")]
    assert "eligibleLeaderReplicas=[2]" in found.records


def test_error_codes_are_compared(bound: BoundModel) -> None:
    """A request that comes after its leader was fenced."""
    calls = [*JOIN[:2], ("fence", {"broker": ONE}), JOIN[2]]
    trace = controller_trace(trace_of(bound, calls), ModelView(bound))
    assert trace.commands[-1].error == "FENCED_LEADER_EPOCH"
    driver = shared_driver("4.4.0")
    assert replayed(trace, driver) is None
    steps = (*trace.commands[:-1], type(trace.commands[-1])(**{**vars(trace.commands[-1]), "error": "NONE"}))
    found = replayed(type(trace)(**{**vars(trace), "commands": steps}), driver)
    assert found is not None and found.rows() == [("answer", "NONE", "FENCED_LEADER_EPOCH")]


def test_the_command_exits_with_18_where_kafka_refuses(
    bound: BoundModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class_path("3.9.0")
    made = trace_of(bound, [*JOIN, ("fence", {"broker": TWO})])
    good, bad = tmp_path / "good.itf.json", tmp_path / "bad.itf.json"
    made.meta = {"model": "kraft_kafka", "config": {}}
    good.write_text(to_itf(made, bound))
    assert main(["kafka", "replay", str(good), "--release", "3.9.0"]) == Exit.OK.value
    assert "Kafka 3.9.0 runs" in capsys.readouterr().out
    partition = made.states[-1].partition
    changed = type(partition)(**{**vars(partition), "leader_epoch": 1})
    made.states[-1] = type(made.states[-1])(**{**vars(made.states[-1]), "partition": changed})
    bad.write_text(to_itf(made, bound))
    assert main(["kafka", "replay", str(bad), "--release", "3.9.0", "3.9.0"]) == Exit.TRACE.value == 18
    said = capsys.readouterr().out
    assert "Kafka 3.9.0 refuses" in said and "at step 4: fence(2)" in said and "PartitionChangeRecord(" in said
    assert said.count("refuses") == 1


def test_a_run_of_which_nothing_is_executed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What brokers do among themselves is no command, and changes no state of the controller."""
    class_path("4.4.0")
    run = json.loads((DEFECTS / "rollback-never-ends.itf.json").read_text())
    run["#meta"]["kafka"]["release"] = "4.4.0"
    renamed = json.loads(json.dumps(run))
    for state in renamed["states"][1:]:
        state["#meta"] |= {"action": "commit", "params": {}}
    (path := tmp_path / "renamed.itf.json").write_text(json.dumps(renamed))
    for words in (("replay",), ("confirm",), ("test", "--main")):
        assert main(["kafka", *words, str(path)]) == Exit.TRACE.value
        assert "commit, is none of the controller's, and its state changes" in capsys.readouterr().err
    del run["states"][1:]
    (one := tmp_path / "one.itf.json").write_text(json.dumps(run))
    for words in (("replay",), ("confirm",), ("test", "--main")):
        assert main(["kafka", *words, str(one)]) == Exit.NOTHING.value
        assert "has no command for the controller: nothing was executed" in capsys.readouterr().err


def test_a_trace_without_commands_hides_no_other(
    bound: BoundModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = trace_of(bound, [*JOIN, ("fence", {"broker": TWO})])
    made.meta = {"model": "kraft_kafka", "config": {}}
    (good := tmp_path / "good.itf.json").write_text(to_itf(made, bound))
    none = Trace(made.states[:1], made.steps[:1], made.meta)
    (empty := tmp_path / "empty.itf.json").write_text(to_itf(none, bound))
    partition = made.states[-1].partition
    changed = type(partition)(**{**vars(partition), "leader_epoch": 1})
    made.states[-1] = type(made.states[-1])(**{**vars(made.states[-1]), "partition": changed})
    (bad := tmp_path / "bad.itf.json").write_text(to_itf(made, bound))
    words = ["kafka", "replay", str(bad), str(empty), str(good), "--release", "3.9.0"]
    assert main(words) == Exit.TRACE.value
    out, err = capsys.readouterr()
    assert "Kafka 3.9.0 refuses" in out and "Kafka 3.9.0 runs" in out and "nothing was executed" in err


def test_a_model_of_something_else_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    die_hard, _ = prepare_plain("die_hard", [])
    declared, params, state = next(iter(die_hard.initial_states()))
    trace = Trace([state], [TraceStep(declared.name, params, "")], {"model": "die_hard"})
    path = tmp_path / "die_hard.itf.json"
    path.write_text(to_itf(trace, die_hard))
    assert main(["kafka", "replay", str(path)]) == Exit.USAGE.value
    assert capsys.readouterr().err == "reassure: die_hard is not a model of Kafka's controller: it has no partition\n"


def test_an_exception_of_kafka_refuses_the_trace() -> None:
    """A run of 4.2 to 4.4, in whose last step the controller throws: as it is, and as if nothing were thrown."""
    run = run_of_controller(DEFECTS / "controller-resigns.itf.json")
    assert run is not None
    trace = commands_from_itf(run, "controller-resigns")
    last = trace.commands[-1]
    assert (last.text, last.error, last.resigns) == ("restart_uncleanly(1)", "UNKNOWN_SERVER_ERROR", True)
    expected_otherwise = replace(last, error="NONE", resigns=False)
    driver = shared_driver("4.4.0")
    assert replayed(trace, driver) is None
    found = replayed(replace(trace, commands=(*trace.commands[:-1], expected_otherwise)), driver)
    assert found is not None and found.step.number == 6 and found.answer.thrown
    assert found.rows() == [("answer", "NONE", "UNKNOWN_SERVER_ERROR, the controller resigns")]
    assert found.records.startswith("java.lang.IllegalArgumentException: Replica 2 is not assigned to this partition.")


def test_an_exception_of_a_request_is_an_answer_that_changes_nothing(bound: BoundModel) -> None:
    """The model refuses a target that is elected before it is a replica, as Kafka does; a trace may not say it grew."""
    trace = controller_trace(trace_of(bound, STRANGER), ModelView(bound))
    last = trace.commands[-1]
    assert last.after == last.before
    grown = replace(last.after, partition=replace(last.after.partition, replicas=(TWO, ONE)))
    driver = shared_driver("4.4.0")
    assert replayed(trace, driver) is None
    found = replayed(replace(trace, commands=(*trace.commands[:-1], replace(last, after=grown))), driver)
    assert found is not None and found.step.number == 6 and found.answer.error == "UNKNOWN_SERVER_ERROR"
    assert found.state == last.before and not found.answer.thrown


# -- the run of a late fetch, whose model has processes and fetches -----------------------------------------------


@pytest.fixture(scope="module")
def late_fetch() -> tuple[Trace, BoundModel]:
    return committed_trace("unregistered_fetch", "leader_has_what_was_acknowledged", brokers=2)


@pytest.mark.parametrize("version", EACH)
def test_the_controller_takes_its_part_in_a_late_fetch(late_fetch: tuple[Trace, BoundModel], version: str) -> None:
    run = trace_of_controller(*late_fetch)
    assert [f"{step.number} {step.text}" for step in run.commands] == [
        "2 fence(1)",
        "10 register(1), which has lost the records that it had fetched",
        "11 unfence(1)",
        "14 alter_partition({1, 2}), without their epochs",
        "15 fence(2)",
    ]
    assert (run.brokers, run.min_isr, run.steps) == (2, 1, 15)
    assert replayed(run, shared_driver(version)) is None


def test_a_late_fetch_that_kafka_does_not_take_so(late_fetch: tuple[Trace, BoundModel]) -> None:
    run = trace_of_controller(*late_fetch)
    refused = replace(run.commands[3], after=run.commands[3].before)
    found = replayed(replace(run, commands=(*run.commands[:3], refused)), shared_driver("4.4.0"))
    assert found is not None
    assert found.rows() == [("ISR", "{2}", "{1, 2}"), ("partition epoch", "1", "2")]


def test_a_request_with_other_epochs_is_not_one_of_the_driver(late_fetch: tuple[Trace, BoundModel]) -> None:
    trace, bound = late_fetch
    before = trace.states[13]
    request = replace(before.request, epochs=before.request.epochs.put(ONE, 1))
    states = [*trace.states[:13], replace(before, request=request), *trace.states[14:]]
    with pytest.raises(
        Failure, match=r"a request with the epochs \{1\} is not one that Kafka's driver sends"
    ) as refused:
        trace_of_controller(replace(trace, states=states), bound)
    assert refused.value.code is Exit.USAGE

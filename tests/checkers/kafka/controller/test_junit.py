"""Traces as test methods of Kafka's own test class, and as programs: compiled, run, failing for the right reason."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import findings_command, junit
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf, executed, run_of_controller, run_to_itf
from reassure.checkers.kafka.controller.explore import LATE, Scope
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.junit import fails_without_it, junit_method, method_name
from reassure.checkers.kafka.controller.kafka_tests import MethodOutcome, run_methods, with_methods
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import Release, release
from reassure.checkers.kafka.controller.replay import ControllerTrace, controller_trace
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.controller.words import REFUSED_PROPOSALS, Command, Kind
from reassure.checkers.kafka.pages.headlines import HEADLINES
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare_plain
from reassure.spec.kafka.partition import Broker
from tests.helpers.committed_traces import committed_file, committed_trace
from tests.helpers.kafka_explored import findings_of
from tests.helpers.kafka_jars import TESTED, VERSIONS, class_path, shared_driver
from tests.helpers.kafka_traces import JOIN, TWO, trace_of

REASONS = {
    "a_led_reassignment_can_end": "OngoingPartitionReassignment(partitionIndex=0",
    "controller_goes_on": "is not assigned to this partition.",
    "leaders_hold_what_was_committed": "has deleted its log, and leads without what was committed",
    "elr_within_replicas": "an eligible leader is no replica",
    "requests_are_understood": "expected: <0> but was: <-1>",
}


def runs_of(version: str, folder: Path) -> dict[str, ControllerTrace]:
    """The same, written to a folder and read again."""
    (_, shown), traces = findings_of(version), {}
    for name in REASONS:
        if name in shown:
            file = folder / f"{name}.itf.json"
            file.write_text(run_to_itf(shown[name].run, {"property": name}))
            data = run_of_controller(file)
            assert data is not None
            traces[name] = commands_from_itf(data, name)
    return traces


MODELS_REASONS = {
    "rolling_back_ends": "the reassignment goes on although every replica is in sync",
    "nothing_lost_by_a_completion": "has deleted its log, and leads without what was committed",
    "nothing_lost_by_a_cancellation": "has deleted its log, and leads without what was committed",
    "broker_events_are_carried_out": "is not assigned to this partition.",
    "retarget_replaces_the_target": "the reassignment leads elsewhere than it was asked to",
    "changed_min_isr_leaves_who_may_lead": "brokers with every committed record are back, and nobody leads",
}
"""What Kafka's class says of a model's counterexamples of 4.3."""
NOT_IN_3_9 = (
    "rolling_back_ends",
    "nothing_lost_by_a_completion",
    "broker_events_are_carried_out",
    "changed_min_isr_leaves_who_may_lead",
)
"""Of these runs those whose end 3.9 does not reach."""


def models_methods(version: str = "4.3.0") -> dict[str, str]:
    """Counterexamples of the models with the rules of 4.3 as methods for a release, by property."""
    methods = {}
    for name in MODELS_REASONS:
        model = "kraft_kafka_operated" if name == "changed_min_isr_leaves_who_may_lead" else "kraft_kafka"
        trace, bound = committed_trace(model, name, release="4.3")
        methods[name] = junit_method(controller_trace(trace, ModelView(bound)), release(version), name, name)
    return methods


@cache
def outcomes(version: str) -> dict[str, MethodOutcome]:
    """What Kafka's test class says of all methods for a release, compiled and run together.

    By property; the methods that have to pass begin with `steps of`, or are of a follower.
    """
    with tempfile.TemporaryDirectory() as folder:
        traces = runs_of(version, Path(folder))
    methods = {name: junit_method(trace, release(version), name, name) for name, trace in traces.items()}
    # Without the promise the same steps are what the release does: each of their assertions holds.
    for name in traces:
        if name != "controller_goes_on":
            methods[f"steps of {name}"] = junit_method(traces[name], release(version), f"steps of {name}")
    methods["a follower joins"] = models_method(version)
    if version != "4.1.0":
        methods |= models_methods(version)
    return dict(zip(methods, run_methods(class_path(version, tests=True), list(methods.values())), strict=True))


@pytest.mark.parametrize("version", [pytest.param(v, marks=[pytest.mark.slow] if v != "4.3.0" else []) for v in TESTED])
def test_kafkas_own_test_class_fails_for_the_right_reason(version: str) -> None:
    class_path(version, tests=True)
    ran = outcomes(version)
    failing = [name for name in ran if name in REASONS]
    assert set(failing) >= {"controller_goes_on", "leaders_hold_what_was_committed"}
    for name in failing:
        assert not ran[name].passed and REASONS[name] in ran[name].message, name
    passing = [name for name in ran if name not in REASONS and name not in MODELS_REASONS]
    assert len(passing) == len(failing)  # all but the one that throws, and a follower that joins
    assert all(ran[name].passed for name in passing)


def test_findings_of_the_models_fail_for_the_right_reason() -> None:
    class_path("4.3.0", tests=True)
    ran = outcomes("4.3.0")
    for name, why in MODELS_REASONS.items():
        assert not ran[name].passed and why in ran[name].message, name


@pytest.mark.slow
def test_a_release_without_the_defect_passes() -> None:
    """Whatever its states are on the way."""
    class_path("3.9.0", tests=True)
    ran = outcomes("3.9.0")
    assert [name for name in MODELS_REASONS if ran[name].passed] == list(NOT_IN_3_9)
    for name, why in MODELS_REASONS.items():
        assert ran[name].passed or why in ran[name].message, name


ONE = frozenset({Broker(1)})


def test_every_finding_has_an_assertion() -> None:
    cases = [case for case in findings_command._cases() if case.counts]
    assert {case.headline for case in cases} == set(HEADLINES)
    for case in cases:
        assert fails_without_it(case.headline.property, findings_command.method_of(case, cases)[0]), case.key


def test_a_promise_of_another_last_step_is_not_asserted(tmp_path: Path) -> None:
    """A run that ends with a cancellation shows nothing of where a request leads: a note says so."""
    class_path("4.3.0")
    trace = runs_of("4.3.0", tmp_path)["a_led_reassignment_can_end"]
    assert trace.commands[-1].command.kind is Kind.REASSIGN
    assert fails_without_it("leads_where_it_was_asked_to", trace)
    cancelled = replace(trace.commands[-1], command=Command(Kind.CANCEL))
    other = replace(trace, commands=(*trace.commands[:-1], cancelled))
    assert not fails_without_it("leads_where_it_was_asked_to", other)
    text = junit_method(other, release("4.3.0"), "x", "leads_where_it_was_asked_to")
    assert "PartitionRegistration end" in text and "leads elsewhere" not in text


@pytest.mark.parametrize(
    ("promise", "lines"),
    [
        ("leader_is_in_sync", ["end.leader == -1 || Replicas.toList(end.isr).contains(end.leader)"]),
        ("completion_trims_isr_and_elr", ["Replicas.toList(end.elr)", "Replicas.toList(end.isr)"]),
        ("cancelling_keeps_min_isr", ["end.isr.length >= Math.min(1, end.replicas.length)"]),
    ],
)
def test_what_a_promise_says_is_asserted_whole(promise: str, lines: list[str], tmp_path: Path) -> None:
    class_path("4.3.0")
    trace = runs_of("4.3.0", tmp_path)["a_led_reassignment_can_end"]
    last = trace.commands[-1]
    changed = replace(trace, commands=(*trace.commands[:-1], replace(last, after=replace(last.after, min_isr=1))))
    text = junit_method(changed, release("4.3.0"), "x", promise)
    assert all(line in text for line in lines), text


def test_a_test_is_of_the_cluster_that_the_run_is_of(tmp_path: Path) -> None:
    class_path("4.3.0")
    trace = runs_of("4.3.0", tmp_path)["elr_within_replicas"]
    assert "setIsElrEnabled(true)" in junit_method(trace, release("4.3.0"), "x")
    without = replace(trace, setup=replace(trace.setup, elr=False))
    assert "setIsElrEnabled(false)" in junit_method(without, release("4.3.0"), "x")
    others = [replace(trace, setup=replace(trace.setup, company=True))]
    others += [replace(trace, setup=replace(trace.setup, metadata_version="3.9-IV0"))]
    others += [
        replace(trace, start=replace(trace.start, **changed))
        for changed in ({"min_isr": trace.min_isr + 1}, {"cordoned": ONE}, {"shutting_down": ONE})
    ]
    for other in others:
        with pytest.raises(Failure, match=r"which Kafka's test context does not make|that Kafka's test context does"):
            junit_method(other, release("4.3.0"), "x")


def test_a_property_without_an_assertion_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    path = committed_file("kraft_kafka", "completion_raises_leader_epoch")
    assert main(["kafka", "test", str(path), "--property", "completion_raises_leader_epoch"]) == Exit.OK.value
    said = capsys.readouterr()
    assert said.err == (
        "note: there is no assertion of completion_raises_leader_epoch: the test asserts the state after the last "
        "step, and passes\n"
    )
    assert "        PartitionRegistration end = replication.getPartition(fooId, 0);\n" in said.out


def test_one_of_several_properties_is_asserted(capsys: pytest.CaptureFixture[str]) -> None:
    path = committed_file("kraft_kafka", "leads_where_it_was_asked_to", release="4.4")
    assert list(json.loads(path.read_text())["#meta"]["properties"]).index("retarget_replaces_the_target") > 0
    command = ["kafka", "test", str(path), "--property"]
    assert main([*command, "retarget_replaces_the_target"]) == Exit.OK.value
    assert "public void testRetargetReplacesTheTarget() {" in capsys.readouterr().out
    assert main([*command, "rolling_back_ends"]) == Exit.USAGE.value
    assert capsys.readouterr().err == f"reassure: {path} is not about rolling_back_ends\n"


CHANGE = """
        ctx.replay(ctx.configurationControl.incrementalAlterConfigs(
            Map.of(new ConfigResource(ConfigResource.Type.TOPIC, "foo"),
                Map.of("min.insync.replicas", Map.entry(AlterConfigOp.OpType.SET, "1"))),
            {}).records());
"""


def test_a_change_of_min_isr_is_a_request_of_the_release() -> None:
    """From 4.3 on the request has an argument more. A build without a version counts as a newer one."""
    name = "changed_min_isr_leaves_who_may_lead"
    trace, bound = committed_trace("kraft_kafka_operated", name)
    run = controller_trace(trace, ModelView(bound))
    builds = {"4.2.2+build-0123": "false", "4.3.1+build-0123": "false, false", "unknown+build-0123": "false, false"}
    for version, arguments in {"4.2.0": "false", "4.3.0": "false, false", "4.10.0": "false, false", **builds}.items():
        assert CHANGE.format(arguments) in junit_method(run, Release(version, "4.4"), name, name)


def test_a_restart_that_the_test_context_cannot_make_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    bound, _ = prepare_plain("kraft_kafka", [])
    trace = controller_trace(trace_of(bound, [("start", {"target": frozenset({TWO})})]), ModelView(bound))
    step = replace(trace.commands[0], command=Command(Kind.ELECT_LEADERLESS))
    with pytest.raises(Failure, match=r"^elect_leaderless\(\) has no counterpart in Kafka's test context$"):
        junit_method(replace(trace, commands=(step,)), release("4.3.0"), "x")


def test_a_registration_with_several_directories_is_made_once() -> None:
    defects = Path(junit.__file__).parent / "defects"
    trace = commands_from_itf(run_of_controller(defects / "new-directory-empties-the-elr.itf.json") or {}, "run")
    restart = Command(Kind.RESTART_UNCLEANLY, 2)
    again = replace(trace, commands=(replace(trace.commands[0], command=restart, text=str(restart)),))
    with pytest.raises(Failure, match=r"^restart_uncleanly\(2\) has no counterpart .* with several log directories$"):
        junit_method(again, release("4.2.0"), "again")


def test_no_state_in_between_is_asserted() -> None:
    """A release without the defect has other ones."""
    for name, method in models_methods().items():
        steps, _, _ = method.rpartition("\n\n")
        assert "PartitionRegistration" not in steps and "assertEquals(1, " not in steps, name


def test_whoever_lost_its_log_is_a_matter_of_the_release() -> None:
    """The method notes whether the later leader was removed, right after the step that removes it in the run."""
    method = models_methods()["nothing_lost_by_a_completion"]
    removal = "        boolean removed = !Replicas.toList(replication.getPartition(fooId, 0).replicas).contains(1);"
    lines = method.splitlines()
    assert lines[lines.index(removal) - 1] == "        ctx.replay(result2.records());"
    assert "        assertFalse(removed && replication.getPartition(fooId, 0).leader == 1," in lines


def test_an_isr_that_is_accepted_may_move_the_leader() -> None:
    """Unless the answer itself is the matter: without a property the method asserts it."""
    trace, bound = committed_trace("kraft_kafka", "nothing_lost_by_a_completion", release="4.3")
    run = controller_trace(trace, ModelView(bound))
    either = (
        "assertTrue(Set.of(NONE.code(), org.apache.kafka.common.protocol.Errors.NEW_LEADER_ELECTED.code()).contains("
    )
    exact = "assertEquals(org.apache.kafka.common.protocol.Errors.NEW_LEADER_ELECTED.code(),"
    own, other = (junit_method(run, release("4.3.0"), "x", name) for name in ("nothing_lost_by_a_completion", ""))
    assert (either in own, exact in own) == (True, False)
    assert (either in other, exact in other) == (False, True)


def test_eligible_leader_replicas_can_be_off() -> None:
    trace, bound = committed_trace("kraft_kafka", "rolling_back_ends", release="4.3")
    run = controller_trace(trace, ModelView(bound))
    texts = [junit_method(run, release("4.3.0"), "x", "rolling_back_ends", elr) for elr in (True, False)]
    assert texts[0].replace("setIsElrEnabled(true)", "setIsElrEnabled(false)") == texts[1] != texts[0]


def test_producers_wait_for_no_more_than_there_are_replicas() -> None:
    bound, _ = prepare_plain("kraft_kafka", ["brokers=4", "release=4.3"])
    three = ("start", {"target": frozenset({TWO, Broker(3), Broker(4)})})
    trace = controller_trace(trace_of(bound, [three, ("cancel", {})]), ModelView(bound))
    method = junit_method(trace, release("4.3.0"), "x", "cancelling_keeps_min_isr")
    assert "assertTrue(end.isr.length >= Math.min(2, end.replicas.length)," in method


def models_method(version: str) -> str:
    """A trace of `kraft_kafka` as a method."""
    bound, _ = prepare_plain("kraft_kafka", [])
    trace = trace_of(bound, [*JOIN, ("fence", {"broker": TWO})])
    return junit_method(controller_trace(trace, ModelView(bound)), release(version), "a follower joins")


def test_a_late_request_has_the_epochs_of_kafka_when_it_was_sent() -> None:
    """One more than the model's: the ISR is shrunk to begin with. Any other has those of the moment."""
    bound, _ = prepare_plain("kraft_kafka", [])
    catch, propose, answered = JOIN
    grow = ("start", {"target": frozenset({Broker(1), TWO, Broker(3)})})
    trace = trace_of(bound, [catch, propose, grow, answered])
    method = junit_method(controller_trace(trace, ModelView(bound)), release("4.3.0"), "x")
    assert "setPartitionEpoch(1)" in method and "setLeaderEpoch(0)" in method
    assert "setPartitionEpoch(replication.getPartition(fooId, 0).partitionEpoch)" in models_method("4.3.0")


def test_names_of_methods() -> None:
    assert method_name("leader_is_in_sync") == "testLeaderIsInSync"
    assert method_name("steps of a-b") == "testStepsOfAB"


def test_the_method_stands_before_the_end_of_the_class() -> None:
    assert with_methods("class A {\n}\n", ["    void b() {\n    }\n"]) == "class A {\n\n    void b() {\n    }\n}\n"


def test_the_command_prints_the_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.3.0")
    runs_of("4.3.0", tmp_path)
    path = tmp_path / "a_led_reassignment_can_end.itf.json"
    assert main(["kafka", "test", str(path)]) == Exit.OK.value
    said = capsys.readouterr().out
    assert said.startswith("    @Test\n    public void testALedReassignmentCanEnd() {\n") and said.endswith("    }\n")
    assert all(len(line) <= 120 for line in said.splitlines())
    written = tmp_path / "Method.java"
    assert main(["kafka", "test", str(path), "--out", str(written)]) == Exit.OK.value
    assert written.read_text() == said


def test_a_start_that_the_test_context_does_not_make_is_refused(tmp_path: Path) -> None:
    class_path("4.3.0")
    trace = runs_of("4.3.0", tmp_path)["elr_within_replicas"]
    inside = ControllerTrace(**{**vars(trace), "start": trace.commands[-1].after})
    with pytest.raises(Failure, match="starts in a state that Kafka's test context does not make"):
        junit_method(inside, release("4.3.0"), "x")


@pytest.mark.parametrize("version", ["4.3.0"])
@pytest.mark.slow
def test_the_whole_controller_does_the_same(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It never ends a rolled back reassignment, and it resigns at a registration: its epoch rises."""
    class_path(version, tests=True)
    runs_of(version, tmp_path)
    for name in ("a_led_reassignment_can_end", "controller_goes_on"):
        path = tmp_path / f"{name}.itf.json"
        assert main(["kafka", "confirm", str(path), "--release", version]) == Exit.OK.value
        said = capsys.readouterr().out
        assert f"the whole controller of Kafka {version} gives the results of the trace" in said
        assert ("IllegalArgumentException" in said) == (name == "controller_goes_on")
        last = [line for line in said.splitlines() if "(controller epoch" in line][-1]
        assert last.endswith("(controller epoch 3)" if name == "controller_goes_on" else "(controller epoch 1)")


@pytest.mark.slow
def test_a_models_trace_runs_on_a_release() -> None:
    version = VERSIONS[0]
    bound, _ = prepare_plain("kraft_kafka", [])
    trace = controller_trace(trace_of(bound, [*JOIN, ("fence", {"broker": TWO})]), ModelView(bound))
    program = reproduction(trace, release(version), "a follower joins")
    assert program.file == "AFollowerJoins.java" and "// STEPS" not in program.text
    assert run_program(program, class_path(version)).passed
    wrong = type(program)(
        program.name, program.text.replace("assertEquals(Set.of(1), Set", "assertEquals(Set.of(2), Set")
    )
    assert wrong != program
    assert run_program(wrong, class_path(version)).message == "AssertionError: expected: <[2]> but was: <[1]>"


def test_late_proposals_are_sent_with_old_epochs() -> None:
    """Each has the answer by which Kafka's checks refuse it, in the run and in the program."""
    version = VERSIONS[-1]
    scope = Scope(2, unclean=(False,), events=(LATE,))
    late = [command for command in scope.commands() if command.kind in REFUSED_PROPOSALS]
    steps = [
        LogStep(command, 0, 0) for command in (Command(Kind.RESTART_UNCLEANLY, 2), Command(Kind.UNFENCE, 2), *late)
    ]
    run, _ = executed(scope.initial_states()[0], steps, shared_driver(version), scope.setup)
    assert run.answers[3:] == ["INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH", "INELIGIBLE_REPLICA", "INVALID_REQUEST"]
    trace = commands_from_itf(json.loads(run_to_itf(run, {})), "late")
    program = reproduction(trace, release(version), "late")
    assert run_program(program, class_path(version)).passed
    assert program.text.count(" - 1)") == 3

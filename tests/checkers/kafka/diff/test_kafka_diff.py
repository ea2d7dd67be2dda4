"""Two releases compared: the known rules, the promise that one breaks, nothing where nothing changed."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.console.parser import parse
from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller.controller_itf import executed
from reassure.checkers.kafka.controller.driver import JvmLost
from reassure.checkers.kafka.controller.explore import (
    LATE,
    UNVERIFIED,
    ControllerExploration,
    ExploreLimits,
    Scope,
    explore_controller,
)
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import UNVERIFIED_PROPOSALS, Command, Kind
from reassure.checkers.kafka.diff.analysis import BuildComparison
from reassure.checkers.kafka.diff.command import _scope
from reassure.checkers.kafka.diff.explore_both import SharedLimits, explore_both
from reassure.checkers.kafka.diff.prices import prices
from reassure.checkers.kafka.diff.promises import PromiseComparison, compare_promises
from reassure.checkers.kafka.diff.report import differing_words
from reassure.checkers.kafka.diff.result import of_their_own
from reassure.checkers.kafka.diff.runs import run_of_both
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Interrupted
from reassure.spec.kafka.partition import reassigning
from tests.helpers.command import interrupted
from tests.helpers.committed_traces import committed_file
from tests.helpers.kafka_explored import explored
from tests.helpers.kafka_jars import class_path, kafka_sources, shared_driver

USUAL = "2 brokers, MinISR 2, 2 replicas at first, unclean election off, late proposals, unverified proposals"


@cache
def comparison(base: str, head: str) -> BuildComparison:
    """Of two brokers, explored once for all tests."""
    return BuildComparison(explored(base), explored(head))


def texts(commands: tuple[Command, ...]) -> list[str]:
    return [str(command) for command in commands]


def test_the_rules_that_changed_with_4_3_are_printed() -> None:
    """PR 21114: completion, and a rollback by the original assignment that 4.2 completes at once."""
    both = comparison("4.2.0", "4.3.0")
    differences = both.differences()
    assert (both.both, both.only, both.steps, both.differing_steps) == (1540, (0, 48), 25600, 784)
    assert (len(differences), sum(d.count for d in differences)) == (17, 784)
    first = differences[0]
    assert (first.kind, first.count, first.side) == (Kind.REASSIGN, 260, None)
    assert first.fields == ("replicas", "adding", "removing", "leader epoch")
    assert texts((*first.before, first.last)) == ["reassign([1])", "reassign([2])", "reassign([1])"]
    assert all("adding" in d.fields for d in differences)
    run = run_of_both(both, first, (shared_driver("4.2.0"), shared_driver("4.3.0")))
    assert run.rows() == [
        ("replicas", "[1]", "[1, 2]"),
        ("adding", "{}", "{2}"),
        ("removing", "{}", "{2}"),
        ("leader epoch", "2", "1"),
    ]
    assert all(text.startswith("PartitionChangeRecord(") for text in run.texts)


@pytest.mark.parametrize(
    ("patterns", "code", "idle"),
    [
        ([], Exit.OK, True),
        (["isr_within_replicas"], Exit.OK, False),
        (["cordoned_replicas_may_stay"], Exit.NOTHING, True),
        (["leaders_hold_what_was_committed"], Exit.OK, False),
        (["isr_within_replicas", "cordoned_replicas_may_stay"], Exit.OK, True),
    ],
)
def test_a_promise_asked_for_by_name_that_is_about_nothing_is_no_pass(
    patterns: list[str], code: Exit, idle: bool
) -> None:
    drivers = (shared_driver("4.3.0"), shared_driver("4.3.0"))
    promises = compare_promises(comparison("4.3.0", "4.3.0"), patterns, drivers)
    assert (promises.exit, bool(promises.not_applicable)) == (code, idle)


def test_a_promise_asked_for_by_name_that_is_not_decided_is_no_pass() -> None:
    undecided = PromiseComparison(kept=["b"], undecided={"a": ""})
    assert undecided.exit is Exit.OK
    assert replace(undecided, asked=True).exit is Exit.INCONCLUSIVE


def test_every_difference_is_executed_again() -> None:
    """The fields that its run shows are the fields that it was found by."""
    both, drivers = comparison("4.2.0", "4.3.0"), (shared_driver("4.2.0"), shared_driver("4.3.0"))
    for difference in both.differences():
        shown = [field for field, _, _ in run_of_both(both, difference, drivers).rows()]
        names = {"error code": "answer"}
        assert set(shown) == {names.get(f, f) for f in difference.fields if f != "records"}


def test_the_rollback_that_never_ends_is_a_promise_that_only_head_breaks() -> None:
    promises = compare_promises(comparison("4.2.0", "4.3.0"), [], (shared_driver("4.2.0"), shared_driver("4.3.0")))
    assert [list(side) for side in promises.only] == [[], ["a_led_reassignment_can_end"]]
    run = promises.only[1]["a_led_reassignment_can_end"].run
    assert [str(command) for _, command, _ in run.steps[1:]] == ["reassign([1])", "reassign([2])", "reassign([1])"]
    assert (len(promises.both), len(promises.kept), promises.undecided) == (17, 20, {})
    assert promises.exit is Exit.LIVENESS


@pytest.mark.slow
def test_the_last_known_leader_was_backported() -> None:
    """PR 20655: 4.1.0 forgets who led, or writes -1 down; 4.1.2 does neither."""
    both = comparison("4.1.0", "4.1.2")
    differences = both.differences()
    assert {d.fields for d in differences} == {("last known leader",)}
    assert {d.kind for d in differences} == {Kind.CANCEL, Kind.RESTART_CLEANLY, Kind.RESTART_UNCLEANLY}
    assert (both.only, sum(d.count for d in differences)) == ((348, 56), 284)


def test_a_patch_that_changes_nothing() -> None:
    both = comparison("4.3.0", "4.3.1")
    assert both.differences() == [] and both.only == (0, 0) and both.steps == 26400


def test_the_runs_are_shortest_and_alike_until_the_last_step() -> None:
    both = comparison("4.1.0", "4.1.2")
    base, head = both.graphs
    for difference in both.differences():
        if difference.side is not None:
            continue
        numbers = [difference.initial, difference.initial]
        for command in difference.before:
            k = base.commands.index(command)
            assert base.answers[numbers[0], k] == head.answers[numbers[1], k]
            numbers = [int(base.targets[numbers[0], k]), int(head.targets[numbers[1], k])]
            assert base.states[numbers[0]] == head.states[numbers[1]]
        assert tuple(numbers) == difference.place.numbers


def test_a_state_that_only_one_build_reaches_before_a_difference() -> None:
    """Every first step differs in its error code, and one step of the last state in its exception."""
    base, head = explored("4.3.0"), explored("4.3.1")
    answers = head.answers.copy()
    answers[: head.levels[0]] ^= head.applies[: head.levels[0]]
    command = int(np.flatnonzero(head.applies[-1])[0])
    answers[-1, command] ^= 1 << 16
    changed = type(head)(**{**vars(head), "answers": answers})
    *first, last = BuildComparison(base, changed).differences()
    assert all(d.side is None and d.before == () and d.fields == ("error code",) for d in first)
    assert (last.side, last.fields, last.count) == (1, ("exception",), 1)
    assert len(last.before) == len(base.levels) - 1 and last.last == base.commands[command]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that it prints and writes, of a comparison that ends at a depth."""
    for version in ("4.2.0", "4.3.0"):
        class_path(version)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    record, log, method = (tmp_path / name for name in ("record.json", "log.sarif", "Method.java"))
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--depth", "4", "--unclean", "off", "--configuration", "fixed"]
    files = ["--json", str(record), "--sarif", str(log), "--test", str(method), "--trace-dir", str(tmp_path / "runs")]
    assert main([*words, *files]) == Exit.EXPECTATION.value
    out = capsys.readouterr().out
    assert "BASE Kafka 4.2.0: " in out and "reassign: replicas, adding, removing, leader epoch differ in " in out
    assert "not decided: a_led_reassignment_can_end" in out
    bounds = f"{USUAL}, depth 4 (exit code 15)"
    (last,) = [line for line in out.splitlines() if "(exit code" in line]
    assert last == f"the builds differ: 1 difference within these bounds: {bounds}"
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["complete"], data["stop_reason"]) == (15, False, "depth")
    assert data["diff"]["promises"]["not_decided"] == ["a_led_reassignment_can_end", "leaders_hold_what_was_committed"]
    assert {p["status"] for p in data["properties"]} == {"holds", "unknown"}
    assert len({build["sha256"] for build in data["diff"]["builds"]}) == 2
    assert data["repro"] == "reassure kafka diff 4.2.0 4.3.0 --depth=4 --unclean=off --configuration=fixed"
    for difference in data["diff"]["differences"]:
        base, head = difference["traces"]
        assert main(["kafka", "replay", base, head]) == Exit.OK.value
        assert main(["kafka", "replay", base, "--release", "4.3.0"]) == Exit.TRACE.value
    (run,) = json.loads(log.read_text())["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert len(places) == 1 and {place["region"]["startLine"] for place in places} == {1}
    assert all(place["artifactLocation"]["uri"].endswith("/ReplicationControlManager.java") for place in places)
    assert all(len(result["codeFlows"][0]["threadFlows"][0]["locations"]) > 3 for result in run["results"])
    assert out.count("::warning file=metadata/src/main/java/org/apache/kafka/controller/") == 1
    assert "public void testReassignReplicasAddingRemovingLeaderEpoch() {" in method.read_text()


def test_equal_classes_are_compared_too_and_the_record_says_that_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class_path("4.3.0")
    record = tmp_path / "record.json"
    words = "kafka diff 4.3.0 4.3.0 --unclean off --configuration fixed --depth 2 --quiet --json"
    assert main([*words.split(), str(record)]) == Exit.OK.value
    out = capsys.readouterr().out
    assert re.match(r"BASE and HEAD have the same classes: Kafka 4\.3\.0, sha256 [0-9a-f]{64}\n", out)
    bounds = f"{USUAL}, depth 2"
    last = f"no difference within these bounds: {bounds}; BASE and HEAD have the same classes (exit code 0)"
    assert out.splitlines()[-2] == last
    data = json.loads(record.read_text())
    assert (data["complete"], data["stop_reason"]) == (False, "depth")
    assert data["config"]["events"] == ["late-proposals", "unverified-proposals"]
    diff = data["diff"]
    assert (diff["same_classes"], diff["states"], diff["steps"], diff["differing_steps"]) == (True, 47, 261, 0)


def test_no_difference_names_its_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("4.3.0", "4.3.1"):
        class_path(version)
    words = "kafka diff 4.3.0 4.3.1 --unclean off --configuration fixed --depth 3 --quiet --test /dev/null"
    assert main(words.split()) == Exit.OK.value
    done = capsys.readouterr()
    text = f"{USUAL}, depth 3 (exit code 0)"
    assert done.out.splitlines()[-2] == f"no difference within these bounds: {text}"
    assert done.err == "no test is written: the builds do not differ\n"


def test_a_comparison_that_was_not_finished(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither "no difference" nor "keeps" is said of what was not explored."""
    for version in ("4.3.0", "4.3.1"):
        class_path(version)
    assert main(["kafka", "diff", "4.3.0", "4.3.1", "--budget", "0.01s"]) == Exit.INCONCLUSIVE.value
    out = capsys.readouterr().out
    assert "no difference so far within these bounds" in out.splitlines()[-2]
    assert "BASE was not finished: the budget of 0.01 s ended" in out.splitlines()[-2]
    assert "; not searched: 3 brokers, MinISR 2, " in out.splitlines()[-2]
    assert "both keep 0" in out


def test_ctrl_c_ends_both_explorations() -> None:
    """The states that were compared so far are the result."""
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it

    def explorer(limits: ExploreLimits, progress: Progress) -> ControllerExploration:
        assert cast(SharedLimits, limits).ended.wait(10)
        with pytest.raises(Interrupted) as ended:
            limits.must_have_time(0.0)
        return ControllerExploration("1", Scope(2), [], stopped=ended.value.stop)

    def interrupting(limits: ExploreLimits, progress: Progress) -> ControllerExploration:
        limits.must_have_time(0.0)
        time.sleep(0.3)  # the other one runs by then
        os.kill(os.getpid(), signal.SIGINT)
        return explorer(limits, progress)

    try:
        base, head = explore_both((explorer, interrupting), SharedLimits(), Progress(quiet=True))
    finally:
        signal.signal(signal.SIGINT, heeded)
    assert base.stopped == head.stopped == BY_USER


def test_ctrl_c_ends_with_the_states_so_far() -> None:
    """The JVMs, which are in the same terminal, go on until the runs are executed again."""
    for version in ("4.3.0", "4.3.1"):
        class_path(version)
    code, out, err = interrupted("frontier", "kafka", "diff", "4.3.0", "4.3.1", "--brokers", "3")
    assert code == Exit.INCONCLUSIVE.value, err
    assert "no difference so far within these bounds: 3 brokers" in out and "HEAD was not finished: interrupted" in out


def test_the_last_state_of_a_run_is_a_beginning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers and MinISR are those of the run; two steps from its end the builds differ."""
    for version in ("4.2.0", "4.3.0"):
        class_path(version)
    pairs = ["brokers=2", "replication_factor=1", "min_isr=1", "unclean=on", "disturbances=2"]
    asked = [*(f"--set={pair}" for pair in pairs), "--property=leads_where_it_was_asked_to"]
    assert main(["check", "kraft_kafka", *asked, "--quiet", f"--trace-dir={tmp_path}"]) == Exit.SAFETY.value
    (run,) = map(str, tmp_path.glob("*.itf.json"))
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--from", run, "--configuration", "fixed", "--stories", "0"]
    assert main([*words, "--depth", "2"]) == Exit.EXPECTATION.value
    out = capsys.readouterr().out
    assert (
        "2 brokers, MinISR 1, from a state of a run, unclean election on, late proposals, unverified proposals, depth 2"
        in out.splitlines()[-2]
    )
    assert "not decided: leaders_hold_what_was_committed" not in out  # which of the brokers hold everything is unknown
    assert main([*words, "--brokers", "3"]) == Exit.USAGE.value
    assert capsys.readouterr().err == "reassure: --brokers is what the run of --from says: leave it out\n"


def test_a_run_that_cannot_be_begun_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.itf.json"
    assert main(["kafka", "diff", "4.2.0", "4.3.0", "--from", str(missing)]) == Exit.USAGE.value
    assert str(missing) in capsys.readouterr().err
    run = committed_file("kraft_kafka", "leads_where_it_was_asked_to")
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--from-step", "3"]
    assert main(words) == main([*words, "--from", str(run)]) == Exit.USAGE.value
    text = "--from-step is a step of the run of --from, which is not given"
    assert capsys.readouterr().err == f"reassure: {text}\nreassure: --from-step 3: {run} has 2 steps\n"


def test_a_run_is_begun_from_after_some_of_its_steps() -> None:
    run = committed_file("kraft_kafka", "leads_where_it_was_asked_to")
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--from", str(run), "--configuration", "fixed"]
    starts = []
    for more in ([], ["--from-step", "2"], ["--from-step", "1"]):
        args = argparse.Namespace()
        parse([*words, *more], args)
        starts.append(_scope(args).start)
    assert starts[0] == starts[1]
    (whole,), (one,) = starts[0], starts[2]
    assert one.partition.replicas != whole.partition.replicas and reassigning(one.partition)


def test_an_error_of_one_build_ends_the_other() -> None:
    def lost(limits: ExploreLimits, progress: Progress) -> ControllerExploration:
        raise JvmLost("the JVM of Kafka 1 is lost")

    def explorer(limits: ExploreLimits, progress: Progress) -> ControllerExploration:
        assert cast(SharedLimits, limits).ended.wait(10)
        return ControllerExploration("1", Scope(2), [], stopped=BY_USER)

    with pytest.raises(JvmLost, match="the JVM of Kafka 1 is lost"):
        explore_both((explorer, lost), SharedLimits(), Progress(quiet=True))


def test_the_price_of_a_release_is_a_rollback_that_waits() -> None:
    """4.3 and 4.2 take the same commands; 4.3 leaves `adding` where a request adds nothing, and waits for it."""
    by_name = prices(comparison("4.2.0", "4.3.0"))
    waits, offline = by_name["waits"], by_name["offline"]
    assert waits is not None and texts(waits.run) == ["reassign([1])", "reassign([2])", "reassign([1])"]
    assert waits.differs == (("replicas", "[1]", "[1, 2]"), ("adding", "{}", "{2}"), ("removing", "{}", "{2}"))
    assert offline is not None and texts(offline.run)[:3] == texts(waits.run) and len(offline.run) == 6
    assert ("leader", "1", "none") in offline.differs
    assert prices(comparison("4.3.0", "4.3.0")) == {"waits": None, "offline": None}


def test_a_search_that_was_not_finished_decides_no_price() -> None:
    unfinished = BuildComparison(*(explored("4.3.0"), replace(explored("4.3.0"), stopped=BY_USER)))
    assert prices(unfinished) == {}


def test_two_searches_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All states of two brokers, then a few levels with three: what the first does not show. Promises come first."""
    for version in ("4.2.0", "4.3.0"):
        class_path(version)
    record = tmp_path / "record.json"
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--unclean", "off", "--configuration", "fixed", "--stories", "1"]
    assert main([*words, "--json", str(record)]) == Exit.LIVENESS.value
    out = capsys.readouterr().out
    order = [out.index(f"\n{text}\n") for text in ("promises", "differences")]
    order.insert(1, out.index("a_led_reassignment_can_end: HEAD Kafka 4.3.0 breaks it"))
    assert order == sorted(order) and "\ndifferences with 3 brokers, beyond those above\n" in out
    usual = "MinISR 2, 2 replicas at first, unclean election off, late proposals, unverified proposals"
    data = json.loads(record.read_text())["diff"]
    first, second = data["differences"], data["second_search"]["differences"]
    assert (data["bounds"], data["second_search"]["bounds"]) == (f"2 brokers, {usual}", f"3 brokers, {usual}")
    assert out.splitlines()[-2] == (
        f"the builds differ: {len(first)} differences within these bounds: 2 brokers, {usual}; "
        f"{len(second)} more differences within these bounds: 3 brokers, {usual}, depth 4 (exit code 13)"
    )
    shown = {(d["command"], tuple(d["fields"])) for d in first}
    assert second and all((d["command"], tuple(d["fields"])) not in shown for d in second)
    assert second[0]["run"] == ["reassign([3])", "reassign([1])"]


WRONG_CHANGES = {
    "cancels uncleanly": ("ReplicationControlManager", "@@ 2204:13,0 ae7146ecb956\n+false && ", Exit.SAFETY),
    "more than MinISR": ("PartitionChangeBuilder", "@@ 536:30,2 35f6c24d8f13\n+>", Exit.SAFETY),
    "completes as 4.2": ("PartitionReassignmentReplicas", "@@ 130:27,1 45d5191c5020\n+<=", Exit.EXPECTATION),
    "verifies every epoch": ("ReplicationControlManager", "@@ 1379:24,35 2b16317f69b4\n+", Exit.EXPECTATION),
    "always the new adding": ("ReplicationControlManager", "@@ 2292,3 ce2c49e13005\n=2293 -4", Exit.SAFETY),
}
"""Small wrong changes of 4.3.1: class, patch and exit code. Kafka's own tests accept the last."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG_CHANGES)
def test_small_wrong_changes_are_found_without_options(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_sources("4.3.1")
    changed, hunk, code = WRONG_CHANGES[name]
    (tmp_path / "p.patch").write_text(f"file org/apache/kafka/controller/{changed}.java\n{hunk}\n")
    build = make_build([tmp_path / "p.patch"], release("4.3.1"), tmp_path / "build")
    assert main(["kafka", "diff", "4.3.1", str(build.folder), "--stories", "1"]) == code.value
    out = capsys.readouterr().out
    assert ("no difference within these bounds: 2 brokers" in out) is (name == "completes as 4.2")
    if name == "always the new adding":
        assert "HEAD breaks completion_needs_everything_added, BASE keeps it: A reassignment ends, and a rep" in out


def test_kafkas_words_are_those_that_differ() -> None:
    ours = "PartitionChangeRecord(partitionId=0, topicId=A, isr=null, leader=1, replicas=[1, 2], directories=[A, B])"
    theirs = "PartitionChangeRecord(partitionId=0, topicId=A, isr=[1, 2], leader=1, replicas=[1], directories=[A])"
    assert differing_words(f"Same(a=1)\n{ours}", f"Same(a=1)\n{theirs}") == (
        "PartitionChangeRecord(replicas=[1, 2])",
        "PartitionChangeRecord(isr=[1, 2], replicas=[1])",
    )
    assert differing_words(ours, "") == ("PartitionChangeRecord(leader=1, replicas=[1, 2])", "")
    assert differing_words("java.lang.E: no\n    at a.B", "") == ("java.lang.E: no\n    at a.B", "")
    assert differing_words("E: no", ours) == ("E: no", "PartitionChangeRecord(leader=1, replicas=[1, 2])")


def test_no_difference_says_what_is_not_executed(capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.3.0")
    words = ["kafka", "diff", "4.3.0", "4.3.0", "--unclean", "off", "--configuration", "fixed", "--depth", "1"]
    assert main([*words, "--events", "cordon"]) == Exit.OK.value
    out = " ".join(capsys.readouterr().out.split())
    of_topic = (
        "creation and deletion of topics, and more partitions; requests of several partitions with an error in some"
    )
    assert (
        f"not executed here: controlled-shutdown, directories, unregister (--events); {of_topic} (--topic) no " in out
    )
    assert "no command executes: log directories that fail" in out


def test_an_unverified_proposal_that_differs_as_the_usual_one_does_is_not_told_again() -> None:
    first = comparison("4.2.0", "4.3.0").differences()[0]
    usual = replace(first, kind=Kind.PROPOSE, fields=("ISR",), count=4)
    same, other = (replace(usual, kind=Kind.PROPOSE_VERSION_2, count=count) for count in (4, 5))
    assert of_their_own([first, usual, same, other]) == [first, usual, other]
    assert of_their_own([same]) == [same]


def test_unverified_proposals_are_accepted_and_compared() -> None:
    """The epoch -1 skips the check of KIP-903; in a request of version 2 no member has an epoch."""
    scope = Scope(2, unclean=(False,), events=(UNVERIFIED,))
    graph = explore_controller(class_path("4.3.1"), scope, 1, ExploreLimits(depth=3), Progress(quiet=True))
    old = Scope(2, unclean=(False,), events=(LATE,))
    for kind in UNVERIFIED_PROPOSALS:
        number = graph.commands.index(Command(kind, 0, (1, 2)))
        usual = graph.commands.index(Command(Kind.PROPOSE, 0, (1, 2)))
        assert (graph.answers[:, number] == graph.answers[:, usual]).all() and (graph.answers[:, number] == 0).any()
        assert (graph.targets[:, number] == graph.targets[:, usual]).all()
        assert all(command.kind is not kind for command in old.commands())
    restarted = [Command(Kind.FENCE, 2), Command(Kind.RESTART_CLEANLY, 2), Command(Kind.UNFENCE, 2)]
    late = [Command(kind, 0, (1, 2)) for kind in (Kind.PROPOSE_OLD_BROKER_EPOCHS, Kind.PROPOSE_WITHOUT_BROKER_EPOCHS)]
    for command, answer in zip(late, ("INELIGIBLE_REPLICA", "NONE"), strict=True):
        steps = [LogStep(each, 0, 0) for each in (*restarted, command)]
        run, _ = executed(scope.initial_states()[0], steps, shared_driver("4.3.1"), scope.setup)
        assert (run.answers[-1], 2 in run.states[-1].partition.isr) == (answer, answer == "NONE")

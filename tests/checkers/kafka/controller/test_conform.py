"""Every step of a model's controller beside Kafka's."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import releases
from reassure.checkers.kafka.controller.conform import conform
from reassure.checkers.kafka.controller.conform_command import gate_configurations
from reassure.checkers.kafka.controller.driver import Driver, Words
from reassure.checkers.kafka.controller.model_steps import DistinctRows, NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.words import packed_state
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.prepare import prepare
from reassure.spec.semantics.interpreter import Clipped
from tests.helpers.command import report_of
from tests.helpers.kafka_jars import VERSIONS, class_path, kafka_sources, shared_driver

SMALL = ["brokers=2", "admin_requests=1"]


def source_of(pairs: list[str], model: str = "kraft_kafka") -> tuple[NativeSteps, ModelView]:
    prepared = prepare(model, pairs)
    bound, lowered = prepared.bound, prepared.lowered
    view = ModelView(bound)
    return NativeSteps(bound, lowered, view), view


def test_the_kernels_steps_are_those_of_plain_python() -> None:
    source, view = source_of(SMALL)
    bound = source.bound
    found = {(s.before.words, s.command, s.after.words) for s in source.steps(Progress(quiet=True))}
    frontier = [s for _, _, s in bound.initial_states()]
    seen, wanted, transitions = set(frontier), set(), 0
    while frontier:
        after = []
        for state in frontier:
            for step in bound.steps(state):
                assert not isinstance(step.after, Clipped)
                command = view.command(state, step.action.name, step.params, step.after)
                if command is not None:
                    transitions += 1
                    wanted.add((packed_state(view.state(state)), command, packed_state(view.state(step.after))))
                if step.after not in seen:
                    seen.add(step.after)
                    after.append(step.after)
        frontier = after
    assert found == wanted and len(wanted) > 100
    assert source.states == len(seen) and sum(source.transitions.values()) == transitions


def test_the_number_of_threads_does_not_matter() -> None:
    prepared = prepare("kraft_kafka", SMALL)
    bound, lowered = prepared.bound, prepared.lowered
    found = [list(NativeSteps(bound, lowered, ModelView(bound), workers=n).steps(Progress(quiet=True))) for n in (1, 3)]
    assert found[0] == found[1] and len(found[0]) > 100


def test_equal_rows_are_new_once() -> None:
    rows = DistinctRows(3)
    assert rows.add(np.array([[1, 2, 3], [4, 5, 6], [1, 2, 3], [1, 2, -4]])).tolist() == [0, 1, 3]
    assert rows.add(np.array([[1, 2, -4], [7, 0, 0], [7, 0, 0]])).tolist() == [1]
    many = np.arange(300_000, dtype=np.int64).reshape(-1, 3) + 10
    assert len(rows.add(many)) == 100_000 and len(rows.add(many[::-1])) == 0  # the table has grown meanwhile
    assert rows.count == 100_004


def test_traces_to_steps_are_runs_of_the_model() -> None:
    source, view = source_of(SMALL)
    steps = list(source.steps(Progress(quiet=True)))
    for step in (steps[0], steps[len(steps) // 2], steps[-1]):
        trace = source.trace(step)  # which replays it
        assert len(trace) == step.level + 1 and trace.states[-1] == source.after(step)
        assert packed_state(view.state(trace.states[-2])) == step.before.words


def test_the_table_adds_up() -> None:
    version = VERSIONS[0]
    source, view = source_of(SMALL)
    driver = shared_driver(version)
    found = conform(source, view, driver, Progress(quiet=True))
    assert found.steps == len(list(source_of(SMALL)[0].steps(Progress(quiet=True))))
    assert found.steps - found.agree == sum(group.count for group in found.disagreements)
    assert found.actions["alter_partition"].agree > 50


def test_a_wrong_rule_is_found_with_a_shortest_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The description's rules are not Kafka's: a target below MinISR does complete there."""
    class_path("4.4.0")
    record = tmp_path / "record.json"
    options = ["--release", "4.4.0", "--json", str(record), "--trace-dir", str(tmp_path), "--quiet"]
    code = main(["kafka", "conform", "kraft", "--set", "brokers=2", "--set", "unclean=off", "--depth", "3", *options])
    assert code == Exit.DISAGREE.value == 19
    said = capsys.readouterr().out
    assert "start({1}, 1)" in said and "disagrees with Kafka 4.4.0" in said
    data = json.loads(record.read_text())
    assert (data["verdict"], data["complete"], data["stop_reason"]) == ("engine-disagreement", False, "depth")
    (release,) = data["releases"]
    assert release["release"] == "4.4.0" and release["disagreements"]
    assert sum(a["agree"] for a in release["actions"].values()) > 0
    traces = sorted(tmp_path.glob("kraft--kafka-4.4.0-*.itf.json"))
    assert len(traces) == len(release["disagreements"])
    assert main(["replay", str(traces[0])]) == Exit.OK.value
    assert main(["kafka", "replay", str(traces[0]), "--release", "4.4.0"]) == Exit.TRACE.value


def test_a_model_without_a_controller_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "conform", "die_hard"]) == Exit.USAGE.value
    assert capsys.readouterr().err == "reassure: die_hard is not a model of Kafka's controller: it has no partition\n"


GATE = """
[[check]]
model = "die_hard"
expect = "safety-violation"

[[check]]
model = "kraft_kafka"
set = { admin_requests = 1 }
expect = "safety-violation"

[[check]]
model = "kraft_kafka"
set = { release = "4.1", admin_requests = 1 }
expect = "safety-violation"

[[check]]
model = "kraft_kafka"
set = { admin_requests = 1, unclean = "off" }
expect = "safety-violation"
"""


def test_every_configuration_of_a_gate_is_a_row_for_each_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class_path("4.4.0")
    gate = tmp_path / "gate.toml"
    gate.write_text(GATE)
    assert gate_configurations(gate, "kraft_kafka", ["brokers=2"]) == [
        ["admin_requests=1", "brokers=2"],
        ["admin_requests=1", "unclean=off", "brokers=2"],
    ]
    options = ["--gate", str(gate), "--set", "brokers=2", "--release", "4.4.0", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.OK.value
    rows = [line.split() for line in report_of(capsys.readouterr().out, 0).splitlines()[2:]]
    assert [(row[0], row[4], " ".join(row[5:])) for row in rows] == [
        ("4.4.0", "0", "admin_requests=1 brokers=2"),
        ("4.4.0", "0", "admin_requests=1 unclean=off brokers=2"),
    ]
    source, _ = source_of(SMALL)
    kinds = len(list(source.steps(Progress(quiet=True))))
    assert rows[0][1:4] == [f"{n:,}" for n in (source.states, sum(source.transitions.values()), kinds)]
    assert rows[1][1:4] != rows[0][1:4]


@pytest.mark.slow
def test_the_table_of_the_page_has_the_figures_of_the_gate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each row of the transcript that is too long to be executed with the page."""
    page = (Path(__file__).parents[4] / "docs" / "how-to" / "kafka.md").read_text(encoding="utf-8")
    rows = re.findall(r"^  (\d+\.\d+\.\d+) .* 0  (.*)$", page, re.MULTILINE)
    assert len(rows) == 6
    gate = Path(__file__).parents[4] / "gate.toml"
    settings = {" ".join(pairs) or "the default": pairs for pairs in gate_configurations(gate, "kraft_kafka", [])}
    one = tmp_path / "one.toml"
    one.write_text('[[check]]\nmodel = "kraft_kafka"\nexpect = "safety-violation"\n')
    for version, setting in rows:
        class_path(version)
        options = [f"--set={pair}" for pair in settings[setting]]
        options += ["--gate", str(one), "--release", version, "--quiet"]
        assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.OK.value
        assert report_of(capsys.readouterr().out, 0).splitlines()[-1] in page.splitlines()


def test_a_gate_without_the_model_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text(GATE)
    assert main(["kafka", "conform", "kraft", "--gate", str(gate)]) == Exit.USAGE.value
    assert capsys.readouterr().err == f"reassure: {gate} does not check kraft\n"


def test_what_operators_do_meanwhile_is_what_kafka_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Controlled shutdowns, clean restarts, and changes of the topic's configuration."""
    class_path("4.4.0")
    settings = ["brokers=2", "admin_requests=1", "restarts=1", "min_isr_changes=1", "unclean_changes=1", "unclean=off"]
    options = [f"--set={pair}" for pair in settings]
    assert main(["kafka", "conform", "kraft_kafka_operated", *options, "--quiet"]) == Exit.OK.value
    said = report_of(capsys.readouterr().out, 0)
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines()[2:-1]}
    for action in ("shut_down_in_control", "restart_cleanly", "change_min_isr", "change_unclean"):
        assert rows[action][1] == rows[action][2] != "0" and rows[action][3] == "0"
    assert said.endswith("no disagreement with Kafka 4.4.0\n")


def test_a_release_whose_jvm_dies_is_a_line_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("4.3.0", "4.4.0"):
        class_path(version)
    steps = Driver.steps

    def killed(self: Driver, rows: Words) -> Words:
        if self.release.version == "4.3.0":
            os.kill(self.process.pid, signal.SIGKILL)
        return steps(self, rows)

    monkeypatch.setattr(Driver, "steps", killed)
    options = ["--set=brokers=2", "--set=admin_requests=1", "--set=unclean=off", "--depth=4", "--quiet"]
    code = main(["kafka", "conform", "kraft_kafka", *options, "--release", "4.3.0", "4.4.0"])
    said = capsys.readouterr()
    assert code == Exit.SYSTEM.value == 153
    assert said.err == "reassure: the JVM of Kafka 4.3.0 was ended by signal 9\n"
    assert "no disagreement with Kafka 4.4.0" in said.out


def test_a_release_that_is_in_no_table_is_compared_with_rules_that_a_line_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if 4.3.1 had just appeared: its minor version has rules; those of another are seen to disagree."""
    class_path("4.3.1")
    monkeypatch.setattr(releases, "RELEASES", tuple(r for r in releases.RELEASES if r.version != "4.3.1"))
    options = ["--release=4.3.1", "--set=brokers=2", "--set=unclean=off", "--set=admin_requests=1", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.OK.value
    out = capsys.readouterr().out
    words = "--set=brokers=2 --set=unclean=off --set=admin_requests=1 --release=4.3.1"
    ending = f"pass (exit code 0)\nagain: reassure kafka conform kraft_kafka {words}\n"
    assert out.endswith(f"no disagreement with Kafka 4.3.1\n\n{ending}")
    like = "like 4.3.0: 4.3.1 is in no table of releases"
    assert out.startswith(f"Kafka 4.3.1 is compared with the rules of 4.3, {like}\n")
    options = ["--release", "4.3.1", "--set=release=4.2", "--depth", "3", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.DISAGREE.value
    out = capsys.readouterr().out
    assert "disagrees with Kafka 4.3.1" in out and "the model" in out
    assert out.startswith("Kafka 4.3.1 is compared with the rules of 4.2\n")


def test_a_minor_version_without_rules_is_refused_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "conform", "kraft_kafka", "--release", "4.5.0"]) == Exit.USAGE.value
    assert capsys.readouterr().err == (
        "reassure: kraft_kafka has no rules of Kafka 4.5; it has 3.9, 4.0, 4.1, 4.2, 4.3, 4.4, fixed; "
        "`conform --set release=4.4` or `explore --explain 4.4` names rules\n"
    )


@pytest.mark.slow
def test_a_patch_release_agrees_with_the_rules_of_the_next_minor_version(capsys: pytest.CaptureFixture[str]) -> None:
    """4.1.2 in the configuration of the gate in which it differs from the rules of 4.1."""
    class_path("4.1.2")
    settings = ["brokers=2", "replication_factor=1", "min_isr=1", "disturbances=2", "unclean=on"]
    options = [f"--set={pair}" for pair in settings] + ["--release=4.1.2", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) == Exit.OK.value
    out = capsys.readouterr().out
    assert out.startswith("Kafka 4.1.2 is compared with the rules of 4.2, by the table of releases\n")
    assert main(["kafka", "conform", "kraft_kafka", *options, "--set=release=4.1"]) == Exit.DISAGREE.value
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    (whole,) = [row for row in rows if row[:2] == ["in", "all"]]
    assert whole[-1] == "29"


def test_a_build_with_the_fixes_goes_by_the_rules_of_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MinISR changes on the way. `conform --gate` takes more configurations."""
    kafka_sources("4.3.1")
    fixes = sorted(map(str, (Path(__file__).parents[4] / "docs" / "findings").glob("fix-*.patch")))
    build = str(tmp_path / "build")
    assert len(fixes) == 4 and main(["kafka", "build", *fixes, "--out", build]) == 0
    settings = ["brokers=2", "min_isr_changes=1", "controlled_shutdowns=0", "restarts=0", "admin_requests=2"]
    chosen = [word for setting in settings for word in ("--set", setting)]
    conformed = ["kafka", "conform", "kraft_kafka_operated", "--release", build, *chosen]
    assert main([*conformed, "--set", "release=fixed"]) == 0
    assert "is compared with the rules of fixed" in capsys.readouterr().out
    assert main(conformed) == 19
    assert "is compared with the rules of 4.3, like 4.3.1: the build states 4.3.1" in capsys.readouterr().out

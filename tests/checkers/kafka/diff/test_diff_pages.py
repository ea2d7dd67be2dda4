"""The page about `kafka diff`: the check of a gate, the workflow, the JUnit tests in Kafka's own test class."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.console.parser import parse
from reassure.checkers.kafka.controller.kafka_tests import run_methods
from reassure.checkers.kafka.diff.junit_test import difference_method, promise_method
from reassure.checkers.kafka.diff.result import compare_builds
from reassure.checkers.machine.exit_codes import Exit
from tests.helpers.command import said
from tests.helpers.kafka_explored import explored
from tests.helpers.kafka_jars import class_path, shared_driver

PAGE = (Path(__file__).parents[4] / "docs" / "how-to" / "diff-kafka.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_a_gate_pins_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("4.3.0", "4.3.1"):
        class_path(version)
    gate = tmp_path / "gate.toml"
    gate.write_text(block("toml"))
    assert main(["gate", str(gate), "-j", "1"]) == Exit.OK.value
    assert "ok   kafka diff 4.3.0 4.3.1" in capsys.readouterr().out
    to_depth = block("toml").replace("states = 664", "states = 665") + "depth = 2\n"
    gate.write_text(to_depth)
    code, _, err = said(capsys, "gate", str(gate), "-j", "1")
    assert code == Exit.USAGE.value and 'write expect = "pass-to-depth"' in err
    gate.write_text(to_depth.replace('expect = "pass"', 'expect = "pass-to-depth"'))
    code, out, _ = said(capsys, "gate", str(gate), "-j", "1")
    assert code == Exit.DRIFT.value and "pinned 665" in out


def test_the_command_of_the_workflow_is_accepted() -> None:
    import argparse

    (line,) = re.findall(r"- run: (reassure .+)$", block("yaml"), re.MULTILINE)
    args = argparse.Namespace()
    parse(shlex.split(line)[1:], args)
    uploaded = re.findall(r"^ +(?:sarif_file|path): (\S+)$", block("yaml"), re.MULTILINE)
    assert uploaded == [str(args.sarif), str(args.trace_dir)]


@pytest.mark.slow
@pytest.mark.parametrize("make", [difference_method, promise_method])
def test_kafkas_test_class_passes_on_one_release_and_fails_on_the_other(make) -> None:  # type: ignore[no-untyped-def]
    drivers = (shared_driver("4.2.0"), shared_driver("4.3.0"))
    diff = compare_builds((explored("4.2.0"), explored("4.3.0")), drivers, [])
    method = make(diff, drivers[1].release)
    (before,), (after,) = (run_methods(class_path(v, tests=True), [method]) for v in ("4.2.0", "4.3.0"))
    assert before.passed and not after.passed
    assert re.search(r"expected: <\[1\]> but was: <\[1, 2\]>|goes on although every replica is in sync", after.message)

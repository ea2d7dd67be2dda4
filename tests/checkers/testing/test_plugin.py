"""The pytest plugin: what it collects, what its fixture says, and that an unused plugin costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.api import check  # before pytester, which forgets what is imported in its runs
from reassure.checkers.cli.main import main
from reassure.checkers.testing.expect import remaining, wrong
from reassure.spec.frontend.lowering import lower_model as lower_model  # neither does `check`, until it is needed

pytest_plugins = ["pytester"]

ON = ("-p", "no:reassure", "-p", "reassure.pytest_plugin", "-p", "no:cacheprovider", "--reassure-engine=reference")
"""As its entry point has it, whatever is installed here."""


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis takes a second of each run in a process of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


MODEL = """
from reassure import cover, invariant
from reassure.models.examples import die_hard
from reassure.models.examples.die_hard import Config, Jugs


@invariant
def never_full(s: Jugs) -> bool:
    '''A full jug is heavy.'''
    return s.big < 5


@invariant(when=lambda c: c.goal == 3)
def of_another_goal(s: Jugs) -> bool:
    return True


@cover
def both_empty(s: Jugs) -> bool:
    return s.big == 0 and s.small == 0


@cover
def overfull(s: Jugs) -> bool:
    return s.big == 5 and s.small == 3 and s.big == 0


MODEL = die_hard.MODEL.adding(never_full, both_empty, overfull, of_another_goal)
"""
GATE = """
[[check]]
model = "jugs.py"
name = "as it is"
expect = "safety-violation"
unreached = ["overfull"]

[[check]]
model = "jugs.py"
name = "as it should be"
expect = "pass"
unreached = ["overfull"]
"""
STORY = ["*jugs: never_full is violated after 1 step*", "*A full jug is heavy.*", "*1. hero: fill_big()*"]


def test_a_model_is_a_file_of_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL, unrelated="MODELS = 3\n")
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "-rA")
    ran.assert_outcomes(passed=3, failed=3, skipped=1)
    ran.stdout.fnmatch_lines([*STORY, "*again: reassure check *jugs.py --engine=reference*"])
    lines = [line for line in ran.stdout.lines if line.startswith(("PASSED", "FAILED"))]
    assert [line.split(" - ")[0] for line in lines] == [
        "PASSED jugs.py::search",
        "PASSED jugs.py::no_deadlock",
        "PASSED jugs.py::both_empty",
        "FAILED jugs.py::goal_not_reached",
        "FAILED jugs.py::never_full",
        "FAILED jugs.py::overfull",
    ]
    ran.stdout.fnmatch_lines(["SKIPPED*does not apply to the default configuration"])


def test_a_gate_is_a_file_of_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL)
    Path("gate.toml").write_text(GATE)
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "-rA", "gate.toml")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["expected pass, got safety-violation", *STORY])
    ran.stdout.fnmatch_lines(["PASSED gate.toml::as it is", "FAILED gate.toml::as it should be*"])


def test_a_gate_without_checks_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one="def test_one(): pass\n")
    (pytester.path / "gate.toml").write_text("# [[check]]\n")
    ran = pytester.runpytest_inprocess(*ON, "--reassure")
    ran.assert_outcomes(passed=0, errors=1)
    ran.stdout.fnmatch_lines(["*gate.toml has no*check*"])


def test_nothing_is_collected_unasked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL, test_one="def test_one(): pass\n")
    Path("gate.toml").write_text(GATE)
    pytester.runpytest_inprocess(*ON).assert_outcomes(passed=1)


def test_a_file_of_tests_is_no_model(pytester: pytest.Pytester) -> None:
    """Such as `reassure new` writes it: its MODEL is a path."""
    assert main(["new", "lease", f"--dir={pytester.path}"]) == 0
    assert "MODEL = Path(__file__)" in Path("test_lease.py").read_text()
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "-rA")
    ran.assert_outcomes(passed=8)
    ran.stdout.fnmatch_lines(["PASSED gate.toml::lease.py", "PASSED lease.py::one_at_a_time"])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("gate.toml", "[[check]]\nmodle = 'core'\n", "check 1: unknown modle; did you mean model?"),
        ("broken.py", "from reassure import *\nMODEL = Model.of(\n", "broken.py*"),
        ("no_model.py", "MODEL = 3\n", "no_model.py is not a model: it defines no `MODEL = Model.of(...)`"),
        ("nothing.py", "LIMIT = 3\n", "nothing.py is not a model: it defines no `MODEL = Model.of(...)`"),
        ("cut.py", "from reassure import *\nLIMIT = (\n", "cut.py*"),
    ],
)
def test_a_wrong_file_is_one_error(name: str, text: str, says: str, pytester: pytest.Pytester) -> None:
    Path(name).write_text(text)
    ran = pytester.runpytest_inprocess(*ON, "--reassure", name)
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines([f"*{says}"])
    assert "Traceback" not in ran.stdout.str()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("branch.py", "if True:\n    from base_of_branch import MODEL as given\n    MODEL = given\n"),
        ("tried.py", "try:\n    import base_of_tried as base\nfinally:\n    MODEL, other = base.MODEL, 3\n"),
        ("alias.py", "from base_of_alias import MODEL\n"),
    ],
)
def test_a_model_is_checked_however_its_file_binds_it(name: str, text: str, pytester: pytest.Pytester) -> None:
    Path("models").mkdir()
    Path(f"models/base_of_{name}").write_text(MODEL)  # a name that no other test of the process has
    Path("models", name).write_text(text)
    by_name = pytester.runpytest_inprocess(*ON, "--reassure", f"models/{name}")
    by_name.assert_outcomes(passed=3, failed=3, skipped=1)
    in_a_folder = pytester.runpytest_inprocess(*ON, "--reassure", "models")
    files = 1 if name == "alias.py" else 2
    in_a_folder.assert_outcomes(passed=3 * files, failed=3 * files, skipped=files)


def test_a_file_given_by_name_is_checked_or_an_error_beside_good_ones(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL, nothing="LIMIT = 3\n", test_it="def test_one(): pass\n")
    Path("checks.py").write_text("import unittest\nclass Jugs(unittest.TestCase):\n    def test_it(self): pass\n")
    pytester.runpytest_inprocess(*ON, "--reassure", "checks.py").assert_outcomes(passed=1)
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "jugs.py", "nothing.py", "test_it.py")
    ran.assert_outcomes(errors=1)
    together = pytester.runpytest_inprocess(*ON, "--reassure", "jugs.py", "test_it.py")
    together.assert_outcomes(passed=4, failed=3, skipped=1)


def test_tests_in_the_file_of_a_model_are_tests_too(pytester: pytest.Pytester) -> None:
    Path("both.py").write_text(MODEL + "\n\ndef test_one(): assert MODEL\n")
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "-rA", "both.py")
    ran.stdout.fnmatch_lines(["PASSED both.py::test_one"])


FIXTURE = """
def test_expected(reassure_check):
    result = reassure_check("jugs.py", violated={"goal_not_reached", "never_full"}, unreached=["overfull"])
    assert result.stats.distinct == 16

def test_setting(reassure_check):
    reassure_check("jugs.py", properties=["deadlock"], goal=3)

def test_by_name(reassure_check):
    reassure_check("core")

def test_one_property(reassure_check):
    reassure_check("jugs.py", properties=["never_full", "goal_not_reached"])

def test_too_much_expected(reassure_check):
    reassure_check("jugs.py", properties=["both_empty", "deadlock"], violated={"deadlock"}, unreached={"both_empty"})

def test_no_such_setting(reassure_check):
    reassure_check("jugs.py", goals=3)

def test_no_such_property(reassure_check):
    reassure_check("jugs.py", properties=["goals"])
"""


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL, test_it=FIXTURE)
    ran = pytester.runpytest_inprocess(*ON)
    ran.assert_outcomes(passed=3, failed=4)
    text = ran.stdout.str()
    ran.stdout.fnmatch_lines(["*jugs: safety-violation; again: reassure check *jugs.py --property=never_full*", *STORY])
    assert "also violated: goal_not_reached" in text
    assert "goal_not_reached is violated after" not in text  # of several only the shortest is told in full
    assert "not violated: deadlock" in text and "both_empty is not an unreachable cover" in text
    assert "has no configuration field 'goals'; did you mean goal?" in text
    assert "no property of jugs matches goals" in text
    assert "prepare.py" not in text  # a mistake in a test is told in one line


def test_a_search_that_does_not_end_is_no_pass() -> None:
    result = check("core", engine="reference", depth=2)
    assert remaining(result) == "the search did not end: depth 2 was reached"
    assert [wrong(p, None) for p in result.properties[:1]] == [f"{result.properties[0].name}: holds to depth"]  # type: ignore[arg-type]
    assert [wrong(c, None) for c in result.covers[:1]] == ["cover reassignment_pending is not reached"]  # type: ignore[arg-type]


def test_the_plugin_imports_nothing_until_it_is_used() -> None:
    text = "import sys, pytest\nbefore = set(sys.modules)\nimport reassure.pytest_plugin\n"
    text += "print(sorted(m for m in set(sys.modules) - before if not m.startswith('_')))\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['reassure', 'reassure.pytest_plugin']\n", "")


def test_the_plugin_is_registered() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"reassure": "reassure.pytest_plugin"}


STOPS = '''
"""A number rises, and stops."""
from dataclasses import dataclass, replace
from typing import Annotated

from reassure import Model, Range, action, initial, leads_to, require, terminal


@dataclass(frozen=True)
class Config: ...


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3)] = 0


@initial
def start() -> State:
    return State()


@action(who="a", fair="weak")
def up(s: State) -> State:
    require(s.n < 2)
    return replace(s, n=s.n + 1)


@terminal
def done(s: State) -> bool:
    return True


def three(s: State) -> bool:
    return s.n == 3


@leads_to(three)
def arrives(s: State) -> bool:
    return s.n == 0


MODEL = Model.of(__name__, state=State, config=Config)
'''
STOPS_SOONER = '''
"""It stops one sooner."""
from reassure import action, replace, require

import stops
from stops import State


@action(who="a", fair="weak")
def up(s: State) -> State:
    require(s.n < 1)
    return replace(s, n=s.n + 1)


MODEL = stops.MODEL.replacing(up)
'''


@pytest.mark.parametrize("order", [("stops", "sooner"), ("sooner", "stops")])
def test_a_model_and_its_variant_in_one_run(order: tuple[str, str], pytester: pytest.Pytester) -> None:
    """The run that never ends is told of both, though the model is imported again; also if it stops where it could go
    on, as nothing is fair.
    """
    pytester.makepyfile(stops=STOPS, sooner=STOPS_SOONER)
    unfair = {
        f"{name}_unfairly": text.replace(', fair="weak"', "")
        for name, text in (("stops", STOPS), ("sooner", STOPS_SOONER.replace("stops", "stops_unfairly")))
    }
    pytester.makepyfile(**unfair)
    names = [*order, *(f"{name}_unfairly" for name in order)]
    ran = pytester.runpytest_subprocess(*ON, "--reassure", *(f"{name}.py" for name in names))
    told = "\n".join(ran.outlines)
    assert "INTERNAL" not in told and "ModelError" not in told
    for name in names:
        assert f"{name}: arrives is violated by a run that never ends" in told


def test_a_property_that_applies_to_no_configuration_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(jugs=MODEL.replace("when=lambda c: c.goal == 3", "when=lambda c: c.goal > 99"))
    ran = pytester.runpytest_inprocess(*ON, "--reassure", "-rA")
    ran.assert_outcomes(passed=3, failed=4)
    ran.stdout.fnmatch_lines(["of_another_goal: vacuous (its `when` is true of no configuration)"])


@pytest.mark.parametrize("name", ["search", "no_deadlock"])
def test_a_property_is_judged_whatever_its_name(name: str, pytester: pytest.Pytester) -> None:
    """Also if a test about the whole run has the same name."""
    pytester.makepyfile(jugs=MODEL.replace("never_full", name))
    ran = pytester.runpytest_subprocess(*ON, "--reassure", "-rA")
    ran.assert_outcomes(passed=3, failed=3, skipped=1)
    ran.stdout.fnmatch_lines([f"jugs: {name} is violated after 1 step"])

"""Faults put into the project at random: which there are, and how `tests/power.py` judges the tests by them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import power
from tests.helpers import tiers
from tests.helpers.dear_last import Order
from tests.helpers.source_faults import source_faults

MODULE = '''"""3 is no constant of the module."""
LIMIT: Annotated[int, Range(0, 5)] = 2


def near(a: int | None, é: bool = True) -> str | None:
    if a == 1 and not é:
        return f"{a + 1}"
    return cast(str | None, a << 3)


@functools.cache
def kept() -> int:
    return (1 +
        2)
'''
FAULTS = [
    (2, "2", "3", True),
    (5, "True", "False", False),
    (6, "a == 1 and not é", "a == 1 or not é", False),
    (6, "a == 1", "a != 1", False),
    (6, "1", "2", False),
    (6, "not é", "é", False),
    (8, "a << 3", "a >> 3", False),
    (8, "3", "4", False),
    (13, "1 +\n        2", "1 - 2", True),
    (13, "1", "2", True),
    (14, "2", "3", True),
]


def test_the_faults_of_a_module(tmp_path: Path) -> None:
    """None in annotations, types, docstrings, or texts with expressions."""
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    faults = source_faults(path)
    assert [(f.line, f.before, f.after, f.once) for f in faults] == FAULTS
    original = ast.dump(ast.parse(MODULE))
    for fault in faults:
        assert ast.dump(ast.parse(fault.apply(MODULE))) != original
        told = fault.instrument(MODULE, "None")
        assert f"(None or ({fault.before}))" in told and ast.parse(told)
    assert "if (a == 1 or not é):" in faults[2].apply(MODULE)


def test_the_choice_is_of_all_rooms() -> None:
    """Of each once before one of them has a second; a seed chooses the same faults each time."""
    rooms = power.rooms_of_the_product()
    assert {"spec/frontend", "checkers/check.py", "checkers/engines/native", "checkers/kafka/plan"} <= set(rooms)
    assert not {"checkers/engines", "checkers/kafka"} & set(rooms)
    attempts = power.chosen(24, 5)
    assert len({attempt.room for attempt in attempts}) == len({attempt.fault.path for attempt in attempts}) == 24
    assert [power.place(attempt) for attempt in attempts] == [power.place(attempt) for attempt in power.chosen(24, 5)]
    assert [power.place(attempt) for attempt in attempts] != [power.place(attempt) for attempt in power.chosen(24, 6)]


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> power.Attempt:
    """The only fault of a project of one module."""
    monkeypatch.setattr(power, "ROOT", tmp_path / "project")
    (tmp_path / "project" / "tests" / "checkers" / "one").mkdir(parents=True)
    for folder in ("project", "copy"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "module.py").write_text("LIMIT = 2\n")
    monkeypatch.setattr(tiers, "DEAR", tmp_path / "dear.txt")
    tiers.DEAR.write_text("1.0 a.py::dear\n")
    (fault,) = source_faults(tmp_path / "project" / "module.py")
    return power.Attempt(fault, "checkers/one")


DEAR, ORDINARY, BUSY = "tests/a.py::dear", "tests/a.py::ordinary", "tests/a.py::busy"


@pytest.mark.parametrize(
    ("failing", "noticed_by", "ordinary"),
    [
        ([], "", False),
        ([DEAR], DEAR, False),
        ([ORDINARY, DEAR], ORDINARY, True),
        ([BUSY, DEAR], DEAR, False),  # which fails without the fault too
    ],
)
def test_the_first_test_that_fails_of_a_fault(
    failing: list[str],
    noticed_by: str,
    ordinary: bool,
    attempt: power.Attempt,
    tmp_path: Path,
) -> None:
    def run_tests(copied: Path, order: Order, words: list[str]) -> power.Run:
        if (copied / "module.py").read_text() == "LIMIT = 2\n":
            return power.Run(int(words[-1] == BUSY), [], "")
        assert order.first == ["tests/checkers/one"]
        assert "a.py::flaky" in order.skipped
        failed = [test for test in failing if test not in order.skipped][:1]
        return power.Run(len(failed), failed, "")

    power.attempt_fault(attempt, tmp_path / "copy", {"a.py::flaky"}, run_tests)
    assert (attempt.noticed_by, attempt.ordinary) == (noticed_by, ordinary)
    assert (tmp_path / "copy" / "module.py").read_text() == "LIMIT = 2\n"


def test_a_process_that_ends_has_noticed_it(attempt: power.Attempt, tmp_path: Path) -> None:
    """By a signal, or as a test takes too long: by the test that ran."""
    codes = {"(3)": 139, "2": 0}

    def ended(copied: Path, order: Order, words: list[str]) -> power.Run:
        return power.Run(codes[(copied / "module.py").read_text()[8:-1]], [], ORDINARY)

    assert power.attempt_fault(attempt, tmp_path / "copy", set(), ended).noticed_by == ORDINARY


SLEEPS = """import time


def test_one() -> None: ...


def test_two() -> None:
    time.sleep(1.5)


def test_three() -> None: ...
"""


def test_a_test_that_takes_long_hides_no_others(tmp_path: Path) -> None:
    """Without a fault it is not ended. With one it is, and what did not begin is counted."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "helpers").symlink_to(Path(tiers.__file__).parent)
    (folder / "test_sleeps.py").write_text(SLEEPS)
    words = ["-n", "0", "tests/test_sleeps.py"]
    run = power.run_tests(tmp_path, Order(), words, 1)
    assert (run.code, run.running, run.missing) == (1, "tests/test_sleeps.py::test_two", 1)
    run = power.run_tests(tmp_path, Order(), words, None)
    assert (run.code, run.running, run.missing) == (0, "tests/test_sleeps.py::test_three", 0)


def test_tests_that_did_not_run_come_nowhere(attempt: power.Attempt, tmp_path: Path) -> None:
    (tmp_path / "copy" / "src").mkdir()
    with pytest.raises(SystemExit, match=f"3 tests did not run, .* the last that began is {ORDINARY}"):
        power.find_reaching([attempt], tmp_path / "copy", 2, lambda *given: power.Run(1, [DEAR], ORDINARY, 3))


def test_the_table(attempt: power.Attempt, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{power.BEGIN}old\n{power.END}after\n")
    attempt.noticed_by, attempt.ordinary = "tests/a.py::test[x|y]", True
    power.write(power.table([attempt], "--seed 7 --rooms"), page)
    assert (
        page.read_text()
        == f"""before
{power.BEGIN}
Of 1 faults at random (`--seed 7 --rooms`) all tests notice 1, the ordinary ones 1.

| place | expression | with the fault | noticed by | first test |
| --- | --- | --- | --- | --- |
| `module.py:1` | `2` | `3` | ordinary | `a.py::test[x\\|y]` |

{power.END}after
"""
    )
    attempt.noticed_by, attempt.ordinary = "", False
    assert "| none |  |\n" in power.row(attempt)
    attempt.files = []
    assert "| none comes there |  |\n" in power.row(attempt)

"""What tests cost, and which of them `./test.sh` leaves out: the list, the command that writes it, and the script."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import costs
from tests.helpers import tiers
from tests.helpers.processor_time import COST, spent

ROOT = Path(__file__).parents[1]
BURN = "import time\nwhile time.process_time() < {}: pass"


def functions_of(file: str) -> set[str]:
    tree = ast.parse((tiers.TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_entry_names_a_test(request: pytest.FixtureRequest) -> None:
    """An entry of a test that has another name now would be no entry: `python -m tests.costs FILE` writes it anew."""
    functions = functools.cache(functions_of)
    for entry in tiers.dear_tests():
        file, _, name = entry.partition("[")[0].partition("::")
        assert name.rpartition("::")[2] in functions(file), entry
    collected = request.config.stash.get(tiers.COLLECTED, None)
    if collected is not None:
        tests = {tiers.short(test) for test in collected}
        tests |= {test.partition("[")[0] for test in tests}
        assert [entry for entry in tiers.dear_tests() if entry not in tests] == []


def test_the_list_is_as_the_command_writes_it() -> None:
    entries = tiers.dear_tests()
    assert list(entries) == sorted(entries)
    assert all(entry.partition("[")[0] not in entries for entry in entries if "[" in entry)
    rows = [f"{seconds:6.1f}  {entry}" for entry, seconds in entries.items()]
    assert tiers.DEAR.read_text() == costs.HEAD.format(limit=tiers.LIMIT) + "".join(f"{row}\n" for row in rows)


def measured(own: float, *uses: str, **made: float) -> tiers.Cost:
    return {"own": own, "made": made, "uses": list(uses)}


def test_a_fixture_is_paid_by_all_that_use_it() -> None:
    """Not by the one that comes first: without it the next would pay."""
    cost = tiers.costs_of(
        {
            "tests/a.py::one": measured(0.1, "big", big=0.9),
            "tests/a.py::two": measured(0.2, "big"),
            "tests/a.py::three": measured(0.5, "big"),
            "tests/a.py::four": measured(0.1),
        }
    )
    assert cost == pytest.approx(
        {"tests/a.py::one": 0.4, "tests/a.py::two": 0.5, "tests/a.py::three": 0.8, "tests/a.py::four": 0.1}
    )


def test_what_the_list_holds_after_a_run() -> None:
    before = {"a.py::gone": 9.0, "a.py::stays": 0.4, "a.py::cheaper": 0.4, "b.py::not_run": 0.7}
    after = costs.updated(before, {
        "tests/a.py::stays": 0.16, "tests/a.py::cheaper": 0.12, "tests/a.py::cheap": 0.19, "tests/a.py::dear": 0.31,
        "tests/a.py::some[one]": 0.5, "tests/a.py::some[two]": 0.1,
        "tests/a.py::all[1]": 0.5, "tests/a.py::all[2]": 0.6,
    })  # fmt: skip
    assert after == {
        "a.py::all": 1.1,
        "a.py::dear": 0.3,
        "a.py::some[one]": 0.5,
        "a.py::stays": 0.2,
        "b.py::not_run": 0.7,
    }
    assert costs.updated({"a.py::stays": 0.4}, {"tests/a.py::stays": 0.5}) == {"a.py::stays": 0.4}


def test_the_ordinary_tier_leaves_out_an_entry_with_all_its_parameters() -> None:
    entries = {"a.py::all", "a.py::some[one]"}
    tests = ("all", "all[1]", "some[one]", "some[two]", "allies")
    assert [name for name in tests if tiers.is_listed(f"tests/a.py::{name}", entries)] == ["all", "all[1]", "some[one]"]


@pytest.fixture
def last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> costs.LastRun:
    """Of the whole suite: a listed test, and one that is dear and not listed."""
    monkeypatch.setattr(tiers, "DEAR", tmp_path / "dear.txt")
    monkeypatch.setattr(costs, "KEPT", tmp_path / "costs")
    costs.write({"a.py::old": 2.0})
    return {"named": False, "costs": {"tests/a.py::old": measured(2.0), "tests/a.py::new": measured(1.3)}}


@pytest.mark.parametrize(
    ("source", "keyword", "marks", "left"),
    [
        ("TESTPATHS", "", "not slow", ["tests/a.py::cheap"]),
        ("TESTPATHS", "dear", "not slow", ["tests/a.py::dear", "tests/a.py::cheap"]),
        ("TESTPATHS", "", "slow", ["tests/a.py::dear", "tests/a.py::cheap"]),
        ("ARGS", "", "not slow", ["tests/a.py::dear", "tests/a.py::cheap"]),
    ],
)
def test_tests_that_are_named_run(
    source: str, keyword: str, marks: str, left: list[str], last_run: costs.LastRun
) -> None:
    """Dear or not; a process of pytest-xdist does as it is told, since it is given paths."""
    costs.write({"a.py::dear": 2.0})
    option = SimpleNamespace(keyword=keyword, markexpr=marks, ordinary=True)
    hook = SimpleNamespace(pytest_deselected=lambda items: None)
    source_of_paths = pytest.Config.ArgsSource[source]
    config: Any = SimpleNamespace(args_source=source_of_paths, option=option, stash=pytest.Stash(), hook=hook)
    tiers.begin(config)
    told = {tiers.NAMED: config.stash[tiers.WHETHER_NAMED]}
    paths = pytest.Config.ArgsSource.ARGS
    process: Any = SimpleNamespace(**{**vars(config), "args_source": paths, "stash": pytest.Stash()}, workerinput=told)
    tiers.begin(process)
    for one in (config, process):
        items: Any = [SimpleNamespace(nodeid=f"tests/a.py::{name}") for name in ("dear", "cheap")]
        tiers.choose(one, items)
        assert [item.nodeid for item in items] == left
        assert (tiers.COLLECTED in one.stash) == (len(left) == 1)
    option.ordinary = False
    items = [SimpleNamespace(nodeid="tests/a.py::dear")]
    tiers.choose(config, items)
    assert len(items) == 1


def test_a_dear_test_that_is_not_listed_is_missing() -> None:
    """On a machine of half the speed twice as much is dear; a faster one changes nothing."""
    entries = {"a.py::old": 2.0}
    tests = {"tests/a.py::old[1]": 1.0, "tests/a.py::old[2]": 1.0, "tests/a.py::new": 0.9, "tests/a.py::cheap": 0.7}
    assert costs.missing(tests, entries) == ["tests/a.py::new"]
    assert costs.missing({name: seconds * 2 for name, seconds in tests.items()}, entries) == ["tests/a.py::new"]
    assert costs.missing({name: seconds / 2 for name, seconds in tests.items()}, entries) == []


@pytest.mark.parametrize(("others", "code", "part"), [(3.0, 0, "23%"), (2.0, 1, "31%")])
def test_the_check_fails_if_dear_tests_are_a_quarter_of_the_ordinary_ones(
    last_run: costs.LastRun, others: float, code: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of less, a test that happened to come first may have paid for others."""
    tests = {f"tests/b.py::cheap[{number}]": measured(0.1) for number in range(round(others * 10))}
    last_run["costs"]["tests/a.py::new"] = measured(0.9)
    costs.KEPT.write_text(json.dumps({**last_run, "costs": {**last_run["costs"], **tests}}))
    assert costs.main(["--check"]) == code
    assert capsys.readouterr().out == (
        "a.py::new: 0.9 processor seconds, and not in tests/dear.txt\n"
        f"{part} of what the ordinary tests cost; more than 25% fails\n"
        "python -m tests.costs tests/a.py\n"
    )
    costs.KEPT.write_text(json.dumps({"named": False, "costs": {"tests/a.py::old": measured(2.0), **tests}}))
    assert costs.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_the_check_is_of_a_run_of_everything(last_run: costs.LastRun, capsys: pytest.CaptureFixture[str]) -> None:
    costs.KEPT.write_text(json.dumps({**last_run, "named": True}))
    assert costs.main(["--check"]) == 2
    assert "./test.sh --all" in capsys.readouterr().err


def test_the_time_of_children_counts() -> None:
    """Of one that still runs, too: a JVM serves many tests."""
    start = spent()
    subprocess.run([sys.executable, "-c", BURN.format(0.2)], check=True)
    ended = spent()
    assert ended - start > 0.15
    line = BURN.format(0.2) + "\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        assert spent() - ended > 0.15
        running.communicate(b"\n")


SUITE = """
import time, pytest
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
@pytest.fixture(scope="module")
def inner(): burn(0.1)
@pytest.fixture(scope="module")
def outer(inner): burn(0.1)
@pytest.fixture
def each(): burn(0.1)
def test_one(outer): burn(0.1)
def test_two(outer, each): pass
def test_three(): pass
"""


def test_each_test_tells_its_cost(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(
        "from tests.helpers.processor_time import Meter\n"
        "def pytest_configure(config): config.pluginmanager.register(Meter())\n"
        "def pytest_runtest_logreport(report):\n"
        f"    for name, cost in report.user_properties: assert name == {COST!r}; print(report.nodeid, cost, sep=';')\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*command, "tests"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    cost = {
        name.rpartition("::")[2]: ast.literal_eval(value)
        for name, value in (line.split(";") for line in ran.stdout.splitlines() if ";" in line)
    }
    one, two, three = (cost[f"test_{name}"] for name in ("one", "two", "three"))
    file = "tests/test_a.py"
    assert one["uses"] == two["uses"] == [f"{file}::inner", f"{file}::outer"]
    assert {name: round(seconds, 1) for name, seconds in one["made"].items()} == dict.fromkeys(one["uses"], 0.1)
    assert [round(made["own"], 1) for made in (one, two, three)] == [0.1, 0.1, 0.0]
    assert two["made"] == three["made"] == {}
    assert three["uses"] == []

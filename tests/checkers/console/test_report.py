"""What is printed first, and what is folded, where a model has many properties."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reassure.checkers.console.report import quantities
from reassure.checkers.request.engine_results import SearchStatistics
from reassure.checkers.traces.render import filled
from tests.helpers.command import model_file, said

COUNTER = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, cover, initial, invariant, replace, require, terminal

@dataclass(frozen=True)
class Config:
    high: Annotated[int, Range(1, 40)] = 20

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 40)]

@initial
def zero(c: Config) -> State:
    return State(n=0)

@action(who="counter")
def add(s: State, c: Config) -> State:
    require(s.n < c.high)
    return replace(s, n=s.n + 1)

@terminal
def full(s: State, c: Config) -> bool:
    return s.n == c.high
"""


def counter(holding: int, violated: tuple[int, ...], covers: int) -> str:
    """A model with properties that hold, and some that are violated after so many steps; and covers."""
    declared = [("invariant", f"below_{steps}", f"s.n < {steps}") for steps in violated]
    declared += [("invariant", f"held_{n}", f"s.n <= {40 + n}") for n in range(holding)]
    declared += [("cover", f"seen_{n}", f"s.n == {n}") for n in range(covers)]
    text = "".join(f"\n@{kind}\ndef {name}(s: State) -> bool:\n    return {what}\n" for kind, name, what in declared)
    return f"{COUNTER}{text}\nMODEL = Model.of(__name__, state=State, config=Config)\n"


def test_many_properties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is violated has a line; what holds is named in one. The shortest traces are told, as they are declared."""
    path = model_file(tmp_path, counter(25, (9, 2, 5, 3, 7), 13))
    code, out, _ = said(capsys, "check", path, "--engine=reference")
    assert code == 12
    lines = out.splitlines()
    first = lines.index("properties") + 1
    assert [line.split()[0] for line in lines[first : first + 5]] == [f"below_{n}" for n in (9, 2, 5, 3, 7)]
    assert lines[first + 5].startswith("  26 of 31 hold: held_0, held_1, ")
    assert lines[lines.index("covers") + 1].startswith("  13 of 13 reached, the last after 12 steps: seen_0, seen_1, ")
    assert re.findall(r"mine: (\w+) is violated", out) == ["below_2", "below_5", "below_3"]
    assert "\n5 of 31 properties are violated; 2 more traces (--full prints all, --property NAME one)\n" in out
    _, full, _ = said(capsys, "check", path, "--engine=reference", "--full")
    assert re.findall(r"mine: (\w+) is violated", full) == [f"below_{n}" for n in (9, 2, 5, 3, 7)]
    assert "\n  held_24   holds\n" in full
    assert "\n  seen_12  reached after 12 steps\n" in full


def test_few_properties_have_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, counter(20, (3,), 12))
    _, out, _ = said(capsys, "check", path, "--engine=reference")
    assert "\n  held_19   holds\n" in out
    assert "\n  seen_11  reached after 11 steps\n" in out


def test_a_cover_that_nothing_reaches_is_not_folded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model_file(tmp_path, counter(1, (), 25))
    code, out, _ = said(capsys, "check", path, "--engine=reference")
    assert code == 16
    assert "\n  21 of 25 reached, the last after 20 steps: seen_0" in out
    assert "\n  seen_24  never reached\n" in out


def test_a_terminal_shows_a_part_of_a_long_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe a list is one line, as it is for whoever reads it with grep."""
    path = model_file(tmp_path, counter(25, (2,), 13))
    words = ["check", path, "--engine=reference", "--stories=0"]
    piped = said(capsys, *words)[1].splitlines()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said(capsys, *words)[1]).splitlines()
    joined = " ".join(line.strip() for line in lines)
    held = ", ".join(f"held_{n}" for n in range(8))
    assert max(len(line) for line in lines if not line.startswith("again: ")) <= 60
    for start, more in ((f"26 of 27 hold: {held}", 18), ("13 of 13 reached, the last after 12 steps: seen_0, ", 5)):
        assert any(line.startswith(f"  {start}") and "more" not in line for line in piped)
        assert start in joined
        assert f" and {more} more (--full lists them)" in joined


def test_in_a_terminal_the_story_is_before_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a blank line before each step; red is what is violated alone. In a pipe the tables are first, as ever."""
    file = model_file(tmp_path, counter(1, (2,), 1))
    plain = said(capsys, "check", str(file))[1]
    assert plain.index("\nproperties") < plain.index("below_2 is violated after 2 steps")
    assert "       n: 0 -> 1\n  2. counter: add()\n" in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = said(capsys, "check", str(file))[1]
    lines = re.sub("\x1b\\[[0-9;]*m", "", out)
    assert lines.index("below_2 is violated after 2 steps") < lines.index("\nproperties") < lines.index("actions")
    assert "       n: 0 -> 1\n\n  2. counter: add()\n       n: 1 -> 2\n\n  false: s.n < 2\n" in lines
    assert "n: \x1b[2m0\x1b[0m -> \x1b[1m1\x1b[0m\n" in out
    red = [re.sub("\x1b\\[[0-9;]*m", "", part) for part in re.findall("\x1b\\[1;31m.*?\x1b\\[0m", out)]
    assert red == ["  false: s.n < 2", "    s.n = 2", "violated", "safety-violation (exit code 12)"]


def test_a_rate_is_of_a_search_that_took_a_tenth_of_a_second() -> None:
    spent = {"load": 0.0, "compile": 0.25, "search": 0.1, "report": 0.0}
    stats = SearchStatistics(generated=5_000, seconds=spent, bytes_per_state=8, memory=12 << 20, workers=2)
    said = ["0.10 s on 2 threads", "50,000 generated/s", "compiled in 0.25 s", "8 bytes a state", "12 MiB"]
    assert quantities(stats, False) == said
    stats.seconds["search"] = 0.099
    assert quantities(stats, True) == ["0.10 s on 2 cores", *said[2:]]
    stats.seconds |= {"liveness": 1.5, "report": 2.0}
    assert quantities(stats, False)[2:4] == ["fair loops in 1.50 s", "traces in 2.00 s"]


def test_the_statistics_break_between_quantities_alone() -> None:
    assert filled(["0.10 s on 2 threads", "8 bytes a state", "12 MiB"], ", ", 24) == [
        "0.10 s on 2 threads",
        "8 bytes a state, 12 MiB",
    ]

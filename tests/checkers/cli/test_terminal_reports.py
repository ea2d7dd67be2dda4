"""Reports as a reader of a terminal sees them: what stands on which line, and what a last line says."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path

import pytest

from reassure.checkers.engines.spark import sql
from reassure.checkers.kafka.audit.report import findings_table as audit_table
from reassure.checkers.machine.drawn_terminal import COPIED
from reassure.checkers.machine.terminal import Console
from tests.helpers.command import said
from tests.helpers.committed_traces import committed_file
from tests.helpers.metadata_log_text import LOGS

SLOTS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Map, Model, Range, action, every, fill, initial, invariant, leads_to, replace, require

class Member(Id, size="members"): ...

@dataclass(frozen=True)
class Config:
    members: Annotated[int, Range(1, 4)] = 4

@dataclass(frozen=True)
class Slot:
    joined: bool = False
    epoch: Annotated[int, Range(0, 3)] = 0

@dataclass(frozen=True)
class Group:
    slots: Map[Member, Slot]
    mail: frozenset[Member]

@initial
def empty(c: Config) -> Group:
    return Group(slots=fill(Member, c, Slot()).put(Member(1), Slot(True, 1)), mail=frozenset())

@action(who="member", fair="weak")
def join(g: Group, member: Member) -> Group:
    require(not g.slots[member].joined)
    return replace(g, slots=g.slots.put(member, Slot(True, 1)))

def mailed(g: Group) -> frozenset[Member]:
    return g.mail

@action(who="member", message=mailed)
def read(g: Group, message: Member) -> Group:
    return replace(g, mail=g.mail - {message})

@invariant
def apart(g: Group, c: Config) -> bool:
    all_of_them = every(Member, c)
    return all(a == b or not (g.slots[a].joined and g.slots[b].joined) for a in all_of_them for b in all_of_them)

MODEL = Model.of(__name__, state=Group, config=Config)
"""


@pytest.fixture
def slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slots.py").write_text(SLOTS)
    return "slots.py"


def test_a_first_state_and_its_reasons(slots: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A record is on one line, equal ids stand together, and each combination of values has its line."""
    code, out, _ = said(capsys, "check", slots, "--engine=reference")
    assert code == 12
    state = out[out.index("  0. empty()") : out.index("  1. ")].splitlines()
    assert state[1:] == [
        "       slots[0, 2, 3] = (joined no, epoch 0)",
        "       slots[1] = (joined yes, epoch 1)",
        "       mail = {}",
    ]
    lines = [line for line in out.splitlines() if line.strip().startswith("for ")]
    assert lines == ["    for a = 1, b = 3", "    for a = 3, b = 1"]
    assert "  deadlock  found after " in out


@pytest.mark.parametrize("command", ["check", "guards", "simulate", "prove"])
def test_quiet_is_one_line(command: str, slots: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, command, slots, "--quiet")
    assert (len(out.splitlines()), out.endswith(f" (exit code {code})\n"), err) == (1, True, "")


def test_subscripts_are_printed(slots: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are not markup, in no table."""
    out = said(capsys, "traces", slots, "--cover=guards", f"--out={tmp_path / 'suite'}")[1]
    assert "require(not g.slots[member].joined)" in out


def test_walks_do_not_claim_whole_runs(slots: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They end, so that a property about whole runs is not looked at."""
    more = "@leads_to(lambda g: g.slots[Member(0)].joined)\ndef settles(g: Group) -> bool:\n    return True\n\nMODEL"
    Path(slots).write_text(SLOTS.replace("MODEL", more))
    out = said(capsys, "simulate", slots, "--walks=20")[1]
    assert "settles   not checked (about whole runs: `reassure check` decides it)" in out
    assert "apart     violated" in out


def test_why_a_line_of_a_log_does_not_match(slots: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"action": "read"}\n')
    code, out, _ = said(capsys, "validate", slots, str(log))
    assert (code, "read has no value for message: the set that it is drawn from is empty; " in out) == (18, True)
    assert "--hidden ACTION" in out


ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
REPORTS = [
    ["check", "slots.py", "--engine=reference"],
    ["check", "batching_literal"],
    ["guards", "core"],
    ["fairness", "core_liveness"],
    ["stuck", "core_liveness"],
    ["mutants", "die_hard", "--max=3"],
    ["sweep", "core", "--set=min_isr=1,2"],
    ["simulate", "slots.py", "--walks=3", "--seed=1"],
    ["models", "kraft"],
    ["show", str(committed_file("batching_literal", "every_reassignment_ends", deaths=0))],
    ["gate", "gate.toml", "-j1"],
]
BRIEFER = [["audit", str(LOGS / "4.1.0.log")]]
"""With other words where a terminal is narrow."""


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", [*REPORTS, *BRIEFER], ids=lambda words: words[0])
def test_what_a_terminal_shows(
    words: list[str], columns: int, slots: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every word of what a pipe gets, in lines that fit; only what a reader copies is longer."""
    Path("gate.toml").write_text(f"[[check]]\nmodel = '{slots}'\nexpect = 'pass'\n")
    in_pipe = said(capsys, *words)[1]
    assert len(in_pipe.splitlines()) > 5
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = ESCAPES.sub("", said(capsys, *words)[1])
    long = [line for line in shown.splitlines() if len(line) > columns and not COPIED.match(line)]
    assert long == []
    assert words in BRIEFER or without_times(shown) == without_times(in_pipe)


def without_times(report: str) -> Counter[str]:
    """The words of a report without its line of times, which leaves out a rate or the traces if they took no time."""
    told = re.sub(r"^\d+\.\d\d s\b(?:.*,\n)*.*$", "", report, flags=re.MULTILINE)
    return Counter(word for word in told.split() if not re.search(r"\d|^m?s$", word))


def test_a_subscript_in_a_table_of_an_answer_is_not_markup() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80)
    sql.show(["clients[member]"], [("owned[a] [/x]",)], "table", console)
    assert [line.strip() for line in file.getvalue().splitlines()] == ["clients[member]", "owned[a] [/x]"]
    console.print(audit_table([("1", "now", "a-0", "x", "isr[leader]", "-")]))
    assert "isr[leader]" in file.getvalue()

"""`check --follow`, completion in shells, and the JSON Schema of the record."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.console.follow import follow
from reassure.checkers.publish.commands_page import schema_text
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import said
from tests.helpers.lease_model import LEASE
from tests.helpers.outside_models import counter, set_step


class Lines:
    """A console that keeps what is printed, without the time of day."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, text: str, style: str = "") -> None:
        self.lines.append(text[10:] if text[2:3] == ":" else text)


def test_an_interrupt_before_the_first_answer_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupts(words: list[str]) -> Any:
        raise KeyboardInterrupt

    (tmp_path / "lease.py").write_text(LEASE)
    monkeypatch.setattr("reassure.checkers.console.follow._run", interrupts)
    console: Any = Lines()
    assert follow(str(tmp_path / "lease.py"), ["check"], console) == 5


def test_two_outputs_are_not_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gate.toml").write_text('[[check]]\nmodel = "die_hard"\nexpect = "safety-violation"\n')
    out = tmp_path / "out"
    words = ["gate", str(tmp_path / "gate.toml"), f"--junit={out}", f"--sarif={tmp_path / '.' / 'out'}"]
    code, _, err = said(capsys, *words)
    assert (code, err) == (64, f"reassure: --junit and --sarif both write {out}\n")
    assert not out.exists()


def test_a_jar_is_for_a_second_opinion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "die_hard", "--invariant", "s.big < 9", "--jar", "x.jar")
    assert (code, err) == (64, "reassure: --jar is for --second-opinion\n")


@pytest.mark.parametrize("option", ["--follow", "--dump-kernel"])
def test_what_writes_no_record(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    code, out, err = said(capsys, "check", "die_hard", option, f"--json={record}")
    assert (code, out, err) == (64, "", f"reassure: {option} writes no record: leave out --json\n")
    assert json.loads(record.read_text())["exit_code"] == 64


def test_the_verdict_on_each_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, console = tmp_path / "lease.py", Lines()
    file.write_text(LEASE)
    texts = [LEASE.replace("s.given <= 2", "s.given < 2"), LEASE + "x = (\n", LEASE]

    def save() -> None:
        if not texts:
            raise KeyboardInterrupt
        file.write_text(texts.pop(0))

    code = follow("lease.py", ["check", "lease.py", "--engine=reference"], console, save)  # type: ignore[arg-type]
    assert code == 0
    assert console.lines[:3] == [
        "pass (exit code 0), 7 states",
        "safety-violation (exit code 12), 7 states; some_are_left violated",
        "  since the last: some_are_left holds -> violated",
    ]
    assert "lease.py cannot be imported: SyntaxError" in console.lines[3]
    assert console.lines[4:] == ["pass (exit code 0), 7 states", "  since the last: some_are_left violated -> holds"]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["che"], "check"),
        (["check", "--inv"], "--invariant"),
        (["check", "--engine", "ref"], "reference"),
        (["kafka", "conf"], "conform confirm"),
        (["kafka", "conform", "--relea"], "--release"),
        (["completion", ""], "bash zsh fish"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_in_a_shell(
    shell: str, words: list[str], completed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    script = said(capsys, "completion", shell)[1]
    line = " ".join(words)
    ask = {
        "bash": f'COMP_WORDS=(reassure {line}); COMP_CWORD={len(words)}; _reassure; echo "${{COMPREPLY[*]}}"',
        "fish": f"complete -C 'reassure {line}'",
    }
    done = subprocess.run([shell, "-c", f"{script}\n{ask[shell]}"], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) >= set(completed.split())


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_completion_in_zsh_of_someone_without_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An interactive zsh without a file of settings completes what is typed before the key Tab."""
    Path(tmp_path / "script").write_text(said(capsys, "completion", "zsh")[1])
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "ZDOTDIR": str(tmp_path)})
    shown = b""
    try:
        for typed, expected in [
            ("source ./script; echo re''ad\n", b"read"),
            ("reassure che\t --inv\t", b"--invariant"),
        ]:
            os.write(terminal, typed.encode())
            while expected not in shown and select.select([terminal], [], [], 20)[0]:
                shown += os.read(terminal, 4096)
        assert b"reassure check --invariant" in shown
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def fits(value: Any, schema: JsonObject, place: str = "") -> list[str]:
    """What in a value is not as a schema of the kind that is generated says."""
    names = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
        list: "array",
        dict: "object",
    }
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    kind = names[type(value)]
    wrong = [] if not kinds or kind in kinds or (kind == "integer" and "number" in kinds) else [f"{place} is {kind}"]
    wrong += [f"{place} is {value!r}"] if "enum" in schema and value not in schema["enum"] else []
    if isinstance(value, dict):
        needed = [*schema.get("required", [])]
        for key, others in schema.get("dependentRequired", {}).items():
            needed += others if key in value else []
        wrong += [f"{place} lacks {key}" for key in needed if key not in value]
        for key, inner in value.items():
            below = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            wrong += fits(inner, below, f"{place}.{key}")
    if isinstance(value, list):
        wrong += [text for one in value for text in fits(one, schema.get("items", {}), f"{place}[]")]
    return wrong


@pytest.mark.parametrize(
    "words",
    [
        ["check", "lease.py", "--engine=reference"],
        ["check", "lease.py", "--engine=reference", "--property=nothing"],
        ["check", "leese.py"],
        ["simulate", "lease.py", "--walks=5"],
        ["find", "lease.py", "s.given == 1"],
        ["mutants", "lease.py", "--max=1"],
        ["gate", "gate.toml"],
        ["lint", "lease.py"],
    ],
)
def test_records_fit_the_schema(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lease.py").write_text(LEASE)
    Path("gate.toml").write_text('[[check]]\nmodel = "lease.py"\nexpect = "pass"\n')
    said(capsys, *words, "--json=r.json")
    schema = json.loads(schema_text())
    record = json.loads(Path("r.json").read_text())
    assert fits(record, schema) == []
    assert fits({**record, "exit_code": "0"}, schema) == [".exit_code is string", ".exit_code is '0'"]
    without = "verdict" if words[0] in ("gate", "lint") else "config"
    assert fits({key: value for key, value in record.items() if key != without}, schema) == [f" lacks {without}"]


def test_a_value_from_outside_that_changes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is saved as it was, and the answers are others."""
    file, console, steps = counter(tmp_path, "file"), Lines(), [3]
    set_step(1, tmp_path, monkeypatch)

    def save() -> None:
        if not steps:
            raise KeyboardInterrupt
        set_step(steps.pop(), tmp_path, monkeypatch)
        file.touch()

    words = ["check", str(file), "--engine=reference"]
    assert follow(str(file), words, console, save) == 12  # type: ignore[arg-type]
    assert console.lines[-1] == "  since the last: within holds -> violated; states 5 -> 3; steps 5 -> 3"

"""Models are programs: whose are executed, and what they cannot pass off as an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command import said

ROOT = Path(__file__).parents[3]


def test_a_trace_of_a_file_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is executed only if it is named: the trace may be somebody else's, and so the file. SECURITY.md, 4."""
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text().replace("big=5)", "big=4)")
    (tmp_path / "die_hard.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "check", "die_hard.py", "--engine=reference", "--trace-dir", "out", "--quiet")[0] == 12
    (path,) = (tmp_path / "out").glob("*.json")
    asked = f"{path} is of the model in die_hard.py, a program: to execute it give --model die_hard.py"
    for command in ("replay", "show"):
        code, _, err = said(capsys, command, str(path))
        assert (code, asked in err) == (64, True)
    code, out, err = said(capsys, "replay", str(path), "--model=die_hard.py")
    assert (code, err) == (0, ""), err
    assert "goal_not_reached is violated at its end" in out
    (tmp_path / "die_hard.py").write_text(text + "MORE = 1\n")
    code, _, err = said(capsys, "replay", str(path), "--model=die_hard.py")
    assert (code, "has changed since" in err) == (0, True)
    (tmp_path / "die_hard.py").unlink()
    code, _, err = said(capsys, "replay", str(path))
    assert (code, "which is not there" in err) == (64, True)


def test_a_model_that_the_gate_file_here_names_is_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of a gate file which came with the trace. SECURITY.md, 4."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "die_hard.py").write_text((ROOT / "models" / "examples" / "die_hard.py").read_text())
    monkeypatch.chdir(theirs)
    assert said(capsys, "check", "die_hard.py", "--engine=reference", "--trace-dir=.", "--quiet")[0] == 12
    gate = "[[check]]\nmodel = '{}'\nexpect = 'safety-violation'\n"
    (path,) = theirs.glob("*.json")
    (theirs / "gate.toml").write_text(gate.format("die_hard.py"))
    assert said(capsys, "replay", str(path))[0] == 0
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "replay", str(path))[0] == 64
    (tmp_path / "gate.toml").write_text("check = 3\n")
    assert said(capsys, "replay", str(path))[0] == 64
    (tmp_path / "gate.toml").write_text(gate.format("theirs/die_hard.py"))
    assert said(capsys, "replay", str(path))[0] == 0


NO_ANSWER = "ended without an answer"


ENDS = [
    ("os._exit(0)", 255, NO_ANSWER),
    ("ctypes.CDLL(None)._exit(0)", 255, NO_ANSWER),
    ("os.execv('/bin/true', ['true'])", 255, NO_ANSWER),
    ("os.execlp('true', 'true')", 255, NO_ANSWER),
    ("os.abort()", 255, "the process was ended by SIGABRT"),
    ("os.kill(os.getpid(), 9)", 153, "the process was killed"),
]


@pytest.mark.parametrize(("end", "code", "text"), ENDS)
def test_a_model_that_ends_the_process_gives_no_answer(end: str, code: int, text: str, tmp_path: Path) -> None:
    """In a gate it is not a pass. SECURITY.md, 2."""
    die_hard = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    model, gate, record = tmp_path / "model.py", tmp_path / "gate.toml", tmp_path / "record.json"
    model.write_text(f"{die_hard}\nimport ctypes, os\n{end}\n")
    gate.write_text("[[check]]\nmodel = 'model.py'\nexpect = 'safety-violation'\n")
    for words in (["check", str(model)], ["gate", str(gate), "--jobs=1"]):
        line = [sys.executable, "-m", "reassure", *words, "--json", str(record)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert (done.returncode, text in done.stderr) == (code, True), (words, done)
        said = json.loads(record.read_text())
        assert (said["exit_code"], said["stop_reason"], text in said["stopped_because"]) == (code, "not_started", True)
        record.unlink()


LEAVES = "    def __post_init__(self) -> None:\n        raise SystemExit(0)\n"


@pytest.mark.parametrize(
    "change",
    [("@invariant\n", "@invariant(when=lambda c: exit())\n"), ("    goal: ", f"{LEAVES}    goal: ")],
)
def test_python_of_a_model_that_ends_the_interpreter(
    change: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parts that are not in the language of actions and properties."""
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    model, gate = tmp_path / "model.py", tmp_path / "gate.toml"
    assert text.count(change[0]) == 1
    model.write_text(text.replace(*change))
    gate.write_text("[[check]]\nmodel = 'model.py'\nexpect = 'safety-violation'\n")
    code, _, err = said(capsys, "check", str(model))
    assert (code, "model ends the interpreter: SystemExit: " in err) == (150, True), err
    code, out, _ = said(capsys, "gate", str(gate), "-j1")
    assert (code, "model ends the interpreter" in out) == (150, True), out


def test_a_command_that_ends_the_interpreter_has_not_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*arguments: object) -> None:
        raise SystemExit(0)

    (tmp_path / "gate.toml").write_text("[[check]]\nmodel = 'die_hard'\nexpect = 'safety-violation'\n")
    monkeypatch.setattr("reassure.checkers.cli.commands.check.run", leave)
    assert said(capsys, "check", "die_hard")[0] == said(capsys, "gate", str(tmp_path / "gate.toml"), "-j1")[0] == 255
    assert said(capsys, "check", "--help")[0] == 0


FIXTURE = "def test_one(reassure_check):\n    reassure_check('model.py', violated=['goal_not_reached'])\n"


def run_of_pytest(folder: Path, end: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest with a model that ends with this line, and with no other plugin: Hypothesis takes a second."""
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    (folder / "model.py").write_text(f"{text}\nimport atexit, ctypes, os\n{end}\n")
    (folder / "test_one.py").write_text(FIXTURE)
    plugins = ["-p", "reassure.pytest_plugin", "-p", "no:cacheprovider"]
    line = [sys.executable, "-m", "pytest", *plugins, "--reassure-engine=reference", *words]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(line, cwd=folder, env=alone, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("end", "code", "text"), [*ENDS[:2], ENDS[-1], ("atexit.register(lambda: os._exit(0))", 255, NO_ANSWER)]
)
def test_a_model_that_ends_pytest_is_no_pass(end: str, code: int, text: str, tmp_path: Path) -> None:
    """As a file of tests. SECURITY.md, 2."""
    done = run_of_pytest(tmp_path, end, "--reassure", "model.py")
    assert (done.returncode, text in done.stderr) == (code, True), done


def test_a_model_that_ends_a_worker_of_pytest_is_no_pass(tmp_path: Path) -> None:
    """The workers of pytest-xdist, which are processes of their own. SECURITY.md, 2."""
    done = run_of_pytest(
        tmp_path, "ctypes.CDLL(None)._exit(0)", "-p", "xdist", "--reassure", "-n1", "--max-worker-restart=0", "model.py"
    )
    assert (done.returncode, "node down" in done.stdout) == (5, True), done
    assert run_of_pytest(tmp_path, "", "-p", "xdist", "--reassure", "-n1", "model.py").returncode == 1


def test_the_fixture_does_not_let_a_model_end_pytest(tmp_path: Path) -> None:
    """By a function of Python. SECURITY.md, 2."""
    assert run_of_pytest(tmp_path, "os._exit(0)", "test_one.py").returncode == 255


@pytest.mark.parametrize(
    ("end", "words", "code"),
    [("", ("model.py",), 1), ("", ("test_one.py",), 0), ("", ("nothing.py",), 4), ("1 / 0", ("model.py",), 2)],
)
def test_the_exit_code_of_pytest_is_passed_on(end: str, words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    done = run_of_pytest(tmp_path, end, "--reassure", *words)
    assert (done.returncode, done.stderr.startswith("reassure")) == (code, False), done
    assert done.stdout.count("test session starts") == 1


def test_a_session_that_a_conftest_refuses(tmp_path: Path) -> None:
    """The plugin adds no error of its own to a session that did not begin."""
    hook = "@pytest.hookimpl(tryfirst=True)\ndef pytest_configure(config): raise pytest.UsageError('no such stage')\n"
    (tmp_path / "conftest.py").write_text(f"import pytest\n{hook}")
    done = run_of_pytest(tmp_path, "", "--reassure", "model.py")
    assert (done.returncode, done.stderr.strip()) == (4, "ERROR: no such stage")


def test_pytest_without_a_session(tmp_path: Path) -> None:
    assert run_of_pytest(tmp_path, "", "--reassure", "--help").returncode == 0


def test_a_model_is_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in its module is executed when it is loaded. SECURITY.md, 1."""
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    model, written = tmp_path / "model.py", tmp_path / "written"
    model.write_text(f"{text}\nfrom pathlib import Path\nPath({str(written)!r}).touch()\n")
    assert said(capsys, "check", str(model), "--engine=reference", "--quiet")[0] == 12
    assert written.exists()


@pytest.mark.parametrize("command", ["validate", "plan", "replay", "verify", "audit"])
def test_data_of_others_is_never_executed(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its texts say: neither Python, nor a path, nor tags of other formats. SECURITY.md, 9."""
    written, data = tmp_path / "written", tmp_path / "data.json"
    evil = f"__import__('pathlib').Path({str(written)!r}).touch()"
    entry = {"py/reduce": [evil], "action": evil, "topic": evil, "params": {evil: evil}, "state": {evil: evil}}
    texts = {"version": 1, "partitions": [entry], "brokers": [entry], "topics": [entry], "states": [entry],
             "#meta": {"model": evil, "config": {"goal": evil}, "properties": {evil: evil}}, "model": evil,
             "properties": [evil], "lemmas": [evil], "config": {evil: evil}}  # fmt: skip
    words = {"validate": ["die_hard"], "plan": [str(data)], "audit": []}.get(command, [])
    for text in (json.dumps(texts), json.dumps({**entry}) + "\n", evil, f"!!python/object/apply:os.system [{evil!r}]"):
        data.write_text(text, encoding="utf-8")
        code, _, err = said(capsys, command, *words, str(data))
        assert (code != 0, "Traceback" in err, written.exists()) == (True, False, False), (code, err)


IN_A_LOOP = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Model, cover, every, action, initial, replace, Range

class Member(Id, size="members"): ...

@dataclass(frozen=True)
class Config:
    members: Annotated[int, Range(1, 3)] = 2

@dataclass(frozen=True)
class State:
    members: frozenset[Member]

@initial
def empty() -> State:
    return State(frozenset())

@action(who="member")
def join(s: State, member: Member) -> State:
    return replace(s, members=s.members | {member})

def with_members(n):
    def reached(s: State) -> bool:
        return len(s.members) == n
    reached.__name__ = f"has_{n}_members"
    return cover(reached)
"""
OF = "MODEL = Model.of(__name__, state=State, config=Config"


@pytest.mark.parametrize(
    "end",
    [
        OF + ", shared=[with_members(n) for n in range(3)])",
        OF + ").adding(*[with_members(n) for n in range(3)])",
        "for n in range(3):\n    globals()[f'has_{n}_members'] = with_members(n)\n" + OF + ")",
    ],
)
def test_covers_that_a_loop_declares(end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "group.py").write_text(IN_A_LOOP + end + "\n")
    code, out, _ = said(capsys, "check", str(tmp_path / "group.py"), "--engine=reference")
    assert code == 0
    assert out.count("reached after") == 3 and "  has_2_members  reached after 2 steps\n" in out


@pytest.mark.parametrize(
    "end",
    [
        "for n in range(3):\n    with_members(n)\n" + OF + ")",
        "COVERS = [with_members(n) for n in range(3)]\n" + OF + ")",
        "COVERS = [with_members(n) for n in range(3)]\n" + OF + ", shared=COVERS[1:])",
    ],
)
def test_a_declaration_that_no_model_has_is_refused(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "group.py").write_text(IN_A_LOOP + end + "\n")
    code, _, err = said(capsys, "check", str(tmp_path / "group.py"), "--engine=reference")
    assert (code, "group.py declares has_0_members" in err, "its MODEL lacks it" in err) == (150, True, True)

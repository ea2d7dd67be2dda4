"""A session of pytest whose models a server checks tells what it tells without one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.command import children_of
from tests.helpers.serving import GATE, READS, WAITS, Serving, ended, parent_of, until

ONLY_SERVED = """
import os, sys
from pathlib import Path

if os.environ["REASSURE_SERVER"] == "1":
    sys.modules["reassure.checkers.testing.file_tests"] = None
if "FOLLOWED" in os.environ:  # as by a debugger
    sys.setprofile(lambda *event: None)

def pytest_collection_finish(session):
    for path in Path().glob("edited*.py"):
        path.write_text(path.read_text().replace("else 0", "else 1"))
"""
"""A conftest, with which a session fails whose tests are not a server's; it edits a model that was collected."""
FINDS = """
import importlib.util, sys

def test_one():
    assert (importlib.util.find_spec("other") is not None) == ("deep/other.py" in sys.argv)
"""
"""A test that finds the module of a model, once a session has imported the model."""
PRINTS = "import sys\nprint('imported')\nprint('odd', file=sys.stderr)\n"
SESSIONS = [
    (("reads.py", "deep/other.py", "inner", "gate.toml", "-v"), 0),
    (("broken.py", "-rA"), 1),
    (("wrong.py",), 1),
    (("cut.py", "reads.py"), 2),
]
MORE_SESSIONS = [
    (("reads.py", "--collect-only"), 0),
    (("broken.py", "-s", "-k", "small or search"), 1),
    (("broken.py", "--reassure-engine=reference", "--capture=sys"), 1),
    (("none.toml", "reads.py"), 4),
    (("none.gate.toml",), 2),
    (("fails.gate.toml", "-rA"), 1),
    (("edited.py",), 1),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(tmp_path_factory.mktemp("runtime"))
    serving.start("--idle", "5m")
    yield serving
    assert serving.found() == serving.pid, "it has served all of this file"
    serving.end()


def session(serving: Serving, folder: Path, asked: str, *words: str) -> tuple[int, str, str]:
    """The exit code of a session in this folder, and what it printed, without its seconds."""
    process = serving.pytest(*words, cwd=folder, variables={"REASSURE_SERVER": asked, "STEP": "1"})
    out, err = process.communicate(timeout=60)
    return process.returncode, re.sub(r"in [\d.]+s", "in N s", out), err


@pytest.mark.parametrize(
    ("words", "code"), [*SESSIONS, *(pytest.param(*row, marks=pytest.mark.slow) for row in MORE_SESSIONS)]
)
def test_models_in_pytest_are_told_as_without_a_server(
    words: tuple[str, ...], code: int, server: Serving, tmp_path: Path
) -> None:
    texts = {
        "reads": READS,
        "broken": PRINTS + READS.replace("<= 5", "<= 4"),
        "wrong": READS.replace("s.count + STEP", "s.cuont + STEP"),
        "cut": READS.replace('"counter"', '"counter'),
    }
    (tmp_path / "conftest.py").write_text(ONLY_SERVED)
    for name, text in {"inner/test_one": FINDS, "deep/other": READS}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "gate.toml").write_text(GATE)
    (tmp_path / "fails.gate.toml").write_text(GATE.replace("safety-violation", "pass"))
    (tmp_path / "none.gate.toml").write_text("")
    answers = []
    for asked in ("0", "1"):
        for name, text in {**texts, "edited": READS}.items():
            (tmp_path / f"{name}.py").write_text(text)
        answers.append(session(server, tmp_path, asked, *words))
    assert answers[0] == answers[1]
    assert answers[0][0] == code, answers[0][1]
    assert ("edited.py was changed since it was loaded: load it again" in answers[0][1]) == (words[0] == "edited.py")


@pytest.mark.parametrize(
    ("name", "text", "words", "code", "says"),
    [
        ("leaves", "import os\nos._exit(0)\n", (), 255, "the process was ended without an answer"),
        ("warns", "import warnings\nwarnings.warn('old')\n", ("-W", "error"), 2, "UserWarning: old"),
        ("asks", "import sys\nsys.stdin.readline()\n", (), 2, "reading from stdin while output is captured"),
        ("logs", "import logging\nlogging.error('odd')\n", ("-o", "log_cli=true"), 0, "ERROR    root:logs.py:"),
        ("shares", "import common\nassert not common.CHANGED\n", (), 2, "AssertionError"),
        ("beside", "import networkx\nassert networkx.MINE\n", ("-o", "pythonpath=own"), 0, "3 passed"),
    ],
)
def test_what_pytest_itself_takes_part_in_is_executed_there(
    name: str, text: str, words: tuple[str, ...], code: int, says: str, server: Serving, tmp_path: Path
) -> None:
    """A model that ends the process, warns, reads the terminal, logs, or imports what a conftest has changed.

    Also one that imports a module of its own by a name of one that the server has.
    """
    (tmp_path / f"{name}.py").write_text(text + READS)
    (tmp_path / "common.py").write_text("CHANGED = False")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "networkx.py").write_text("MINE = True")
    (tmp_path / "conftest.py").write_text("import common\ncommon.CHANGED = True")
    served = session(server, tmp_path, "1", f"{name}.py", *words)
    assert served == session(server, tmp_path, "0", f"{name}.py", *words)
    assert served[0] == code
    assert says in served[1] + served[2]


def waiting_session(serving: Serving, folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A session whose model waits while it is collected, and the process that executes the model."""
    (folder / "waits.py").write_text(f"MODEL = 0\n{WAITS}")
    process = serving.pytest("waits.py", cwd=folder)
    began = folder / "waits.began"
    until(lambda: began.exists() and began.read_text())
    return process, int(began.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_session_and_its_model(number: signal.Signals, server: Serving, tmp_path: Path) -> None:
    process, model = waiting_session(server, tmp_path)
    assert parent_of(parent_of(model)) == server.pid
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in out
    until(lambda: ended(model))


def test_a_session_goes_on_where_the_process_of_its_model_is_killed(server: Serving, tmp_path: Path) -> None:
    process, model = waiting_session(server, tmp_path)
    began = tmp_path / "waits.began"
    began.unlink()
    os.kill(parent_of(model), signal.SIGKILL)
    until(lambda: began.exists() and began.read_text())
    assert children_of(process.pid) == [int(began.read_text())]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"REASSURE_DEBUG": "1"},
        {"LC_ALL": "C"},
        {"PYTHONOPTIMIZE": "1"},
        {"FOLLOWED": "1"},
        {"XDG_RUNTIME_DIR": "/proc"},
    ],
)
def test_a_session_is_served_by_a_server_of_its_environment(
    variables: dict[str, str], server: Serving, tmp_path: Path
) -> None:
    (tmp_path / "reads.py").write_text(READS)
    (tmp_path / "conftest.py").write_text(ONLY_SERVED)
    process = server.pytest("reads.py", cwd=tmp_path, variables=variables)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "file_tests halted" in out) == ((2, True) if variables else (0, False))

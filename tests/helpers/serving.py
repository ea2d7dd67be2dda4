"""A server of commands (`reassure serve`) for tests, and files that it is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.helpers.command import HEEDS_SIGNALS

READS = """
import os
from dataclasses import dataclass
from typing import Annotated
from reassure import Model, Range, action, initial, invariant, replace

STEP = int(os.environ.get("STEP", "1"))

@dataclass(frozen=True)
class Config:
    pass

@dataclass(frozen=True)
class State:
    count: Annotated[int, Range(0, 6)] = 0

@initial
def zero(c: Config) -> State:
    return State()

@action(who="counter")
def add(s: State) -> State:
    return replace(s, count=s.count + STEP if s.count < 5 else 0)

@invariant
def small(s: State) -> bool:
    return s.count <= 5

MODEL = Model.of(__name__, state=State, config=Config)
"""
WAITS = """
import os, time
from pathlib import Path
Path(__file__).with_suffix(".began").write_text(str(os.getpid()))
try:
    for _ in range(600):
        time.sleep(0.1)  # Python notices a signal after it that came just before it
finally:
    Path(__file__).with_suffix(".ended").touch()
"""
GATE = """
[[check]]
name = "safe"
model = "core"
expect = "pass"

[[check]]
name = "broken"
model = "die_hard"
expect = "safety-violation"
"""


SCRIPT = """
import os, sys
from reassure.checkers.cli import own_process
if os.environ["REASSURE_SERVER"] == "1" and sys.argv[1] != "serve":
    own_process.execute = None
if __name__ == "__main__":  # which processes of a gate import
    sys.exit(own_process.run())
"""
"""The command, which fails where no server executes it."""


class Serving:
    """A server with its own folder of sockets. environment: of its commands."""

    def __init__(self, folder: Path, program: Path | None = None) -> None:
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "REASSURE_SERVER": "1"}
        if program is not None:
            self.environment["PYTHONPATH"] = str(program)
        self.pid = 0
        self.script = folder / "reassure.script"
        self.script.write_text(SCRIPT)

    def start(self, *options: str) -> None:
        done = self.run("serve", *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("the server runs")
        self.pid = self.found()
        assert self.pid

    def found(self) -> int:
        """The number of the process that serves; 0 if there is none."""
        text = "from reassure.checkers.cli import client; c = client.connected(client.common_key())\n"
        text += "print(client.peer(c)[0] if c else 0)"
        words = [sys.executable, "-c", text]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True)
        return int(done.stdout)

    def popen(self, *words: str, **settings: object) -> subprocess.Popen[str]:
        line = [*HEEDS_SIGNALS, sys.executable, str(self.script), *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.environment, **settings}
        return subprocess.Popen(line, text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def pytest(self, *words: str, **settings: object) -> subprocess.Popen[str]:
        """A session of models; without the plugins that others have installed."""
        line = [
            *HEEDS_SIGNALS,
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "reassure.pytest_plugin",
        ]
        environment = {**self.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **settings.pop("variables", {})}  # type: ignore[dict-item]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment, **settings}
        return subprocess.Popen([*line, "--reassure", *words], text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def run(self, *words: str, **settings: object) -> subprocess.CompletedProcess[str]:
        process = self.popen(*words, **settings)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.pid = 0


def until(condition: object) -> None:
    """Waits; fails after twenty seconds."""
    end = time.monotonic() + 20
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])

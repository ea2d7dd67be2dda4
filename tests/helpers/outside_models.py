"""A counter whose step comes from outside of its text, and what the step is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reassure.checkers.request.import_file import forget_files

COUNTER = """
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from reassure import Model, Range, action, initial, invariant, replace, require


@dataclass(frozen=True)
class Config: ...


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 9)] = 0


STEP


@initial
def start() -> State:
    return State()


@action(who="clock")
def on(s: State) -> State:
    require(s.n < 4)
    return replace(s, n=FURTHER)


@invariant
def within(s: State) -> bool:
    return s.n <= 4


MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
FROM_ENVIRONMENT = 'STEP = int(os.environ.get("STEP", "1"))\n'
SOURCES = {
    "environment": (FROM_ENVIRONMENT, "s.n + STEP"),
    "file": ('STEP = json.loads(Path(__file__).with_name("step.json").read_text())\n', "s.n + STEP"),
    "imported module": ("import steps\n", "s.n + steps.STEP"),
    "default argument": (
        'def further(n: int, by: int = int(os.environ.get("STEP", "1"))) -> int:\n    return n + by\n',
        "further(s.n)",
    ),
}
"""By where the step is from: the text that gets it, and the expression that takes it."""


def counter(folder: Path, source: str) -> Path:
    """The file of the counter in a folder. With a step of 1 it is safe, with a step of 3 it is not."""
    step, further = SOURCES[source]
    path = folder / "outside_counter.py"
    path.write_text(COUNTER.replace("STEP\n", step, 1).replace("FURTHER", further))
    (folder / "steps.py").write_text(f"import os\n{FROM_ENVIRONMENT}")
    return path


def set_step(step: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the step in the environment, in the file beside the model, and in modules, as in a new process."""
    monkeypatch.setenv("STEP", str(step))
    (folder / "step.json").write_text(str(step))
    forget_files()
    # A test that undoes its change of `sys.path` may have brought back the folder of an earlier one.
    sys.modules.pop("steps", None)
    sys.path[:] = [place for place in sys.path if not Path(place, "steps.py").is_file()]

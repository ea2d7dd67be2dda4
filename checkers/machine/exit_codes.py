"""Exit codes of every command, and the error that carries one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum


class Exit(Enum):
    """Exit codes, the most severe first: faults of this program, of the input, violations, the rest."""

    INTERNAL = 255
    DISAGREE = 19
    SYSTEM = 153
    CONFIG = 151
    MODEL = 150
    USAGE = 64
    SAFETY = 12
    LIVENESS = 13
    DEADLOCK = 11
    TRACE = 18
    EXPECTATION = 15
    VACUOUS = 16
    DRIFT = 17
    NOTHING = 6
    INCONCLUSIVE = 5
    OK = 0


VERDICTS = {
    Exit.OK: "pass",
    Exit.INCONCLUSIVE: "inconclusive",
    Exit.NOTHING: "nothing-checked",
    Exit.DEADLOCK: "deadlock",
    Exit.SAFETY: "safety-violation",
    Exit.LIVENESS: "liveness-violation",
    Exit.EXPECTATION: "expectation-mismatch",
    Exit.VACUOUS: "vacuous",
    Exit.DRIFT: "drift",
    Exit.TRACE: "trace-mismatch",
    Exit.DISAGREE: "engine-disagreement",
    Exit.USAGE: "usage",
    Exit.MODEL: "model-error",
    Exit.CONFIG: "config-error",
    Exit.SYSTEM: "system-error",
    Exit.INTERNAL: "internal-error",
}
"""The `verdict` of a run record, by exit code."""
PASS_TO_DEPTH = "pass-to-depth"
"""The verdict, in place of "pass", of a search that ended at the depth that was asked for."""


def worst(codes: Iterable[Exit]) -> Exit:
    """The most severe of several; `Exit.OK` of none."""
    order = list(Exit)
    return min(codes, key=order.index, default=Exit.OK)


ADDRESS = re.compile(r" at 0x[0-9a-f]+\b")
"""Where an object is in memory, as Python prints it: it differs from run to run."""


class Failure(Exception):
    """A command that cannot answer: the exit code and a message of one line."""

    def __init__(self, code: Exit, message: str) -> None:  # `args` stay as they are: processes send it
        self.code, self.message = code, ADDRESS.sub("", message)

    def __str__(self) -> str:
        return self.message


class SystemFailure(Failure):
    """A command that this machine, or a cluster, cannot carry out."""

    def __init__(self, message: str) -> None:
        super().__init__(Exit.SYSTEM, message)


class UsageFailure(Failure):
    """A command that asks for something that there is not."""

    def __init__(self, message: str) -> None:
        super().__init__(Exit.USAGE, message)

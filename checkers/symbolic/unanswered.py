"""What it means that Z3 answers `unknown`."""

from __future__ import annotations

from reassure.checkers.base.stop import BY_USER, Interrupted, StopReason


def unanswered(reason: str) -> Interrupted:
    """The exception that ends a proof; reason: as Z3 gives it. Z3 reports Ctrl-C as a reason of its own."""
    if "keyboard" in reason:
        return Interrupted(BY_USER.reason, BY_USER.text)
    return Interrupted(StopReason.SOLVER, f"Z3 gave no answer: {reason}")

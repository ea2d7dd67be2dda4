"""A run on the whole controller: an answer, a state or a resignation that the run does not have is a difference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reassure.checkers.kafka.controller import confirm as module
from reassure.checkers.kafka.controller import findings_command
from reassure.checkers.kafka.controller.confirm import ConfirmedStep, confirm
from reassure.checkers.machine.exit_codes import Exit, Failure

ANSWER = ("NONE", "1,2", "1,2", "", "", "", "1")
"""Of the controller: the answer, and the fields after a command."""
STATE: Any = SimpleNamespace(
    partition=SimpleNamespace(
        replicas=(1, 2), isr=frozenset({1, 2}), elr=frozenset(), adding=frozenset(), removing=frozenset(), leader=1
    )
)


def steps_of(monkeypatch: pytest.MonkeyPatch, *lines: tuple[str, ...], resigns: bool = False) -> list[ConfirmedStep]:
    """The steps of a run of as many commands as there are lines, each with the state of the start."""
    command = SimpleNamespace(text="cancel()", after=STATE, error=None, resigns=resigns)
    trace: Any = SimpleNamespace(commands=[command] * len(lines))
    monkeypatch.setattr(module, "_opening", lambda _: [])
    monkeypatch.setattr(module, "_command", lambda _: "cancel")
    monkeypatch.setattr(module, "_run", lambda *_: ["begun", *map("\t".join, lines)])
    return confirm(trace, SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "resigns", "differs"),
    [
        ((*ANSWER, "1"), False, ()),
        ((*ANSWER[:2], "1", *ANSWER[3:], "1"), False, (("ISR", "1,2", "1"),)),
        (("FENCED", *ANSWER[1:], "1"), False, (("answer", "NONE", "FENCED"),)),
        ((*ANSWER, "3"), False, (("answer", "NONE", "the controller resigns"),)),
        ((*ANSWER, "3"), True, ()),
        ((*ANSWER, "1"), True, (("answer", "the controller resigns", "NONE"),)),
    ],
    ids=["the same", "another ISR", "another answer", "it resigns", "it resigns, as in the run", "it stays"],
)
def test_what_the_whole_controller_does_otherwise(
    line: tuple[str, ...], resigns: bool, differs: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (step,) = steps_of(monkeypatch, line, resigns=resigns)
    assert step.differs == differs


def test_a_resignation_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = steps_of(monkeypatch, (*ANSWER, "3"), (*ANSWER, "3"))
    assert (len(first.differs), second.differs) == (1, ())


OTHERWISE = ConfirmedStep("cancel()", "NONE", 1, (("ISR", "1,2", "1"),))


@pytest.mark.parametrize(
    ("found", "by", "code", "said"),
    [
        ([ConfirmedStep("cancel()", "NONE", 1, ())], 2, Exit.OK, ""),
        (
            [OTHERWISE],
            1,
            Exit.TRACE,
            "K1: the whole `QuorumController` takes cancel() otherwise: ISR 1, not 1,2",
        ),
        (
            Failure(Exit.USAGE, "the trace starts in a state that no new topic is in"),
            1,
            Exit.OK,
            "not on the whole controller of Kafka 4.3.1: the trace starts in a state that no new topic is in",
        ),
    ],
    ids=["the same", "otherwise", "cannot be repeated"],
)
def test_findings_tell_what_the_whole_controller_does_otherwise(
    found: Any, by: int, code: Exit, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert executed(found, monkeypatch) == (by, code, said)


def test_findings_do_not_pass_over_a_controller_that_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failure, match="the whole controller gave up"):
        executed(Failure(Exit.SYSTEM, "the whole controller gave up: x"), monkeypatch)


def executed(found: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[int, Exit, str]:
    """How many of Kafka's classes executed a run, the exit code, and what is printed."""

    class Jvm:
        def __init__(self, _: object) -> None:
            pass

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    def confirmed(*_: object) -> list[ConfirmedStep]:
        if isinstance(found, Failure):
            raise found
        return list(found)

    lines: list[str] = []
    console: Any = SimpleNamespace(print=lambda text, style="": lines.append(text))
    for name, value in {
        "fetch": lambda *_, **__: None,
        "Driver": Jvm,
        "replayed": lambda *_: None,
        "confirm": confirmed,
        "trace_of_controller": lambda *_: None,
    }.items():
        monkeypatch.setattr(findings_command, name, value)
    monkeypatch.setattr(findings_command.verdicts, "trace_of", lambda *_: (None, None))
    case: Any = SimpleNamespace(release="4.3", answer=None, headline=SimpleNamespace(property="x"))
    by, code = findings_command._executed(case, "K1", console)
    return len(by), code, "\n".join(lines)

"""Models that are a given graph: states 0, 1, ...; each action has a list of steps from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.model_text import module


@dataclass(frozen=True)
class Steps:
    """The steps of one action, and how it is fair. each: fair for each state that a step leads to."""

    steps: tuple[tuple[int, int], ...]
    fair: str | None = None
    each: bool = False


PRELUDE = """
from dataclasses import dataclass
from typing import Annotated
from reassure import *

@dataclass(frozen=True)
class Config:
    top: Annotated[int, Range(0, 9)] = {top}

@dataclass(frozen=True)
class State:
    at: Annotated[int, Range(0, "top")]

@initial
def start(c: Config) -> State:
    return State(0)
"""


def graph_text(actions: Mapping[str, Steps]) -> str:
    """The actions of a graph as the text of a model."""
    parts = []
    for name, a in actions.items():
        options = ["who='graph'", *([f"fair={a.fair!r}"] if a.fair else []), *(["fair_each=['to']"] if a.each else [])]
        steps = " or ".join(f"(s.at == {x} and to == {y})" for x, y in a.steps) or "False"
        parts.append(
            f"@action({', '.join(options)})\ndef {name}(s: State, to: Annotated[int, Range(0, 10)]) -> State:\n"
            f"    require({steps})\n    return replace(s, at=to)\n"
        )
    return "\n".join(parts)


def among(states: Iterable[int]) -> str:
    """The condition that the state is one of these."""
    return " or ".join(f"s.at == {n}" for n in states) or "s.at != s.at"


def leads_to_text(premise: Iterable[int], goal: Iterable[int]) -> str:
    """A property `arrives` of such a model."""
    return (
        f"def goal(s: State) -> bool:\n    return {among(goal)}\n\n"
        f"@leads_to(goal)\ndef arrives(s: State) -> bool:\n    return {among(premise)}\n"
    )


def graph_file(folder: Path, actions: Mapping[str, Steps], properties: str, top: int = 6) -> str:
    """The file of a model of this graph; steps to states above `top` leave the bound."""
    text = graph_text(actions) + "\n" + properties
    text += "\nMODEL = Model.of(__name__, state=State, config=Config, deadlock=False)\n"
    return str(module(text, folder, prelude=PRELUDE.format(top=top)).__file__)

"""Models made from text: what a test of the language needs."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from pathlib import Path
from typing import Any

from reassure.spec.language.vocabulary import Model

_numbers = itertools.count()

PRELUDE = """
from dataclasses import dataclass
from enum import Enum
from typing import Annotated
from reassure import *
from reassure import Id, Map, MaxLen, MaxSize, Model, Range

class Node(Id, size="nodes", first=1): ...
Nodes = frozenset[Node]
NOBODY: Nodes = frozenset()

class Colour(Enum):
    RED = "red"
    GREEN = "green"

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 6)] = 3
    flag: bool = False

@dataclass(frozen=True)
class Message:
    source: Node
    to: Node | None
    body: Annotated[int, Range(0, 3)]

@dataclass(frozen=True)
class Inner:
    count: Annotated[int, Range(0, 3)] = 0
    on: bool = False

@dataclass(frozen=True)
class State:
    alive: Nodes
    leader: Node | None
    order: Annotated[tuple[Node, ...], MaxLen("nodes")]
    colour: Colour
    inner: Inner
    score: Map[Node, Colour]
    sent: Annotated[frozenset[Message], MaxSize(2)]
    number: Annotated[int, Range(-2, 5)] = 0

@initial
def start(c: Config) -> State:
    return State(every(Node, c), None, (), Colour.RED, Inner(), fill(Node, c, Colour.RED), frozenset())
"""

BEFORE_STATE = PRELUDE[: PRELUDE.index("@dataclass(frozen=True)\nclass State")]


def module(text: str, folder: Path, prelude: str = PRELUDE) -> Any:
    """The module of this text, written to a file of `folder` and imported."""
    name = f"text_model_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(prelude + textwrap.dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def model(text: str, folder: Path, **options: Any) -> Model:
    """The model of everything declared in the text (state `State`, configuration `Config`)."""
    made = module(text, folder)
    return Model.of(made.__name__, state=made.State, config=made.Config, **options)


def file(text: str, folder: Path, prelude: str = PRELUDE, state: str = "State") -> str:
    """The file, in `folder`, of a model of everything declared in the text."""
    path = folder / "model.py"
    made = f"MODEL = Model.of(__name__, state={state}, config=Config)"
    path.write_text(f"{prelude}\n{text}\n{made}\n", encoding="utf-8")
    return str(path)

"""The digest of what a model reaches changes with every value from outside of its text, and with nothing else."""

from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.request.digest import digest
from reassure.checkers.request.import_file import forget_files
from reassure.checkers.request.model_loader import home, load_model, names
from reassure.checkers.request.outside_values import (
    IMPURE,
    PURE,
    OutsideValues,
    values_digest,
    values_of,
)
from reassure.models.kraft.worked_examples import lines_as_printed
from reassure.spec.language.vocabulary import Model
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.graph_words import graph_words
from tests.helpers.outside_models import SOURCES, counter, set_step

folders = itertools.count()

TEXT = """
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any

from reassure import *

N = int(os.environ.get("STEP", "1"))
# values

class Side(Enum):
    LEFT = 1
    RIGHT = 2
    UP = 3

class Node(Id, size=3): ...

@dataclass(frozen=True)
class Config:
    most: Annotated[int, Range(0, 9)] = 4
    # config

@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 9)] = 0
    side: Side = Side.LEFT
    nodes: frozenset[Node] = frozenset()
    # state

# functions

@initial
def start() -> State:
    return State()

@action(who="clock")
def on(s: State, c: Config) -> State:
    require(s.n < c.most)
    return replace(s, n=s.n + 1)

@action(who="clock")
def off(s: State) -> State:
    require(s.n == 7)
    return replace(s, n=0)

# declarations

@invariant
def fine(s: State) -> bool:
    return s.n <= 5

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""
"""Rows replace lines of it. STEP is 1 in one world and 3 in the other."""

CHANGES = """
== a constant
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + N)
== a constant that a called function reads
-# functions
+def step() -> int:
+    return N
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== a constant in a comprehension
-    return s.n <= 5
+    return all(s.n <= 5 + N for _ in every(Node, None))
== a default
-# functions
+def step(by: int = N) -> int:
+    return by
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== a default of a keyword
-# functions
+def step(*, by: int = N) -> int:
+    return by
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== a closure
-# functions
+def made(by: int) -> Callable[[], int]:
+    def step() -> int:
+        return by
+    return step
+step = made(N)
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== which of two closures
-# functions
+def made(by: int) -> Callable[[], int]:
+    def step() -> int:
+        return by
+    return step
+slow, fast = made(N), made(4 - N)
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + (slow() if s.n > 2 else fast()))
== which of two functions of one name
-# functions
+if N == 1:
+    def step() -> int:
+        return 1
+else:
+    def step() -> int:
+        return 2
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== which of two functions
-# functions
+def one() -> int:
+    return 1
+def two() -> int:
+    return 2
+step = one if N == 1 else two
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + step())
== which of two lambdas of one line
-# functions
+drawn = (lambda s: s.nodes) if N == 1 else (lambda s: every(Node, None) - s.nodes)
+@action(who='x', node=drawn)
+def take(s: State, node: Node) -> State:
+    return replace(s, nodes=s.nodes)
== a constant of a class
-# functions
+class Limits:
+    STEP = N
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + Limits.STEP)
== a constant of a class that it extends
-# functions
+class Base:
+    STEP = N
+class Limits(Base): ...
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + Limits.STEP)
== a record
-# functions
+FIRST = State(N)
-    return State()
+    return FIRST
== a set of members
-# functions
+SIDES = frozenset(list(Side)[:N])
-    return s.n <= 5
+    return s.side in SIDES
== a map
-# functions
+TABLE = Map({side: N if side is Side.UP else 1 for side in Side})
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + TABLE[s.side])
== ids
-# functions
+SOME = frozenset(Node(i) for i in range(N))
-    return replace(s, n=s.n + 1)
+    return replace(s, nodes=SOME)
== actions by name
-# declarations
+QUIET = {on, off} if N == 1 else {off}
+@step_property
+def quiet(before: State, after: State, action: Action) -> bool:
+    return action in QUIET
== equal objects
-# functions
+MODE, FAST = os.environ.get('STEP', '1'), '3'
-    return s.n <= 5
+    return MODE == FAST
== members of an enum
-class Side(Enum):
-    LEFT = 1
-    RIGHT = 2
-    UP = 3
+Side = Enum('Side', ['LEFT', 'RIGHT', 'UP', 'DOWN'][:N + 1], module=__name__)
== a size
-class Node(Id, size=3): ...
+class Node(Id, size=N): ...
== the first of a sort
-class Node(Id, size=3): ...
+class Node(Id, size=3, first=N): ...
-    return replace(s, n=s.n + 1)
+    return replace(s, nodes=s.nodes | {Node(3)})
== a range
-    n: Annotated[int, Range(0, 9)] = 0
+    n: Annotated[int, Range(0, 6 + N)] = 0
== a type by another name
-# values
+Number = Annotated[int, Range(0, 6 + N)]
-    n: Annotated[int, Range(0, 9)] = 0
+    n: 'Number' = 0
== the type of a parameter
-# functions
+@action(who='x')
+def add(s: State, m: Annotated[int, Range(0, N)]) -> State:
+    require(s.n < m)
+    return replace(s, n=m)
== the type of a parameter as text
-# values
+Number = Annotated[int, Range(0, N)]
-# functions
+@action(who='x')
+def add(s: State, m: 'Number') -> State:
+    require(s.n < m)
+    return replace(s, n=m)
== the default of a field
-    n: Annotated[int, Range(0, 9)] = 0
+    n: Annotated[int, Range(0, 9)] = N
== a field of the state
-    # state
+    if N == 1:
+        more: bool = False
== the default of a configuration
-    most: Annotated[int, Range(0, 9)] = 4
+    most: Annotated[int, Range(0, 9)] = N
== what makes a configuration
-    most: Annotated[int, Range(0, 9)] = 4
+    most: Annotated[int, Range(0, 9)] = field(default_factory=lambda: N)
== a property of the configuration
-    # config
+    @property
+    def step(self) -> int:
+        return N
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + c.step)
== a property that reads when it is called
-    # config
+    @property
+    def step(self) -> int:
+        return int(os.environ.get('STEP', '1'))
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + c.step)
== a property that imports when it is called
-    # config
+    @property
+    def step(self) -> int:
+        from os import environ
+        return int(environ.get('STEP', '1'))
-    return replace(s, n=s.n + 1)
+    return replace(s, n=s.n + c.step)
== a configuration that reads when it is made
-    most: Annotated[int, Range(0, 9)] = 4
+    most: Annotated[int, Range(0, 9)] = field(default_factory=lambda: int(os.environ.get('STEP', '1')))
== when
-@invariant
+@invariant(when=lambda c: N == 1)
== when, read when it is asked
-@invariant
+@invariant(when=lambda c: os.environ.get('STEP', '1') == '1')
== fairness
-@action(who="clock")
-def on(s: State, c: Config) -> State:
+@action(who="clock", fair="weak" if N == 1 else None)
+def on(s: State, c: Config) -> State:
== a weight
-@action(who="clock")
-def on(s: State, c: Config) -> State:
+@action(who="clock", weight=N)
+def on(s: State, c: Config) -> State:
== an actor
-@action(who="clock")
-def on(s: State, c: Config) -> State:
+@action(who="clock" if N == 1 else "user")
+def on(s: State, c: Config) -> State:
== the steps of a property
-# declarations
+@step_property(on=[on] if N == 1 else [on, off])
+def grows(before: State, after: State) -> bool:
+    return before.n < after.n
== a goal
-# declarations
+def low(s: State) -> bool:
+    return s.n < 3
+def high(s: State) -> bool:
+    return s.n > 3
+@leads_to(low if N == 1 else high)
+def gets_there(s: State) -> bool:
+    return s.n == 0
== deadlock
-MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
+MODEL = Model.of(__name__, state=State, config=Config, deadlock=N == 1)
== a terminal
-MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
+MODEL = Model.of(__name__, state=State, config=Config, deadlock=True)
+if N == 1:
+    @terminal
+    def end(s: State) -> bool:
+        return s.n == 4
+    MODEL = MODEL.adding(end)
== whether an action is there
-# declarations
+if N == 1:
+    @action(who='x')
+    def back(s: State) -> State:
+        return replace(s, n=0)
== actions of a loop
-MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
+MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
+def maker(k):
+    def jump(s: State) -> State:
+        return replace(s, n=k)
+    jump.__name__ = f'jump_{k}'
+    return action(who='x')(jump)
+JUMPS = [maker(k) for k in range(N)]
+MODEL = MODEL.adding(*JUMPS)
"""
"""What each row puts (+) in place of lines of the text (-)."""


def _rows() -> dict[str, str]:
    """The text of each row."""
    texts = {}
    for part in CHANGES.split("\n== ")[1:]:
        name, *lines = part.splitlines()
        text, old = TEXT, ""
        for is_new, group in itertools.groupby(lines, key=lambda line: line.startswith("+")):
            block = "".join(f"{line[1:]}\n" for line in group)
            assert is_new or text.count(block) == 1, block
            text, old = (text.replace(old, block), "") if is_new else (text, block)
        texts[name] = text
    return texts


ROWS = _rows()


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """The model of a text, or of a source of the counter, in a world with a step."""

    def model_of(text: str, step: int) -> Model:
        folder = tmp_path / f"v{next(folders)}"
        folder.mkdir()
        if text in SOURCES:
            path = counter(folder, text)
        else:
            path = folder / "outside.py"
            path.write_text(text)
        set_step(step, folder, monkeypatch)
        return load_model(str(path))

    yield model_of
    forget_files()


@pytest.mark.parametrize("row", [*ROWS, *SOURCES])
def test_a_value_from_outside(row: str, loaded) -> None:  # type: ignore[no-untyped-def]
    """The text is the same and the graph is another: the digest of the values is another. It is one for one world."""
    seen = []
    for step in (1, 3, 1):
        model = loaded(ROWS.get(row, row), step)
        bound = BoundModel(model)
        seen.append((digest(model), graph_words(bound), values_digest(bound)))
    (text_1, graph_1, values_1), (text_3, graph_3, values_3), again = seen
    assert text_1 == text_3 and graph_1 != graph_3, "it is no row: the text differs, or nothing does"
    assert values_1 != values_3
    assert (text_1, graph_1, values_1) == again


def test_what_the_model_does_not_reach_does_not_count(loaded) -> None:  # type: ignore[no-untyped-def]
    """Nor does the folder, nor a value that only a function outside of the model reads."""
    text = TEXT.replace("# functions\n", "OTHER = N\ndef unused() -> int:\n    return OTHER\n")
    assert values_of(loaded(text, 1)) == values_of(loaded(text, 3))
    assert values_of(loaded(text, 1)) == values_of(loaded(text.replace("# values", "# a comment"), 1))
    assert values_of(loaded(text, 1)) != values_of(loaded(text.replace("n=s.n + 1", "n=s.n + 2"), 1))


def test_another_module_of_the_same_name_changes_nothing(tmp_path: Path) -> None:
    """A file that is loaded again leaves the classes of before with another module under their module's name."""
    assert main(["new", "lease", f"--dir={tmp_path}"]) == 0
    before = load_model(str(tmp_path / "lease.py"))
    values = values_of(before)
    forget_files()
    again = load_model(str(tmp_path / "lease.py"))
    assert again is not before
    assert (values_of(again), values_of(before)) == (values, values)


def test_a_configuration_is_not_a_value(loaded) -> None:  # type: ignore[no-untyped-def]
    """It stands beside the digest, unless a function may read more when it is called."""
    model = loaded(TEXT, 1)
    assert values_digest(BoundModel(model)) == values_digest(BoundModel(model, make_config(model, {"most": 2})))
    assert values_digest(BoundModel(model)) == values_of(model).sha256


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("return int(os.environ['STEP'])", ("os", "os._Environ")),
        ("return len(open('x').read())", ("open",)),
        ("import time\n        return int(time.time())", ("time",)),
        ("return self.id + self.hash", ()),
        ("return max(1, functools.reduce(min, (1, 2)))", ()),
    ],
)
def test_what_is_read_when_it_is_called(body: str, reads: tuple[str, ...], loaded) -> None:  # type: ignore[no-untyped-def]
    text = TEXT.replace("    # config\n", f"    @property\n    def step(self) -> int:\n        {body}\n")
    assert values_of(loaded(text, 1)).read_when_called == reads


NESTED = """
from dataclasses import dataclass
from enum import Enum
from reassure import *

class Side(Enum):
    LEFT = "l"
    RIGHT = "r"

@dataclass(frozen=True)
class Pair:
    side: Side
    words: frozenset[str] = frozenset({"a", "b", "c"})

SETS = {frozenset({Side.LEFT, Side.RIGHT}), frozenset({Side.LEFT}), frozenset()}
PAIRS = frozenset({Pair(Side.LEFT), Pair(Side.RIGHT), Pair(Side.LEFT, frozenset({"x", "y"}))})
CHAIN = []
CHAIN.append(CHAIN)
KEYS = {"b": (1, 2.5), "a": {"z": None, "y": [b"1", CHAIN]}, Side: len, Pair: {1, "1", None}}

def all_of_them():
    return SETS, PAIRS, KEYS, CHAIN
"""
PINNED = "019e0bfc1d6f251c71718c2c3f0e886ee0fceb9e9c616381187e5bfd8f4ab076"


def test_every_process_has_the_same_digest(tmp_path: Path) -> None:
    """Whatever the seed of hashes is; the digest is pinned, since every version of Python has it too."""
    (tmp_path / "nested.py").write_text(NESTED)
    script = (
        "import nested\nfrom reassure.checkers.request.model_loader import load_model\n"
        "from reassure.checkers.request.outside_values import values_of\n"
        "print(values_of(nested.all_of_them).sha256)\n"
        "from reassure.models.kraft.worked_examples import lines_as_printed\n"
        "print(values_of(lines_as_printed).sha256)\n"
        "print(*(values_of(load_model(m)).sha256 for m in ('kraft', 'batching', 'throttle', 'rolling_upgrade')))\n"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)}
        made = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        seen.add(made.stdout)
    (out,) = seen
    pinned, function, *models = out.split()
    assert pinned == PINNED
    assert values_of(lines_as_printed) == OutsideValues(function), "pytest rewrites its assertion, here"
    assert models == [values_of(load_model(m)).sha256 for m in ("kraft", "batching", "throttle", "rolling_upgrade")]
    assert len(set(models)) == 4


def test_a_function_that_is_no_model() -> None:
    assert values_of(len).sha256 != values_of(sorted).sha256
    assert values_of(open).read_when_called


def test_the_shipped_models_have_all_values_in_their_text() -> None:
    """Their modules import and call nothing that could read a file or the environment, also while they are imported."""
    assert [name for name in names() if values_of(load_model(name)).read_when_called] == []
    nodes = [node for folder in (home(), home().parent / "spec" / "kafka") for path in folder.rglob("*.py")
             for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]  # fmt: skip
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= {*PURE, "__future__", "reassure"}
    assert {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)} & IMPURE == set()

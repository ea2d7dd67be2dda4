"""`reassure new`: a small model that runs, with its test and its entry in a gate file, to be changed into one's own."""

from __future__ import annotations

import argparse
import keyword
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import Option

MODEL = '''"""A lease on a resource, given by a server to one client at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from reassure import Id, Model, Range, action, cover, initial, invariant, replace, require, step_property, terminal


class Client(Id, size="clients"):
    """A process that asks for the lease."""


Clients = frozenset[Client]
NOBODY: Clients = frozenset()


@dataclass(frozen=True)
class Config:
    clients: Annotated[int, Range(1, 6)] = 3
    """Clients that ask for the lease."""
    grants: Annotated[int, Range(1, 6)] = 4
    """The number of times that the lease can be given."""


@dataclass(frozen=True)
class State:
    holder: Client | None
    """Who holds the lease, as the server has it."""
    using: Clients
    """Who uses the resource."""
    granted: Annotated[int, Range(0, 6)]


@initial
def nobody_holds_it(c: Config) -> State:
    return State(holder=None, using=NOBODY, granted=0)


@action(who="server")
def grant(s: State, c: Config, client: Client) -> State:
    """The lease is given to a client, if nobody has it."""
    require(s.holder is None and s.granted < c.grants)
    return replace(s, holder=client, using=s.using | {{client}}, granted=s.granted + 1)


@action(who="client")
def give_back(s: State, client: Client) -> State:
    """The client stops using the resource, and says so."""
    require(s.holder == client)
    return replace(s, holder=None, using=s.using - {{client}})


@invariant
def one_at_a_time(s: State) -> bool:
    """Otherwise two clients write to the resource at once."""
    return len(s.using) <= 1


@step_property
def passes_through_nobody(before: State, after: State) -> bool:
    """Otherwise a client loses the lease without having given it back."""
    return before.holder is None or after.holder is None or before.holder == after.holder


@cover
def given_twice(s: State) -> bool:
    """Otherwise the lease is never given a second time."""
    return s.holder is not None and s.granted == 2


@terminal
def all_given(s: State, c: Config) -> bool:
    """Here a run may end; elsewhere a state without a step is a deadlock."""
    return s.holder is None and s.granted == c.grants


MODEL = Model.of(__name__, state=State, config=Config)
'''
TEST = '''"""{name} keeps its promises, in every reachable state."""

from __future__ import annotations

from pathlib import Path

import reassure

MODEL = Path(__file__).with_name("{name}.py")


def test_every_promise_is_kept() -> None:
    result = reassure.check(MODEL)
    assert result.exit() is reassure.Exit.OK
    assert result.stats.distinct == 17


def test_a_client_has_the_lease_to_itself() -> None:
    model = reassure.load(MODEL, clients=2)
    [start] = model.initial_states()
    after = model.take(start, "grant", client=1)
    assert [step.name for step in model.steps(after)] == ["give_back"]
'''
GATE = """
[[check]]
model = "{name}.py"
expect = "pass"
pin = {{ distinct = 17 }}
"""


OPTIONS = (
    Option("NAME", "the name of the model; NAME.py and test_NAME.py are written"),
    Option(
        "--dir DIR", "the folder to write into; its gate.toml gets an entry (default: the current folder)", Path, Path()
    ),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Writes the files, none over one that is there, and says what to do with them."""
    name: str = args.name
    if not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
        why = "a keyword of Python" if keyword.iskeyword(name) else "not a name of a Python module"
        raise Failure(Exit.USAGE, f"{name!r} is {why}: write another name, of letters, digits and _")
    if name == "reassure" or name in sys.stdlib_module_names:
        raise Failure(Exit.USAGE, f"{name!r} is the name of a module that Python has: write another one")
    model, test, gate = (args.dir / file for file in (f"{name}.py", f"test_{name}.py", "gate.toml"))
    for path in (model, test):
        if path.exists():
            raise Failure(Exit.USAGE, f"{path} exists; nothing was written")
    checks = _with_entry(gate, name)
    for path, text in ((model, MODEL), (test, TEST)):
        write_atomically(path, text.format(name=name))
    write_atomically(gate, checks)
    console.print(f"{model}: the model\n{test}: its test\n{gate}: an entry")
    first = "" if find_spec("pytest") else "python -m pip install pytest && "  # reassure itself does not need it
    for command in (f"reassure check {model}", f"{first}python -m pytest {test}", f"reassure gate {gate}"):
        console.print(f"  {command}", style="cyan")
    return Exit.OK


def _with_entry(gate: Path, name: str) -> str:
    """The text of a gate file with an entry for the model; `Failure` if it would not be TOML."""
    try:
        checks = gate.read_bytes() if gate.exists() else b"# What `reassure gate` expects of these models.\n"
        text = checks.decode() + GATE.format(name=name)
        tomllib.loads(text)
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{gate} cannot take an entry: {error}; nothing was written") from None
    return text

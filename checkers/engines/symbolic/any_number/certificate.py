"""A proof for any number on its own: its lemmas as texts, nodes and SMT-LIB, and which of them each goal needs.

`verify` makes the goals again from the model's text. A fresh Z3 settles each by the lemmas that it names, cvc5 does so
again if it is installed, and the native engine evaluates the lemmas in every reachable state of as many configurations
as it has time for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from reassure.checkers.engines.symbolic.any_number.induction import (
    LOGIC,
    AnyInduction,
    Goals,
    Quantified,
    own_lemmas,
    script,
    z3_settles,
)
from reassure.checkers.engines.symbolic.any_number.instantiation import Searched, search_near
from reassure.checkers.engines.symbolic.any_number.system import System
from reassure.checkers.engines.symbolic.certificate import certificate_fields, contents
from reassure.checkers.engines.symbolic.lemma_templates import Lemma, Templates
from reassure.checkers.engines.symbolic.solver import cvc5_settles
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import UsageFailure
from reassure.checkers.request.run_identity import ENGINE_VERSION
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.operations import arguments_first
from reassure.spec.language.annotations import AnyNumber
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, PlainConfig

KIND = "inductive-invariant-for-any-number"
SCHEMA = 1


class WrittenLemma(TypedDict):
    """A lemma three times: as text, as nodes (`written_node`), and in SMT-LIB."""

    text: str
    node: Any
    smt: str


@dataclass
class AnyCertificate:
    """The proved properties of a model, the lemmas that prove them, and the lemmas that each goal needs.

    free: numbers of the configuration that may be any. cores: by goal, in the order in which goals are made from the
    text. model_file: of a model of one's own, as the command line gave it.
    """

    model: str
    model_sha256: str
    config: PlainConfig
    free: list[str]
    properties: list[str]
    lemmas: list[WrittenLemma]
    cores: list[list[int]]
    model_file: str | None = None

    def write(self, path: Path) -> None:
        data = {"schema": SCHEMA, "kind": KIND, "engine_version": ENGINE_VERSION}
        data |= {key: value for key, value in asdict(self).items() if value is not None}
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def read_any_number(path: Path, data: JsonObject | None = None) -> AnyCertificate:
    """A certificate from its file; `UsageFailure` if it is none, `Failure` if it is of no property.

    data: the file's contents, if they were read.
    """
    data = contents(path) if data is None else data
    certificate = AnyCertificate(**certificate_fields(path, data, SCHEMA, KEYS, OF_LEMMA))
    free, numbers = certificate.free, range(len(certificate.lemmas))
    if not all(isinstance(name, str) for name in free) or not all(isinstance(core, list) for core in certificate.cores):
        raise UsageFailure(f"{path} lacks something that a certificate has")
    if not free or free != sorted(set(free)):
        raise UsageFailure(f"{path}: `free` names each free number once, in the order of the alphabet")
    for core in certificate.cores:
        if not all(type(i) is int and i in numbers for i in core) or core != sorted(set(core)):
            raise UsageFailure(f"{path}: {core} is not a list of lemmas, each once and in their order")
    return certificate


KEYS: dict[str, type] = {
    "model": str,
    "model_sha256": str,
    "config": dict,
    "free": list,
    "properties": list,
    "lemmas": list,
    "cores": list,
}
OF_LEMMA: dict[str, type] = {"text": str, "node": list, "smt": str}


# -- nodes ---------------------------------------------------------------------------------------------------


def written_node(node: Node) -> list[list[Any]]:
    """A node as rows: the operation, the type, the rows of the arguments, the data."""
    rows: list[list[Any]] = []
    places: dict[Node, int] = {}
    for one in arguments_first([node]):
        data = list(one.data) if isinstance(one.data, tuple) else one.data
        places[one] = len(rows)
        rows.append([one.op, str(one.type), [places[a] for a in one.args], data])
    return rows


def named_by(system: System) -> Callable[[str], list[Node]]:
    """The conditions that the text of a lemma may stand for: what the templates call so, an invariant of that name."""
    claims, numbers = system.claims()[0], [system.graph.config(name, kind.low) for name, kind in system.config]
    templates = Templates(system.lowered, system.type, numbers)
    return lambda text: templates.named(text) + [f.condition for name, f in claims.items() if name == text]


def system_of(bound: BoundModel, any_number: AnyNumber, names: Iterable[str] | None = None) -> System:
    """A model for any number, made from its text. names: of its properties; None for all.

    Others may have no translation.
    """
    wants = (lambda name: True) if names is None else frozenset(names).__contains__
    return System(*lower_for_any_number(bound, any_number, wants), any_number)


def certificate_of(
    goals: Goals, names: list[str], lemmas: list[int], sha256: str, config: PlainConfig
) -> AnyCertificate:
    """The certificate of what is proved. lemmas: the numbers of those that it needs."""
    induction = goals.induction
    system, place = induction.system, {number: i for i, number in enumerate(lemmas)}
    its = [*names, *(induction.lemmas[i].text for i in lemmas)]
    own = system_of(system.lowered.bound, system.any_number, its)  # with the numbers of nodes that `verify` comes to
    named, named_own, texts = named_by(system), named_by(own), list[WrittenLemma]()
    for lemma in (induction.lemmas[i] for i in lemmas):
        node = named_own(lemma.text)[named(lemma.text).index(lemma.node)]
        texts.append({"text": lemma.text, "node": written_node(node), "smt": Quantified(own.graph).script(node)})
    its_goals = [g for i in lemmas for g in induction.goals_of(i)] + goals.basis(names)
    by_key = {goal.key: goal for goal in its_goals}
    cores = [sorted(place[i] for i in induction.cores[goal]) for goal in by_key.values()]
    name = system.lowered.bound.model.name
    return AnyCertificate(name, sha256, config, sorted(system.any_number.free), names, texts, cores)


# -- checking ------------------------------------------------------------------------------------------------


@dataclass
class Verified:
    """The end of a check. wrong: what is not met, in words. solvers: those that settled the goals.

    searched: the configurations in whose reachable states the lemmas hold. open_bounds: bounds that the lemmas do not
    keep every step within, and whether they are declared.
    """

    wrong: list[str]
    goals: int = 0
    searched: list[Searched] = field(default_factory=list)
    solvers: list[str] = field(default_factory=list)
    open_bounds: dict[str, bool] = field(default_factory=dict)


def verify(
    certificate: AnyCertificate,
    bound: BoundModel,
    say: Callable[[str], None] = lambda what: None,
    seconds: Callable[[], float | None] = lambda: None,
    memory: int | None = None,
    scripts: Callable[[str, str], object] = lambda name, script: None,
) -> Verified:
    """Checks a certificate. bound: the model under the certificate's configuration.

    say: reports progress, and raises when no time is left. seconds: that are left; memory: bytes for each search. None:
    no limit, but for the searches. scripts: is told the name and the script of each goal.
    """
    if temporal := sorted(p.name for p in bound.properties if p.temporal and p.name in certificate.properties):
        raise UsageFailure(f"{', '.join(temporal)}: a property about whole runs follows from no inductive invariant")
    any_number = AnyNumber(bound.config, frozenset(certificate.free))
    if not any_number.free <= free_numbers(bound).free:
        raise UsageFailure(f"{', '.join(sorted(any_number.free))} are not all numbers that may be free")
    system = system_of(bound, any_number, [*certificate.properties, *(lemma["text"] for lemma in certificate.lemmas)])
    system.look = lambda: say("formulas") if seconds() == 0 else None
    lemmas = list(_lemmas(certificate, system))
    states, _ = system.claims()
    own = own_lemmas(states)
    induction = AnyInduction(system, [*own, *lemmas], say, seconds)
    goals = Goals(induction)
    unknown = sorted(set(certificate.properties) - set(goals.of))
    if unknown:
        return Verified([f"{name} is not a property of the model" for name in unknown])
    numbers = {lemma.node: len(own) + i for i, lemma in enumerate(lemmas)}
    first = [len(own) + i for i in range(len(lemmas))]
    for name, f in states.items():  # an invariant is proved as one of the lemmas
        if name in certificate.properties and f.condition not in numbers:
            return Verified([f"{name} is not among the lemmas"])
    its_goals = [g for i in first for g in induction.goals_of(i)]
    steps = [name for name in certificate.properties if name not in states]
    its_goals += [g for name in certificate.properties for g in goals.claims_raise[name]]
    its_goals += [g for name in steps for g in goals.of[name]] + list(goals.actions_raise.values())
    hints = _hints(certificate, goals, first)
    wrong = (
        [f"`cores` is of {len(certificate.cores)} goals, not of {len(hints)}"]
        if len(hints) != len(certificate.cores)
        else []
    )
    other = cvc5_settles(LOGIC)
    solvers = ["Z3"] if other is None else ["Z3", "cvc5"]
    for goal in its_goals:
        say(f"checking: {goal.name}")
        text = script(induction, goal, hints[goal.key])
        scripts(goal.name, text)
        if not z3_settles(text, seconds()):
            wrong.append(f"not met: {goal.name}")
        elif other is not None and not other(text, seconds()):
            wrong.append(f"not met by cvc5: {goal.name}")
    open_bounds: dict[str, bool] = {}
    for path, declared, goal in goals.exits:
        text = script(induction, goal, set(first))
        if not z3_settles(text, seconds()) or (other is not None and not other(text, seconds())):
            open_bounds[path] = declared and open_bounds.get(path, True)
    left = seconds()
    searched = list(search_near(system, lemmas, SEARCHED_FOR if left is None else left, memory, say))
    wrong += [f"a reachable state with {one.settings} violates {text}" for one in searched for text in one.false]
    return Verified(wrong, len(its_goals), searched, solvers, open_bounds)


SEARCHED_FOR = 10.0
"""Seconds for the searches of configurations, if nobody says how many."""


def summary(certificate: AnyCertificate, verified: Verified) -> list[str]:
    """Lines that summarise a valid certificate."""
    lemmas = "1 lemma holds" if len(certificate.lemmas) == 1 else f"{len(certificate.lemmas)} lemmas hold"
    claims = f"{len(certificate.properties)} propert{'y' if len(certificate.properties) == 1 else 'ies'}"
    return [
        f"for any {', '.join(certificate.free)}: {lemmas} initially, preserved by every step; "
        f"they imply {claims} of {certificate.model}:",
        "  " + ", ".join(certificate.properties),
        f"{' and '.join(verified.solvers)} settled {verified.goals} goals",
        "the lemmas hold in every reachable state with " + "; ".join(f"{one}" for one in whole)
        if (whole := [one for one in verified.searched if one.complete])
        else "no configuration was searched to its end",
        *(f"and in those that were searched with {one}" for one in verified.searched if not one.complete),
        *(f"within bounds: not excluded are steps that leave the bound of {path}" for path in verified.open_bounds),
    ]


def _lemmas(certificate: AnyCertificate, system: System) -> Iterator[Lemma]:
    """The lemmas, made from their texts; `UsageFailure` if the nodes or the SMT-LIB in the file differ from them."""
    named = named_by(system)
    for lemma in certificate.lemmas:
        text, rows = lemma["text"], json.dumps(lemma["node"])
        nodes = named(text)
        if not nodes:
            raise UsageFailure(f"lemma {text!r} is the text of no lemma of this model")
        node = next((node for node in nodes if json.dumps(written_node(node)) == rows), None)
        if node is None:
            raise UsageFailure(f"lemma {text!r} says something else than its nodes")
        if lemma["smt"] != Quantified(system.graph).script(node):
            raise UsageFailure(f"lemma {text!r}: its SMT-LIB is not what its nodes say")
        yield Lemma(text, node)


def _hints(certificate: AnyCertificate, goals: Goals, first: list[int]) -> dict[Any, set[int]]:
    """By goal: the lemmas by which it is settled, as the certificate says: all where it says nothing. A wrong hint
    makes a goal that is not met."""
    induction = goals.induction
    in_order = [g for i in first for g in induction.goals_of(i)] + goals.basis(certificate.properties)
    keys = list(dict.fromkeys(g.key for g in in_order))
    cores = certificate.cores if len(certificate.cores) == len(keys) else [range(len(first))] * len(keys)
    return {key: {first[i] for i in core} for key, core in zip(keys, cores, strict=True)}

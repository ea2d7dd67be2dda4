"""A proof for any number on its own: its lemmas as texts, nodes and SMT-LIB, and which of them each goal needs.

`verify` makes the goals again from the model's text. A fresh Z3 settles each by the lemmas that it names, cvc5 does so
again if it is installed, and the native engine evaluates the lemmas in every reachable state of as many configurations
as it has time for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import z3

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.exit_codes import Exit, Failure, UsageFailure
from reassure.checkers.base.run_identity import ENGINE_VERSION
from reassure.checkers.engines.symbolic.any_number.induction import AnyInduction
from reassure.checkers.engines.symbolic.any_number.instantiation import Searched, search_near
from reassure.checkers.engines.symbolic.any_number.obligations import (
    Goals,
    Quantified,
    cvc5_settles,
    own_lemmas,
    script,
    z3_settles,
)
from reassure.checkers.engines.symbolic.any_number.system import System, places
from reassure.checkers.engines.symbolic.any_number.terms import NoTranslation
from reassure.checkers.engines.symbolic.certificate import contents
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.frontend.operations import operation
from reassure.spec.language.annotations import AnyNumber
from reassure.spec.language.types import BoolType, EnumType, IntType, SeqType, SetType, Type
from reassure.spec.semantics.interpreter import BoundModel

KIND = "inductive-invariant-for-any-number"
SCHEMA = 1


@dataclass
class AnyCertificate:
    """The proved properties of a model, the lemmas that prove them, and the lemmas that each goal needs.

    free: numbers of the configuration that may be any. cores: by goal, in the order in which goals are made from the
    text. model_file: of a model of one's own, as the command line gave it.
    """

    model: str
    model_sha256: str
    config: dict[str, Any]
    free: list[str]
    properties: list[str]
    lemmas: list[dict[str, Any]]
    cores: list[list[int]]
    model_file: str | None = None

    def write(self, path: Path) -> None:
        data = {"schema": SCHEMA, "kind": KIND, "engine_version": ENGINE_VERSION}
        data |= {key: value for key, value in asdict(self).items() if value is not None}
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def read(path: Path, data: dict[str, Any] | None = None) -> AnyCertificate:
    """A certificate from its file; `UsageFailure` if it lacks something, `Failure` if it is of no property.

    data: the file's contents, if they were read.
    """
    data = contents(path) if data is None else data
    if data.get("schema") != SCHEMA:
        raise UsageFailure(f"{path} is of schema {data.get('schema')}; this version reads {SCHEMA}")
    try:
        certificate = AnyCertificate(**{key: data[key] for key in KEYS}, model_file=data.get("model_file"))
        texts = [certificate.model, certificate.model_sha256, *certificate.free, *certificate.properties]
        texts += [lemma[key] for lemma in certificate.lemmas for key in ("text", "smt")]
        shapes = (certificate.free, certificate.properties, certificate.lemmas, certificate.cores)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(one, list) for one in shapes):
            raise TypeError
        if not isinstance(certificate.config, dict) or not isinstance(certificate.model_file, str | None):
            raise TypeError
        if not all(type(i) is int and 0 <= i < len(certificate.lemmas) for core in certificate.cores for i in core):
            raise TypeError
    except (KeyError, TypeError):
        raise UsageFailure(f"{path} lacks something that a certificate has") from None
    if not certificate.properties:
        raise Failure(Exit.NOTHING, f"{path} is of no property: it proves nothing")
    return certificate


KEYS = ("model", "model_sha256", "config", "free", "properties", "lemmas", "cores")


# -- nodes ---------------------------------------------------------------------------------------------------


def written(node: Node) -> list[list[Any]]:
    """A node as rows: the operation, the type, the rows of the arguments, the data."""
    rows: list[list[Any]] = []
    places: dict[Node, int] = {}
    for one in arguments_first([node]):
        data = list(one.data) if isinstance(one.data, tuple) else one.data
        places[one] = len(rows)
        rows.append([one.op, str(one.type), [places[a] for a in one.args], data])
    return rows


def node_of(system: System, rows: list[list[Any]]) -> Node:
    """The node of rows. Raises `LookupError`, `TypeError` or `ValueError` for rows that are not a condition on a state.

    A type that a row gives is believed only where the model gives the same.
    """
    g, nodes = system.graph, list[Node]()
    types = {str(node.type): node.type for node in g.nodes()}
    known = {(node.type, node.data) for node in g.nodes() if node.op == "const"}
    for op, type_text, its_rows, data in rows:
        args, kind = tuple(nodes[i] for i in its_rows), _type(type_text, types)
        data = tuple(data) if isinstance(data, list) else data
        if op == "const" and (kind, data) not in known and not _is_value(data, kind):
            raise ValueError(f"{data} is no {type_text} that the model has")
        if op in LEAVES:
            node = LEAVES[op](g, data, kind)
        else:
            node = operation(op).rebuild(g, SimpleNamespace(op=op, type=kind, data=data), args)
        if not _well_typed(system, node):
            raise ValueError(f"{type_text} is not a type of {op} here")
        nodes.append(node)
    if not isinstance(nodes[-1].type, BoolType) or nodes[-1].params:
        raise ValueError("it is not a condition")
    return nodes[-1]


LEAVES: dict[str, Callable[[Graph, Any, Any], Node]] = {
    "const": lambda g, data, kind: g.const(data, kind),
    "var": lambda g, data, kind: g.var(data, kind),
    "config": lambda g, data, kind: g.config(data, kind.low),
    "bound": lambda g, data, kind: g.bound(data, kind),
}


def _is_value(data: Any, kind: Type) -> bool:
    """Whether a constant has its type in every configuration. Not an id of a sort of any number: some have no such."""
    if isinstance(kind, BoolType):
        return type(data) is bool
    if type(data) is not int:
        return False
    if isinstance(kind, IntType):
        return kind.low <= data <= kind.high
    return data == 0 if isinstance(kind, SetType) else isinstance(kind, EnumType) and 0 <= data < kind.count


def _well_typed(system: System, node: Node) -> bool:
    """Whether a node has the type that the model gives it, where the node does not follow from its arguments."""
    kinds = dict(places(system)) | dict(system.scalars)
    if node.op == "var":
        return kinds.get(node.data) == node.type
    if node.op == "config":
        return (node.data, node.type) in system.config
    if node.op == "record":
        slot = node.args[0]
        return slot.op == "var" and any(slot.data.startswith(f"{p}#") and b.item == node.type for p, b in system.bags)
    if node.op == "unpack":
        return kinds.get(f"{node.args[0].args[0].data}.{node.data}") == node.type
    if node.op == "seq_set":
        sequence = node.args[0].type
        return isinstance(sequence, SeqType) and node.type == SetType(sequence.item)
    if node.op == "seq_len":
        sequence = node.args[0].type
        return isinstance(sequence, SeqType) and node.type == IntType(0, sequence.length)
    if node.op == "seq_keep":
        return node.type == node.args[0].type
    return node.op in FOLLOWING


FOLLOWING = frozenset({
    "const", "bound", "not", "and", "or", "eq", "lt", "ite", "add", "sub", "member", "single", "union", "inter",
    "minus", "card", "lowest", "highest", "those", "table", "at",
})  # fmt: skip
"""Operations whose type follows from their arguments; a constant's is of no account."""


def _type(text: str, types: dict[str, Type]) -> Type:
    if text.startswith("int ") and text not in types:
        low, _, high = text.removeprefix("int ").partition("..")
        return IntType(int(low), int(high))
    return types[text]


def system_of(bound: BoundModel, any_number: AnyNumber) -> System:
    """A model for any number, made from its text."""
    return System(*lower_for_any_number(bound, any_number), any_number)


def certificate_of(
    goals: Goals, names: list[str], lemmas: list[int], sha256: str, config: dict[str, Any]
) -> AnyCertificate:
    """The certificate of what is proved. lemmas: the numbers of those that it needs."""
    induction = goals.induction
    system, place = induction.system, {number: i for i, number in enumerate(lemmas)}
    own = system_of(system.lowered.bound, system.any_number)  # with the numbers of nodes that `verify` comes to
    texts = []
    for lemma in (induction.lemmas[i] for i in lemmas):
        rows = written(lemma.node)
        texts.append({"text": lemma.text, "node": rows, "smt": Quantified(own.graph).script(node_of(own, rows))})
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

    seconds: that are left; memory: bytes for each search. None: no limit, but for the searches. scripts: is told the
    name and the script of each goal.
    """
    if temporal := sorted(p.name for p in bound.properties if p.temporal and p.name in certificate.properties):
        raise UsageFailure(f"{', '.join(temporal)}: a property about whole runs follows from no inductive invariant")
    any_number = AnyNumber(bound.config, frozenset(certificate.free))
    if not any_number.free <= free_numbers(bound).free:
        raise UsageFailure(f"{', '.join(sorted(any_number.free))} are not all numbers that may be free")
    system = system_of(bound, any_number)
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
    wrong, solvers = list[str](), ["Z3"]
    other = cvc5_settles()
    solvers += ["cvc5"] if other is not None else []
    for goal in its_goals:
        say(f"checking: {goal.name}")
        text = script(induction, goal, hints.get(goal.key, set(first)))
        scripts(goal.name, text)
        if not z3_settles(text, seconds()):
            wrong.append(f"not met: {goal.name}")
        elif other is not None and not other(text):
            wrong.append(f"not met by cvc5: {goal.name}")
    open_bounds: dict[str, bool] = {}
    for path, declared, goal in goals.exits:
        if not z3_settles(script(induction, goal, set(first)), seconds()):
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
    for lemma in certificate.lemmas:
        try:
            node = node_of(system, lemma["node"])
            if lemma["smt"] != Quantified(system.graph).script(node):
                raise ValueError("its SMT-LIB is not what its nodes say")
            yield Lemma(lemma["text"], node)
        except (
            NoTranslation,
            z3.Z3Exception,
            LookupError,
            TypeError,
            AttributeError,
            ValueError,
            AssertionError,
            RecursionError,
        ) as error:
            raise UsageFailure(f"lemma {lemma['text']!r} cannot be read: {error}") from None


def _hints(certificate: AnyCertificate, goals: Goals, first: list[int]) -> dict[Any, set[int]]:
    """By goal: the lemmas that it needs, as the certificate says. A wrong hint makes a goal that is not met."""
    induction = goals.induction
    in_order = [g for i in first for g in induction.goals_of(i)] + goals.basis(certificate.properties)
    keys = list(dict.fromkeys(g.key for g in in_order))
    if len(keys) != len(certificate.cores):
        return {}
    return {key: {first[i] for i in core} for key, core in zip(keys, certificate.cores, strict=True)}

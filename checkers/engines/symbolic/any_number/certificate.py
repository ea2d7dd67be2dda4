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
from reassure.checkers.engines.symbolic.any_number.instance import is_slot
from reassure.checkers.engines.symbolic.any_number.instantiation import Searched, search_near
from reassure.checkers.engines.symbolic.any_number.obligations import (
    LOGIC,
    Goals,
    Quantified,
    own_lemmas,
    script,
    z3_settles,
)
from reassure.checkers.engines.symbolic.any_number.system import System, places
from reassure.checkers.engines.symbolic.any_number.terms import NoTranslation
from reassure.checkers.engines.symbolic.certificate import contents
from reassure.checkers.engines.symbolic.lemma_templates import Lemma
from reassure.checkers.engines.symbolic.solver import cvc5_settles
from reassure.spec.frontend.any_number import free_numbers, lower_for_any_number
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.frontend.leaves import scalar_leaves, slot_type
from reassure.spec.frontend.node_order import arguments_first
from reassure.spec.frontend.operations import operation
from reassure.spec.language.annotations import AnyNumber
from reassure.spec.language.types import (
    BoolType,
    EnumType,
    IdType,
    IntType,
    MapType,
    RecordType,
    SeqType,
    SetType,
    Type,
    unbounded,
)
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
    if len(set(certificate.properties)) < len(certificate.properties):
        raise UsageFailure(f"{path} names a property twice")
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

    An invariant of the model is its own node. A type that a row gives is believed only where the model gives the same.
    """
    own = (f.condition for f in system.claims()[0].values() if json.dumps(written(f.condition)) == json.dumps(rows))
    if (condition := next(own, None)) is not None:
        return condition
    g, nodes = system.graph, list[Node]()
    types = _types(system)
    known = {(node.type, node.data) for node in g.nodes() if node.op == "const"}
    for op, type_text, its_rows, data in rows:
        args = tuple(nodes[i] for i in its_rows)
        data = tuple(data) if isinstance(data, list) else data
        for kind in _of_text(type_text, types):
            if op == "const" and ((kind, data) in known or _constant(system, kind, data)):
                break
            if op != "const" and _fits(system, op, kind, args, data):
                break
        else:
            what = f"{data} is not a value that the model has" if op == "const" else f"it is not a type of {op} here"
            raise ValueError(f"{type_text}: {what}")
        if op in LEAVES:
            node = LEAVES[op](g, data, kind)
        else:
            node = operation(op).rebuild(g, SimpleNamespace(op=op, type=kind, data=data), args)
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


def _fits(system: System, op: str, kind: Type, args: tuple[Node, ...], data: Any) -> bool:
    """Whether an operation may have these arguments, this result and these data: what does not fit would end Z3."""
    kinds = [a.type for a in args]
    match op, kinds:
        case ("var", []):
            return (dict(places(system)) | dict(system.scalars)).get(data) == kind
        case ("config", []):
            return (data, kind) in system.config
        case ("bound", []):
            return type(data) is int and unbounded(kind)
        case ("not", [BoolType()]) | ("those", [BoolType()]):
            return op == "not" or (isinstance(kind, SetType) and unbounded(kind.item) and type(data) is int)
        case (("and" | "or"), [_, *_]):
            return all(isinstance(k, BoolType) for k in kinds)
        case (("eq" | "lt"), [one, other]):
            whole = op == "eq" or isinstance(one, IntType | IdType | EnumType)
            slots = [is_slot(a) for a in args]
            return _alike(one, other) and whole and (all(slots) or not any(slots) or "const" in {a.op for a in args})
        case ("ite", [BoolType(), one, other]):
            return _alike(one, other)
        case (("add" | "sub" | "mul" | "min" | "max"), [IntType(), IntType()]):
            return True
        case (("floordiv" | "mod"), [IntType(), IntType()]):
            return args[1].op == "const" and bool(args[1].data > 0)
        case ("member", [item, SetType() as its]):
            return its.item == item
        case ("single", [IdType() | EnumType()]) | ("card", [SetType()]):
            return True
        case (("union" | "inter" | "minus"), [SetType() as one, other]):
            return one == other
        case ("build", [_, *_]):
            fixed = isinstance(kind, SetType) and not unbounded(kind.item) and len(args) == kind.item.count
            return fixed and all(isinstance(k, BoolType) for k in kinds)
        case (("lowest" | "highest"), [SetType() as its]):
            return its.item == kind
        case ("table", [value]):
            return kind == MapType(kind.key, value) and type(data) is int if isinstance(kind, MapType) else False
        case ("at", [MapType() as its, index]):
            return its.key == index
        case ("total", [SetType() as its, MapType(value=IntType()) as table]):
            return its.item == table.key and isinstance(kind, IntType)
        case ("record", [IntType()]):
            slot = args[0]
            return slot.op == "var" and any(slot.data.startswith(f"{p}#") and b.item == kind for p, b in system.bags)
        case ("pack", _) if isinstance(kind, RecordType):
            scalars = [scalar for _, scalar in scalar_leaves(kind)]
            return len(kinds) == len(scalars) and all(
                k == s or _alike(k, s) for k, s in zip(kinds, scalars, strict=True)
            )
        case ("slot", [RecordType() as record]):
            return kind == IntType(1, slot_type(record).high)
        case ("unpack", [RecordType()]):
            return (dict(places(system)) | dict(system.scalars)).get(f"{args[0].args[0].data}.{data}") == kind
        case ("seq_set", [SeqType() as its]):
            return kind == SetType(its.item)
        case ("seq_len", [SeqType() as its]):
            return kind == IntType(0, its.length)
        case ("seq_keep", [SeqType() as its, SetType() as kept]):
            return kind == its and kept.item == its.item
        case ("seq_first", [SeqType() as its, SetType() as fitting]):
            return kind == its.item == fitting.item
        case ("seq_get", [SeqType() as its, IntType()]):
            return kind == its.item
        case ("seq_cat", [SeqType() as one, SeqType() as other]):
            return _alike(one, other) and _alike(one, kind)
        case ("seq_sorted", [SetType() as its]):
            return isinstance(kind, SeqType) and kind.item == its.item
        case ("seq_of", [_, *_]):
            return isinstance(kind, SeqType) and all(k == kind.item for k in kinds)
    return False


def _alike(one: Type, other: Type) -> bool:
    """Whether values of two types can be compared."""
    if isinstance(one, SeqType) and isinstance(other, SeqType):
        return one.item == other.item
    if isinstance(one, IntType) and isinstance(other, IntType):
        return True
    return one == other and not isinstance(one, MapType | RecordType)


def _constant(system: System, kind: Type, data: Any) -> bool:
    """Whether data are a constant of a type in every configuration."""
    if isinstance(kind, SeqType):
        return isinstance(data, tuple) and all(_constant(system, kind.item, one) for one in data)
    if isinstance(kind, BoolType):
        return type(data) is bool
    if type(data) is not int:
        return False
    if isinstance(kind, IntType):
        return kind.low <= data <= kind.high
    item = kind.item if isinstance(kind, SetType) else kind
    if not isinstance(item, IdType | EnumType) and not (isinstance(kind, SetType) and isinstance(item, BoolType)):
        return False
    least = item.count
    if isinstance(item, IdType) and unbounded(item):
        least = dict(system.config).get(str(item.sort.size), IntType(1, 1)).low
    return 0 <= data < least if item is kind else -(1 << least) <= data < 1 << least


def _types(system: System) -> dict[str, list[Type]]:
    """The types of what the model has and of sets of it, by their text: it does not say which bounds are declared."""
    own = [kind for _, kind in places(system)] + [bag.item for _, bag in system.bags]
    kinds = [*own, *(node.type for node in system.graph.nodes())]
    kinds += [kind.item if isinstance(kind, SetType | SeqType) else kind for kind in kinds]
    kinds += [SetType(kind) for kind in kinds if isinstance(kind, IdType | EnumType | BoolType)]
    by_text: dict[str, list[Type]] = {}
    for kind in dict.fromkeys(kinds):
        by_text.setdefault(str(kind), []).append(kind)
    return by_text


def _of_text(text: str, types: dict[str, list[Type]]) -> list[Type]:
    if text.startswith("int ") and text not in types:
        low, _, high = text.removeprefix("int ").partition("..")
        return [IntType(int(low), int(high))]
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

    say: reports progress, and raises when no time is left. seconds: that are left; memory: bytes for each search. None:
    no limit, but for the searches. scripts: is told the name and the script of each goal.
    """
    if temporal := sorted(p.name for p in bound.properties if p.temporal and p.name in certificate.properties):
        raise UsageFailure(f"{', '.join(temporal)}: a property about whole runs follows from no inductive invariant")
    any_number = AnyNumber(bound.config, frozenset(certificate.free))
    if not any_number.free <= free_numbers(bound).free:
        raise UsageFailure(f"{', '.join(sorted(any_number.free))} are not all numbers that may be free")
    system = system_of(bound, any_number)
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
    wrong = list[str]()
    other = cvc5_settles(LOGIC)
    solvers = ["Z3"] if other is None else ["Z3", "cvc5"]
    for goal in its_goals:
        say(f"checking: {goal.name}")
        text = script(induction, goal, hints.get(goal.key, set(first)))
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

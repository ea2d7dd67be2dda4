"""An inductive invariant on its own: written by a proof, and checked again without it.

The lemmas are in the model's words and as SMT-LIB over the fields of one state. `verify` asks a fresh solver three
things: do they hold initially, does every step preserve them, do they imply the claims and that nothing raises; it says
which bounds they leave open, and looks at reachable states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3

from reassure.checkers.engines.symbolic.lemma_templates import Templates
from reassure.checkers.engines.symbolic.linear_invariants import inequalities_named
from reassure.checkers.engines.symbolic.pdr import OF_SPACER
from reassure.checkers.engines.symbolic.smt_terms import parts
from reassure.checkers.engines.symbolic.solver import Settles, constants, satisfiable
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import (
    Claims,
    Invariant,
    implied_claims,
    inductive,
    never_raises,
    refuted,
    within_bounds,
)
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure
from reassure.checkers.request.run_identity import ENGINE_VERSION
from reassure.checkers.traces.plain_json import keys_once
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.trace import JsonObject, PlainConfig, read_text

SCHEMA = 1


@dataclass
class Certificate:
    """The proved properties of a model, and the lemmas that prove them. smt: a script that asserts the lemma of copy 0.

    model_file: of a model of one's own, as the command line gave it.
    """

    model: str
    model_sha256: str
    config: PlainConfig
    properties: list[str]
    lemmas: list[dict[str, str]]
    model_file: str | None = None

    @classmethod
    def of(
        cls, machine: Machine, sha: str, config: PlainConfig, proved: list[str], lemmas: list[Invariant]
    ) -> Certificate:
        scripts = []
        for lemma in lemmas:
            solver = z3.Solver()
            solver.add(lemma.condition)
            scripts.append({"text": lemma.text, "smt": solver.to_smt2().replace("(check-sat)\n", "")})
        scripts = [script for i, script in enumerate(scripts) if script not in scripts[:i]]
        return cls(machine.model.bound.model.name, sha, config, proved, scripts)

    def write(self, path: Path) -> None:
        data = {"schema": SCHEMA, "kind": "inductive-invariant", "engine_version": ENGINE_VERSION}
        data |= {key: value for key, value in vars(self).items() if value is not None}
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def contents(path: Path) -> JsonObject:
    """The object of a certificate's file, of whichever kind; `UsageFailure` if there is none."""
    try:
        data = json.loads(read_text(path), object_pairs_hook=keys_once)
    except FileNotFoundError:
        raise UsageFailure(f"{path}: there is no such file") from None
    except OSError as error:
        raise UsageFailure(f"{path} cannot be read: {error}") from None
    except ValueError as error:
        raise UsageFailure(f"{path} is not a certificate: it is not JSON: {error}") from None
    except RecursionError:
        raise UsageFailure(f"{path} is not a certificate: it nests too deeply") from None
    if not isinstance(data, dict):
        raise UsageFailure(f"{path} is not a certificate")
    return data


def read_certificate(path: Path, data: JsonObject | None = None) -> Certificate:
    """A certificate from its file; `UsageFailure` if it is none. data: the file's contents, if they were read."""
    data = contents(path) if data is None else data
    if data.get("kind") != "inductive-invariant":
        raise UsageFailure(f"{path} is not a certificate")
    return Certificate(**certificate_fields(path, data, SCHEMA, KEYS, OF_LEMMA))


KEYS: dict[str, type] = {"model": str, "model_sha256": str, "config": dict, "properties": list, "lemmas": list}
OF_LEMMA: dict[str, type] = {"text": str, "smt": str}


def certificate_fields(
    path: Path, data: JsonObject, schema: int, keys: dict[str, type], of_lemma: dict[str, type]
) -> JsonObject:
    """The fields of a certificate. keys, of_lemma: what it and each lemma have, with the types.

    `UsageFailure` if it lacks something, or has more, or something twice: a person might believe what nothing reads.
    `Failure` if it is of no property.
    """
    if data.get("schema") != schema:
        raise UsageFailure(f"{path} is of schema {data.get('schema')}; this version reads {schema}")
    version, missing = data.get("engine_version"), f"{path} lacks something that a certificate has"
    unfit = [key for key, kind in (keys | {"engine_version": str}).items() if type(data.get(key)) is not kind]
    unfit += ["model_file"] if not isinstance(data.get("model_file"), str | None) else []
    if unfit:
        raise UsageFailure(f"{missing}: {', '.join(unfit)}")
    properties, lemmas = data["properties"], data["lemmas"]
    if not all(isinstance(name, str) for name in properties) or not all(_fit(lemma, of_lemma) for lemma in lemmas):
        raise UsageFailure(missing)
    more = {*data}.difference(keys, HEAD).union(*({*lemma}.difference(of_lemma) for lemma in lemmas))
    if more:
        raise UsageFailure(f"{path} has {', '.join(map(repr, sorted(more)))}, which no certificate has")
    if version != ENGINE_VERSION:
        raise UsageFailure(f"{path} is of version {version}; this one is {ENGINE_VERSION}: prove it again")
    if not properties:
        raise Failure(Exit.NOTHING, f"{path} is of no property: it proves nothing")
    for name, items in (("property", properties), ("lemma", lemmas)):
        if len({json.dumps(item) for item in items}) < len(items):
            raise UsageFailure(f"{path} names a {name} twice")
    return {key: data[key] for key in keys} | {"model_file": data.get("model_file")}


HEAD = ("schema", "kind", "engine_version", "model_file")


def _fit(data: Any, keys: dict[str, type]) -> bool:
    """Whether an object has these keys, with values of these types."""
    return isinstance(data, dict) and all(type(data.get(key)) is kind for key, kind in keys.items())


SAYS_NOTHING = "(set-info :status unknown)"
"""The command that Z3 writes into every script."""
READ = ("declare-fun", "declare-const", "define-fun", "assert")
"""The commands of a script that are read. Others are instructions to a solver: some of them write files."""
TOKEN = re.compile(r"(?P<name>\|[^|\\]*\||[\w~!@$%^&*+<>=.?/#-]+|[()])|\s+|;[^\n]*|(?P<other>.)", re.DOTALL)
"""A name, number or bracket; what stands between them; anything else.

Solvers read escaped bars, strings, keywords and comments over several lines in different ways: there are none.
"""


def formulas_of(script: str) -> str:
    """The declarations, definitions and assertions of an SMT-LIB script. `ValueError` for any other command.

    A space stands between any two of its names: a solver reads the same ones.
    """
    commands: list[list[str]] = []
    depth = 0
    for found in TOKEN.finditer(script.replace(SAYS_NOTHING, "")):
        if found["other"] is not None:
            raise ValueError(f"{found['other']!r} is in no lemma")
        token = found["name"]
        if token is None:
            continue
        if depth == 0 and token == "(":
            commands.append([])
        elif depth == 0:
            raise ValueError(f"{token} stands outside of a command")
        depth += {"(": 1, ")": -1}.get(token, 0)
        commands[-1].append(token)
    if depth:
        raise ValueError("a bracket is not closed")
    if other := sorted({command[1] for command in commands} - set(READ)):
        raise ValueError(f"{', '.join(other)}: a lemma has only {', '.join(READ)}")
    return "\n".join(" ".join(command) for command in commands)


def lemmas_of(certificate: Certificate, machine: Machine) -> list[Invariant]:
    """The lemmas over copy 0, read from their scripts; they may speak of the state's fields and nothing else."""
    sorts = {str(c): c.sort() for term in machine.state(0).values() for c in parts(term)}
    lemmas = []
    for lemma in certificate.lemmas:
        try:
            parsed = z3.And(*z3.parse_smt2_string(formulas_of(lemma["smt"])))
        except (z3.Z3Exception, ValueError) as error:
            raise UsageFailure(f"lemma {lemma['text']!r} cannot be read: {error}") from None
        for c in constants(parsed):
            if str(c) not in sorts or not sorts[str(c)].eq(c.sort()):
                raise UsageFailure(f"lemma {lemma['text']!r} speaks of {c}, which is not a field of the state")
        lemmas.append(Invariant(lemma["text"], parsed))
    return lemmas


def refuse_false_texts(certificate: Certificate, lowered: LoweredModel, seconds: float | None = None) -> None:
    """`UsageFailure` if the text of a lemma says something else than its script. seconds: for each query.

    The text of an invariant of Spacer says only of which property it is: the lemma has to imply that.
    """
    machine, templates = Machine(lowered), Templates(lowered)
    claims = {f.name: f.condition for f in lowered.state_formulas}
    for lemma in lemmas_of(certificate, machine):
        of_spacer = lemma.text.startswith(OF_SPACER)
        named = [claims[name] for name in [lemma.text.removeprefix(OF_SPACER)] if name in claims]
        if not of_spacer:
            named += [*templates.named(lemma.text), *inequalities_named(lowered, lemma.text)]
        for node in named:
            solver, said = z3.Solver(), machine.terms(0)(node)
            solver.add(machine.well_formed(0), lemma.condition if of_spacer else lemma.condition != said)
            if not satisfiable(solver, *([z3.Not(said)] if of_spacer else []), seconds=seconds):
                break
        else:
            why = "says something else than its SMT-LIB" if named else "is the text of no lemma of this model"
            raise UsageFailure(f"lemma {lemma.text!r} {why}")


def verify(
    certificate: Certificate,
    lowered: LoweredModel,
    seconds: Callable[[], float | None] = lambda: None,
    say: Callable[[str], None] = lambda _: None,
    other: Settles | None = None,
) -> list[str]:
    """The obligations that it does not meet: none, if it proves its properties.

    seconds: how many a query may take. say: is told what is checked. other: a second solver. Raises `Interrupted` where
    a solver gives no answer.
    """
    machine = Machine(lowered)
    temporal = {p.name for p in lowered.bound.properties if p.temporal}.intersection(certificate.properties)
    if temporal:
        names = ", ".join(sorted(temporal))
        raise UsageFailure(f"{names}: a property about whole runs follows from no inductive invariant")
    lemmas, claims = lemmas_of(certificate, machine), Claims.of(lowered, certificate.properties)
    unknown = sorted(set(certificate.properties) - set(claims.names()))
    obligations = [
        *inductive(machine, lemmas),
        *implied_claims(machine, lemmas, claims),
        *never_raises(machine, lemmas, claims),
    ]
    return [
        *refuted(obligations, seconds(), say, other),
        *(f"{name} is not a property of the model" for name in unknown),
    ]


def open_bounds(certificate: Certificate, lowered: LoweredModel, other: Settles | None = None) -> dict[str, bool]:
    """Bounds that the lemmas do not keep every step within, and whether they are declared: such steps are excluded.

    other: a second solver.
    """
    machine = Machine(lowered)
    lemmas, bounds = lemmas_of(certificate, machine), dict[str, bool]()
    declared = _declared(lowered)
    for path in declared:
        if refuted(within_bounds(machine, lemmas, except_for=set(declared) - {path}), other=other):
            bounds[path] = declared[path]
    return bounds


def _declared(lowered: LoweredModel) -> dict[str, bool]:
    """The bounds that steps might leave, and whether each is a declared one wherever it is left."""
    bounds: dict[str, bool] = {}
    for outcome in lowered.actions:
        for path, _, declared in outcome.clips:
            bounds[path] = declared and bounds.get(path, True)
    return bounds


def summary(certificate: Certificate, looked_at: int, open_paths: dict[str, bool], solvers: list[str]) -> list[str]:
    """Lines that summarise a valid certificate.

    looked_at: number of reachable states; open_paths: of `open_bounds`; solvers: those that were asked.
    """
    lemmas = "1 lemma holds" if len(certificate.lemmas) == 1 else f"{len(certificate.lemmas)} lemmas hold"
    claims = f"{len(certificate.properties)} propert{'y' if len(certificate.properties) == 1 else 'ies'}"
    lines = [
        f"{lemmas} initially, preserved by every step; they imply {claims} of {certificate.model}:",
        "  " + ", ".join(certificate.properties),
        f"{looked_at} reachable states satisfy them",
        f"settled by {' and '.join(solvers)}",
    ]
    if open_paths:
        paths = ", ".join(sorted(open_paths))
        lines.append(
            f"within bounds: not excluded are steps that leave the bound of {paths}, which the proof leaves out"
        )
    return lines


def refuted_by(certificate: Certificate, lowered: LoweredModel, states: list[Any]) -> list[str]:
    """Lemmas that some of these reachable states violate: then something is wrong with this program."""
    machine = Machine(lowered)
    lemmas = z3.And(*(lemma.condition for lemma in lemmas_of(certificate, machine)))
    messages = []
    for state in states:
        solver = z3.Solver()
        solver.add(machine.equals(0, state))
        if satisfiable(solver, z3.Not(lemmas)):
            messages.append(f"a reachable state violates the lemmas: {state}")
    return messages

"""An inductive invariant on its own: written by a proof, and checked again without it.

The lemmas are in the model's words and as SMT-LIB over the fields of one state. `verify` asks a fresh solver three
things: do they hold initially, does every step preserve them, do they imply the claims and that nothing raises; it says
which bounds they leave open, and looks at reachable states.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.result import ENGINE_VERSION
from reassure.checkers.symbolic.lemma_templates import Lemma
from reassure.checkers.symbolic.pdr import free
from reassure.checkers.symbolic.transition_system import Machine
from reassure.spec.frontend.lowering import LoweredModel

SCHEMA = 1


class CertificateError(Exception):
    """A file that is no certificate, or one of something else."""


@dataclass
class Certificate:
    """What was proved of which model, and by which lemmas. smt: a script that asserts the lemma of copy 0."""

    model: str
    model_sha256: str
    config: dict[str, Any]
    properties: list[str]
    lemmas: list[dict[str, str]]

    @classmethod
    def of(
        cls, machine: Machine, sha: str, config: dict[str, Any], proved: list[str], lemmas: list[Lemma]
    ) -> Certificate:
        made = []
        for lemma in lemmas:
            solver = z3.Solver()
            solver.add(machine.terms(0)(lemma.node))
            made.append({"text": lemma.text, "smt": solver.to_smt2().replace("(check-sat)\n", "")})
        return cls(machine.model.bound.model.name, sha, config, proved, made)

    def write(self, path: Path) -> None:
        data = {"schema": SCHEMA, "kind": "inductive-invariant", "engine_version": ENGINE_VERSION, **vars(self)}
        write_atomically(path, json.dumps(data, indent=1) + "\n")


def read(path: Path) -> Certificate:
    """A certificate from its file; `CertificateError` if it is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CertificateError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CertificateError(f"{path} cannot be read: {error}") from None
    if not isinstance(data, dict) or data.get("kind") != "inductive-invariant":
        raise CertificateError(f"{path} is no certificate")
    if data.get("schema") != SCHEMA:
        raise CertificateError(f"{path} is of schema {data.get('schema')}; this version reads {SCHEMA}")
    try:
        found = Certificate(*(data[k] for k in ("model", "model_sha256", "config", "properties", "lemmas")))
        if not all(isinstance(lemma["smt"], str) and isinstance(lemma["text"], str) for lemma in found.lemmas):
            raise TypeError
        if not isinstance(found.config, dict) or not all(isinstance(p, str) for p in found.properties):
            raise TypeError
    except (KeyError, TypeError):
        raise CertificateError(f"{path} lacks something that a certificate has") from None
    return found


def lemmas_of(certificate: Certificate, machine: Machine) -> list[z3.BoolRef]:
    """The lemmas over copy 0, read from their scripts; they may speak of the state's fields and nothing else."""
    known = {str(c): c.sort() for term in machine.state(0).values() for c in _parts(term)}
    found = []
    for lemma in certificate.lemmas:
        try:
            parsed = z3.And(*z3.parse_smt2_string(lemma["smt"]))
        except z3.Z3Exception as error:
            raise CertificateError(f"lemma {lemma['text']!r} cannot be read: {error}") from None
        for c in free(parsed):
            if str(c) not in known or not known[str(c)].eq(c.sort()):
                raise CertificateError(f"lemma {lemma['text']!r} speaks of {c}, which is no field of the state")
        found.append(parsed)
    return found


def _parts(term: Any) -> list[Any]:
    return [*term.items, term.length] if hasattr(term, "items") else [term]


def verify(certificate: Certificate, lowered: LoweredModel) -> list[str]:
    """What is wrong with it: nothing, if it proves its properties."""
    machine = Machine(lowered)
    now = lemmas_of(certificate, machine)
    moves = [
        (a, b)
        for path, term in machine.state(0).items()
        for a, b in zip(_parts(term), _parts(machine.state(1)[path]), strict=True)
    ]
    after = [z3.substitute(lemma, *moves) for lemma in now]
    wrong: list[str] = []

    def ask(question: str, facts: list[z3.BoolRef], claims: dict[str, z3.BoolRef]) -> None:
        solver = z3.Solver()
        solver.add(*facts)
        answer = solver.check(z3.Not(z3.And(*claims.values())))
        if answer == z3.unknown:
            wrong.append(f"{question}: Z3 gave no answer")
        elif answer == z3.sat:
            model = solver.model()
            names = [n for n, c in claims.items() if z3.is_false(model.eval(c, model_completion=True))]
            wrong.append(f"{question}: not {'; not '.join(names)}")

    texts = [lemma["text"] for lemma in certificate.lemmas]
    whole = [machine.well_formed(0), *now]
    ask("initial states", [machine.initial()], dict(zip(texts, now, strict=True)))
    for step in machine.steps(0):
        ask(f"after {step.name}", [*whole, step.taken], dict(zip(texts, after, strict=True)))
    claimed = set(certificate.properties)
    states = {f.name: machine.holds(f, 0) for f in lowered.states if f.name in claimed}
    ask("properties", whole, states)
    known = set(states)
    for step, formulas in zip(machine.steps(0), lowered.steps, strict=True):
        about = {f.name: machine.holds(f, 0) for f in formulas if f.name in claimed}
        known |= set(about)
        ask(f"steps of {step.name}", [*whole, step.taken], about)
        ask(f"{step.name} raises nowhere", whole, {"so": z3.Not(step.error)})
    terms = machine.terms(0)
    for f in [f for f in lowered.states if f.name in claimed]:
        ask(f"{f.name} raises nowhere", whole, {"so": z3.And(*(terms(c.condition) for c in f.checks))})
    wrong += [f"{name} is no property of the model" for name in sorted(claimed - known)]
    return wrong


def open_bounds(certificate: Certificate, lowered: LoweredModel) -> dict[str, bool]:
    """Bounds that the lemmas do not keep every step within, and whether they are declared: such steps are no steps."""
    machine = Machine(lowered)
    now, found = lemmas_of(certificate, machine), dict[str, bool]()
    for step, outcome in zip(machine.steps(0), lowered.actions, strict=True):
        for path, condition, declared in outcome.clips:
            solver = z3.Solver()
            solver.add(machine.well_formed(0), *now, step.enabled)
            if solver.check(machine.terms(0)(condition)) != z3.unsat:
                found[path] = declared and found.get(path, True)
    return found


def told(certificate: Certificate, looked_at: int, left: dict[str, bool]) -> list[str]:
    """What a certificate that is right says. looked_at: reachable states; left: of `open_bounds`."""
    lemmas = "1 lemma holds" if len(certificate.lemmas) == 1 else f"{len(certificate.lemmas)} lemmas hold"
    claims = f"{len(certificate.properties)} propert{'y' if len(certificate.properties) == 1 else 'ies'}"
    found = [
        f"{lemmas} initially, preserved by every step; they imply {claims} of {certificate.model}:",
        "  " + ", ".join(certificate.properties),
        f"{looked_at} reachable states satisfy them",
    ]
    if left:
        paths = ", ".join(sorted(left))
        found.append(f"within bounds: not excluded are steps that leave the bound of {paths}; they count as no steps")
    return found


def refuted_by(certificate: Certificate, lowered: LoweredModel, states: list[Any]) -> list[str]:
    """Lemmas that some of these reachable states violate: then something is wrong with this program."""
    machine = Machine(lowered)
    now = lemmas_of(certificate, machine)
    found = []
    for state in states:
        solver = z3.Solver()
        solver.add(machine.equals(0, state))
        answer = solver.check(z3.Not(z3.And(*now)))
        if answer == z3.sat:
            found.append(f"a reachable state violates the lemmas: {state}")
        elif answer == z3.unknown:
            found.append(f"Z3 gave no answer to whether a reachable state satisfies the lemmas: {state}")
    return found

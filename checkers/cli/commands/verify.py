"""`reassure verify`: a certificate checked by a fresh solver."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reassure.checkers.console.commands import GateKind
from reassure.checkers.console.files import model_to_execute
from reassure.checkers.machine import polled_interrupts
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure
from reassure.checkers.machine.stop import Interrupted, budget_ended
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import config_values, settings
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.shared_options import BUDGET, MEMORY_OF_EACH, OF_TRACE, PROPERTY, SET, Option
from reassure.checkers.request.vacuity import vacuous_claims
from reassure.spec.semantics.interpreter import BoundModel

if TYPE_CHECKING:
    from reassure.checkers.engines.symbolic.any_number.certificate import AnyCertificate

OPTIONS = (
    Option("certificate FILE", "a certificate, written by prove --certificate FILE", Path),
    replace(OF_TRACE, help="the model's file, if it has moved"),
    replace(
        SET,
        help="a value that the certificate's configuration must have, if it is not of every value (exit code 15; "
        "default: whatever it has); repeatable",
    ),
    replace(
        PROPERTY,
        help="a property that the certificate must prove (exit code 15; default: those that it names); repeatable",
    ),
    replace(
        BUDGET,
        help="stop after this time, such as 90s or 10m (default: no limit); what the solvers leave of it, the searches "
        "for states that violate a lemma of a proof for any number take (default for these: 10s)",
    ),
    MEMORY_OF_EACH,
    Option(
        "--smt2 FILE",
        "of a proof for any number: also write its goals as SMT-LIB; any solver answers unsat to each (default: not "
        "written)",
        Path,
        output=True,
    ),
)
KIND = GateKind(reads=None)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks the certificate, and prints what it proves or what is wrong with it."""
    from reassure.checkers.engines.symbolic.solver import interruptible

    limits = _Limits(args.budget, args.memory)
    try:
        with interruptible():
            return _checked(args, console, limits)
    except Interrupted:  # Z3 says of lack of time that it was interrupted
        limits.say("")
        raise


@dataclass
class _Limits:
    """What a check may take. seconds, memory: None for no limit."""

    budget: float | None
    memory: int | None
    began: float = field(default_factory=time.monotonic)

    def seconds(self) -> float | None:
        """Those that are left."""
        return None if self.budget is None else max(0.0, self.budget - (time.monotonic() - self.began))

    def say(self, what: str) -> None:
        """Raises `Interrupted` when the time is up, or Ctrl-C has ended the check."""
        polled_interrupts.look()
        if self.budget is not None and self.seconds() == 0:
            raise budget_ended(self.budget)


def _checked(args: argparse.Namespace, console: Console, limits: _Limits) -> Exit:
    from reassure.checkers.engines.symbolic import certificate
    from reassure.checkers.engines.symbolic.any_number import certificate as any_number
    from reassure.checkers.engines.symbolic.scout import Scout
    from reassure.checkers.engines.symbolic.solver import cvc5_settles
    from reassure.checkers.engines.symbolic.verification import LOGIC

    data = certificate.contents(args.certificate)
    of_any_number = any_number.read_any_number(args.certificate, data) if data.get("kind") == any_number.KIND else None
    proof = of_any_number or certificate.read_certificate(args.certificate, data)
    if of_any_number is None and (args.memory is not None or args.smt2 is not None):
        raise UsageFailure("--memory and --smt2 are for certificates of proofs for any number")
    pairs = [f"{k}={v}" for k, v in proof.config.items()]
    model = args.model or model_to_execute(proof.model, proof.model_file, args.certificate)
    prepared = prepare(model, pairs)
    bound, lowered, sha = prepared.bound, prepared.lowered, prepared.sha256
    if sha != proof.model_sha256:
        raise UsageFailure(f"{args.certificate} is of another text of {proof.model}")
    if json.dumps(proof.config, sort_keys=True) != json.dumps(prepared.config, sort_keys=True):
        raise UsageFailure(f"{args.certificate} does not tell its configuration as it is: {prepared.config}")
    if proof.model != bound.model.name:
        raise UsageFailure(f"{args.certificate} is of {proof.model}, and this model is {bound.model.name}")
    if proof.model_file is not None and Path(proof.model_file).name != Path(model).name:
        says = f"{args.certificate} is of a model in {proof.model_file}, and this one is in {Path(model).name}"
        raise UsageFailure(f"{says}: `reassure prove` writes it anew")
    free = [] if of_any_number is None else of_any_number.free
    if missing := _not_as_asked(bound, proof.properties, free, args):
        for line in missing:
            console.print(line)
        return Exit.EXPECTATION
    for name, reason in vacuous_claims(bound, lowered).items():
        if name in proof.properties:
            raise Failure(Exit.VACUOUS, f"{args.certificate} is of {name}, which is vacuous: {reason}")
    if of_any_number is not None:
        return _checked_for_any_number(of_any_number, bound, args.smt2, console, limits)
    assert isinstance(proof, certificate.Certificate)
    certificate.refuse_false_texts(proof, lowered, limits.seconds())
    other = cvc5_settles(LOGIC)
    wrong = certificate.verify(proof, lowered, limits.seconds, limits.say, other)
    open_bounds = certificate.open_bounds(proof, lowered, other) if not wrong else {}
    scout = Scout(bound, lowered, say=limits.say)
    rows = scout.some(scout.reachable(), 200)
    wrong += certificate.refuted_by(proof, lowered, [scout.layout.decode(r.view("uint64")) for r in rows])
    for line in wrong:
        console.print(line)
    if wrong:
        return Exit.EXPECTATION
    for line in certificate.summary(proof, len(rows), open_bounds, ["Z3"] if other is None else ["Z3", "cvc5"]):
        console.print(line)
    return Exit.OK if all(open_bounds.values()) else Exit.INCONCLUSIVE


def _not_as_asked(bound: BoundModel, proved: list[str], free: list[str], args: argparse.Namespace) -> list[str]:
    """What the user asks for and the certificate is not of: a value of the configuration, a property."""
    asked, has = settings(bound.model, args.set), config_values(bound.config)
    wanted = {name: getattr(value, "value", value) for name, value in asked.items() if name not in free}
    lines = [f"the certificate is of {name}={has[name]}, not {v}" for name, v in wanted.items() if has[name] != v]
    return lines + [f"the certificate does not prove {name}" for name in args.property if name not in proved]


def _checked_for_any_number(
    certificate: AnyCertificate, bound: BoundModel, smt2: Path | None, console: Console, limits: _Limits
) -> Exit:
    from reassure.checkers.engines.symbolic.any_number.certificate import summary, verify
    from reassure.checkers.engines.symbolic.any_number.induction import joined_scripts

    scripts: list[tuple[str, str]] = []

    def keep(name: str, script: str) -> None:
        if smt2 is not None:
            scripts.append((name, script))

    verified = verify(certificate, bound, limits.say, limits.seconds, limits.memory, keep)
    for line in verified.wrong or summary(certificate, verified):
        console.print(line)
    if smt2 is not None and scripts:
        write_atomically(smt2, joined_scripts(scripts))
        console.print(f"goals: {smt2}", style="dim")
    closed = all(verified.open_bounds.values())
    return Exit.EXPECTATION if verified.wrong else Exit.OK if closed else Exit.INCONCLUSIVE

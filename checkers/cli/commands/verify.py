"""`reassure verify`: a certificate checked by a fresh solver."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, Failure, UsageFailure
from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.shared_options import OF_TRACE
from reassure.checkers.base.terminal import Console
from reassure.checkers.base.vacuity import vacuous_claims
from reassure.checkers.console.files import model_to_execute
from reassure.checkers.console.gate_kind import GateKind

OPTIONS = (
    Option("certificate FILE", "a certificate, written by prove --certificate FILE", Path),
    replace(OF_TRACE, help="the model's file, if it has moved"),
)
KIND = GateKind(by_digest=False)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks the certificate, and prints what it proves or what is wrong with it."""
    from reassure.checkers.engines.symbolic import certificate
    from reassure.checkers.engines.symbolic.any_number import certificate as any_number
    from reassure.checkers.engines.symbolic.scout import Scout

    data = certificate.contents(args.certificate)
    of_any_number = any_number.read(args.certificate, data) if data.get("kind") == any_number.KIND else None
    proof = of_any_number or certificate.read(args.certificate, data)
    pairs = [f"{k}={v}" for k, v in proof.config.items()]
    model = args.model or model_to_execute(proof.model, proof.model_file, args.certificate)
    prepared = prepare(model, pairs)
    bound, lowered, sha = prepared.bound, prepared.lowered, prepared.sha256
    if sha != proof.model_sha256:
        raise UsageFailure(f"{args.certificate} is of another text of {proof.model}")
    for name, reason in vacuous_claims(bound, lowered).items():
        if name in proof.properties:
            raise Failure(Exit.VACUOUS, f"{args.certificate} is of {name}, which is vacuous: {reason}")
    if of_any_number is not None:
        verified = any_number.verify(of_any_number, bound, lambda what: None, lambda: None)
        for line in verified.wrong or any_number.summary(of_any_number, verified):
            console.print(line)
        closed = all(verified.open_bounds.values())
        return Exit.EXPECTATION if verified.wrong else Exit.OK if closed else Exit.INCONCLUSIVE
    assert isinstance(proof, certificate.Certificate)
    wrong = certificate.verify(proof, lowered)
    open_bounds = certificate.open_bounds(proof, lowered) if not wrong else {}
    scout = Scout(bound, lowered)
    rows = scout.some(scout.reachable(), 200)
    wrong += certificate.refuted_by(proof, lowered, [scout.layout.decode(r.view("uint64")) for r in rows])
    for line in wrong:
        console.print(line)
    if wrong:
        return Exit.EXPECTATION
    for line in certificate.summary(proof, len(rows), open_bounds):
        console.print(line)
    return Exit.OK if all(open_bounds.values()) else Exit.INCONCLUSIVE

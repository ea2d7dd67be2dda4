"""`reassure verify`: a certificate checked by a fresh solver."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, UsageFailure
from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.shared_options import OF_TRACE
from reassure.checkers.base.terminal import Console
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
    from reassure.checkers.engines.symbolic.scout import Scout

    proof = certificate.read(args.certificate)
    pairs = [f"{k}={v}" for k, v in proof.config.items()]
    model = args.model or model_to_execute(proof.model, proof.model_file, args.certificate)
    prepared = prepare(model, pairs)
    bound, lowered, sha = prepared.bound, prepared.lowered, prepared.sha256
    if sha != proof.model_sha256:
        raise UsageFailure(f"{args.certificate} is of another text of {proof.model}")
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

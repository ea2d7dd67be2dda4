"""`reassure verify`: a certificate checked by a fresh solver."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from reassure.checkers.base.declared import Option
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import names
from reassure.checkers.base.prepare import prepare
from reassure.checkers.base.shared_options import OF_TRACE
from reassure.checkers.base.terminal import Console
from reassure.checkers.console.files import file_of_a_model
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

    try:
        found = certificate.read(args.certificate)
        pairs = [f"{k}={v}" for k, v in found.config.items()]
        model = args.model or (found.model_file and file_of_a_model(found.model_file, args.certificate)) or found.model
        if model == found.model and model not in names():
            raise certificate.CertificateError(f"{args.certificate} is of a model of its own file: give --model FILE")
        prepared = prepare(model, pairs)
        bound, lowered, sha = prepared.bound, prepared.lowered, prepared.sha256
        if sha != found.model_sha256:
            raise certificate.CertificateError(f"{args.certificate} is of another text of {found.model}")
        wrong = certificate.verify(found, lowered)
        left = certificate.open_bounds(found, lowered) if not wrong else {}
        scout = Scout(bound, lowered)
        rows = scout.some(scout.reachable(), 200)
        wrong += certificate.refuted_by(found, lowered, [scout.layout.decode(r.view("uint64")) for r in rows])
    except certificate.CertificateError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    for line in wrong:
        console.print(line)
    if wrong:
        return Exit.EXPECTATION
    for line in certificate.summary(found, len(rows), left):
        console.print(line)
    return Exit.OK if all(left.values()) else Exit.INCONCLUSIVE

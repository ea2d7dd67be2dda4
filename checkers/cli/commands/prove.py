"""`reassure prove`: safety for runs of any length, by Z3."""

from __future__ import annotations

import argparse

from reassure.checkers.check import CheckRequest
from reassure.checkers.console.commands import GateKind, Record
from reassure.checkers.console.parser import search_options
from reassure.checkers.console.report import run_and_report
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import own_file
from reassure.checkers.request.options import ProofOptions
from reassure.checkers.request.shared_options import PROVE

OPTIONS = PROVE


def _figures(record: Record) -> dict[str, int]:
    """The number of lemmas that a proof uses."""
    return {"lemmas": len(record["lemmas"])} if "lemmas" in record else {}


KIND = GateKind(("lemmas",), _figures)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Proves or refutes, reports, and writes the certificate."""
    if args.depth is not None and args.method in ("induction", "pdr"):
        raise Failure(Exit.USAGE, f"--depth is for bmc, k-induction and auto: {args.method} has none")
    if args.any_number and (args.method != "auto" or args.depth is not None):
        raise Failure(Exit.USAGE, "--any-number is induction with lemmas: it takes no --method and no --depth")
    options = search_options(args, depth=None, workers=1)
    proof = ProofOptions(args.method, args.depth, args.seed, args.any_number)
    engine = "prove:any-number" if args.any_number else f"prove:{args.method}"
    request = CheckRequest(args.model, args.set, engine, options, args.accept_clipping, proof=proof)
    result = run_and_report(request, args, console)
    code = result.exit()
    if args.certificate:
        certificate = result.proof.certificate if result.proof else None
        if certificate is None:
            missing = "nothing was proved by induction: no certificate"
            raise Failure(code if code is not Exit.OK else Exit.NOTHING, missing)
        certificate.model_file = args.model if own_file(args.model) else None
        certificate.write(args.certificate)
        console.print(f"certificate: {args.certificate}", style="dim")
    return code

"""`reassure prove`: safety for runs of any length, by Z3."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import positive, seed
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import own_file
from reassure.checkers.base.options import METHODS, ProofOptions, SearchOptions
from reassure.checkers.check import CheckRequest
from reassure.checkers.console.arguments import clipping_option, common_options, story_option
from reassure.checkers.console.files import must_be_writable
from reassure.checkers.console.reporting import run_and_report


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="how to prove; auto: bounded search, then induction with lemmas (default: auto)",
    )
    parser.add_argument(
        "--depth",
        type=positive,
        metavar="N",
        help="states of a run in bounded search (default: auto 6, bmc 20) or of k-induction (default: 4)",
    )
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of Z3; another seed may find another proof (default: 0)"
    )
    clipping_option(parser)
    story_option(parser)
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="write the inductive invariant, for `reassure verify` (default: not written)",
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Proves or refutes, reports, and writes the certificate."""
    must_be_writable(args.certificate, "--certificate")
    if args.depth is not None and args.method in ("induction", "pdr"):
        raise Failure(Exit.USAGE, f"--depth is for bmc, k-induction and auto: {args.method} has none")
    options = SearchOptions(args.property, None, args.budget, None, 1, False, False)
    proof = ProofOptions(args.method, args.depth, args.seed)
    request = CheckRequest(args.model, args.set, f"prove:{args.method}", options, args.accept_clipping, proof=proof)
    result = run_and_report(request, args, console)
    code = result.exit()
    if args.certificate:
        certificate = result.proof.certificate if result.proof else None
        if certificate is None:
            missing = "nothing was proved by induction: no certificate"
            raise Failure(code if code is not Exit.OK else Exit.NOTHING, missing)
        certificate.model_file = args.model if own_file(args.model) else None
        certificate.write(args.certificate)
        console.print(f"certificate: {args.certificate}", style="dim", markup=False, soft_wrap=True)
    return code

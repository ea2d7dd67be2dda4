"""`reassure gate`: the checks of a file, judged."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.argument_types import duration, positive
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.check import EXHAUSTIVE_ENGINES
from reassure.checkers.console.files import must_be_writable

CORES = os.cpu_count() or 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=Path("gate.toml"),
        metavar="FILE",
        help="the file of checks (default: gate.toml)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="run only the checks of this name; repeatable, * matches any letters (default: all)",
    )
    parser.add_argument(
        "--changed",
        action="store_true",
        help="run only checks that have changed since they last passed",
    )
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="10m",
        help="time for all checks, such as 10m; checks that have not begun by then are not run (default: as FILE says)",
    )
    parser.add_argument("--update", action="store_true", help="write the pins and trace lengths of this run into FILE")
    parser.add_argument(
        "--engine", choices=EXHAUSTIVE_ENGINES, help="the engine of every search (default: as FILE says)"
    )
    parser.add_argument(
        "-j", "--jobs", type=positive, default=CORES, metavar="N", help=f"number of processes (default: {CORES})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records of all checks")
    parser.add_argument(
        "--trace-dir", type=Path, metavar="DIR", help="write the counterexamples of failed checks as ITF in this folder"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report: a case for each property")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write each problem as SARIF 2.1.0")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with everything")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of FILE; run nothing")


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Runs every check and judges it."""
    from reassure.checkers.gate.gate_file import schema

    if args.schema:
        console.print(json.dumps(schema(), indent=2), markup=False, highlight=False, soft_wrap=True)
        return Exit.OK
    from reassure.checkers.base.atomic_files import write_atomically, write_record
    from reassure.checkers.gate import github
    from reassure.checkers.gate.html_page import html_page
    from reassure.checkers.gate.junit import junit, junit_of_failure
    from reassure.checkers.gate.run_gate import GateOptions, run_gate
    from reassure.checkers.gate.sarif import sarif

    for option in ("json", "junit", "sarif", "html", "trace_dir"):
        must_be_writable(getattr(args, option), f"--{option.replace('_', '-')}")
    options = GateOptions(args.engine, args.jobs, args.only, args.changed, args.budget, args.update, args.trace_dir)
    try:
        report = run_gate(args.file, options, console)
    except Failure as failure:
        if args.junit:
            write_atomically(args.junit, junit_of_failure(args.file.name, failure))
        raise
    if args.json:
        write_record(args.json, report.record())
    for path, written in ((args.junit, junit), (args.sarif, sarif), (args.html, html_page)):
        if path is not None:
            write_atomically(path, written(report))
    github.tell(report, console)
    return report.exit

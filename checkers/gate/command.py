"""`reassure gate`: the checks of a file, judged."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import EXHAUSTIVE_ENGINES
from reassure.checkers.request.shared_options import BUDGET, JOBS, JSON, TRACE_DIR, Option

OPTIONS = (
    Option("FILE", "the file of checks (default: gate.toml)", Path, Path("gate.toml"), nargs="?"),
    Option(
        "--only NAME",
        "run only the checks of this name; repeatable, * matches any letters (default: all)",
        repeatable=True,
        nargs="+",
    ),
    Option("--changed", "run only checks that have changed since they last passed", bool),
    replace(
        BUDGET,
        usage="--budget 10m",
        help="time for all checks, such as 10m; checks that have not begun by then are not run (default: as FILE says)",
    ),
    Option("--update", "write the pins and trace lengths of this run into FILE", bool, output=True),
    Option("--engine", "the engine of every search (default: as FILE says)", choices=EXHAUSTIVE_ENGINES),
    JOBS,
    replace(JSON, help="write the records of all checks"),
    replace(TRACE_DIR, help="write the counterexamples of failed checks as ITF in this folder"),
    Option("--junit FILE", "write a JUnit report: a case for each property", Path, output=True),
    Option("--sarif FILE", "write each problem as SARIF 2.1.0", Path, output=True),
    Option("--html FILE", "write a page with everything", Path, output=True),
    Option("--schema", "print the JSON schema of FILE; run nothing", bool, output=True),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Runs every check and judges it."""
    from reassure.checkers.gate.gate_file import schema

    if args.schema:
        console.judges = False  # standard output is the schema
        console.print(json.dumps(schema(), indent=2))
        return Exit.OK
    from reassure.checkers.gate import locations
    from reassure.checkers.gate.html_page import gate_html
    from reassure.checkers.gate.junit import junit, junit_of_failure
    from reassure.checkers.gate.locations import sarif
    from reassure.checkers.gate.run_gate import GateOptions, run_gate
    from reassure.checkers.machine.atomic_files import write_atomically, write_record

    options = GateOptions(args.engine, args.jobs, args.only, args.changed, args.budget, args.update, args.trace_dir)
    try:
        report = run_gate(args.file, options, console)
    except Failure as failure:
        if args.junit:
            write_atomically(args.junit, junit_of_failure(args.file.name, failure))
        for earlier in (args.sarif, args.html):  # that of another run would be taken for this one's
            if earlier is not None and earlier.is_file():
                earlier.unlink()
        raise
    write_record(args.json, report.record())
    for path, written in ((args.junit, junit), (args.sarif, sarif), (args.html, gate_html)):
        if path is not None:
            write_atomically(path, written(report))
    console.print(report.counts, style="bold")  # which no output that cannot be written follows
    locations.annotate_job(report, console)
    return report.exit

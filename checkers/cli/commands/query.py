"""`reassure query`: SQL over the state space that a Spark run has kept."""

from __future__ import annotations

import argparse

from reassure.checkers.console.parser import note, spark_settings
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import SPARK, Option

OPTIONS = (
    Option("DIR", "the folder of a run, given to check --engine spark --out DIR"),
    Option("SQL", "a query over the tables states, edges, levels and properties"),
    Option(
        "--format",
        "format of the output (default: table)",
        default="table",
        choices=("table", "csv", "json"),
        output=True,
    ),
    Option("--limit N", "print at most N rows; 0: all (default: 1000)", int, 1000),
    *SPARK,
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Asks, and prints the rows."""
    from reassure.checkers.engines.spark.sql import run_sql, show

    if args.limit < 0:
        raise Failure(Exit.USAGE, f"--limit {args.limit} is negative; 0 prints all rows")
    answer = run_sql(args.dir, args.sql, spark_settings(args), args.limit)
    show(answer.names, answer.rows, args.format, console)
    note(f"note: only the first {args.limit:,} rows; --limit 0 gives all" if answer.more else "")
    note(f"note: the run did not visit every state: {answer.open_end}" if answer.open_end else "")
    return Exit.OK

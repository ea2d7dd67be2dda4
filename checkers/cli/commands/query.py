"""`reassure query`: SQL over the state space that a Spark run has kept."""

from __future__ import annotations

import argparse

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.console.arguments import note, spark_options, spark_settings


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", help="the folder of a run, given to check --engine spark --out DIR")
    parser.add_argument("sql", metavar="SQL", help="a query over the tables states, edges, levels and properties")
    parser.add_argument(
        "--format", choices=["table", "csv", "json"], default="table", help="format of the output (default: table)"
    )
    parser.add_argument(
        "--limit", type=int, default=1000, metavar="N", help="print at most N rows; 0: all (default: 1000)"
    )
    spark_options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Asks, and prints the rows."""
    from reassure.checkers.engines.spark.run_directory import RunDirectoryError
    from reassure.checkers.engines.spark.session import JobFailed, NoSpark
    from reassure.checkers.engines.spark.sql import QueryError, query, show

    if args.limit < 0:
        raise Failure(Exit.USAGE, f"--limit {args.limit} is negative; 0 prints all rows")
    try:
        names, rows, more = query(args.dir, args.sql, spark_settings(args), args.limit)
    except (QueryError, RunDirectoryError) as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except (NoSpark, JobFailed) as error:
        raise Failure(Exit.SYSTEM, str(error)) from None
    show(names, rows, args.format, console)
    note(f"note: only the first {args.limit:,} rows; --limit 0 gives all" if more else "")
    return Exit.OK

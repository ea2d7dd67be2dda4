"""`reassure sweep`: every configuration of a grid."""

from __future__ import annotations

import argparse
import dataclasses
import shlex

from rich.console import Console

from reassure.checkers.base.argument_types import positive, size
from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.model_loader import load
from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import error_record
from reassure.checkers.base.trace_files import trace_stem
from reassure.checkers.cli.files import outputs_must_be_writable
from reassure.checkers.cli.parser import clipping_option, common_options, spark_options, spark_settings


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    parser.add_argument("--pairwise", action="store_true", help="check a pairwise-covering subset of the grid")
    parser.add_argument("--depth", type=positive, metavar="N", help="stop each search after N levels")
    parser.add_argument("--memory", type=size, metavar="2G", help="stop each search before it uses more memory")
    parser.add_argument("--fail-fast", action="store_true", help="stop each search at its first violation")
    clipping_option(parser)
    spark_options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks every configuration, reports in their order, and writes what is asked for."""
    from reassure.checkers.cli.report import report_sweep
    from reassure.checkers.cli.sweep import Grid, sweep, task_of, worst_of
    from reassure.checkers.spark.session import JobFailed, NoSpark

    outputs_must_be_writable(args)
    try:
        grid = Grid.of(args.set)
    except ValueError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    points = grid.pairwise() if args.pairwise else grid.every()
    keys = list(dict.fromkeys(key for key, _ in grid.axes))
    fields = [f.name for f in dataclasses.fields(load(args.model).config)]
    if unknown := set(keys) - set(fields):  # said once, and before Spark starts
        has = ", ".join(fields)
        raise Failure(Exit.CONFIG, f"{args.model} has no configuration field {min(unknown)!r}; it has {has}")
    options = SearchOptions(args.property, args.depth, args.budget, args.memory, 1, args.fail_fast)
    progress = Progress(quiet=args.quiet)
    try:
        task = task_of(args.model, options, args.accept_clipping, args.trace_dir is not None)
        records = sweep(
            args.model, points, task, spark_settings(args), lambda n, of: progress.proof(f"{n} of {of} configurations")
        )
    except (NoSpark, JobFailed) as error:
        raise Failure(Exit.SYSTEM, str(error)) from None
    finally:
        progress.done()
    for record in records:
        texts, traces = record.pop("texts"), {}
        for name, text in texts.items():
            settings = [f"{key}={value}" for key, value in record["point"]]
            path = args.trace_dir / f"{trace_stem(record['model'], settings, name)}.itf.json"
            write_atomically(path, text)
            traces[name] = str(path)
        for p in record["properties"]:
            p["trace"] = traces.get(p["name"])
    code = worst_of(records)
    report_sweep(args.model, keys, records, len(grid.every()), code, console)
    if args.json:
        words = ["reassure", "sweep", args.model, *(f"--set={s}" for s in args.set)]
        words += [f"--depth={args.depth}"] if args.depth is not None else []
        words += ["--pairwise"] if args.pairwise else []
        about = error_record(code, "every configuration was checked", args.model, shlex.join(words))
        for record in records:
            record["point"] = dict(record["point"])
        write_record(args.json, {**about, "complete": True, "engine": "sweep", "configurations": records})
    return code

"""`reassure sweep`: every configuration of a grid."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
from typing import TYPE_CHECKING, Any

from rich.console import Console

from reassure.checkers.base.argument_types import positive, size
from reassure.checkers.base.atomic_files import write_atomically, write_record
from reassure.checkers.base.exit_codes import Exit, Failure, worst
from reassure.checkers.base.model_loader import load
from reassure.checkers.base.options import SearchOptions, SparkOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import error_record
from reassure.checkers.base.stop import StopReason
from reassure.checkers.base.trace_files import trace_stem
from reassure.checkers.check import DEFAULT_ENGINE, ENGINE_NAMES
from reassure.checkers.console.arguments import clipping_option, common_options, spark_options, spark_settings
from reassure.checkers.console.files import outputs_must_be_writable

if TYPE_CHECKING:
    from reassure.checkers.analyses.sweep.analysis import Point, Task

CORES = os.cpu_count() or 1


def configure(parser: argparse.ArgumentParser) -> None:
    common_options(parser)
    parser.add_argument(
        "--engine",
        choices=ENGINE_NAMES,
        default=DEFAULT_ENGINE,
        help="native and reference run in processes here, spark as tasks of Spark (default: native)",
    )
    parser.add_argument(
        "-j", "--jobs", type=positive, default=CORES, metavar="N", help=f"number of processes (default: {CORES})"
    )
    parser.add_argument("--pairwise", action="store_true", help="check a pairwise-covering subset of the grid")
    parser.add_argument(
        "--depth",
        type=positive,
        metavar="N",
        help="stop each search after N levels; initial states are level 1 (default: no limit)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="2G",
        help="stop each search before it uses more memory, such as 2G (default: no limit)",
    )
    parser.add_argument(
        "--fail-fast", action="store_true", help="stop each search at its first violation (default: search on)"
    )
    clipping_option(parser)
    spark_options(parser)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks every configuration, reports in their order, and writes what is asked for."""
    from reassure.checkers.analyses.sweep.analysis import Grid, Task, allowed, worst_of
    from reassure.checkers.analyses.sweep.report import report_sweep

    outputs_must_be_writable(args)
    spark = spark_settings(args)
    try:
        grid = Grid.of(args.set)
    except ValueError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    keys = list(dict.fromkeys(key for key, _ in grid.axes))
    model = load(args.model)
    fields = [f.name for f in dataclasses.fields(model.config)]
    if unknown := set(keys) - set(fields):  # said once, and before anything runs
        has = ", ".join(fields)
        raise Failure(Exit.CONFIG, f"{args.model} has no configuration field {min(unknown)!r}; it has {has}")
    good, excluded = allowed(model, grid.every())
    if not good:
        raise Failure(Exit.NOTHING, f"{args.model} excludes every combination: {next(iter(excluded.values()))}")
    points = grid.pairwise(good) if args.pairwise else good
    jobs = min(args.jobs, len(points))
    threads = 1 if args.engine == "spark" else max(1, CORES // jobs)
    options = SearchOptions(args.property, args.depth, args.budget, args.memory, threads, args.fail_fast)
    engine = DEFAULT_ENGINE if args.engine == "spark" else args.engine
    task = Task(args.model, None, options, args.accept_clipping, args.trace_dir is not None, engine)
    records = _records(args, points, task, jobs, spark)
    for record in records:
        texts, traces = record.pop("texts"), {}
        for name, text in texts.items():
            settings = [f"{key}={value}" for key, value in record["point"]]
            path = args.trace_dir / f"{trace_stem(record['model'], settings, name)}.itf.json"
            write_atomically(path, text)
            traces[name] = str(path)
        for p in record["properties"]:
            p["trace"] = traces.get(p["name"])
    not_run = points[len(records) :]
    interrupted = bool(not_run) or any(r.get("stop_reason") == StopReason.INTERRUPTED for r in records)
    code = worst([worst_of(records), *([Exit.INCONCLUSIVE] if interrupted else [])]) if records else Exit.INCONCLUSIVE
    report_sweep(args.model, keys, records, excluded, len(good), len(not_run), code, console)
    if args.json:
        why_ended = "interrupted" if interrupted else "every configuration was checked"
        about = error_record(code, why_ended, args.model, _repro(args))
        left_out = [{"point": dict(point), "why": why} for point, why in excluded.items()]
        for record in records:
            record["point"] = dict(record["point"])
        about |= {"complete": not interrupted, "engine": "sweep", "configurations": records, "excluded": left_out}
        write_record(args.json, about | {"not_run": [dict(point) for point in not_run]})
    return code


def _records(
    args: argparse.Namespace, points: list[Point], task: Task, jobs: int, spark: SparkOptions
) -> list[dict[str, Any]]:
    """The run records of all configurations, here or by Spark."""
    from reassure.checkers.analyses.sweep.analysis import by_spark, locally, shipped

    progress = Progress(quiet=args.quiet)

    def done(number: int, of: int) -> None:
        progress.proof(f"{number} of {of} configurations")

    try:
        if args.engine != "spark":
            return locally(points, task, jobs, done)
        from reassure.checkers.engines.spark.session import JobFailed, NoSpark

        try:
            return by_spark(args.model, points, shipped(task), spark, done)
        except (NoSpark, JobFailed) as error:
            raise Failure(Exit.SYSTEM, str(error)) from None
    finally:
        progress.done()


def _repro(args: argparse.Namespace) -> str:
    """The command that repeats it."""
    words = ["reassure", "sweep", args.model, *(f"--set={s}" for s in args.set)]
    words += [f"--property={p}" for p in args.property]
    words += [f"--engine={args.engine}"] if args.engine != DEFAULT_ENGINE else []
    words += [f"--depth={args.depth}"] if args.depth is not None else []
    words += [f"--budget={args.budget:g}s"] if args.budget is not None else []
    words += [f"--memory={args.memory}"] if args.memory is not None else []
    switches = ("pairwise", "fail_fast", "accept_clipping")
    return shlex.join([*words, *(f"--{s.replace('_', '-')}" for s in switches if getattr(args, s))])

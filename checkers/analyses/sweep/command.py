"""`reassure sweep`: every configuration of a grid."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from reassure.checkers.console.commands import GateKind, Record
from reassure.checkers.console.parser import search_options, spark_settings
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import BY_USER, Stop, StopReason, depth_reached
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import DEFAULT_ENGINE, EXHAUSTIVE_ENGINES, SparkOptions
from reassure.checkers.request.outside_values import values_of
from reassure.checkers.request.run_identity import RunIdentity, trace_stem
from reassure.checkers.request.shared_options import (
    ACCEPT_CLIPPING,
    COMMON,
    DEPTH,
    ENGINE,
    FAIL_FAST,
    JOBS,
    MEMORY_OF_EACH,
    OF_SPARK,
    SET,
    SPARK,
    SYMMETRY,
    Option,
)

if TYPE_CHECKING:
    from reassure.checkers.analyses.sweep.analysis import Point, PointRecord, SweepTask

CORES = os.cpu_count() or 1

SETTINGS = replace(
    SET, help="set a configuration value, or several: `2,4`, or `2..4` for 2,3,4 (default: the model's); repeatable"
)
OPTIONS = (
    *(SETTINGS if option is SET else option for option in COMMON),
    replace(
        ENGINE,
        help="native and reference run in processes here, spark as tasks of Spark (default: native)",
        always=False,
    ),
    JOBS,
    Option("--pairwise", "check a pairwise-covering subset of the grid", bool),
    replace(DEPTH, help="stop each search after N levels; initial states are level 1 (default: no limit)"),
    MEMORY_OF_EACH,
    replace(FAIL_FAST, help="stop each search at its first violation (default: search on)"),
    ACCEPT_CLIPPING,
    SYMMETRY,
    *SPARK,
)


def _figures(record: Record) -> dict[str, int]:
    """Counts of the configurations that were checked, and of the combinations that the model excludes."""
    return {name: len(record[name]) for name in ("configurations", "excluded") if name in record}


def _runs(record: Record) -> dict[str, Record]:
    """The records of the configurations, by their settings; a sweep that could not begin has none."""
    runs = record.get("configurations", [])
    return {" ".join(f"{key}={value}" for key, value in run["point"].items()): run for run in runs}


KIND = GateKind(
    ("configurations", "excluded"),
    _figures,
    runs=_runs,
    left_out=frozenset({*OF_SPARK, "jobs", "fail_fast"}),
    only=(("engine", EXHAUSTIVE_ENGINES),),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Checks every configuration, reports in their order, and writes what is asked for."""
    from reassure.checkers.analyses.sweep.analysis import Grid, SweepTask, allowed, worst_of
    from reassure.checkers.analyses.sweep.report import report_sweep

    spark = spark_settings(args)
    if args.symmetry != "off" and args.engine == "reference":
        raise Failure(Exit.USAGE, f"--symmetry is for --engine {DEFAULT_ENGINE} and spark, not for reference")
    try:
        grid = Grid.of(args.set)
    except ValueError as error:
        raise Failure(Exit.USAGE, str(error)) from None
    keys = list(dict.fromkeys(key for key, _ in grid.axes))
    model = load_model(args.model)
    declared = [f.name for f in fields(model.config)]
    if unknown := set(keys) - set(declared):  # said once, and before anything runs
        has = ", ".join(declared)
        raise Failure(Exit.CONFIG, f"{args.model} has no configuration field {min(unknown)!r}; it has {has}")
    good, excluded = allowed(model, grid.every())
    if not good:
        raise Failure(Exit.NOTHING, f"{args.model} excludes every combination: {next(iter(excluded.values()))}")
    points = grid.pairwise(good) if args.pairwise else good
    jobs = min(args.jobs, len(points))
    threads = 1 if args.engine == "spark" else max(1, CORES // jobs)
    options = search_options(args, workers=threads)
    engine = DEFAULT_ENGINE if args.engine == "spark" else args.engine
    task = SweepTask(args.model, None, options, args.accept_clipping, args.trace_dir is not None, engine)
    records = _records(args, points, task, jobs, spark)
    if len({record["model_sha256"] for record in records} - {None}) > 1:
        raise Failure(Exit.SYSTEM, f"{args.model} was changed during the sweep: run the command again")
    values = {values_of(model).sha256, *(found for record in records if (found := record.pop("values", "")))}
    if len(values) > 1:
        what = "has other values from outside of its text in other processes of the sweep"
        raise Failure(Exit.SYSTEM, f"{args.model} {what}: an environment variable, a file, a library")
    for record in records:
        texts, traces = record.pop("texts"), {}
        for name, text in texts.items():
            settings = [f"{key}={value}" for key, value in record["point"].items()]
            path = args.trace_dir / f"{trace_stem(record['model'], settings, name)}.itf.json"
            write_atomically(path, text)
            traces[name] = str(path)
        for p in record["properties"]:
            p["trace"] = traces.get(p["name"])
    not_run = points[len(records) :]
    interrupted = bool(not_run) or any(r.get("stop_reason") == StopReason.INTERRUPTED for r in records)
    stopped = BY_USER if interrupted else Stop(StopReason.COMPLETE, "every configuration was checked")
    if not interrupted and any(r.get("stop_reason") == StopReason.DEPTH for r in records):
        stopped = depth_reached(args.depth)
    code = stopped.exit_of_several([worst_of(records)])
    whole = stopped.reason is StopReason.COMPLETE
    about = RunIdentity(args.model, None, {}, "sweep", args.repro).record(code, whole, stopped)
    report_sweep(args.model, keys, records, excluded, len(good), len(not_run), code, about["verdict"], console)
    left_out = [{"point": dict(point), "why": why} for point, why in excluded.items()]
    answer = {"configurations": records, "excluded": left_out, "not_run": [dict(point) for point in not_run]}
    write_record(args.json, {**about, **answer})
    return code


def _records(
    args: argparse.Namespace, points: list[Point], task: SweepTask, jobs: int, spark: SparkOptions
) -> list[PointRecord]:
    """The run records of all configurations, here or by Spark."""
    from reassure.checkers.analyses.sweep.analysis import by_spark, locally, shipped

    with Progress(quiet=args.quiet) as progress:

        def done(number: int, of: int) -> None:
            progress.proof(f"{number} of {of} configurations")

        if args.engine != "spark":
            return locally(points, task, jobs, done)
        return by_spark(args.model, points, shipped(task), spark, done)

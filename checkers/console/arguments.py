"""Options that several commands share, and how they are read."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from reassure.checkers.base.argument_types import duration, positive, setting, whole
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.base.options import SparkOptions


def model_argument(parser: argparse.ArgumentParser) -> None:
    """The model and its configuration."""
    parser.add_argument("model", metavar="MODEL", help="a name (kraft), a path (my_idea.py) or a module (pkg.my_idea)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a configuration value (default: the model's); repeatable",
    )


def output_options(parser: argparse.ArgumentParser) -> None:
    """What is written beside the report."""
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the run record as JSON; - is standard output (default: not written)",
    )
    parser.add_argument(
        "--trace-dir",
        type=Path,
        metavar="DIR",
        help="write each counterexample as an ITF file in this folder (default: not written)",
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress and no counterexamples")


def common_options(parser: argparse.ArgumentParser) -> None:
    """What every command takes that checks properties of a model."""
    model_argument(parser)
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME",
        help="check only these properties and covers; repeatable, * matches any letters (default: all)",
    )
    parser.add_argument(
        "--budget",
        type=duration,
        metavar="60s",
        help="stop after this time, such as 90s or 10m; the result is partial (default: no limit)",
    )
    output_options(parser)


def thread_option(parser: argparse.ArgumentParser) -> None:
    """How many threads search."""
    workers = os.cpu_count() or 1
    help_text = "number of threads (default: one for each processor)"
    parser.add_argument("--workers", type=positive, default=workers, metavar="N", help=help_text)


def story_option(parser: argparse.ArgumentParser) -> None:
    """How many counterexamples are told."""
    parser.add_argument("--stories", type=whole, metavar="N", help="print at most N traces, the shortest (default: 3)")
    parser.add_argument("--full", action="store_true", help="print all traces, and a line for every property and cover")


def search_options(parser: argparse.ArgumentParser) -> None:
    """What a command takes that runs a model."""
    thread_option(parser)
    story_option(parser)
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first violation (default: search on)")
    parser.add_argument("--witness", action="store_true", help="print and write how covers are reached")


def clipping_option(parser: argparse.ArgumentParser) -> None:
    """What to make of steps that leave a bound."""
    parser.add_argument(
        "--accept-clipping", action="store_true", help="treat exceeded bounds as intended: exit 0 instead of 5"
    )


def spark_options(parser: argparse.ArgumentParser) -> None:
    """Where Spark runs."""
    parser.add_argument(
        "--master",
        metavar="URL",
        help=f"Spark: {SparkOptions.master} (default), spark://..., yarn, k8s://... ; or the variable MASTER",
    )
    parser.add_argument(
        "--conf",
        action="append",
        type=setting,
        default=[],
        metavar="spark.KEY=VALUE",
        help="Spark: a setting of Spark's; repeatable",
    )


def spark_settings(args: argparse.Namespace) -> SparkOptions:
    """What the options say of Spark; `Failure` where they do not go together."""
    out, resume = getattr(args, "out", None), getattr(args, "resume", None)
    if getattr(args, "engine", "spark") != "spark":
        for option in ("master", "partitions", "out", "resume", "no_data", "fingerprints", "conf"):
            if getattr(args, option, None):
                raise Failure(Exit.USAGE, f"--{option.replace('_', '-')} is for --engine spark")
    if out and resume:
        raise Failure(Exit.USAGE, "--out begins a run and --resume continues one: give one of them")
    return SparkOptions(
        args.master or os.environ.get("MASTER") or SparkOptions.master,
        getattr(args, "partitions", None),
        out=out or resume,
        resume=bool(resume),
        data=not getattr(args, "no_data", False),
        fingerprints=getattr(args, "fingerprints", False),
        conf=dict(args.conf),
    )


def note(text: str) -> None:
    """A remark on standard error, if there is one."""
    if text:
        print(text, file=sys.stderr)

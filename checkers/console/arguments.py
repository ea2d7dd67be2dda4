"""Parsed arguments as the options of a run."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import fields
from typing import Any

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import message
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.shared_options import OF_SPARK


def search_options(args: argparse.Namespace, **others: Any) -> SearchOptions:
    """The options of a search by their names; of those that a command does not take, the default. others: in place."""
    values = {**vars(args), "properties": getattr(args, "property", []), **others}
    return SearchOptions(**{f.name: values[f.name] for f in fields(SearchOptions) if f.name in values})


def spark_settings(args: argparse.Namespace) -> SparkOptions:
    """The Spark settings of the options; `Failure` where they do not go together."""
    out, resume = getattr(args, "out", None), getattr(args, "resume", None)
    if getattr(args, "engine", "spark") != "spark":
        for option in OF_SPARK:
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
        print(message(text), file=sys.stderr)

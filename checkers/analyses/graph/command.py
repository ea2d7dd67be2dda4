"""`reassure graph`: a picture of the reachable states of a model, or of groups of them."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from reassure.checkers.console.files import STANDARD_OUTPUT
from reassure.checkers.console.parser import note, search_options
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, UsageFailure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import positive
from reassure.checkers.request.prepare import prepare
from reassure.checkers.request.shared_options import (
    ACCEPT_CLIPPING,
    BUDGET,
    MEMORY_OF_GRAPH,
    MODEL,
    OUT,
    QUIET,
    SET,
    WORKERS,
    Option,
)

if TYPE_CHECKING:
    from reassure.checkers.analyses.graph.state_picture import StatePicture

FORMATS = ("dot", "svg", "html", "json")
DRAWN_FROM_DOT = ("png", "pdf", "jpg", "jpeg", "gif", "ps")
FEW_STATES = 200
"""The default limit where each state is a node."""


OPTIONS = (
    MODEL,
    SET,
    Option(
        "--by EXPRESSION",
        "a node for each value of this Python expression over the state `s` and the configuration `c`; commas "
        "separate several (default: a node for each state)",
        group="nodes",
    ),
    Option("--view NAME", "as --by, of a function of the state in the model's module", group="nodes"),
    Option(
        "--max-states N", f"end the search at N states (default: {FEW_STATES} without --by, else no limit)", positive
    ),
    Option(
        "--format", "format of the picture (default: as the name of --out ends, else dot)", choices=FORMATS, output=True
    ),
    OUT,
    BUDGET,
    MEMORY_OF_GRAPH,
    ACCEPT_CLIPPING,
    WORKERS,
    replace(QUIET, help="print no progress"),
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches, draws, and says what is missing."""
    to_file = args.out is not None and args.out != STANDARD_OUTPUT
    suffix = args.out.suffix[1:] if to_file else ""
    if suffix in DRAWN_FROM_DOT and not args.format:
        raise UsageFailure(
            f"{args.out}: a picture is written as {', '.join(FORMATS)}; Graphviz makes a {suffix} of dot"
        )
    kind = args.format or (suffix if suffix in FORMATS else "dot")
    with Progress(quiet=args.quiet) as progress:
        picture = _picture(args, progress)
    text = _writers()[kind](picture)
    missing = picture.cut or (picture.clipped and not args.accept_clipping)
    args.found = Exit.INCONCLUSIVE if missing else Exit.OK
    if to_file:
        write_atomically(args.out, text)
        for line in [picture.heading, *picture.remarks, f"{kind}: {args.out}"]:
            console.print(line)
    else:
        console.judges = False  # standard output is the picture
        sys.stdout.write(text)
        for line in picture.remarks:
            note(f"note: {line}")
    if picture.cut and args.by is None and args.view is None:
        note("note: --by EXPRESSION groups the states, --max-states N draws more of them")
    return Exit(args.found)


def _picture(args: argparse.Namespace, progress: Progress) -> StatePicture:
    from reassure.checkers.analyses.graph.state_picture import grouping, marked, state_picture, view_grouping
    from reassure.checkers.engines.native.state_graph import reachable_graph

    until = time.monotonic() + (math.inf if args.budget is None else args.budget)
    prepared = prepare(args.model, args.set)
    bound = prepared.bound
    by = grouping(bound, args.by) if args.by is not None else None
    by = view_grouping(bound, args.view) if args.view is not None else by
    limit = args.max_states or (FEW_STATES if by is None else None)
    options = search_options(args)
    graph = reachable_graph(prepared.only(lambda name: marked(bound, name)), options, progress, limit)
    return state_picture(graph, by, limit, progress, until)


def _writers() -> dict[str, Callable[[StatePicture], str]]:
    from reassure.checkers.analyses.graph.graph_svg import dot, graph_page, graph_svg

    return {
        "dot": dot,
        "svg": graph_svg,
        "html": graph_page,
        "json": lambda picture: json.dumps(picture.as_json(), indent=1) + "\n",
    }

"""`reassure show`: a trace as text, Markdown, a diagram, ITF or plain steps."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.cli.files import read_trace
from reassure.checkers.cli.parser import note
from reassure.checkers.traces import render
from reassure.checkers.traces.steps_format import to_steps
from reassure.spec.semantics.trace import to_itf


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="TRACE", help="an ITF file")
    parser.add_argument("--model", metavar="MODEL", help="another model than the trace names")
    parser.add_argument(
        "--format",
        choices=["text", "md", "mermaid", "json", "steps"],
        default="text",
        help="json: ITF; steps: plain JSON for tests in other languages (default: text)",
    )


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the trace."""
    trace, bound, changed = read_trace(args.trace, args.model)
    note(changed)
    if args.format == "text":
        render.tell(trace, bound, console)
        return Exit.OK
    if args.format == "md":
        text = render.markdown(trace, bound)
    elif args.format == "mermaid":
        text = render.mermaid(trace)
    elif args.format == "steps":
        text = to_steps(trace, bound)
    else:
        text = to_itf(trace, bound)
    args.found = Exit.OK
    sys.stdout.write(text)
    return Exit.OK

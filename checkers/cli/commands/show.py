"""`reassure show`: a trace as text, Markdown, a page with a picture, a diagram, ITF or plain steps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from reassure.checkers.console.files import STANDARD_OUTPUT, itf_without_model, read_trace
from reassure.checkers.console.parser import note
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.pictures.html_page import foreign_page, html_page
from reassure.checkers.pictures.lifelines import picture
from reassure.checkers.pictures.mermaid import mermaid
from reassure.checkers.pictures.svg import foreign_svg, svg
from reassure.checkers.request.shared_options import OF_TRACE, OUT, TRACE, Option
from reassure.checkers.traces import render
from reassure.checkers.traces.format_value import values_along
from reassure.checkers.traces.replay import replay_trace, to_steps
from reassure.checkers.traces.without_model import ForeignTrace
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, to_itf

FORMATS: dict[str, Callable[[Trace, BoundModel], str]] = {
    "md": render.markdown,
    "svg": svg,
    "html": html_page,
    "mermaid": lambda trace, bound: mermaid(picture(trace, bound)),
    "json": to_itf,
    "steps": to_steps,
}
"""The formats that are written as they are; `text` is printed with colours."""
FOREIGN: dict[str, Callable[[ForeignTrace], str]] = {"html": foreign_page, "svg": foreign_svg}
"""Those of a trace of another tool, of which there is no model."""


OPTIONS = (
    TRACE,
    OF_TRACE,
    Option(
        "--format",
        "svg: a picture; html: one page with a picture and every state; mermaid: a sequence diagram; json: ITF; "
        "steps: plain JSON for tests in other languages (default: text)",
        default="text",
        choices=("text", *FORMATS),
        output=True,
    ),
    Option(
        "--value EXPRESSION",
        "print the value of this Python expression where it changes: `s` is a state, `c` the configuration; repeatable",
        repeatable=True,
    ),
    OUT,
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints or writes the trace."""
    if args.out is not None and args.format == "text":
        raise Failure(Exit.USAGE, f"--out is for a format other than text: add --format {_format_of(args.out)}")
    if args.value and args.format != "text":
        raise Failure(Exit.USAGE, f"--value is for --format text, not {args.format}")
    if args.model is None and (foreign := itf_without_model(args.trace)) is not None:
        if args.format not in ("text", *FOREIGN) or args.value:
            raise Failure(
                Exit.USAGE, f"{args.trace} does not name its model; give --model, or --format text, html or svg alone"
            )
        if args.format in FOREIGN:
            _write(args, FOREIGN[args.format](foreign), console)
            return Exit.OK
        for line in foreign.lines():
            console.print(line)
        return Exit.OK
    trace, bound, changed = read_trace(args.trace, args.model)
    note(changed)
    code = _still(trace, bound, str(args.trace))
    if args.format == "text":
        values = {expression: values_along(trace, bound, expression) for expression in args.value}
        render.tell(trace, bound, console)
        for expression, along in values.items():
            _print_values(expression, along, console)
        return code
    text = FORMATS[args.format](trace, bound)
    args.found = code
    _write(args, text, console)
    return code


def _write(args: argparse.Namespace, text: str, console: Console) -> None:
    """Writes a text to the file that was given, else to standard output."""
    if args.out is None or args.out == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_atomically(args.out, text)
        console.print(f"{args.format}: {args.out}", style="dim")


def _still(trace: Trace, bound: BoundModel, name: str) -> Exit:
    """0 if the model accepts the trace, which still shows what it was kept for; else a note says what has changed.

    Of a trace about which that is not decided here the story is told too, with a note.
    """
    if "without" in trace.meta:  # a run of the model without one of its guards
        return Exit.OK
    replayed = replay_trace(trace, bound, name)
    if replayed.code is not Exit.OK:
        note(f"note: {replayed.problem or replayed.open or replayed.lines[-1]}")
    return Exit.OK if replayed.code is Exit.INCONCLUSIVE else replayed.code


def _print_values(expression: str, along: list[str], console: Console) -> None:
    """The first value, and the others where they change, by the numbers that the steps have."""
    console.print(f"\n{expression}", style="bold")
    for number, value in enumerate(along):
        if number == 0 or value != along[number - 1]:
            console.print(f"  {number}. {value}")


def _format_of(file: Path) -> str:
    """The format that the name of a file suggests."""
    return {".mmd": "mermaid", ".json": "json"}.get(
        file.suffix, file.suffix[1:] if file.suffix[1:] in FORMATS else "html"
    )

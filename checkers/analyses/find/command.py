"""`reassure find`: the shortest trace to a state or step of which an expression is true."""

from __future__ import annotations

import argparse
import re

from reassure.checkers.analyses.find.analysis import Answer, find
from reassure.checkers.console.commands import GateKind, Record, search_figures
from reassure.checkers.console.files import name_traces
from reassure.checkers.console.parser import search_options
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console, StyledText, quantity
from reassure.checkers.request.run_identity import ClassesRecord
from reassure.checkers.request.shared_options import BUDGET, MEMORY, MODEL, OUTPUTS, SET, SYMMETRY, WORKERS, Option
from reassure.checkers.traces.render import in_a_row, tell

OPTIONS = (
    MODEL,
    SET,
    Option(
        "EXPRESSION", "Python over a state `s`, or over a step: `before`, `after`, `action`; `c` is the configuration"
    ),
    Option("--prove", "prove that it is never true, in place of a search; for large state spaces", bool),
    Option("--no-guards", "if nothing makes it true, do not search for the guards that forbid it", bool),
    BUDGET,
    MEMORY,
    SYMMETRY,
    WORKERS,
    *OUTPUTS,
)


def _figures(record: Record) -> dict[str, int]:
    """The counts of the search, and the length of the trace that was found, in states."""
    depth = record.get("depth")
    return search_figures(record) | ({"depth": depth} if depth is not None else {})


KIND = GateKind(("distinct", "generated", "depth"), _figures)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Searches, tells the trace, and writes what is asked for."""
    options = search_options(args)
    if args.prove and args.symmetry != "off":
        raise Failure(Exit.USAGE, "--prove asks Z3, which renames nothing: leave out --symmetry")
    question = (args.model, args.set, args.expression, options)
    with Progress(quiet=args.quiet) as progress:
        answer = find(*question, progress, not args.no_guards, args.prove, args.repro)
    path = None
    if answer.trace is not None and args.trace_dir:
        name = re.sub(r"[^a-z0-9]+", "-", args.expression.lower()).strip("-")[:60]
        path = answer.result.identity.write_trace(args.trace_dir, name, answer.trace, answer.bound, "find")
    write_record(args.json, _record(answer, path))
    _report(answer, console, stories=not args.quiet)
    name_traces([path] if path else [], console, answer.result.identity.source)
    return answer.exit


def _report(found: Answer, console: Console, stories: bool) -> None:
    result = found.result
    if found.trace is not None and stories:
        tell(found.trace, found.bound, console)
        head = [f"true: {found.expression}"] if found.exit is Exit.OK else []
        for line in [*head, *(f"  {reason}" for reason in found.reasons)]:
            console.print("  " + line, style="bold green" if head else "bold red")
        console.print()
    states = quantity(result.stats.distinct, "state")
    symmetry: ClassesRecord = result.search.symmetry if result.search is not None else {}
    if "classes" in symmetry:
        of_states = f" of {quantity(symmetry['states'], 'state')}" if symmetry["states"] is not None else ""
        states = f"{symmetry['classes']:,} classes{of_states}"
    if found.exit is Exit.OK and found.trace is not None:
        said = f"found after {quantity(len(found.trace) - 1, 'step')}"
        said += "" if found.by_proof else f", among {states}"
    elif found.unreachable and found.by_proof:
        lemmas = len(result.proof.lemmas) if result.proof else 0
        open_bounds = ", ".join(result.proof.bounds_open) if result.proof else ""
        where = "within bounds" if open_bounds else "in this configuration"
        said = f"never true {where}: proved, with {quantity(lemmas, 'lemma')}"
        said += f"; a step may leave the declared bounds of {open_bounds}" if open_bounds else ""
    elif found.unreachable and result.stats.clipped:
        beyond = quantity(result.stats.clipped, "step")
        said = f"never true within bounds: {states}, all that are reachable without {beyond} beyond a declared bound"
    elif found.unreachable:
        said = f"never true in this configuration: {states}, all that are reachable"
    elif found.exit is Exit.MODEL:
        what = "expression" if found.reasons else "model"
        said = f"unknown: the {what} raises first" + ("" if found.by_proof else f", in a search of {states}")
    elif found.untold:
        said = f"found {found.untold}"
    elif found.by_proof:
        said = f"unknown: neither found nor proved; stopped because {result.stopped_because}"
    else:
        clipped = f"; {quantity(result.stats.clipped, 'step')} clipped at a bound" if result.stats.clipped else ""
        said = f"unknown: not found among {states}{clipped}; stopped because {result.stopped_because}"
    console.print(said, style="bold")
    if found.unreachable and not found.by_proof:
        _report_guards(found, console)


def _report_guards(found: Answer, console: Console) -> None:
    """The guards that forbid it, each with the run that shows it without that guard."""
    for guard in found.guards:
        row = StyledText(f"  forbidden by {guard.text} in {guard.action} ({guard.file}:{guard.line})")
        if guard.trace is not None:
            steps = in_a_row(guard.trace.steps[1:]) or ["true in an initial state"]
            row.append("\n    without it: " + "\n      ".join(steps), style="dim")
        console.print(row)
    if not found.guards and found.guards_left == 0:
        console.print("  no guard forbids it by itself: with any one guard removed, it is not found either")
    elif found.guards_left:
        count = quantity(found.guards_left, "guard")
        console.print(
            f"  {count} could not be left out: the action may raise without it, or the search was not completed"
        )


def _record(found: Answer, trace: str | None) -> dict[str, object]:
    """The run record, with the expression and what forbids it."""
    record = found.result.record({})
    forbidding = [{"action": g.action, "text": g.text, "file": g.file, "line": g.line} for g in found.guards]
    return {
        **record,
        "verdict": VERDICTS[found.exit],
        "exit_code": found.exit.value,
        "properties": [],
        "expression": found.expression,
        "depth": len(found.trace) if found.exit is Exit.OK and found.trace is not None else None,
        "trace": trace,
        "forbidden_by": forbidding,
    }

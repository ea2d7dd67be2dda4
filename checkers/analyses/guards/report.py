"""What `guards` prints and records."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from reassure.checkers.analyses.guards.analysis import Guard, Ran
from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.base.run_identity import error_record
from reassure.checkers.base.terminal import Console
from reassure.checkers.traces.render import call
from reassure.spec.semantics.interpreter import BoundModel


def report_guards(bound: BoundModel, guards: list[Guard], base: Ran, early: str, console: Console) -> None:
    """Prints what each guard is for."""
    console.print(f"{bound.model.name}: {base.distinct:,} states, {base.generated:,} steps", style="bold")
    if base.fallen:
        console.print(f"violated with every guard: {', '.join(sorted(base.fallen))}", style="yellow")
    last = ""
    for g in guards:
        if g.action != last:
            console.print(f"\n{g.action}", style="bold")
            last = g.action
        row = Text(f"  {g.text}")
        row.append("\n    ")
        row.append(g.verdict, style="green" if g.verdict == "load-bearing" else "yellow")
        if g.falls:
            row.append(f": {', '.join(g.falls)}, trace of {g.depth} states")
            if g.trace is not None:
                row.append("\n      " + " > ".join(call(step) for step in g.trace.steps[1:]), style="dim")
            elif g.note:
                row.append(f"; {g.note}")
        elif g.note:
            row.append(f": {g.note}")
        console.print(row)
    counts = {v: sum(g.verdict == v for g in guards) for v in dict.fromkeys(g.verdict for g in guards)}
    console.print("\n" + ", ".join(f"{n} {v}" for v, n in counts.items()))
    if counts.get("not needed"):
        console.print("not needed: without it no property is violated; a property may be missing")
    if temporal := [p.name for p in bound.properties if p.temporal]:
        console.print(f"not evaluated, since they are about whole runs: {', '.join(temporal)}")
    if early:
        console.print(f"stopped because {early}")


def guards_record(
    code: Exit,
    early: str,
    about: tuple[str, str, dict[str, Any], str],
    guards: list[Guard],
    traces: dict[int, str],
    not_weighed: list[str],
) -> dict[str, Any]:
    """The run record of `guards`.

    about: model, its digest, configuration, command. traces: files by guard. not_weighed: properties about whole runs.
    """
    model, sha, config, repro = about
    return {
        **error_record(code, early or "every guard was left out", model, repro),
        "model_sha256": sha,
        "config": config,
        "engine": "guards",
        "complete": not early,
        "guards": [
            {
                "action": g.action,
                "text": g.text,
                "file": g.file,
                "line": g.line,
                "verdict": g.verdict,
                "falls": list(g.falls),
                "depth": g.depth,
                "note": g.note,
                "trace": traces.get(number),
            }
            for number, g in enumerate(guards)
        ],
        "not_checked": not_weighed,
    }

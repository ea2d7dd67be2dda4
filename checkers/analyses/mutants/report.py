"""The printed report and the run record of `mutants`."""

from __future__ import annotations

from rich.text import Text

from reassure.checkers.analyses.mutants.analysis import Fate, Judged
from reassure.checkers.analyses.mutants.mutant_run import MutantReport, Noticed
from reassure.checkers.analyses.mutants.mutants import Mutant
from reassure.checkers.console.report import report_classes
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, first_few, quantity
from reassure.checkers.request.run_identity import RunIdentity

JUDGED = Stop(StopReason.COMPLETE, "every mutant that was asked for was judged")
SHOWN = 3
"""Killers of a mutant that are printed."""
STYLES = {Fate.KILLED: "green", Fate.EQUIVALENT: "green", Fate.SURVIVED: "bold red"}


def report_mutants(report: MutantReport, console: Console, full: bool, quiet: bool) -> None:
    """Prints what became of each mutant that no property kills (full: of each), and what each property kills."""
    stats = report.base.stats
    head = f"{report.model}: {quantity(stats.distinct, 'state')}, {quantity(stats.generated, 'step')}; {report.extent}"
    console.print(head, style="bold")
    if report.symmetry:
        report_classes(report.symmetry, console)
    for mutant, judged in report.judged:
        if judged.fate is not Fate.KILLED or full:
            _print_mutant(mutant, judged, report.wider, console)
    _print_properties(report, console)
    counts = ", ".join(f"{n:,} {fate}" for fate, n in report.counts.items()) or "none was judged"
    hint = "" if full or quiet or Fate.KILLED not in report.counts else " (--full lists those that are killed)"
    console.print(f"\n{counts}{hint}")
    if report.early:
        console.print(f"this is incomplete: stopped because {report.early.text}", style="yellow")


def _print_mutant(mutant: Mutant, judged: Judged, wider: list[str], console: Console) -> None:
    console.print(f"\n{mutant.place} {mutant.where}: {mutant.kind}", style="bold")
    console.print(f"  {change_of(mutant)}")
    line = Text("  ")
    line.append(judged.fate, style=STYLES.get(judged.fate, "yellow"))
    line.append(f": {reason}" if (reason := reason_of(judged)) else "")
    console.print(line)
    if judged.fate is Fate.EQUIVALENT and (told := told_by(judged, wider)):
        console.print(f"  {told}")


def reason_of(judged: Judged) -> str:
    """What killed a mutant, or the note on its fate."""
    return killers_of(judged) if judged.killers else judged.note


def told_by(judged: Judged, wider: list[str]) -> str:
    """Which wider configuration tells an equivalent mutant from the model, and how; "" if none was tried."""
    if judged.told_by is None:
        return f"the same with {' and with '.join(wider)}" if wider else ""
    settings, other = judged.told_by
    return f"with {settings}: {other.fate}: {reason_of(other)}"


def change_of(mutant: Mutant) -> str:
    """The change as text."""
    return f"{mutant.before} -> {mutant.after}" if mutant.after else f"without {mutant.before}"


def killers_of(judged: Judged) -> str:
    """The properties that kill a mutant, those with the shortest traces first, in a line."""
    ordered = sorted(judged.killers.items(), key=lambda item: (item[1] is None, item[1] or 0, item[0]))
    killers = [f"{name} ({quantity(states - 1, 'step')})" if states is not None else name for name, states in ordered]
    return first_few(killers, SHOWN)


def _print_properties(report: MutantReport, console: Console) -> None:
    noticed = report.noticed
    width = max((len(p.name) for p in noticed), default=0)
    console.print("\nkills  alone  property", style="bold")
    for p in noticed:
        remark = _remark(p, whole=report.early is None)
        row = Text(f"{p.kills:5,}  {p.alone:5,}  {p.name:{width if remark else 0}}")
        row.append(f"  {remark}" if remark else "", style="yellow")
        console.print(row)


def _remark(noticed: Noticed, whole: bool) -> str:
    """The reason why a property kills nothing, if it does not. whole: every mutant that was asked for was judged."""
    if noticed.violated:
        return "never reached by the model itself" if noticed.is_cover else "violated by the model itself"
    if noticed.kills or not whole:
        return ""
    return "each of these mutants reaches it" if noticed.is_cover else "unexercised: it kills none of these mutants"


def mutants_record(report: MutantReport, identity: RunIdentity) -> dict[str, object]:
    """The run record of `mutants`."""
    stats = report.base.stats
    return {
        **identity.record(report.exit(), report.early is None, report.early or JUDGED),
        "stats": {"distinct": stats.distinct, "generated": stats.generated},
        **({"symmetry": report.symmetry} if report.symmetry else {}),
        "mutants_of_model": len(report.mutants),
        "mutants_chosen": len(report.chosen),
        "counts": {str(fate): n for fate, n in report.counts.items()},
        "noticed": [
            {"name": p.name, "kills": p.kills, "alone": p.alone, "violated_by_the_model": p.violated}
            for p in report.noticed
        ],
        "unexercised": report.unexercised if report.early is None else [],
        "mutants": [
            {
                "file": mutant.place.partition(":")[0],
                "line": mutant.line,
                "function": mutant.where,
                "kind": mutant.kind,
                "before": mutant.before,
                "after": mutant.after,
                "verdict": judged.fate,
                "killed_by": judged.killers,
                "note": judged.note,
                **_told(judged),
            }
            for mutant, judged in report.judged
        ],
    }


def _told(judged: Judged) -> dict[str, object]:
    """The wider configuration that tells an equivalent mutant from the model."""
    if judged.told_by is None:
        return {}
    settings, other = judged.told_by
    return {"told_by": {"set": settings, "verdict": other.fate, "killed_by": other.killers, "note": other.note}}

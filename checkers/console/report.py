"""The output of `check`: verdicts, covers, actions, counterexamples as stories, and one line to repeat it.

It also runs a check and reports it: what `check`, `simulate` and `prove` share.
"""

from __future__ import annotations

import argparse
import inspect
import shlex
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.console.files import name_traces, picture_beside
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.machine.terminal import Console, StyledText, beyond_bounds, first_few, quantity, ways_out
from reassure.checkers.request.engine_results import CoverResult, ProofSummary, SearchStatistics
from reassure.checkers.request.result import (
    CheckResult,
    PropertyResult,
    PropertyStatus,
    after,
    bound_of,
    in_a_list,
    status_in_words,
)
from reassure.checkers.request.run_identity import ClassesRecord, SparkRecord
from reassure.checkers.traces.format_value import as_python
from reassure.checkers.traces.render import filled, tell, tell_astray
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace

STORIES = 3
"""Traces that are told unless somebody asks for more."""
SHORT = 0.1
"""Seconds of a search below which its rate says nothing."""
LONG = 1.0
"""Seconds from which on the report has the time that traces took."""
MANY = 24
"""More properties than these, or covers, are named in one line where there is nothing to say of each."""
NAMED = 8
"""Names of a folded list that a terminal shows."""
NOTE = 60
"""Longest remark, in letters, that stands beside each of several properties; a longer one is printed once."""
LEMMAS = 12
"""Lemmas of a proof that are printed."""
EXCLUDED = 5
"""Reasons why a model excludes combinations that are printed; the record has all."""
ESTABLISHED = frozenset({PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.PROVED})
STYLES = {
    "holds": "green",
    "proved": "green",
    "holds_within_bounds": "green",
    "holds_to_depth": "yellow",
    "violated": "bold red",
    "raised": "bold red",
}


def report(
    result: CheckResult, bound: BoundModel, console: Console, stories: int | None = None, full: bool = False
) -> None:
    """Prints a result. stories: how many traces are told, the shortest ones (none: a few). full: folds no list."""
    by = f"with the {result.identity.engine} engine"
    if result.simulation:
        by = f"by random walks, seed {result.simulation.seed}"
    elif result.proof:
        by = f"by proof, method {result.proof.method}"
    free = result.proof.any_number["free"] if result.proof and result.proof.any_number else {}
    config = ", ".join(
        f"{k}={f'any number from {free[k]}' if k in free else v}" for k, v in result.identity.config.items()
    )
    console.print(f"{result.model} ({config}) {by}", style="bold")
    told = None if full and stories is None else STORIES if stories is None else stories
    if console.is_terminal:
        _stories(result, bound, console, told)
    _properties(result, console, full)
    _covers(result, console, full)
    _why_unreached(result, bound, console)
    _actions(result, console)
    _numbers(result, console)
    if not console.is_terminal:
        _stories(result, bound, console, told)
    _ways_out(result, console)
    console.verdicts[result.exit()] = result.verdict
    if result.search is not None and result.search.cluster:
        console.again = result.repro  # of a run that is kept, the command that goes on from it


def _stories(result: CheckResult, bound: BoundModel, console: Console, most: int | None) -> None:
    """Tells the traces, `most` of them at most: into what raises, the shortest violations, then covers.

    Shared parts are told once.
    """
    traced = [answer for answer in result.answers if _states_told(answer)]
    short = sorted(
        traced, key=lambda answer: (isinstance(answer, CoverResult), not _raised(answer), _states_told(answer))
    )
    printed = short if most is None else short[:most]
    shown: list[Trace] = []
    for answer in (one for one in traced if one in printed):
        console.print()
        if answer.trace is None:
            tell_astray(answer.name, _astray(answer), bound_of(answer, bound), console)
            _what_next(result, answer, console)
            continue
        tell(answer.trace, bound_of(answer, bound), console, shown)
        shown.append(answer.trace)
    omitted = len(traced) - len(printed)
    if omitted and most:
        properties = [p for p in result.properties if not _raised(p)]
        fallen = sum(p.status is PropertyStatus.VIOLATED for p in properties)
        some = f"{fallen} of {len(properties)} properties are violated; " if fallen > most else ""
        text = f"{some}{quantity(omitted, 'more trace')} (--full prints all, --property NAME one)"
        console.print(f"\n{text}", style="bold")


def _what_next(result: CheckResult, answer: PropertyResult | CoverResult, console: Console) -> None:
    """What a reader can do about a counterexample to induction."""
    identity, state = result.identity_of(answer), _astray(answer)[0]
    settings = [f"--set={pair}" for pair in identity.settings]
    words = shlex.join(["reassure", "find", identity.source, f"s == {as_python(state)}", *settings])
    console.print("  whether a run reaches this state:", style="bold")
    console.print(f"    {words}", style="dim")
    more = "; more --budget tries more relations of fields" if result.stopped.reason is StopReason.BUDGET else ""
    console.print(
        "  if one does, the property is violated; if none does, write why as an @invariant of the model and prove"
        f" again: every invariant of the model is tried as a lemma{more}"
    )


def _raised(answer: PropertyResult | CoverResult) -> bool:
    return isinstance(answer, PropertyResult) and answer.status is PropertyStatus.RAISED


def _astray(answer: PropertyResult | CoverResult) -> tuple[Any, ...]:
    return answer.counterexample_to_induction if isinstance(answer, PropertyResult) else ()


def _states_told(answer: PropertyResult | CoverResult) -> int:
    """The number of states to print of a result: 0 if there is none."""
    return len(answer.trace) if answer.trace is not None else len(_astray(answer))


def _properties(result: CheckResult, console: Console, full: bool) -> None:
    folded = [p for p in result.properties if p.status in ESTABLISHED] if not full else []
    folded = folded if len(folded) > MANY else []
    listed = [p for p in result.properties if p not in folded]
    width = max((len(p.name) for p in listed), default=0)
    shared = _shared_notes(listed)
    console.print("\nproperties", style="bold")
    for p in listed:
        row = StyledText(f"  {p.name:{width}}  ")
        row.append(status_in_words(p.kind, p.status), style=STYLES.get(p.status, "yellow"))
        if p.trace is not None:
            row.append(f" {after(len(p.trace), p.kind)}")
        if p.note and p.note not in shared:
            row.append(f" ({p.note})", style="dim")
        console.print(row)
    for note, names in shared.items():
        console.print(f"  {', '.join(names)}: {note}", style="dim")
    for status in dict.fromkeys(p.status for p in folded):
        alike = [in_a_list(p.name) for p in folded if p.status is status]
        row = StyledText(f"  {len(alike)} of {len(result.properties)} ")
        row.append(status.replace("_", " ").replace("holds", "hold"), style=STYLES[status])
        row.append(f": {_names(alike, console)}", style="dim")
        console.print(row)
    if not result.properties:
        console.print("  none")
    if result.not_applicable:
        row = StyledText("  not applicable here: " + ", ".join(result.not_applicable), style="dim")
        console.print(row)
    for base in dict.fromkeys(result.replaced.values()):
        names = [name for name, of in result.replaced.items() if of == base]
        console.print(f"  declared otherwise than in {base}: {', '.join(names)}", style="dim")


def _names(names: list[str], console: Console) -> str:
    """Names of which there is nothing to say: some of them in a terminal, where a reader looks for others."""
    return first_few(names, NAMED if console.is_terminal else len(names), " (--full lists them)")


def _shared_notes(properties: list[PropertyResult]) -> dict[str, list[str]]:
    """Long remarks that several properties have, such as the fairness that they assume; each with these properties."""
    by_note: dict[str, list[str]] = {}
    for p in properties:
        if len(p.note) > NOTE:
            by_note.setdefault(p.note, []).append(p.name)
    return {note: names for note, names in by_note.items() if len(names) > 1}


def _covers(result: CheckResult, console: Console, full: bool) -> None:
    if not result.covers:
        return
    reached = [c for c in result.covers if c.depth is not None]
    folded = reached if len(reached) > MANY // 2 and not full else []
    width = max(len(c.name) for c in result.covers)
    console.print("\ncovers", style="bold")
    if folded:
        row = StyledText(f"  {len(folded)} of {len(result.covers)} ")
        row.append("reached", style="green")
        last = max(c.depth for c in folded if c.depth is not None)
        row.append(f", the last {after(last, 'cover')}: {_names([c.name for c in folded], console)}", style="dim")
        console.print(row)
    for c in (one for one in result.covers if one not in folded):
        row = StyledText(f"  {c.name:{width}}  ")
        if c.depth is not None:
            row.append(f"reached {after(c.depth, 'cover')}", style="green")
            if c.walks is not None:
                of = f" of {result.simulation.walks:,}" if result.simulation else ""
                row.append(f", in {c.walks:,}{of} walks")
        else:
            never = result.complete and result.returned.summary.exhaustive
            row.append("never reached" if never else "not reached so far", style="bold red")
        console.print(row)


def _why_unreached(result: CheckResult, bound: BoundModel, console: Console) -> None:
    """The command that says which guard forbids a cover that is never reached."""
    if not result.complete or result.search is None:
        return
    for cover in result.covers:
        prop = next(p for p in bound.covers if p.name == cover.name)
        names = list(inspect.signature(prop.function).parameters)
        state = next(iter(typing.get_type_hints(prop.function).values()), None)
        plain = (names[:2] == ["before", "after"] and len(names) == 2 and not prop.on) or len(names) == 1
        if cover.reached or not plain or state is not bound.model.state:
            continue
        call = f"{cover.name}({'before, after' if prop.over_steps else 's'})"
        settings = [f"--set={pair}" for pair in result.identity.settings]
        words = shlex.join(["reassure", "find", result.identity.source, call, *settings])
        console.print(f"  what forbids it: {words}", style="dim")
        return


def _actions(result: CheckResult, console: Console) -> None:
    if not result.returned.actions:
        return
    width = max(len(name) for name in result.returned.actions)
    if result.simulation:
        _shares("actions", {name: count.taken for name, count in result.returned.actions.items()}, console)
        return
    console.print(f"\n{'actions':{width + 2}}  {'taken':>13}  {'new states':>13}", style="bold")
    for name, count in result.returned.actions.items():
        row = StyledText(f"  {name:{width}}  {count.taken:>13,}  {count.new:>13,}")
        if not count.taken:
            row.append("  never enabled" if result.complete else "  not enabled so far", style="yellow")
        console.print(row)
    idle = [name for name, count in result.returned.actions.items() if not count.taken]
    if idle and result.complete:
        console.print(f"warning: no reachable state enables {', '.join(idle)}", style="yellow")


def _proof(result: CheckResult, proof: ProofSummary, console: Console) -> None:
    if proof.lemmas:
        console.print(f"\nan inductive invariant of {quantity(len(proof.lemmas), 'lemma')}", style="bold")
        for text in proof.lemmas[:LEMMAS]:
            console.print(f"  {text}")
        if len(proof.lemmas) > LEMMAS:
            console.print(f"  and {len(proof.lemmas) - LEMMAS} more (--certificate FILE has all)")
    if proof.any_number is not None:
        if proof.any_number["lifted"]:
            console.print(f"\nwithout the bounds of {', '.join(proof.any_number['lifted'])}")
        for remark in proof.any_number["remarks"]:
            console.print(f"taken to be more than it is: {remark}")
    if proof.bounds_open:
        bounds = ", ".join(proof.bounds_open)
        console.print(f"\nnot excluded: steps that leave the bound of {bounds}, which the proof leaves out")
    console.print(f"\n{result.stats.seconds['search']:.2f} s", style="dim")
    console.print(f"stopped because {result.stopped_because}")


def _distribution(spark: SparkRecord, console: Console) -> None:
    """Prints the cost of each level on the cluster."""
    levels = [level for level in spark["levels"] if level["seconds"]]
    if levels:
        heads = ("level", "states", "visited", "steps to it", "bytes shuffled", "seconds")
        console.print("\n" + "".join(f"{head:>15}" for head in heads), style="bold")
    for level in levels:
        counts = [level[k] for k in ("level", "states", "visited", "generated", "shuffled_bytes")]
        text = "".join(f"{n:>15,}" for n in counts) + f"{level['seconds']:>15.2f}"
        console.print(text)
    if prints := spark.get("fingerprints"):
        text = (
            f"\nvisited states are kept as fingerprints of {prints['bits']} bits: that two of so many states share "
            f"one, so that one was passed over, has a probability of at most {prints['collision_bound']:.1e}"
        )
        console.print(text)


def report_classes(symmetry: ClassesRecord, console: Console) -> None:
    """Prints what was renamed, and for how many states the classes stand."""
    if not symmetry["renamed"]:
        console.print(f"all states were searched: {symmetry['why']}")
        return
    renamed, forgotten = ", ".join(symmetry["renamed"]), ", ".join(symmetry["order_forgotten"])
    searches = symmetry["all_states"]
    text = f"{symmetry['classes']:,} classes under renaming of {renamed}"
    if symmetry["states"] is not None:
        text += f", which have {symmetry['states']:,} states"
    if searches and not searches[0]["asked"]:
        text += f"; with the order of {forgotten} forgotten the model may raise: all else is of a search of all states"
    elif forgotten:
        lists = ", also in lists" if symmetry["lists_forgotten"] else ""
        text += f"; the order of {forgotten} is forgotten{lists}, and each violation and cover is confirmed with it"
    console.print(text)
    for search in searches:
        to_depth = f" to depth {search['depth']}" if search["depth"] is not None else ""
        if search["asked"]:
            console.print(f"a search of all states{to_depth} ({search['distinct']:,}): {', '.join(search['asked'])}")


def _shares(title: str, numbers: dict[str, int], console: Console) -> None:
    """Numbers with bars."""
    width, whole, most = max(map(len, numbers)), sum(numbers.values()), max(1, *numbers.values())
    console.print(f"\n{title}", style="bold")
    for name, number in numbers.items():
        row = StyledText(f"  {name:{width}}  {number:>13,}  {number / max(whole, 1):>6.1%}  ")
        row.append("#" * round(30 * number / most), style="dim")
        console.print(row)


def _numbers(result: CheckResult, console: Console) -> None:
    s = result.stats
    if result.proof:
        _proof(result, result.proof, console)
        return
    if result.simulation:
        depths = {f"{c['from']}-{c['to']}": c["walks"] for c in result.simulation.lengths}
        if depths:
            _shares("states of a walk", depths, console)
        clipped = f"; not taken: {quantity(s.clipped, 'step')} clipped at a bound" if s.clipped else ""
        walks = result.simulation.walks
        text = f"\n{walks:,} walks, {quantity(s.generated, 'step')}, about {s.distinct:,} distinct states{clipped}"
        console.print(text)
        console.print(f"{s.seconds['search']:.2f} s on {s.workers} threads", style="dim")
        console.print(f"stopped because {result.stopped_because}")
        return
    cluster = result.search.cluster if result.search else {}
    if cluster:
        _distribution(cluster, console)
    text = f"\n{s.generated:,} generated, {s.distinct:,} distinct, depth {s.depth}"
    if s.frontier:
        text += f", {s.frontier:,} left to expand"
    if s.clipped:
        where = ", ".join(f"{path} {n:,}" for path, n in s.clipped_at.items())
        text += f"; {quantity(s.clipped, 'step')} clipped at a bound ({where})"
    console.print(text)
    if result.search is not None and result.search.symmetry:
        report_classes(result.search.symmetry, console)
    width = console.width - 1 if console.breaks_lines else sys.maxsize
    console.print(",\n".join(filled(quantities(s, bool(cluster)), ", ", width)), style="dim")
    console.print(f"stopped because {result.stopped_because}")


def _ways_out(result: CheckResult, console: Console) -> None:
    """What a reader can do about steps that leave a bound which the model does not declare."""
    if not result.stats.undeclared or result.accept_clipping:
        return
    if not result.proof:
        console.print(beyond_bounds(result.stats.undeclared), style="yellow")
    for line in ways_out("--accept-clipping"):
        console.print(line)


def quantities(stats: SearchStatistics, cluster: bool) -> list[str]:
    """How long a search took and what it needed. A rate is left out if the search was too short for one."""
    seconds = stats.seconds
    workers = f" on {stats.workers} {'cores' if cluster else 'threads'}" if stats.workers > 1 else ""
    measured = {
        f"{seconds['search']:.2f} s{workers}": True,
        f"{stats.generated / max(seconds['search'], SHORT):,.0f} generated/s": seconds["search"] >= SHORT,
        f"compiled in {seconds['compile']:.2f} s": bool(seconds["compile"]),
        f"fair loops in {seconds.get('liveness', 0):.2f} s": "liveness" in seconds,
        f"traces in {seconds['report']:.2f} s": seconds["report"] >= LONG,
        f"{stats.bytes_per_state} bytes a state": True,
        f"{stats.memory / 2**20:,.0f} MiB": bool(stats.memory),
        f"levels of {stats.disk / 2**20:,.0f} MiB on disk": bool(stats.disk),
    }
    return [text for text, is_said in measured.items() if is_said]


def run_and_report(request: CheckRequest, args: argparse.Namespace, console: Console) -> CheckResult:
    """Runs it, writes what is asked for, and reports."""
    result, bound = run(request, Progress(quiet=args.quiet))
    report_result(result, bound, args, console, {})
    return result


def report_result(
    result: CheckResult, bound: BoundModel, args: argparse.Namespace, console: Console, more: Mapping[str, Any]
) -> None:
    """Writes what is asked for, and reports. more: keys of the record in place of those of the result."""
    written = result.write_traces(args.trace_dir, bound) if args.trace_dir else {}
    pictures = {} if args.quiet else _drawn(result, bound, written)
    if args.json is not None:  # the meanings of claims take as long as a small search
        record = result.record(written)
        for row in record["properties"]:
            if row["name"] in pictures:
                row["picture"] = pictures[row["name"]]
        write_record(args.json, {**record, **more})
    report(result, bound, console, 0 if args.quiet else args.stories, args.full)
    name_traces(list(written.values()), console, result.identity.source, list(pictures.values()))


def _drawn(result: CheckResult, bound: BoundModel, written: Mapping[str, str]) -> dict[str, str]:
    """Draws each trace that was written into the file `picture_beside` names; the pictures by property."""
    if not written:
        return {}
    from reassure.checkers.pictures.svg import svg

    pictures = {}
    for answer in result.answers:
        if answer.trace is not None:
            path = picture_beside(written[answer.name])
            write_atomically(Path(path), svg(answer.trace, bound_of(answer, bound)))
            pictures[answer.name] = path
    return pictures

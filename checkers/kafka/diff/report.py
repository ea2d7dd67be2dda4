"""Output and records of `kafka diff`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reassure.checkers.kafka.controller.controller_properties import CAN_END
from reassure.checkers.kafka.controller.explore import EVENTS
from reassure.checkers.kafka.controller.explore_report import Shown, report_run
from reassure.checkers.kafka.controller.report import own_words, two_columns
from reassure.checkers.kafka.controller.words import described_state
from reassure.checkers.kafka.diff.analysis import BASE, HEAD, SIDES, BuildComparison
from reassure.checkers.kafka.diff.promises import PromiseComparison
from reassure.checkers.kafka.diff.result import BuildDiff
from reassure.checkers.kafka.diff.runs import RunOfBoth
from reassure.checkers.machine.terminal import Console, quantity
from reassure.spec.kafka.partition_properties import SHARED

AFTER = "after another difference"
OF_TOPIC_ALONE = (
    "creation and deletion of topics, and more partitions",
    "requests of several partitions with an error in some",
)
"""Parts of the controller's work that `--topic` reaches, and no other search."""
NOT_EXECUTED_WITH_TOPIC = (
    "more than two partitions and more than one topic",
    "placement of partitions by the controller",
    "late and unverified proposals of the second partition",
)
"""Parts that it does not reach either."""
NOT_EXECUTED = (
    "log directories that fail",
    "records that another release has written",
    "features and metadata versions that change on the way",
)
"""Parts of the controller's work that no search reaches."""
RECORD = re.compile(r"(\w+)\((.*)\)")
FIELD = re.compile(r"(?:^|, )(\w+)=(.*?)(?=, \w+=|$)")
UNSET = ("null", "-2")
"""Values of a record's fields by which they change nothing."""
UNSAID = ("partitionId", "topicId", "directories")
"""Fields of the one partition that is watched, and one that changes with the replicas."""


def report_diffs(diffs: Sequence[BuildDiff], console: Console, stories: int) -> None:
    """Figures; the promises with the shortest runs, as they decide the exit code; then the differences.

    diffs: of each search, the later ones as `BuildDiff.beyond` has them. stories: runs that are printed of each kind.
    """
    for diff in diffs:
        _report_states(diff.comparison, console)
    for number, diff in enumerate(diffs):
        _report_promises(diff.promises, console, _where(diff, number))
        for side in (HEAD, BASE):
            for name, shown in list(diff.promises.only[side].items())[:stories]:
                console.print("")
                report_broken(name, side, shown, console)
    for number, diff in enumerate(diffs):
        _report_differences(diff.runs, console, _where(diff, number))
        for run in diff.runs[:stories]:
            console.print("")
            report_run_of_both(run, console)
    if not any(diff.runs for diff in diffs):
        _report_what_is_not_executed(diffs[0], console)


def _where(diff: BuildDiff, number: int) -> str:
    """Of a later search: by how many brokers it is told from the first; "" for the first."""
    return f" with {diff.comparison.graphs[BASE].scope.brokers} brokers, beyond those above" if number else ""


def _report_what_is_not_executed(diff: BuildDiff, console: Console) -> None:
    """What could differ without being seen: events that were not asked for, and what no command does."""
    events = diff.comparison.graphs[BASE].scope.events
    left_out = [name for name in EVENTS if name not in events]
    asked_for = [f"{', '.join(left_out)} (--events)"] if left_out else []
    nowhere = [*NOT_EXECUTED_WITH_TOPIC, *NOT_EXECUTED]
    if not diff.comparison.graphs[BASE].scope.topic:
        asked_for.append(f"{'; '.join(OF_TOPIC_ALONE)} (--topic)")
        nowhere = list(NOT_EXECUTED)
    text = f"\nnot executed here: {'; '.join(asked_for)}" if asked_for else ""
    console.print(f"{text}\nno command executes: {'; '.join(nowhere)}", style="dim")


def _report_states(comparison: BuildComparison, console: Console) -> None:
    for side, graph in enumerate(comparison.graphs):
        numbers = f"{quantity(len(graph.states), 'state')}, {quantity(graph.steps, 'step')}"
        console.print(f"{SIDES[side]} Kafka {graph.version}: {numbers}", style="bold")
        console.print(f"  {len(graph.levels)} levels in {graph.seconds:.1f} s; {graph.stopped.text}", style="dim")
    of_base, of_head = comparison.only
    states = f"{quantity(comparison.both, 'state')} of both, {of_base:,} of BASE alone, {of_head:,} of HEAD alone"
    console.print(f"{states}; {comparison.differing_steps:,} of {quantity(comparison.steps, 'step')} of both differ")


def _report_differences(runs: tuple[RunOfBoth, ...], console: Console, where: str) -> None:
    if not runs:
        return
    width = max(len(run.difference.kind.name) for run in runs)
    console.print(f"\ndifferences{where}", style="bold")
    console.print(f"  {'steps':>9}  {'command':{width}}  {'run':>8}  fields", style="dim")
    for d in (run.difference for run in runs):
        text = quantity(len(d.before) + 1, "step")
        after = "" if d.side is None else f" ({AFTER})"
        console.print(f"  {d.count:9,}  {d.kind.name.lower():{width}}  {text:>8}  {', '.join(d.fields)}{after}")


def report_run_of_both(run: RunOfBoth, console: Console) -> None:
    """The shortest run to a difference; its last step by both builds, side by side, in Kafka's own words."""
    d = run.difference
    console.print(f"{d.title}:", style="red")
    if d.side is not None:
        console.print(f"  only {SIDES[d.side]} takes the steps before the last: {AFTER}", style="dim")
    last = len(run.longest.steps) - 1
    report_run(run.longest, [""] * len(run.longest.steps), console, last - 1)
    answers = [one.answers[-1] for one in run.runs]
    answer = f" -> {answers[0]}" if answers[0] == answers[1] != "NONE" else ""
    console.print(f"  {last:2} {d.last}{answer}")
    labels = [f"{SIDES[side]} {run.runs[side].version}" for side in (BASE, HEAD)]
    two_columns(run.rows(), labels[BASE], labels[HEAD], console)
    if run.texts[BASE] == run.texts[HEAD]:
        return
    for label, text in zip(labels, differing_words(*run.texts), strict=True):
        own_words(text, f"in Kafka's words, {label}:", console)


def _report_promises(promises: PromiseComparison, console: Console, where: str) -> None:
    console.print(f"\npromises{where}", style="bold")
    for side in (HEAD, BASE):
        for name, shown in promises.only[side].items():
            style = "red" if side == HEAD else "green"
            console.print(f"  {SIDES[side]} breaks {name}, {SIDES[1 - side]} keeps it: {shown.doc}", style=style)
    for name, breaker in promises.undecided.items():
        text = f"{breaker} breaks it; " if breaker else ""
        console.print(f"  not decided: {name}: {text}too few states were explored", style="yellow")
    if promises.both:
        console.print(f"  both break {len(promises.both)}: {', '.join(promises.both)}", style="dim")
    console.print(f"  both keep {len(promises.kept)}")
    if promises.asked and promises.not_applicable:
        console.print(f"  within these bounds about nothing: {', '.join(promises.not_applicable)}", style="yellow")


def differing_words(base: str, head: str) -> tuple[str, str]:
    """Kafka's own words of a step by both builds, without equal lines; of two records of one kind the fields that
    differ, of another record the fields that it sets."""
    ours, theirs = base.splitlines(), head.splitlines()
    if len(ours) == len(theirs):
        pairs = [_differing_lines(*pair) for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
        ours, theirs = [list(lines) for lines in zip(*pairs, strict=True)] if pairs else ([], [])
    else:
        ours, theirs = ([_differing_lines(line, "")[0] for line in lines] for lines in (ours, theirs))
    return "\n".join(ours), "\n".join(theirs)


def _differing_lines(one: str, other: str) -> tuple[str, str]:
    records = RECORD.fullmatch(one), RECORD.fullmatch(other)
    fields = [dict(FIELD.findall(record[2])) if record is not None else {} for record in records]
    alike = records[0] is not None and records[1] is not None and records[0][1] == records[1][1]
    texts = []
    for line, record, own, others in zip((one, other), records, fields, fields[::-1], strict=True):
        set_here = {k: v for k, v in own.items() if v not in UNSET and k not in UNSAID}
        shown = [f"{k}={v}" for k, v in set_here.items() if not alike or v != others.get(k)]
        texts.append(line if record is None else f"{record[1]}({', '.join(shown)})")
    return texts[0], texts[1]


def report_broken(name: str, side: int, shown: Shown, console: Console) -> None:
    """The run to a promise that one build alone breaks."""
    console.print(f"{name}: {SIDES[side]} Kafka {shown.run.version} breaks it", style="red")
    report_run(shown.run, shown.texts, console)


def diff_record(
    diffs: Sequence[BuildDiff], traces: dict[str, list[str]], builds: list[dict[str, object]], same: bool
) -> dict[str, object]:
    """The keys that a comparison adds to a run record. traces: the files of the runs. builds: BASE and HEAD.

    same: the digests of their classes are equal.

    `properties` has the promises that BASE keeps: violated means that HEAD breaks them. The figures in `diff` are of
    the first search; `second_search` has those of the second one, and what it shows beyond the first.
    """
    first, *more = diffs
    violated = {name: shown for diff in diffs for name, shown in diff.promises.only[HEAD].items()}
    rows = [_property(name, "violated", shown, traces) for name, shown in violated.items()]
    rows += [_property(name, "holds", None, traces) for name in first.promises.kept if name not in violated]
    rows += [_property(name, "unknown", None, traces) for name in first.promises.undecided if name not in violated]
    second = {"second_search": _search_record(more[0], traces)} if more else {}
    return {
        "properties": rows,
        "not_applicable": first.promises.not_applicable,
        "diff": {"builds": builds, "same_classes": same, **_search_record(first, traces), **second},
    }


def _search_record(diff: BuildDiff, traces: dict[str, list[str]]) -> dict[str, object]:
    comparison, promises = diff.comparison, diff.promises
    return {
        "bounds": comparison.graphs[BASE].scope.text,
        "states": comparison.both,
        "states_of_one": dict(zip(("base", "head"), comparison.only, strict=True)),
        "steps": comparison.steps,
        "differing_steps": comparison.differing_steps,
        "differences": [_difference(run, traces.get(run.difference.name, [])) for run in diff.runs],
        "promises": {
            "head_breaks": list(promises.only[HEAD]),
            "base_breaks": list(promises.only[BASE]),
            "both_break": promises.both,
            "both_keep": promises.kept,
            "not_decided": list(promises.undecided),
        },
    }


def _property(name: str, status: str, shown: Shown | None, traces: dict[str, list[str]]) -> dict[str, object]:
    kind = {CAN_END: "leads_to", **{p.name: p.kind for p in SHARED}}.get(name, "invariant")
    trace = traces[name][0] if shown is not None and name in traces else None
    depth = len(shown.run.states) if shown is not None else None
    return {"name": name, "kind": kind, "status": status, "trace": trace, "depth": depth}


def difference_record(run: RunOfBoth) -> dict[str, object]:
    """A difference as data: its steps, and the last step of its shortest run by both builds."""
    d = run.difference
    return {
        "command": d.kind.name.lower(),
        "fields": list(d.fields),
        "steps": d.count,
        "run": [str(command) for command in (*d.before, d.last)],
        "alike_before": d.side is None,
        "before": described_state(run.before),
        "differs": [{"field": field, "base": base, "head": head} for field, base, head in run.rows()],
    }


def _difference(run: RunOfBoth, traces: list[str]) -> dict[str, object]:
    records = {"base": run.texts[BASE], "head": run.texts[HEAD]}
    return {**difference_record(run), "records": records, "traces": traces}

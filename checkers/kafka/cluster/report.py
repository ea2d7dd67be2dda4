"""Output of `reassure kafka cluster`: a run on a cluster as text and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from reassure.checkers.kafka.cluster.execute import ExecutedStep, compared
from reassure.checkers.kafka.cluster.observed import BrokerLog
from reassure.checkers.kafka.cluster.random_runs import RandomRun, RandomScope
from reassure.checkers.kafka.cluster.schedule import Act
from reassure.checkers.kafka.cluster.session import ClusterResult
from reassure.checkers.kafka.controller.report import two_columns
from reassure.checkers.kafka.controller.words import ControllerState, described_state
from reassure.checkers.kafka.pages.random_record import RandomRecord
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, worst
from reassure.checkers.machine.terminal import Console


def report_cluster(result: ClusterResult, full: bool, console: Console) -> None:
    """Prints the steps, the records and the effect of a run. full: the brokers' logs after each step too."""
    plan = result.run.plan
    replicas = ", ".join(str(int(b)) for b in plan.start.partition.replicas)
    unclean = "allowed" if plan.start.unclean else "not allowed"
    console.print(f"Kafka {result.release}: {result.run.name}")
    console.print(f"  replicas [{replicas}], MinISR {plan.min_isr}, unclean election {unclean}")
    state = plan.start
    for step in result.execution.steps:
        _report_step(step, state, result.release, console)
        if full:
            console.print(f"       logs: {logs_text(step.logs)}", style="dim")
        state = step.step.expected
    if result.failure is not None:
        console.print(f"  {result.failure}", style="red")
        return
    console.print(f"  at the end: {logs_text(result.execution.logs)}")
    console.print(f"  records: {records_text(result)}")
    assert result.outcome is not None
    word = {True: "observed", False: "not observed", None: "executed"}[result.outcome.observed]
    style = "red" if result.outcome.observed is False else "green"
    name = f"{result.run.promise}: " if result.run.promise else ""
    console.print(f"{name}{word}: {result.outcome.text} ({result.seconds:.0f} s)", style=style)
    if result.execution.difference is not None:
        number = result.execution.difference.step.number
        console.print(f"the cluster did something else than the run at step {number}", style="red")


def _report_step(step: ExecutedStep, before: ControllerState, release: str, console: Console) -> None:
    s = step.step
    act = f"{s.act.value} {s.broker}" if s.broker and s.act is not Act.WAIT else s.act.value
    console.print(f"  {s.number:2} {s.text}: {act} ({step.seconds:.1f} s)")
    ours, theirs = described_state(before), described_state(s.expected)
    changes = [f"{name} {theirs[name]}" for name in ours if ours[name] != theirs[name] and "epoch" not in name]
    if s.held:
        console.print(f"       throttled: the copy of broker {', '.join(map(str, sorted(s.held)))}", style="dim")
    if step.differs:
        two_columns(list(step.differs), "the run", f"Kafka {release}", console)
    elif s.resigns:
        console.print(f"       as in the run: the controller resigns (its epoch is {step.controller_epoch})")
    else:
        console.print(f"       as in the run: {', '.join(changes) or 'nothing changes'}")


def logs_text(logs: Sequence[BrokerLog]) -> str:
    """The logs of brokers in a line: their records, and those that were put aside."""
    brokers = sorted({log.broker for log in logs})
    texts = []
    for broker in brokers:
        own = [f"{log.end:,}{f' {log.kind}' * bool(log.kind)}" for log in logs if log.broker == broker]
        texts.append(f"broker {broker} {' + '.join(own)}")
    return "; ".join(texts) or "no logs"


def records_text(result: ClusterResult) -> str:
    """What became of the records."""
    execution = result.execution
    if execution.records is None:
        return execution.why_not
    r = execution.records
    return (
        f"{r.acknowledged:,} acknowledged, {r.readable:,} left, {r.lost:,} lost, {r.different:,} different; "
        f"{execution.failed:,} not acknowledged"
    )


def cluster_record(result: ClusterResult) -> dict[str, object]:
    """The same as data."""
    execution, outcome = result.execution, result.outcome
    records = execution.records
    return {
        "trace": result.run.name,
        "release": result.release,
        "property": result.run.promise,
        "verdict": VERDICTS[result.code],
        "exit_code": result.code.value,
        "observed": outcome.observed if outcome is not None else None,
        "effect": outcome.text if outcome is not None else "",
        "failure": str(result.failure) if result.failure is not None else "",
        "seconds": round(result.seconds, 1),
        "records": {
            "sent": execution.sent,
            "not_acknowledged": execution.failed,
            **(vars(records) if records is not None else {}),
        },
        "steps": [_step_record(step, result) for step in execution.steps],
        "logs": [vars(log) for log in execution.logs],
    }


def _step_record(step: ExecutedStep, result: ClusterResult) -> dict[str, object]:
    s = step.step
    start = result.run.plan.start
    return {
        "number": s.number,
        "step": s.text,
        "act": s.act.name.lower(),
        "broker": s.broker,
        "throttled": sorted(s.held),
        "seconds": round(step.seconds, 1),
        "expected": compared(s.expected, start),
        "differs": [{"field": name, "run": ours, "cluster": theirs} for name, ours, theirs in step.differs],
        "seen": [described_state(state) for state in step.seen],
        "logs": [vars(log) for log in step.logs],
        "controller_epoch": step.controller_epoch,
    }


# -- random runs -------------------------------------------------------------------------------------------------


def report_random_run(run: RandomRun, console: Console) -> None:
    """Prints a random run in a few lines."""
    console.print(f"{run.topic}: {'; '.join(run.steps)}")
    parts = [f"{run.changes} changes of the partition"]
    parts += ["its reassignment did not end by itself"] * run.never_ended
    parts += ["it had no leader at the end"] * run.offline
    parts += [f"{name} broken {count} times" for name, count in sorted(run.broken.items())]
    console.print(f"  {', '.join(parts)}", style="dim")
    r = run.records
    if r is None:
        console.print(f"  the records could not be read: {run.why_not}", style="red")
    elif r.lost or r.different:
        by = f" by {', '.join(run.explanations)}" if r.lost and run.explanations else ""
        console.print(f"  {r.lost:,} of {r.acknowledged:,} records lost{by}, {r.different:,} different", style="red")
    if run.model is not None and run.model.difference:
        console.print(f"  no run of the model goes on: {run.model.difference}", style="red")
    if run.model is not None and run.model.undecided:
        console.print(f"  not compared with the model: {run.model.undecided}", style="red")
    for line in run.unexplained:
        console.print(f"  no rule makes this change: {line}", style="red")


def report_random(runs: Sequence[RandomRun], release: str, scope: RandomScope, console: Console) -> Exit:
    """Prints the counts of random runs; the exit code of all: a known loss hides nothing that is unexplained."""
    if not runs:
        console.print("no run was executed")
        return Exit.NOTHING
    r = random_record(runs, release, scope)
    console.print(
        f"Kafka {release}, {r.brokers} brokers, seed {r.seed}: {r.runs:,} runs, {r.steps:,} requests and faults, "
        f"{r.changes:,} changes of partitions, {r.not_by_rules:,} that the rules do not make"
    )
    console.print(
        f"the model: {r.matched:,} runs matched by one of the model, {r.not_matched:,} not matched, "
        f"{r.undecided:,} undecided; {r.model_steps:,} steps observed, {r.hidden_steps:,} hidden"
    )
    console.print(f"records: {r.acknowledged:,} acknowledged, {r.lost:,} lost, {r.different:,} different")
    for name, count in r.lost_by.items():
        console.print(f"  lost {f'by {name}' if name else 'without an explanation'}: {count:,}")
    for name, count in r.broken.items():
        console.print(f"  {name}: broken in {count:,} runs")
    console.print(
        f"  reassignments that did not end by themselves: {r.never_ended:,}; "
        f"partitions without a leader at the end: {r.offline:,}; not read: {r.unread:,}"
    )
    codes = [run.code for run in runs]
    return Exit.TRACE if Exit.TRACE in codes else worst(codes)


def random_record(runs: Sequence[RandomRun], release: str, scope: RandomScope) -> RandomRecord:
    """Random runs in counts."""
    records = [run.records for run in runs if run.records is not None]
    models = [run.model for run in runs if run.model is not None]
    lost_by = Counter[str]()
    for run in runs:
        if run.records is not None and run.records.lost:
            lost_by[", ".join(run.explanations)] += run.records.lost
    return RandomRecord(
        release=release,
        brokers=scope.brokers,
        seed=scope.seed,
        minutes=round(sum(run.seconds for run in runs) / 60),
        runs=len(runs),
        steps=sum(len(run.steps) for run in runs),
        changes=sum(run.changes for run in runs),
        not_by_rules=sum(len(run.unexplained) for run in runs),
        matched=sum(not model.difference and not model.undecided for model in models),
        not_matched=sum(bool(model.difference) for model in models),
        undecided=sum(bool(model.undecided) for model in models),
        model_steps=sum(model.steps for model in models),
        hidden_steps=sum(model.hidden for model in models),
        acknowledged=sum(r.acknowledged for r in records),
        lost=sum(r.lost for r in records),
        different=sum(r.different for r in records),
        lost_by=dict(sorted(lost_by.items())),
        never_ended=sum(run.never_ended for run in runs),
        offline=sum(run.offline for run in runs),
        broken=dict(sorted(Counter(name for run in runs for name in run.broken).items())),
        unread=len(runs) - len(records),
    )


def random_data(runs: Sequence[RandomRun], release: str, scope: RandomScope) -> dict[str, object]:
    """Random runs as data."""
    return {**asdict(random_record(runs, release, scope)), "each": [asdict(run) for run in runs]}

"""The run of a finding in words: its start, its steps with what they change, and what has become of the records.

Runs are of the models of Kafka's controller, or of `unregistered_fetch`, whose state is smaller and has processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import changes
from reassure.spec.semantics.trace import Trace, TraceStep

Sentences = Mapping[str, Callable[[Mapping[str, Any]], str]]
"""By action, of a step's parameters, and of the states `before` and `after` it."""


@dataclass(frozen=True)
class Wording:
    """sentences: a step in words, by its action. shown: parts of a state that a story tells, with their names.

    requests, failures: the actions that count as these.
    """

    sentences: Sentences
    shown: Mapping[str, str]
    requests: frozenset[str]
    failures: frozenset[str]


OF_CONTROLLER = Wording(
    {
        "start": lambda p: f"The administrator asks for replicas {plain(p['target'])}.",
        "retarget": lambda p: f"The administrator asks for replicas {plain(p['target'])} instead.",
        "cancel": lambda p: "The administrator cancels the reassignment.",
        "change_min_isr": lambda p: f"The administrator sets min.insync.replicas to {p['value']}.",
        "catch_up": lambda p: f"Broker {plain(p['follower'])} catches up.",
        "propose_expansion": lambda p: f"The leader asks to take broker {plain(p['follower'])} into the ISR.",
        "propose_shrink": lambda p: f"The leader asks to drop broker {plain(p['follower'])} from the ISR.",
        "alter_partition": lambda p: f"The controller answers the request for ISR {plain(p['request'].isr)}.",
        "commit": lambda p: "A record is committed: the ISR has it.",
        "hear": lambda p: "The leader hears of the newest metadata.",
        "fence": lambda p: f"The session of broker {plain(p['broker'])} expires.",
        "unfence": lambda p: f"Broker {plain(p['broker'])} is back, and unfenced.",
        "shut_down_uncleanly": lambda p: f"Broker {plain(p['broker'])} registers anew after an unclean shutdown.",
    },
    {
        "partition.replicas": "replicas",
        "partition.isr": "ISR",
        "partition.elr": "ELR",
        "partition.adding": "adding",
        "partition.removing": "removing",
        "partition.leader": "leader",
        "partition.last_known_leader": "last known leader",
        "unfenced": "unfenced brokers",
        "min_isr": "min.insync.replicas",
        "unclean": "unclean election",
        "complete": "brokers with every committed record",
    },
    frozenset({"start", "retarget", "cancel", "change_min_isr", "change_unclean"}),
    frozenset({"fence", "shut_down_uncleanly"}),
)
OF_BROKERS = Wording(
    {
        "die": lambda p: (
            f"Broker {plain(p['broker'])} dies"
            + (", and its log loses the records that were not on the disk yet." if p["loses"] else ".")
        ),
        "start": lambda p: f"Broker {plain(p['broker'])} is started again.",
        "register": lambda p: f"Broker {plain(p['broker'])} registers anew.",
        "send_fetch": lambda p: _sent(p["after"].fetch),
        "take_fetch": lambda p: _taken(p["before"].fetch, p["after"]),
        "commit": lambda p: "A record is acknowledged: the ISR has it.",
        "alter_partition": lambda p: f"The leader's request for broker {plain(p['before'].request.follower)} arrives.",
        "fence": lambda p: f"The session of broker {plain(p['broker'])} ends.",
        "unfence": lambda p: f"Broker {plain(p['broker'])} is unfenced.",
    },
    {
        "isr": "ISR",
        "leader": "leader",
        "unfenced": "unfenced brokers",
        "registered": "processes that know their broker epoch",
        "complete": "brokers with every committed record",
    },
    frozenset(),
    frozenset({"die"}),
)


def _sent(fetch: Any) -> str:
    what = "it has caught up" if fetch.caught_up else "it lacks records"
    return f"Broker {plain(fetch.follower)} sends a fetch with broker epoch {fetch.epoch}: {what}."


def _taken(fetch: Any, after: Any) -> str:
    if after.request is None:
        return f"The leader takes the fetch, and gives broker {plain(fetch.follower)} the records."
    epoch = after.request.epochs[after.request.follower]
    return f"The leader takes the fetch, and proposes broker {plain(fetch.follower)} for the ISR, with epoch {epoch}."


def _wording(trace: Trace) -> Wording:
    return OF_CONTROLLER if hasattr(trace.states[0], "partition") else OF_BROKERS


def run_counts(trace: Trace) -> str:
    """The numbers of steps, requests and failures in a run."""
    wording, names = _wording(trace), [step.action for step in trace.steps[1:]]
    requests, failures = (sum(n in kind for n in names) for kind in (wording.requests, wording.failures))
    counts = [(len(names), "step"), (requests, "request"), (failures, "failure")]
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts)


def start_of(trace: Trace) -> str:
    """The start of a run."""
    s = trace.states[0]
    if _wording(trace) is OF_BROKERS:
        return f"{len(s.alive)} brokers, replicas {plain(tuple(sorted(s.isr)))}, all in sync, MinISR 1"
    p = s.partition
    isr = "all in sync" if p.isr == frozenset(p.replicas) else f"ISR {plain(p.isr)}"
    parts = [f"{len(s.unfenced)} brokers", f"replicas {plain(p.replicas)}", isr, f"MinISR {s.min_isr}"]
    return ", ".join([*parts, f"unclean election {'on' if s.unclean else 'off'}"])


def story_lines(trace: Trace) -> list[str]:
    """The steps in words, with what changes, and what has become of the records."""
    lines, wording = [], _wording(trace)
    for i in range(1, len(trace)):
        before, after = trace.states[i - 1], trace.states[i]
        changed = [
            f"{wording.shown[name]} {old} → {new}" for name, old, new in changes(before, after) if name in wording.shown
        ]
        if before == after:
            changed = ["nothing is written: the controller throws"]
        sentence = _sentence(trace.steps[i], wording, before, after)
        lines.append(f"{i}. {sentence}" + (f" *{'; '.join(changed)}*" if changed else ""))
    last = trace.states[-1]
    leader, whole = getattr(last, "partition", last).leader, last.complete
    if leader is not None and leader not in whole:
        lines.append(
            f"\nBroker {plain(leader)} leads without every committed record; the brokers {plain(whole)} have them."
        )
    return lines


def _sentence(step: TraceStep, wording: Wording, before: Any, after: Any) -> str:
    tell = wording.sentences.get(step.action)
    return tell({**step.params, "before": before, "after": after}) if tell is not None else f"`{step.action}`."

"""A page for who knows Kafka's controller: what breaks, in which release, in how many steps, and how it was confirmed.

Everything but the words of `headlines` comes from the ledger, from its traces, and from the notes of what Kafka's own
classes did with them (`reassure kafka findings`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.evidence.headlines import HEADLINES, Headline
from reassure.checkers.evidence.ledger import PATHS
from reassure.checkers.evidence.markdown import BY, table
from reassure.checkers.evidence.verdicts import Entry, ReadingAnswer, ReadingVerdict, trace_of
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import changes
from reassure.spec.semantics.trace import Trace, TraceStep

CONFIRMED = PATHS.traces / "confirmed.json"
CLAIM_PAGES = "models/kraft/claims"
"""The folder of the pages of KRaft's claims, from the top."""
REQUESTS = frozenset({"start", "retarget", "cancel", "change_min_isr", "change_unclean"})
FAILURES = frozenset({"fence", "shut_down_uncleanly"})
SHOWN = {
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
}
"""Parts of a state that the story tells, with their names."""

SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
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
}
"""A step in words, by its action."""


@dataclass(frozen=True)
class Case:
    """A finding in a release: the ledger's answer, with its trace if it is violated."""

    headline: Headline
    release: str
    answer: ReadingAnswer

    @property
    def violated(self) -> bool:
        return self.headline.property in self.answer.traces

    @property
    def path(self) -> Path:
        return self.answer.traces[self.headline.property]

    @property
    def steps(self) -> int:
        """Of the trace."""
        return (self.answer.results[self.headline.property].states or 1) - 1


def cases(found: list[Entry], headlines: tuple[Headline, ...] = HEADLINES) -> list[Case]:
    """Each finding in each release that the ledger has; `Failure` for a finding that is of no reading."""
    by_claim = {e.claim.id: e.answers for e in found}
    several_cases = []
    for headline in headlines:
        of_it: dict[str, list[Case]] = {}
        for name in headline.readings:
            several = [c for a in by_claim.get(headline.claim, []) if (c := _case(headline, name, a)) is not None]
            if not several:
                raise Failure(Exit.USAGE, f"claim {headline.claim} has no reading {name!r} of Kafka by release")
            for case in several:
                of_it.setdefault(case.release, []).append(case)
        several_cases += [next((c for c in of_it[r] if c.violated), of_it[r][0]) for r in sorted(of_it)]
    return several_cases


def _case(headline: Headline, name: str, answer: ReadingAnswer) -> Case | None:
    """The case of an answer, if it is to this reading, of some release."""
    release = str(answer.reading.set.get("release", ""))
    fits = answer.reading.column == "kafka" and answer.reading.name == f"{name}, Kafka {release}"
    return Case(headline, release, answer) if fits else None


# -- what Kafka's own classes did with the traces --------------------------------------------------------------


def run_digest(case: Case) -> str:
    """The digest of a case's run, whichever text of the model it was found with."""
    states = json.loads(case.path.read_text(encoding="utf-8"))["states"]
    return hashlib.sha256(json.dumps([case.release, states], sort_keys=True).encode()).hexdigest()


def confirmations(path: Path = CONFIRMED) -> dict[str, list[str]]:
    """The classes that executed each run, by `run_digest`; empty if nobody has noted any."""
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(k): [str(v) for v in values] for k, values in data["runs"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(
            Exit.SYSTEM, f"{path} is no file of confirmations: write it by `reassure kafka findings`"
        ) from None


# -- the page ----------------------------------------------------------------------------------------------------


def markdown(
    found: list[Entry],
    folder: Path,
    confirmed: Mapping[str, list[str]] | None = None,
    headlines: tuple[Headline, ...] = HEADLINES,
) -> str:
    """The page. folder: where it will be, for its links. confirmed: else as `confirmations` reads it."""
    notes = confirmations() if confirmed is None else confirmed
    numbered = _numbered(found, headlines)
    releases = sorted({case.release for _, several in numbered for case in several})
    rows = [_row(number, several, releases) for number, several in numbered]
    parts = [
        "# Findings in released Kafka",
        f"{BY} from the claims' ledger and its traces. The table gives, for "
        "each release, the number of steps of a shortest run that violates the promise. An exhaustive search within "
        "the claim's bounds found it. A column has the name of rules; [the claims by release](claims-by-release.md) "
        "name the patch releases that go by each.",
        table(("", *releases), rows),
        "Each run is about partition 0 of a topic, with eligible leader replicas (ELR) on. Kafka's classes execute the "
        "controller's part. The model adds that a broker deletes its log when it leaves the replicas. The whole "
        "controller is run for the releases whose test jars Kafka published.",
    ]
    parts += [_section(number, several, folder, notes) for number, several in numbered]
    return "\n\n".join(parts) + "\n"


def front_table(found: list[Entry], root: Path) -> str:
    """The findings in short, with links from the front page. root: of the checkout."""
    rows = []
    for number, several in _numbered(found, HEADLINES):
        headline, broken = several[0].headline, [c for c in several if c.violated]
        if broken:
            title = f"[{headline.title}](docs/findings.md#{_anchor(number, headline)})"
            run = f"[{headline.claim}](counterexamples/{broken[-1].path.name})"
            test = test_of(headline, root / "docs")
            as_test = f"[{test.stem}]({test.relative_to(root).as_posix()})" if test.is_file() else "-"
            rows.append((title, _by_release(broken), run, as_test))
    return table(("what happens", "steps of a shortest run, by release", "run", "failing test"), rows)


def _numbered(found: list[Entry], headlines: tuple[Headline, ...]) -> list[tuple[int, list[Case]]]:
    """The cases of each finding, with its number on the page."""
    return list(enumerate((list(group) for _, group in groupby(cases(found, headlines), lambda c: c.headline)), 1))


def test_of(headline: Headline, folder: Path) -> Path:
    """The file of a finding's run as a method of Kafka's own test class; folder: of the page."""
    return folder / "findings" / f"{headline.claim}.java"


def _by_release(broken: list[Case]) -> str:
    """The number of steps, releases with as many together."""
    groups: list[tuple[int, list[str]]] = []
    for case in broken:
        if groups and groups[-1][0] == case.steps:
            groups[-1][1].append(case.release)
        else:
            groups.append((case.steps, [case.release]))
    return "; ".join(f"{_span(releases)}: {n}" for n, releases in groups)


def _span(releases: list[str]) -> str:
    """Releases in a row: the first and the last."""
    return ", ".join(releases) if len(releases) < 3 else f"{releases[0]} to {releases[-1]}"


def _row(number: int, several: list[Case], releases: list[str]) -> list[str]:
    by_release = {c.release: c for c in several}
    cells = [_verdict(by_release[r]) if r in by_release else "-" for r in releases]
    return [f"[{number}. {several[0].headline.title}](#{_anchor(number, several[0].headline)})", *cells]


def _verdict(case: Case) -> str:
    """The ledger's verdict on a release, or that it has none."""
    if case.answer.stale and case.answer.record is None:
        return "not run"
    if case.violated:
        return f"{case.steps} steps"
    return "none within the bounds" if case.answer.verdict is ReadingVerdict.HOLDS else case.answer.verdict.words


def _anchor(number: int, headline: Headline) -> str:
    text = f"{number}. {headline.title}".lower()
    return "".join(c for c in text if c.isalnum() or c in " -").replace(" ", "-")


def _section(number: int, several: list[Case], folder: Path, notes: Mapping[str, list[str]]) -> str:
    headline = several[0].headline
    lines = [f"## {number}. {headline.title}", f"{headline.breaks}", f"**Cause.** {headline.cause}"]
    broken = [c for c in several if c.violated]
    if not broken:
        return "\n\n".join([*lines, "No release is known to do it."])
    latest = broken[-1]
    trace, _ = trace_of(latest.answer, headline.property)
    lines.append(f"**In {latest.release}**, {_counted(trace)} ({_setting(trace)}):")
    lines.append("\n".join(_story(trace)))
    lines.append(f"**Confirmed.** {_confirmed(broken, notes)}")
    back = "../" * len(folder.parts[len(PATHS.traces.parent.parts) :])
    link = f"{back}{latest.path.parent.name}/{latest.path.name}"
    test = test_of(headline, folder)
    lines.append(
        f"[Claim {headline.claim}]({back}{CLAIM_PAGES}/{headline.claim}.md), property `{headline.property}`. "
        f"`reassure show` prints [the run]({link}), "
        "`reassure kafka replay` executes it on a release"
        + (
            f", and [a method]({test.parent.name}/{test.name}) of `ReplicationControlManagerTest` fails because of it."
            if test.is_file()
            else "."
        )
    )
    return "\n\n".join(lines)


def _counted(trace: Trace) -> str:
    """The numbers of requests and failures in the run."""
    names = [step.action for step in trace.steps[1:]]
    requests, failures = (sum(n in kind for n in names) for kind in (REQUESTS, FAILURES))
    counts = [(len(names), "step"), (requests, "request"), (failures, "failure")]
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts)


def _setting(trace: Trace) -> str:
    """The start of the run."""
    s = trace.states[0]
    p = s.partition
    parts = [
        f"{len(s.unfenced)} brokers",
        f"replicas {plain(p.replicas)}",
        f"ISR {plain(p.isr)}",
        f"MinISR {s.min_isr}",
    ]
    return ", ".join([*parts, f"unclean election {'on' if s.unclean else 'off'}"])


def _story(trace: Trace) -> list[str]:
    """The steps in words, with what changes, and what has become of the records."""
    lines = []
    for i in range(1, len(trace)):
        before, after = trace.states[i - 1], trace.states[i]
        changed = [f"{SHOWN[name]} {old} → {new}" for name, old, new in changes(before, after) if name in SHOWN]
        if before == after:
            changed = ["nothing is written: the controller throws"]
        lines.append(f"{i}. {_sentence(trace.steps[i])}" + (f" *{'; '.join(changed)}*" if changed else ""))
    leader, whole = trace.states[-1].partition.leader, trace.states[-1].complete
    if leader is not None and leader not in whole:
        lines.append(
            f"\nBroker {plain(leader)} leads without every committed record; the brokers {plain(whole)} have them."
        )
    return lines


def _sentence(step: TraceStep) -> str:
    tell = SENTENCES.get(step.action)
    return tell(step.params) if tell is not None else f"`{step.action}`."


def _confirmed(broken: list[Case], notes: Mapping[str, list[str]]) -> str:
    """Kafka's classes that took every step of the run of each release."""
    by_class: dict[str, list[str]] = {}
    for case in broken:
        for name in notes.get(run_digest(case)) or ["not executed"]:
            by_class.setdefault(name, []).append(case.release)
    took = [f"{name}: {', '.join(releases)}" for name, releases in by_class.items() if name != "not executed"]
    executed = (
        "For each release, Kafka's classes of that release executed every step of its run with the same outcome. "
        f"{'; '.join(took)}."
    )
    others = f"Not executed: {', '.join(by_class['not executed'])}." if "not executed" in by_class else ""
    return f"{executed if took else ''} {others}".strip()

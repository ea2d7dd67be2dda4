"""A page for who knows Kafka's controller: what breaks, in which release, in how many steps, and how it was confirmed.

Everything but the words of `headlines` comes from the ledger, from its traces, and from the notes of what Kafka's own
classes did with them (`reassure kafka findings`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from reassure.checkers.kafka.pages import finding_story, finding_tests, measurements
from reassure.checkers.kafka.pages.finding_tests import FindingTest, RunWithFixes
from reassure.checkers.kafka.pages.headlines import ELR, HEADLINES, NEWEST_CODE, UNREPORTED, Headline
from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.pages import relative
from reassure.checkers.ledger.verdicts import Entry, ReadingAnswer, ReadingVerdict, trace_of
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.releases import rules_in_name

CONFIRMED = PATHS.traces / "confirmed.json"
CLAIM_PAGE = "models/kraft/claims/README.md"
"""The page of KRaft's claims, from the top."""


@dataclass(frozen=True)
class Case:
    """A finding in a release: the ledger's answer, with its trace if it is violated."""

    headline: Headline
    release: str
    answer: ReadingAnswer
    others: tuple[ReadingAnswer, ...] = ()
    """The answers to the finding's other readings for the release."""

    @property
    def violated(self) -> bool:
        return self.headline.property in self.answer.traces

    @property
    def counts(self) -> bool:
        """A cluster in production can be in the states of its run."""
        return self.violated and self.headline.in_production(self.release)

    @property
    def fewest(self) -> int:
        """Steps of the shortest run of any reading."""
        name = self.headline.property
        violated = [a for a in (self.answer, *self.others) if name in a.traces]
        return min((a.results[name].states or 1) - 1 for a in violated)

    @property
    def key(self) -> str:
        """Of the outcome of its test."""
        return finding_tests.key(self.headline.claim, self.release)

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
            several = [case for a in by_claim.get(headline.claim, []) for case in _cases_of(headline, name, a)]
            if not several:
                raise Failure(Exit.USAGE, f"claim {headline.claim} has no reading {name!r} of Kafka by release")
            for case in several:
                of_it.setdefault(case.release, []).append(case)
        for release in sorted(of_it):
            shown = next((c for c in of_it[release] if c.violated), of_it[release][0])
            others = tuple(c.answer for c in of_it[release] if c is not shown)
            several_cases.append(replace(shown, others=others))
    return several_cases


def _cases_of(headline: Headline, name: str, answer: ReadingAnswer) -> list[Case]:
    """The cases of an answer, if it is to this reading: of the release, or of each that it names in a row."""
    own, releases = rules_in_name(answer.reading.name)
    configured = str(answer.reading.set.get("release", ""))
    if answer.reading.column != "kafka" or own != name or configured not in ("", *releases):
        return []
    return [Case(headline, release, answer) for release in releases]


# -- what Kafka's own classes did with the traces --------------------------------------------------------------


def run_digest(case: Case) -> str:
    """The digest of a case's run, whichever text of the model it was found with."""
    states = json.loads(case.path.read_text(encoding="utf-8"))["states"]
    return hashlib.sha256(json.dumps([case.release, states], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class FindingsRecord:
    """What `reassure kafka findings` recorded of Kafka's own classes.

    runs: the classes that executed each run, by `run_digest`. tests: outcomes of tests, by the key of the case.
    with_fixes: each run on a release with the fixes, by `run_digest`.
    """

    runs: dict[str, list[str]] = field(default_factory=dict)
    tests: dict[str, FindingTest] = field(default_factory=dict)
    with_fixes: dict[str, RunWithFixes] = field(default_factory=dict)


def recorded(path: Path = CONFIRMED) -> FindingsRecord:
    """The record as it was committed; an empty one if there is none."""
    if not path.is_file():
        return FindingsRecord()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        runs = {str(k): [str(v) for v in values] for k, values in data["runs"].items()}
        with_fixes = finding_tests.read_runs(data.get("with_fixes", {}))
        return FindingsRecord(runs, finding_tests.outcomes_from_json(data["tests"]), with_fixes)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(
            Exit.SYSTEM, f"{path} is not a file of confirmations: write it by `reassure kafka findings`"
        ) from None


def tests_of(several: list[Case], record: FindingsRecord) -> list[tuple[str, list[Case]]]:
    """The files of a finding's tests, each with the cases whose test it is: those with one text, in a row.

    several: the cases of one finding. A file bears the name of the first release.
    """
    groups: list[tuple[str, list[Case]]] = []
    above = None
    for case in several:
        outcome = record.tests.get(case.key)
        if not case.counts or outcome is None:
            continue
        if groups and outcome.method == above:
            groups[-1][1].append(case)
        else:
            groups.append((f"{case.headline.claim}-{case.release}.java", [case]))
        above = outcome.method
    return groups


# -- the page ----------------------------------------------------------------------------------------------------


HEAD = """# Findings in released Kafka

{by} from the claims' ledger, its traces, and the records of
`reassure kafka findings` and `reassure kafka cluster --findings`. A finding has a number, and the number of its claim,
such as K21: a promise of Kafka's documents, with its verdicts ([which is which](findings/README.md)).

Each run is about partition 0 of a topic. Kafka's classes execute the controller's part, and the model adds the brokers'
logs: a broker deletes its log when it leaves the replicas, and begins with an empty log when it becomes a replica. A
live broker does so (it renames the log to `-delete`; if it is added again before that log is gone, it makes a new one).
A broker keeps its log if it sees removal and addition as one change of the metadata, because it lags behind or was down
during both. Finding 7 is a run of `unregistered_fetch`, which adds processes, fetches and records that are not on the
disk yet; the controller takes part in five of its steps.

In the table:

- *ELR*: whether the finding needs eligible leader replicas (KIP-966), and whether a new cluster in production has them.
  With ELR switched off, the test of a finding that needs them passes; the tests of the others still fail.
- *Steps*: the length of a shortest run that begins with every replica in sync. An exhaustive search found it; each
  section names the bounds, and shows the run that a cluster reaches most easily. "none": no run within these bounds. In
  the model `kraft_kafka_racks` with `racks=1` every target has as many replicas as the partition had.
- *Test*: a method of Kafka's own `ReplicationControlManagerTest`, which asserts requests, answers and the promise. We
  ran it on the releases named, as a Java program where Kafka published no jars of its tests. "fails": the assertion of
  the promise fails, or the controller throws the exception that makes it resign.
- *With the fixes*: the outcome of the same method on a release with the project's fixes; "-": it was not run. The
  models have the rules of the fixes too: `reassure check kraft_kafka --set release=fixed`.

Findings 2 to 7 are new, and so are the verdicts for each release and the runs on Kafka's own classes. The public TLA+
model of KIP-966 (by Vanlightly) trims the ELR as the KIP says. It has no cancellation, no request during a
reassignment, no change of min.insync.replicas, and by default no reassignment. Among Kafka's own tests of changes of a
partition, some have a reassignment and some have eligible replicas; none has both. {newest_code}
{unreported}
"""
COLUMNS = ("finding", "rules of", "ELR", "steps", "test", "with the fixes", "promise")


def findings_markdown(
    found: list[Entry], folder: Path, record: FindingsRecord | None = None, headlines: tuple[Headline, ...] = HEADLINES
) -> str:
    """The page. folder: where it will be, for its links. record: else as `recorded` reads it."""
    record = recorded() if record is None else record
    of_page = numbered_findings(found, headlines)
    rows = [row for number, several in of_page for row in _rows(number, several, record)]
    parts = [HEAD.format(by=BY, newest_code=NEWEST_CODE, unreported=UNREPORTED).rstrip(), table(COLUMNS, rows)]
    if section := measurements.section(measurements.measured()):
        parts.append(section)
    parts += [_section(number, several, folder, record) for number, several in of_page]
    return "\n\n".join(parts) + "\n"


def numbered_findings(found: list[Entry], headlines: tuple[Headline, ...] = HEADLINES) -> list[tuple[int, list[Case]]]:
    """The cases of each finding, with its number on the page."""
    return list(enumerate((list(group) for _, group in groupby(cases(found, headlines), lambda c: c.headline)), 1))


def told_runs(found: list[Entry]) -> list[tuple[str, str, str, Path]]:
    """The run that each finding is told by, in the newest release that has it: name, claim, title and file."""
    runs = []
    for number, several in numbered_findings(found):
        if broken := [case for case in several if case.counts]:
            headline = broken[-1].headline
            runs.append((f"finding-{number}", headline.claim, headline.title, broken[-1].path))
    return runs


def steps_by_release(broken: list[Case]) -> str:
    """The number of steps, releases with as many together."""
    groups: list[tuple[int, list[str]]] = []
    for case in broken:
        if groups and groups[-1][0] == case.fewest:
            groups[-1][1].append(case.release)
        else:
            groups.append((case.fewest, [case.release]))
    return "; ".join(f"{_span(releases)}: {n}" for n, releases in groups)


def _span(releases: list[str]) -> str:
    """Releases in a row: the first and the last."""
    return ", ".join(releases) if len(releases) < 3 else f"{releases[0]} to {releases[-1]}"


def _rows(number: int, several: list[Case], record: FindingsRecord) -> list[list[str]]:
    """A row for each span of releases with the same cells, but for the builds that ran the test."""
    headline = several[0].headline
    files = {case.release: name for name, cases in tests_of(several, record) for case in cases}
    groups: list[tuple[list[str], list[Case]]] = []
    for case in several:
        outcome = record.tests.get(case.key)
        cells = [_elr(case), _steps(case), files.get(case.release, ""), "", _fixed(outcome)]
        if outcome is not None and (case.counts or not case.violated):
            cells[3] = "fails" if outcome.message else "passes"
        if groups and groups[-1][0] == cells:
            groups[-1][1].append(case)
        else:
            groups.append((cells, [case]))
    rows: list[list[str]] = []
    title = f"[{number}. {headline.title}](#{anchor(number, headline)})"
    promise = f"{headline.promise} ({headline.source})" if headline.source else headline.promise
    for (elr, steps, file, verdict, fixed), cases in groups:
        word = f"[{verdict}](findings/{file})" if file else verdict
        builds = ", ".join(o.build for c in cases if (o := record.tests.get(c.key)) is not None)
        test = f"{word} on {builds}" if verdict else "-"
        first = not rows
        rows.append([title * first, _span([c.release for c in cases]), elr, steps, test, fixed, promise * first])
    return rows


def _elr(case: Case) -> str:
    if not case.headline.needs_elr:
        return "not needed"
    return f"needed, {ELR.get(case.release, 'on by default') or 'cannot be on'}"


def _fixed(outcome: FindingTest | None) -> str:
    if outcome is None or not outcome.fixed_build:
        return "-"
    return f"{'fails' if outcome.fixed else 'passes'} on {outcome.fixed_build}"


def _steps(case: Case) -> str:
    """The ledger's verdict on a release, or that it has none."""
    if case.answer.stale and case.answer.record is None:
        return "not run"
    if not case.headline.in_production(case.release):
        return "not in production"
    if case.violated:
        return str(case.fewest)
    return "none" if case.answer.verdict is ReadingVerdict.HOLDS else case.answer.verdict.words


def anchor(number: int, headline: Headline) -> str:
    text = f"{number}. {headline.title}".lower()
    return "".join(c for c in text if c.isalnum() or c in " -").replace(" ", "-")


def _section(number: int, several: list[Case], folder: Path, record: FindingsRecord) -> str:
    headline = several[0].headline
    lines = [f"## {number}. {headline.title}", f"{headline.breaks}", f"**Cause.** {headline.cause}"]
    lines += [f"**What helps.** {headline.helps}"] if headline.helps else []
    lines += [f"**Introduced by** {headline.introduced}"] if headline.introduced else []
    broken = [c for c in several if c.counts]
    if not broken:
        return "\n\n".join([*lines, "No release is known to do it."])
    back = "../" * len(folder.parts[len(PATHS.traces.parent.parts) :])
    runs = _runs(broken)
    for cases in reversed(runs):
        latest = cases[-1]
        trace, _ = trace_of(latest.answer, headline.property)
        link = f"{back}{relative(latest.path)}"
        where = f"**In {_span([c.release for c in cases])}**, [a run]({link}) of {finding_story.run_counts(trace)}"
        lines += [f"{where} ({finding_story.start_of(trace)}):", "\n".join(finding_story.story_lines(trace))]
    lines.append(f"**Search.** {_searched(several)}")
    lines.append(f"**Confirmed.** {_confirmed(broken, record.runs)}")
    if with_fixes := _with_fixes(runs, record):
        lines.append(f"**With the fixes.** {with_fixes}")
    tests = [f"[{_span([c.release for c in cases])}](findings/{name})" for name, cases in tests_of(several, record)]
    lines.append(
        f"[Claim {headline.claim}]({back}{CLAIM_PAGE}#{headline.claim.lower()}), property `{headline.property}`. "
        "`reassure show` prints a run, and `reassure kafka replay` executes it on a release"
        + (f". The tests, by release: {', '.join(tests)}." if tests else ".")
    )
    return "\n\n".join(lines)


def _runs(broken: list[Case]) -> list[list[Case]]:
    """The cases of a finding in spans of releases with one run."""
    spans: list[list[Case]] = []
    for case in broken:
        if spans and spans[-1][-1].path == case.path:
            spans[-1].append(case)
        else:
            spans.append([case])
    return spans


def _searched(several: list[Case]) -> str:
    """The bounds within which every reading was decided, with the fewest steps there."""
    by_bounds: dict[str, list[tuple[str, str]]] = {}
    open_ones: list[str] = []
    name = several[0].headline.property
    for case in several:
        for answer in (case.answer, *case.others):
            if answer.record is None:
                continue
            bounds = ", ".join(f"{k}={v}" for k, v in sorted(answer.reading.set.items()) if k != "release")
            steps = (answer.results[name].states or 1) - 1 if name in answer.traces else 0
            states = answer.record.stats.get("distinct", 0)
            decided = answer.verdict in (ReadingVerdict.HOLDS, ReadingVerdict.VIOLATED)
            verdict = f"{steps} steps" if steps else "no run" if decided else answer.verdict.words
            open_ones += [] if decided else [case.release]
            by_bounds.setdefault(f"`{answer.run.subject}{f' ({bounds})' * bool(bounds)}`", []).append(
                (case.release, f"{verdict} ({states:,} states)")
            )
    parts = [f"{run}: {'; '.join(_spans(cells))}." for run, cells in by_bounds.items()]
    visited = "All states within these bounds were visited; the numbers of steps are those of the shortest runs."
    if open_ones:
        visited = f"Not decided for {', '.join(dict.fromkeys(open_ones))}."
    return f"{visited} {' '.join(parts)}"


def _spans(cells: list[tuple[str, str]]) -> list[str]:
    """Values by release, releases in a row with one value together."""
    groups: list[tuple[str, list[str]]] = []
    for release, value in sorted(cells):
        if groups and groups[-1][0] == value:
            groups[-1][1].append(release)
        else:
            groups.append((value, [release]))
    return [f"{_span(releases)} {value}" for value, releases in groups]


def _with_fixes(runs: list[list[Case]], record: FindingsRecord) -> str:
    """Each run on a release and with its fixes: the first step that differs, the promise; "" if none is recorded."""
    sentences = []
    for cases in reversed(runs):
        run = record.with_fixes.get(run_digest(cases[-1]))
        if run is None:
            continue
        start = f"The run of {_span([c.release for c in cases])}"
        if run.release_step:
            sentences.append(
                f"{start} does not occur in Kafka {run.build}: its step {run.release_step} has another result."
            )
            continue
        kept = "breaks" if run.release_test else "keeps"
        changes = ", ".join(f"{name} {two or 'none'} instead of {one or 'none'}" for name, one, two in run.differs)
        sentences.append(
            f"{start}: Kafka {run.build} takes every step and {kept} the promise; with the fixes "
            + (f"step {run.step}, `{run.text}`, gives {changes}, " if run.step else "every step is taken too, ")
            + f"and the same requests {'break' if run.test else 'keep'} the promise."
        )
    return " ".join(sentences)


def _confirmed(broken: list[Case], notes: Mapping[str, list[str]]) -> str:
    """Kafka's classes that took every step of the run of each release."""
    by_class: dict[str, list[str]] = {}
    for case in broken:
        for name in notes.get(run_digest(case)) or ["not executed"]:
            by_class.setdefault(name, []).append(case.release)
    took = [f"{name}: {', '.join(releases)}" for name, releases in by_class.items() if name != "not executed"]
    executed = (
        "For each release, Kafka's classes of that release executed every step of the controller in its run with the "
        "same outcome. "
        f"{'; '.join(took)}."
    )
    others = f"Not executed: {', '.join(by_class['not executed'])}." if "not executed" in by_class else ""
    return f"{executed if took else ''} {others}".strip()


def story_of(case: Case) -> list[str]:
    """The numbered steps of a case's run in words, and what has become of the records."""
    return finding_story.story_lines(trace_of(case.answer, case.headline.property)[0])


def setting_of(case: Case) -> str:
    """The start of a case's run in words."""
    return finding_story.start_of(trace_of(case.answer, case.headline.property)[0])

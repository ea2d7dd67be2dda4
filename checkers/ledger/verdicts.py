"""Verdicts of the ledger on each reading of a claim, their strength, and the standing of the claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path

from reassure.checkers.ledger.ledger import NOT_REACHED, REACHED, Ledger, Record, RecordedResult, read_ledger
from reassure.checkers.ledger.subjects import RunSpec, Subjects
from reassure.checkers.ledger.trace_store import TraceKey, is_sealed, paths, trace_files
from reassure.checkers.machine.exit_codes import Exit, Failure, worst
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import PropertyStatus, after
from reassure.checkers.request.run_identity import ENGINE_VERSION
from reassure.spec import claims
from reassure.spec.claims import ANY_NUMBER, PROOFS, Claim, Quantifier, Reading, judges
from reassure.spec.kafka.shared_properties import PROMISES as PROMISES
from reassure.spec.language.vocabulary import TEMPORAL
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace, from_itf, read_itf

TABLE = "X3"
"""The claim whose readings are the rows of the table of shared promises."""
ESTABLISHED = frozenset({PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.PROVED, REACHED})
"""Statuses, of properties and covers, that make a reading hold."""


class ReadingVerdict(StrEnum):
    """The verdict on a reading."""

    HOLDS = "holds"
    VIOLATED = "violated"
    NOT_DECIDED = "not-decided"
    """A run gave no verdict: what it is about does not happen, something raises, or it was not checked."""
    UNDECIDED = "open"
    """A run ended before it could give one."""
    MISSING = "missing"
    """It was not run."""

    @property
    def words(self) -> str:
        """As a person reads it."""
        return {"not-decided": "not decided", "open": "undecided", "missing": "not run"}.get(self.value, self.value)


class Standing(StrEnum):
    """The standing of a claim, all its readings taken together."""

    PROVED = "proved"
    VERIFIED = "verified"
    REFUTED = "refuted"
    AMBIGUOUS = "ambiguous"
    """Readings differ because the text has several meanings, or contradicts itself."""
    PARTLY = "partly"
    """It holds under some assumptions, bounds or releases, and not under others."""
    NOT_DECIDED = "not-decided"
    UNDECIDED = "open"
    MISSING = "missing"

    @property
    def words(self) -> str:
        """As a person reads it."""
        return {
            "ambiguous": "ambiguous: readings differ",
            "partly": "holds in part",
            "not-decided": "not decided",
            "open": "undecided",
            "missing": "not run",
        }.get(self.value, self.value)

    @property
    def short(self) -> str:
        """The same in a word or two, for tables and totals."""
        return {Standing.AMBIGUOUS: "ambiguous", Standing.PARTLY: "in part"}.get(self, self.words.split(":")[0])


class Staleness(Enum):
    """The reason why a verdict is not to be relied upon, or why there is none."""

    ABSENT = "{absent}"
    """The subject of the run is missing."""
    NEVER_RUN = "never run"
    PARTLY_RUN = "run before, but not for all of this"
    TEXT_CHANGED = "the text of {subject} has changed"
    VALUES_CHANGED = "the values that {subject} has from outside of its text are not those of the run"
    ENGINES_CHANGED = "found by version {version} of the engines"
    TRACE_MISSING = "its trace is missing"
    TRACE_CHANGED = "its trace is not the one that the ledger seals"
    TRACE_CONTRADICTS = "a trace that the ledger seals violates it"
    OF_OTHER_SETTINGS = "the run that the ledger has is of another configuration"
    CLAIM_CHANGED = "the claim has changed"
    """The verdict stands; whoever wrote the claim has to look at it again."""
    CLAIM_NOT_LISTED = "the ledger does not list the claim"
    """The same: nobody has said that these verdicts are those of the claim."""


@dataclass
class ReadingAnswer:
    """The ledger's answer to one reading."""

    reading: Reading
    run: RunSpec
    record: Record | None
    verdict: ReadingVerdict
    results: dict[str, RecordedResult] = field(default_factory=dict)
    staleness: Staleness | None = None
    absent: str = ""
    """Of `Staleness.ABSENT`: what is not there."""
    traces: dict[str, Path] = field(default_factory=dict)
    """The files of the traces that violate properties, by property."""

    @property
    def stale(self) -> str:
        """The reason why the verdict is not to be relied upon, in words; "" if it is."""
        if self.staleness is None:
            return ""
        version = self.record.engine_version if self.record is not None else ""
        return self.staleness.value.format(subject=self.run.subject, absent=self.absent, version=version)

    @property
    def decided(self) -> bool:
        """Whether a run has given an answer, which may be that nothing is decided."""
        return self.verdict is not ReadingVerdict.MISSING

    @property
    def differs(self) -> bool:
        """Not the verdict that the claim expects."""
        return self.decided and self.reading.expect not in (None, self.verdict)

    @property
    def unstated(self) -> bool:
        """There is a verdict, and the claim does not say that it is expected."""
        return self.decided and self.reading.expect is None

    @property
    def violated(self) -> dict[str, RecordedResult]:
        """The properties that are violated."""
        return {n: r for n, r in self.results.items() if r.status == PropertyStatus.VIOLATED}

    @property
    def assumed(self) -> str:
        """The fairness that the verdict assumes, if it is about whole runs."""
        shown = self.violated or self.results
        about_runs = any(r.kind in TEMPORAL for r in shown.values())
        return f", assuming {self.record.fairness}" if self.record is not None and about_runs else ""

    def key(self, name: str) -> TraceKey:
        """The key of a property's trace; of a reading with a record."""
        assert self.record is not None
        return TraceKey.of(self.run.subject, self.run.method, self.record.config, name)

    def strength(self) -> str:
        """The strength of the verdict; of whole runs, with their fairness."""
        r = self.record
        if r is None:
            return self.stale
        if self.verdict is ReadingVerdict.VIOLATED:
            return f"refuted: {r.counterexample or self._refutations()}{self.assumed}"
        if self.verdict is ReadingVerdict.NOT_DECIDED:
            others = {n: r.status.replace("_", " ") for n, r in self.results.items() if r.status not in ESTABLISHED}
            return f"not decided: {', '.join(f'{name} is {status}' for name, status in others.items())}"
        if self.verdict is ReadingVerdict.UNDECIDED:
            return f"undecided: {r.stopped_because}"
        if self.run.method == "enumerate":
            return f"verified: {r.cases:,} cases, {r.covered}"
        within = f", as long as no step leaves the bounds of {', '.join(r.bounds)}" if r.bounds else ""
        if self.run.method in PROOFS:
            of_any = " and whatever the numbers that are not set" if self.run.method == ANY_NUMBER else ""
            return f"proved, however many steps are taken{of_any}{within}"
        return f"verified: all of {r.stats['distinct']:,} states, {r.stats['depth']} levels{within}{self.assumed}"

    def _refutations(self) -> str:
        lengths = {name: after(r.states, r.kind) if r.states else "" for name, r in self.violated.items()}
        violated = [f"{name} {length}".rstrip() for name, length in lengths.items()]
        unreached = [f"nothing reaches {n}" for n, r in self.results.items() if r.status == NOT_REACHED]
        return "; ".join(violated + unreached)


@dataclass
class Entry:
    """A claim with an answer for each reading."""

    claim: Claim
    answers: list[ReadingAnswer]

    @property
    def standing(self) -> Standing:
        """The standing by the readings of the text; those of code and of mutants count where the text has none."""
        of_text = [a for a in self.answers if a.reading.column == "document"]
        verdicts = {a.verdict for a in of_text or self.answers}
        for verdict in (ReadingVerdict.MISSING, ReadingVerdict.UNDECIDED, ReadingVerdict.NOT_DECIDED):
            if verdict in verdicts:
                return Standing(verdict.value)
        if verdicts == {ReadingVerdict.HOLDS}:
            proved = any(a.run.method in PROOFS for a in of_text or self.answers)
            return Standing.PROVED if proved else Standing.VERIFIED
        if verdicts == {ReadingVerdict.VIOLATED}:
            return Standing.REFUTED
        return Standing.AMBIGUOUS if self.claim.ambiguous else Standing.PARTLY

    def more_than_one(self, quantifier: Quantifier) -> ReadingAnswer | None:
        """The reading that shows more than one thing: it reaches the cover, or goes through several cases."""
        for answer in self.answers:
            if (
                answer.record is None
                or answer.reading.column == "mutant"
                or quantifier.by not in judges(answer.reading)
            ):
                continue
            if answer.record.cases > 1 or (
                quantifier.by in answer.results and answer.results[quantifier.by].status == REACHED
            ):
                return answer
        return None

    def unshown(self) -> list[str]:
        """Quantifiers of the statement for which no reading shows more than one, and that name no reason."""
        named = [q.says for q in self.claim.quantifiers if q.by and self.more_than_one(q) is None]
        return self.claim.unnamed() + named


def entries(chosen: list[Claim], ledger: Ledger) -> list[Entry]:
    """Every claim with what the ledger says; `Failure` for claims that nothing could ever decide."""
    subjects = Subjects()
    wrong = [text for c in chosen for r in c.readings for text in subjects.wrong(c, r)]
    if wrong:
        raise Failure(Exit.USAGE, "\n".join(wrong))
    files = _Files.of(ledger)
    found = []
    for claim in chosen:
        sha256 = claim.digest()
        found.append(Entry(claim, [_answer(r, claim, sha256, ledger, files, subjects) for r in claim.readings]))
    return found


@cache
def of_project() -> list[Entry]:
    """`entries` of the project's own claims and ledger, as they were when this process first asked; not to be changed.

    All models are loaded for it, which takes seconds.
    """
    return entries(claims.read(), read_ledger())


@dataclass
class _Files:
    """The files of traces: those that the ledger seals, and others."""

    sealed: Mapping[TraceKey, Path]
    others: Mapping[TraceKey, Path]

    @staticmethod
    def of(ledger: Ledger) -> _Files:
        every = trace_files(ledger.paths.traces)
        sealed = [path for path in every if is_sealed(path, ledger.paths.traces, ledger.traces)]
        return _Files(paths(sealed), paths(path for path in every if path not in sealed))


def _answer(
    reading: Reading, claim: Claim, sha256: str, ledger: Ledger, files: _Files, subjects: Subjects
) -> ReadingAnswer:
    """The ledger's answer to a reading of a claim. sha256: the claim's digest."""
    run = RunSpec.of(reading)
    now = subjects.of(run)
    record = ledger.records.get(run.key)
    if now.absent:
        why, absent = Staleness.ABSENT, now.absent
        return ReadingAnswer(reading, run, None, ReadingVerdict.MISSING, staleness=why, absent=absent)
    names = judges(reading)
    if record is None or any(name not in record.results for name in names):
        why = Staleness.NEVER_RUN if record is None else Staleness.PARTLY_RUN
        return ReadingAnswer(reading, run, None, ReadingVerdict.MISSING, staleness=why)
    results = {name: record.results[name] for name in names}
    answer = ReadingAnswer(reading, run, record, _verdict(results.values()), results)
    keys = {name: answer.key(name) for name in answer.violated}
    answer.traces = {name: files.sealed[key] for name, key in keys.items() if key in files.sealed}
    if record.sha256 != now.sha256:
        answer.staleness = Staleness.TEXT_CHANGED
    elif record.values != subjects.values(run):
        answer.staleness = Staleness.VALUES_CHANGED
    elif record.engine_version != ENGINE_VERSION:
        answer.staleness = Staleness.ENGINES_CHANGED
    elif run.method != "enumerate" and record.config != subjects.config(run):
        answer.staleness = Staleness.OF_OTHER_SETTINGS
    elif any(r.status != PropertyStatus.VIOLATED and answer.key(n) in files.sealed for n, r in results.items()):
        answer.staleness = Staleness.TRACE_CONTRADICTS
    elif run.method != "enumerate" and len(answer.traces) < len(answer.violated):
        changed = any(key in files.others for name, key in keys.items() if name not in answer.traces)
        answer.staleness = Staleness.TRACE_CHANGED if changed else Staleness.TRACE_MISSING
    elif claim.id not in ledger.claims:
        answer.staleness = Staleness.CLAIM_NOT_LISTED
    elif ledger.claims[claim.id] != sha256:
        answer.staleness = Staleness.CLAIM_CHANGED
    return answer


def _verdict(found: Iterable[RecordedResult]) -> ReadingVerdict:
    statuses = {f.status for f in found}
    if statuses & {PropertyStatus.VIOLATED, NOT_REACHED}:
        return ReadingVerdict.VIOLATED
    if statuses & {PropertyStatus.UNKNOWN, PropertyStatus.HOLDS_TO_DEPTH}:
        return ReadingVerdict.UNDECIDED
    return ReadingVerdict.HOLDS if statuses and statuses <= ESTABLISHED else ReadingVerdict.NOT_DECIDED


def exit_code(found: list[Entry]) -> Exit:
    """15 where something is stale, missing or without an expectation; 17 where a verdict is another than expected."""
    codes = [Exit.OK]
    for answer in (a for e in found for a in e.answers):
        if answer.staleness is not None or answer.unstated:
            codes.append(Exit.EXPECTATION)
        if answer.differs:
            codes.append(Exit.DRIFT)
    return worst(codes)


def trace_of(answer: ReadingAnswer, name: str) -> tuple[Trace, BoundModel]:
    """The trace of a property, and of no other, under the configuration of the run; and the model that it is of."""
    assert answer.record is not None
    bound = _bound(answer.run)
    trace = from_itf(read_itf(answer.traces[name]), bound)
    kind, config = answer.results[name].kind, answer.record.config
    trace.meta |= {"property": name, "property_kind": kind, "properties": {name: kind}, "config": config}
    trace.meta["repro"] = answer.record.repro
    return trace, bound


@cache
def _bound(run: RunSpec) -> BoundModel:
    return prepare_plain(run.subject, list(run.settings))[0]


def promise_table(found: list[Entry]) -> list[tuple[ReadingAnswer, list[RecordedResult | None]]]:
    """Protocols by promises: a row for each reading of the claim `TABLE`, a column for each shared promise."""
    rows = [a for e in found if e.claim.id == TABLE for a in e.answers]
    return [(a, [a.results.get(p.name) for p in PROMISES]) for a in rows]

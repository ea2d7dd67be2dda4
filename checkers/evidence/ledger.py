"""The ledger of claims: what each run that a claim needs has found, with digests of what was run.

A record serves every claim that needs its model under its configuration. `refresh` runs what is missing or stale;
everything else only reads, so that `reassure claims` answers at once and says where its answers are old.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.digest import digest
from reassure.checkers.base.exit_codes import Exit, Failure, worst
from reassure.checkers.base.model_loader import UnknownModel, bind, function, home, load, settings
from reassure.checkers.base.options import ProofOptions, SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import ENGINE_VERSION, CheckResult, PropertyResult
from reassure.checkers.base.stop import StopReason
from reassure.checkers.base.trace_files import results, trace_stem
from reassure.checkers.check import DEFAULT_ENGINE, CheckRequest, run
from reassure.checkers.traces import render as story
from reassure.spec import claims
from reassure.spec.claims import Claim, Outcome, Reading
from reassure.spec.kafka.shared_properties import PROMISES
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from reassure.spec.semantics.trace import Trace, from_itf, read_itf, to_itf

SCHEMA = 1
TRACES = home().parent / "counterexamples"
PATH = INSTALLED = TRACES / "ledger.json"
"""The ledger that comes with the project."""
TABLE = "X3"
"""The claim whose readings are the rows of the table of shared promises."""
SURE = ("holds", "holds_within_bounds", "proved", "reached")


@dataclass(frozen=True)
class Work:
    """What has to be run: a model under a configuration by a method, or a function that goes through cases."""

    method: str
    subject: str
    pairs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return " ".join([self.method, self.subject, *self.pairs])

    def stem(self, name: str) -> str:
        """The name of a trace's files."""
        return trace_stem(self.subject, self.pairs, name, self.method)


def work(reading: Reading) -> Work:
    """What decides a reading."""
    if reading.function is not None:
        return Work(reading.method, reading.function)
    pairs = [f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in sorted(reading.set.items())]
    return Work(reading.method, str(reading.model), tuple(pairs))


@dataclass
class Result:
    """What a run found about one property or cover. states: of the trace, or up to the state that reaches it."""

    kind: str
    status: str
    states: int | None = None


@dataclass
class Record:
    """What one run found."""

    sha256: str
    """Of the text that was run."""
    engine: str
    engine_version: str
    repro: str
    config: dict[str, Any] = field(default_factory=dict)
    stopped_because: str = ""
    stats: dict[str, int] = field(default_factory=dict)
    bounds: list[str] = field(default_factory=list)
    """Bounds that steps leave, or that a proof does not exclude that they leave."""
    results: dict[str, Result] = field(default_factory=dict)
    cases: int = 0
    """Of an enumeration, with the two below."""
    covered: str = ""
    counterexample: str = ""


@dataclass
class Ledger:
    """Every record, and the digest of each claim for which verdicts were obtained."""

    records: dict[str, Record] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)


def read() -> Ledger:
    """The ledger as it was committed; an empty one if there is none."""
    try:
        data = json.loads(PATH.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}, not {SCHEMA}")
        records = {
            key: Record(**{**r, "results": {n: Result(**f) for n, f in r.get("results", {}).items()}})
            for key, r in data["records"].items()
        }
        return Ledger(records, dict(data["claims"]))
    except FileNotFoundError:
        return Ledger()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(
            Exit.USAGE, f"{PATH.name} is no ledger ({error}); `reassure claims --refresh` needs it gone"
        ) from None


def write(ledger: Ledger) -> None:
    """Writes the ledger: sorted, one line for each result, so that a changed verdict is a changed line."""
    records = {}
    for key in sorted(ledger.records):
        record = {k: v for k, v in asdict(ledger.records[key]).items() if v not in ("", 0, {}, [])}
        for found in record.get("results", {}).values():
            if found["states"] is None:
                del found["states"]
        records[key] = record
    order = sorted(ledger.claims, key=claims.order)
    data = {"schema": SCHEMA, "claims": {name: ledger.claims[name] for name in order}, "records": records}
    write_atomically(PATH, _pretty(data, 0, 4) + "\n")


def _pretty(value: Any, depth: int, deepest: int) -> str:
    """JSON with a line for each member, down to a depth."""
    if not isinstance(value, dict) or depth == deepest or not value or (depth == deepest - 1 and not _nested(value)):
        return json.dumps(value, ensure_ascii=False)
    pad = "  " * (depth + 1)
    rows = [f"{pad}{json.dumps(k)}: {_pretty(v, depth + 1, deepest)}" for k, v in value.items()]
    return "{\n" + ",\n".join(rows) + "\n" + "  " * depth + "}"


def _nested(value: dict[str, Any]) -> bool:
    return any(isinstance(v, dict) for v in value.values())


# -- whether a claim can be decided at all ----------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """What is run, as it is now: its digest, or why there is none."""

    sha256: str = ""
    absent: str = ""


class Subjects:
    """Models and functions by name, each loaded once; what is wrong with the claims about them."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Subject] = {}
        self.models: dict[str, Model] = {}

    def of(self, wanted: Work) -> Subject:
        """Raises `LanguageError` for a model or function that is there and cannot be loaded."""
        kind = (wanted.method if wanted.method == "enumerate" else "model", wanted.subject)
        if kind not in self.known:
            self.known[kind] = self._load(wanted)
        return self.known[kind]

    def _load(self, wanted: Work) -> Subject:
        if wanted.method == "enumerate":
            dotted = wanted.subject.partition(":")[0]
            if not (home() / f"{dotted.replace('.', '/')}.py").is_file():
                return Subject(absent=f"no module {dotted} yet")
            return Subject(function(wanted.subject)[1])
        try:
            model = self.models[wanted.subject] = load(wanted.subject)
        except UnknownModel:
            return Subject(absent=f"no model {wanted.subject} yet")
        return Subject(digest(model))

    def wrong(self, claim: Claim, reading: Reading) -> list[str]:
        """What keeps a reading from being decided, ever."""
        where, wanted = f"{claim.id}, reading {reading.name!r}", work(reading)
        try:
            if self.of(wanted).absent or wanted.method == "enumerate":
                return []
            model = self.models[wanted.subject]
            config = make_config(model, settings(model, list(wanted.pairs)))
        except (LanguageError, ConfigError, DomainError) as error:
            return [f"{where}: {error}"]
        found = []
        for name in reading.properties:
            declared = next((p for p in model.properties if p.name == name), None)
            if declared is None and not (name == "deadlock" and model.deadlock):
                found.append(f"{where}: {model.name} has no property or cover {name}")
            elif declared is not None and declared.when is not None and not declared.when(config):
                found.append(f"{where}: {name} does not apply to this configuration of {model.name}")
        return found


# -- answers ----------------------------------------------------------------------------------------------


@dataclass
class Answer:
    """What the ledger says about one reading. verdict: holds, violated, not-checked, open, or missing."""

    reading: Reading
    work: Work
    record: Record | None
    verdict: str
    results: dict[str, Result] = field(default_factory=dict)
    stale: str = ""
    """Why the verdict is not to be relied upon, or why there is none."""

    @property
    def differs(self) -> bool:
        """Not the verdict that the claim expects."""
        return self.verdict in ("holds", "violated", "open") and self.reading.expect not in (None, self.verdict)

    @property
    def unstated(self) -> bool:
        """There is a verdict, and the claim does not say that it is expected."""
        return self.verdict in ("holds", "violated", "open") and self.reading.expect is None

    @property
    def shown(self) -> dict[str, Result]:
        """Results that have a trace: of what is refuted the counterexamples, else how a search reaches covers."""
        if self.work.method == "enumerate":
            return {}
        bad = {n: r for n, r in self.results.items() if r.status == "violated"}
        if bad or self.work.method != "check":
            return bad
        return {n: r for n, r in self.results.items() if r.status == "reached"}

    @property
    def traces(self) -> dict[str, Path]:
        """Where the traces are, by property."""
        return {name: TRACES / f"{self.work.stem(name)}.itf.json" for name in self.shown}

    def strength(self) -> str:
        """How well the verdict is founded."""
        r = self.record
        if r is None:
            return self.stale
        if self.verdict == "violated":
            if r.counterexample:
                return f"refuted: {r.counterexample}"
            unreached = [n for n, f in self.results.items() if f.status == "not_reached"]
            fallen = [f"{n}, trace of {f.states} states" for n, f in self.results.items() if f.status == "violated"]
            return "refuted: " + "; ".join(fallen + [f"nothing reaches {n}" for n in unreached])
        if self.verdict == "not-checked":
            return "not checked: liveness"
        if self.verdict == "open":
            return f"undecided: {r.stopped_because}"
        if self.work.method == "enumerate":
            return f"verified: {r.cases:,} cases, {r.covered}"
        within = f", as long as no step leaves the bounds of {', '.join(r.bounds)}" if r.bounds else ""
        if self.work.method == "prove":
            return f"proved, however many steps are taken{within}"
        return f"verified: all of {r.stats['distinct']:,} states, {r.stats['depth']} levels{within}"


STANDINGS = {
    "proved": "proved",
    "verified": "verified",
    "refuted": "refuted",
    "ambiguous": "ambiguous: readings differ",
    "not-checked": "not checked: liveness",
    "open": "undecided",
    "missing": "not run",
}


@dataclass
class Entry:
    """A claim with an answer for each reading."""

    claim: Claim
    answers: list[Answer]

    @property
    def standing(self) -> str:
        """A key of `STANDINGS`."""
        verdicts = {a.verdict for a in self.answers}
        for verdict in ("missing", "open", "not-checked"):
            if verdict in verdicts:
                return verdict
        if verdicts == {"holds"}:
            return "proved" if any(a.work.method == "prove" for a in self.answers) else "verified"
        return "refuted" if verdicts == {"violated"} else "ambiguous"


def entries(chosen: list[Claim], ledger: Ledger) -> list[Entry]:
    """Every claim with what the ledger says; `Failure` for claims that nothing could ever decide."""
    subjects = Subjects()
    wrong = [text for c in chosen for r in c.readings for text in subjects.wrong(c, r)]
    if wrong:
        raise Failure(Exit.USAGE, "\n".join(wrong))
    found = []
    for claim in chosen:
        changed = ledger.claims.get(claim.id) not in (None, claim.digest())
        answers = [_answer(r, ledger, subjects, changed) for r in claim.readings]
        found.append(Entry(claim, answers))
    return found


def _answer(reading: Reading, ledger: Ledger, subjects: Subjects, changed: bool) -> Answer:
    wanted = work(reading)
    now = subjects.of(wanted)
    record = ledger.records.get(wanted.key)
    if now.absent or record is None:
        return Answer(reading, wanted, None, "missing", stale=now.absent or "never run")
    if any(name not in record.results for name in reading.properties):
        return Answer(reading, wanted, None, "missing", stale="run before, but not for all of this")
    found = {name: record.results[name] for name in reading.properties or tuple(record.results)}
    answer = Answer(reading, wanted, record, _verdict(found.values()), found)
    if record.sha256 != now.sha256:
        answer.stale = f"the text of {wanted.subject} has changed"
    elif record.engine_version != ENGINE_VERSION:
        answer.stale = f"found by version {record.engine_version} of the engines"
    elif any(_digest_of(path) != record.sha256 for path in answer.traces.values()):
        answer.stale = "its trace is missing, or of another text"
    elif changed:
        answer.stale = "the claim has changed"
    return answer


def _digest_of(path: Path) -> str:
    """Which text a trace is of."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["#meta"]["model_sha256"])
    except (OSError, ValueError, KeyError):
        return ""


def _verdict(found: Iterable[Result]) -> str:
    statuses = [f.status for f in found]
    if "violated" in statuses or "not_reached" in statuses:
        return "violated"
    if any(s in ("unknown", "holds_to_depth") for s in statuses):
        return "open"
    return "holds" if all(s in SURE for s in statuses) else "not-checked"


def exit_code(found: list[Entry]) -> Exit:
    """15 where something is stale, missing or without an expectation; 17 where a verdict is another than expected."""
    codes = [Exit.OK]
    for answer in (a for e in found for a in e.answers):
        if answer.stale or answer.unstated:
            codes.append(Exit.EXPECTATION)
        if answer.differs:
            codes.append(Exit.DRIFT)
    return worst(codes)


def story_of(answer: Answer, name: str) -> tuple[Trace, BoundModel]:
    """The trace of a property, with what tells it."""
    bound = _bound(answer.work)
    return from_itf(read_itf(answer.traces[name]), bound), bound


@cache
def _bound(wanted: Work) -> BoundModel:
    model = load(wanted.subject)
    return bind(model, settings(model, list(wanted.pairs)))[0]


# -- running ----------------------------------------------------------------------------------------------


def refresh(chosen: list[Claim], say: Callable[[str], None], progress: Progress) -> None:
    """Runs what is stale or missing for these claims, and forgets what no claim needs."""
    everything = claims.read()
    ledger = read()
    due: dict[Work, set[str]] = {}
    for answer in (a for e in entries(chosen, ledger) for a in e.answers):
        if answer.work not in due and answer.stale and answer.stale != "the claim has changed":
            due[answer.work] = set()
    subjects = Subjects()
    needed: dict[Work, set[str]] = {}
    for reading in (r for c in everything for r in c.readings):
        needed.setdefault(work(reading), set()).update(reading.properties)
    for wanted in list(due):
        if absent := subjects.of(wanted).absent:
            say(f"skipped: {wanted.key} ({absent})")
            continue
        say(f"running: {wanted.key}")
        try:
            ledger.records[wanted.key] = _run(wanted, sorted(needed[wanted]), subjects.of(wanted).sha256, progress)
        except Failure as failure:
            raise Failure(failure.code, f"{wanted.key}: {failure}") from None
        write(ledger)
    keys = {w.key for w in needed}
    ledger.records = {k: r for k, r in ledger.records.items() if k in keys}
    named = {c.id for c in everything}
    ledger.claims = {k: v for k, v in ledger.claims.items() if k in named} | {c.id: c.digest() for c in chosen}
    write(ledger)


def _run(wanted: Work, needed: list[str], sha256: str, progress: Progress) -> Record:
    if wanted.method == "enumerate":
        return _enumerate(wanted, sha256)
    asked = CheckRequest(wanted.subject, list(wanted.pairs), DEFAULT_ENGINE, SearchOptions(workers=1, witness=True))
    if wanted.method == "prove":
        asked.engine, asked.proof, asked.options.properties = "prove:auto", ProofOptions(), needed
    verdict, bound = run(asked, progress)
    if verdict.ended(StopReason.INTERRUPTED):
        raise KeyboardInterrupt
    record = _record(verdict)
    for found in results(verdict):
        if found.name in needed and found.trace is not None:
            stem = TRACES / wanted.stem(found.name)
            write_atomically(stem.with_name(stem.name + ".itf.json"), to_itf(found.trace, bound))
            write_atomically(stem.with_name(stem.name + ".md"), story.markdown(found.trace, bound))
    return record


def _record(verdict: CheckResult) -> Record:
    found: dict[str, Result] = {}
    for item in results(verdict):
        states = len(item.trace) if item.trace is not None else item.depth
        if isinstance(item, PropertyResult):
            found[item.name] = Result(item.kind, item.status, states)
        else:
            searched_all = verdict.complete and verdict.engine == DEFAULT_ENGINE  # a proof only takes walks
            idle = "not_reached" if searched_all else "unknown"
            found[item.name] = Result("cover", "reached" if item.reached else idle, states)
    s = verdict.stats
    searched = {"distinct": s.distinct, "generated": s.generated, "depth": s.depth}
    return Record(
        sha256=verdict.model_sha256,
        engine=verdict.engine,
        engine_version=ENGINE_VERSION,
        repro=verdict.repro,
        config=verdict.config,
        stopped_because=verdict.stopped_because,
        stats=searched if verdict.engine == DEFAULT_ENGINE else {},
        bounds=sorted({*s.clipped_at, *verdict.bounds_open}),
        results=found,
    )


def _enumerate(wanted: Work, sha256: str) -> Record:
    call, _ = function(wanted.subject)
    try:
        outcome = call()
    except Exception as error:
        raise Failure(Exit.MODEL, f"{wanted.subject} raises {type(error).__name__}: {error}") from error
    if not isinstance(outcome, Outcome) or outcome.cases < 1:
        raise Failure(Exit.MODEL, f"{wanted.subject} went through no cases: it returned {outcome!r}")
    if outcome.holds == bool(outcome.counterexample):
        raise Failure(Exit.MODEL, f"{wanted.subject}: a counterexample goes with what does not hold: {outcome!r}")
    name = wanted.subject.partition(":")[2]
    return Record(
        sha256=sha256,
        engine="enumeration",
        engine_version=ENGINE_VERSION,
        repro=f"reassure claims --refresh ({wanted.subject})",
        cases=outcome.cases,
        covered=outcome.bounds,
        counterexample=outcome.counterexample or "",
        results={name: Result("cases", "holds" if outcome.holds else "violated")},
    )


# -- the table of shared promises -------------------------------------------------------------------------


def table(found: list[Entry]) -> list[tuple[Answer, list[Result | None]]]:
    """Protocols by promises: a row for each reading of the claim `TABLE`, a column for each shared promise."""
    rows = [a for e in found if e.claim.id == TABLE for a in e.answers]
    return [(a, [a.results.get(p.name) for p in PROMISES]) for a in rows]

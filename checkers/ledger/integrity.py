"""What the ledger pins beside verdicts: the list of claims, the kept traces, the engines; what of it is otherwise now.

A digest notices a change of what it covers by somebody who did not write the ledger too. Execution notices more: the
traces by plain Python (`--replay`), the engines by a sample of the runs (`--sample`).

Also here: every claim in one line, and what somebody has to look at: what `reassure claims` prints first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.text import Text

from reassure.checkers.console.files import SUFFIX, PreparedModels, replayed_file
from reassure.checkers.ledger import pages
from reassure.checkers.ledger.ledger import Ledger, engines_version
from reassure.checkers.ledger.refresh import RunAgain, by_other_engines
from reassure.checkers.ledger.subjects import RunSpec
from reassure.checkers.ledger.trace_store import is_sealed, name_in
from reassure.checkers.ledger.verdicts import Entry, ReadingAnswer, ReadingVerdict, Standing
from reassure.checkers.machine.exit_codes import Exit, worst
from reassure.checkers.machine.terminal import Console
from reassure.spec.claims import Claim
from reassure.spec.semantics.trace import TraceError, read_itf


@dataclass
class Integrity:
    """What is otherwise than the ledger pins it."""

    differences: list[str] = field(default_factory=list)
    """Of claims, traces and repeated runs; each is drift."""
    by_others: int = 0
    """Readings that another version of the engines decided."""
    confirmed: bool = False
    """Whether the engines of now gave the results of a sample of those again, when the ledger was refreshed or here."""
    repeated: list[str] = field(default_factory=list)
    """The runs of the sample that was repeated here."""
    replayed: int | None = None
    """Traces that plain Python executed here."""
    whole: bool = True
    """Of the whole ledger: what no sample shows is a verdict then, and else a note."""

    @property
    def unseen(self) -> str:
        """The readings that no sample shows to be the same with these engines, in words; "" if there are none."""
        if self.confirmed or self.repeated or not self.by_others:
            return ""
        return (
            f"another version of the engines decided {self.by_others:,} readings, and this one repeated no sample: "
            "--sample repeats one, and --refresh records it"
        )

    @property
    def code(self) -> Exit:
        """17 where something differs; 15 if another version of the engines decided readings, and no sample was run."""
        return worst(
            [Exit.DRIFT if self.differences else Exit.OK, Exit.EXPECTATION if self.unseen and self.whole else Exit.OK]
        )

    @staticmethod
    def of(
        ledger: Ledger, found: list[Entry], runs: Mapping[RunSpec, set[str]], every: Iterable[Claim] | None
    ) -> Integrity:
        """Compares what is there with the ledger. runs: of the entries; every: claim that there is, if all count."""
        others = by_other_engines(runs, ledger)
        count = sum(a.run in others for e in found for a in e.answers)
        differences = [] if every is None else [*_claims_that_are_gone(ledger, every), *_changed_traces(ledger)]
        return Integrity(differences, count, ledger.confirmed == engines_version())

    def add_sample(self, again: RunAgain) -> None:
        """Adds what a sample of the runs gave."""
        self.differences += again.differences
        self.repeated = again.runs
        self.confirmed = bool(again.runs) and not again.differences

    def replay(self, ledger: Ledger, found: list[Entry], whole: bool) -> None:
        """Executes the sealed traces in plain Python, all or those of the entries, and adds what they do not show."""
        folder = ledger.paths.traces
        lengths: dict[Path, set[int | None]] = {}
        for answer in (a for e in found for a in e.answers):
            for name, path in answer.traces.items():
                lengths.setdefault(path, set()).add(answer.results[name].states)
        paths = {folder / name for name in ledger.traces} if whole else set(lengths)
        models: PreparedModels = {}
        self.replayed = 0
        for path in sorted(p for p in paths if is_sealed(p, folder, ledger.traces)):
            name = f"{folder.name}/{name_in(folder, path)}"
            self.replayed += 1
            try:
                data = read_itf(path)
            except TraceError as error:
                self.differences.append(f"{name}: {error}")
                continue
            if "model_file" in data["#meta"]:
                self.differences.append(f"{name}: of the model in a file, and claims are about those of the project")
                continue
            outcome = replayed_file(path, name, None, models)
            if outcome.problem:
                self.differences.append(f"{name}: {outcome.problem}")
            states = len(data["states"])
            for other in sorted(lengths.get(path, set()) - {states}, key=str):
                self.differences.append(f"{name}: a trace of {states} states, and the ledger says {other}")

    def data(self) -> dict[str, object]:
        """As JSON values."""
        return {**asdict(self), "engines": engines_version()}


def _claims_that_are_gone(ledger: Ledger, every: Iterable[Claim]) -> list[str]:
    """The claims that the ledger lists and no file has."""
    present = {c.id for c in every}
    return [
        f"claim {name}: the ledger lists it, and no file of claims has it"
        for name in ledger.claims
        if name not in present
    ]


def _changed_traces(ledger: Ledger) -> list[str]:
    """The traces that are missing, additional, or not as they were sealed."""
    folder = ledger.paths.traces
    named = (path for path in folder.rglob("*") if path.name.lower().endswith(SUFFIX))
    present = {name_in(folder, path): path for path in named}
    texts = {name: "the ledger seals it, and it is missing" for name in ledger.traces if name not in present}
    texts |= {name: "the ledger does not seal it" for name in present if name not in ledger.traces}
    texts |= {
        name: "not the trace that the ledger seals"
        for name, path in present.items()
        if name in ledger.traces and not is_sealed(path, folder, ledger.traces)
    }
    return [f"{folder.name}/{name}: {texts[name]}" for name in sorted(texts)]


VIOLATES = "Kafka violates"
LEGEND = "2/3: two of three readings hold"
REMARKS = 10
"""Readings to look at that are printed; `--full` has all."""


def tell_summary(found: list[Entry], pinned: Integrity, console: Console) -> None:
    """The claims by document, each in a line; then what is stale, missing, or not as expected or as it was pinned."""
    wide = max(len(e.claim.id) for e in found)
    standings = [_standing(e) for e in found]
    column = max(map(len, standings))
    any_of_kafka = any(map(pages.kafka_violates, found))
    for document in dict.fromkeys(e.claim.document for e in found):
        console.print(pages.title(document, found), style="bold")
        for entry, standing in zip(found, standings, strict=True):
            if entry.claim.document == document:
                row = Text(f"  {entry.claim.id:{wide}}  ")
                row.append(f"{standing:{column}}", style=pages.STYLES[entry.standing])
                if any_of_kafka:
                    remark = VIOLATES if pages.kafka_violates(entry) else ""
                    row.append(f"  {remark:{len(VIOLATES)}}", style="bold red")
                row.append("  " + " ".join(entry.claim.statement.split()), style="dim")
                if console.is_terminal:
                    row.truncate(console.width, overflow="ellipsis")
                console.print(row)
    console.print()
    if any("/" in s for s in standings):
        console.print(LEGEND, style="dim")
    _tell_what_to_look_at(found, console)
    tell_integrity(pinned, console)


def tell_integrity(pinned: Integrity, console: Console) -> None:
    """What is otherwise than the ledger pins it, and what was executed again."""
    _tell_first(pinned.differences, "differences from the ledger", console)
    if pinned.replayed is not None:
        console.print(f"plain Python executed {pinned.replayed:,} traces")
    if pinned.repeated:
        same = "; some results differ" if not pinned.confirmed else ", with the results of the ledger"
        console.print(f"these engines repeated {len(pinned.repeated):,} runs of another version{same}")
    if pinned.unseen:
        console.print(pinned.unseen, style="bold red")


def _tell_first(lines: list[str], name: str, console: Console) -> None:
    for line in lines[:REMARKS]:
        console.print(line, style="bold red")
    if len(lines) > REMARKS:
        console.print(f"{len(lines) - REMARKS:,} more {name} (--json FILE has all)", style="bold red")


def tell_exit(code: Exit, found: list[Entry], console: Console) -> None:
    """Prints the number of readings as expected, the exit code, and how to see more."""
    every = [a for e in found for a in e.answers]
    good = sum(not _remark(a) for a in every)
    text = f"{good:,} of {len(every):,} readings are up to date and have the expected verdict"
    console.print(text)
    hint = "`reassure claims ID` prints a claim's readings, --full all; --table compares protocols"
    hint += "; --refresh runs what is missing or stale" if any(a.staleness for a in every) else ""
    console.print(hint, style="dim")


def _standing(entry: Entry) -> str:
    """The standing of a claim, in a word or two; if its readings differ, with how many of them hold."""
    if entry.standing not in (Standing.AMBIGUOUS, Standing.PARTLY):
        return entry.standing.short
    good, judged = pages.readings_that_hold(entry)
    return f"{entry.standing.short} {good}/{judged}"


def _remark(answer: ReadingAnswer) -> str:
    """The reason to look at a reading: "" where there is nothing to look at."""
    if answer.verdict is ReadingVerdict.MISSING:
        return f"not run: {answer.stale}"
    return "; ".join([answer.verdict.words, *pages.remarks(answer)]) if pages.remarks(answer) else ""


def _tell_what_to_look_at(found: list[Entry], console: Console) -> None:
    rows = [(e, a, remark) for e in found for a in e.answers if (remark := _remark(a))]
    for entry, answer, remark in rows[:REMARKS]:
        row = Text(f"{entry.claim.id}, {pages.reading_name(answer)}: ", style="bold")
        row.append(remark, style="bold red")
        console.print(row)
    if len(rows) > REMARKS:
        console.print(f"{len(rows) - REMARKS:,} more readings to look at (--full names all)", style="bold red")
    if rows:
        console.print()

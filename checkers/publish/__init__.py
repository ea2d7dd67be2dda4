"""Generated evidence: counterexamples with their stories, the pages of models and claims, sessions in the pages.

`python -m reassure.checkers.publish` runs every check of gate.toml and writes; `--check` only says what is stale;
`--pages` leaves out what needs the gate.
What the claims need is not run here: it comes from the ledger, with the traces that `reassure claims --refresh` wrote.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from reassure.checkers.analyses.mutants import record as mutant_record
from reassure.checkers.evidence import findings, ledger, mutant_page, release_matrix, verdicts
from reassure.checkers.publish import commands_page, front_page, sessions
from reassure.checkers.publish.gate_run import GateRun
from reassure.checkers.publish.model_pages import pages_of_claims, pages_of_models
from reassure.checkers.publish.trace_pages import TraceRow, pages_of_traces
from reassure.checkers.traces import render as story
from reassure.spec import claims
from reassure.spec.semantics.trace import to_itf

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings.md"
BY_RELEASE = FINDINGS.with_name("claims-by-release.md")


def files(ran: list[GateRun]) -> dict[Path, str]:
    """Everything that is generated, by path."""
    made: dict[Path, str] = {}
    folder = ROOT / "counterexamples"
    rows = traces_of_checks(ran, made)
    found = entries()
    rows += traces_of_claims(found, made)
    made |= pages_of_traces(rows, folder)
    made |= pages_of_models(ran, found, ROOT / "models")
    return made | session_pages() | pages(found)


def pages(found: list[verdicts.Entry]) -> dict[Path, str]:
    """The generated pages that need no check of the gate, by path; no block of the front page is generated."""
    made = {
        ROOT / "docs" / "reference" / "commands.md": commands_page.page(),
        FINDINGS: findings.markdown(found, FINDINGS.parent),
        BY_RELEASE: release_matrix.page(found),
    }
    made |= pages_of_claims(found, ROOT / "models")
    made |= mutant_page.mutant_pages(*mutant_record.of_the_project(), ROOT / "counterexamples")
    newest = {case.headline: case for case in findings.cases(found) if case.violated}
    for case in newest.values():
        made |= kafka_test(case)
    front = ROOT / "README.md"
    made[front] = front_page.front_page(front.read_text(encoding="utf-8"), found, ROOT)
    return made


def session_pages() -> dict[Path, str]:
    """The pages that show what a command prints, with what it prints now."""
    return {page: sessions.renewed(page.read_text(encoding="utf-8"), ROOT) for page in pages_with_sessions()}


def kafka_test(case: findings.Case) -> dict[Path, str]:
    """The run of a finding as a method of Kafka's own test class, by path; none if the class cannot take a step."""
    with contextlib.redirect_stderr(io.StringIO()):
        text = sessions.output(["kafka", "test", str(case.path)])
    return {findings.test_of(case.headline, FINDINGS.parent): f"{text}\n"} if text else {}


def pages_with_sessions() -> list[Path]:
    """The pages that show what a command prints."""
    return [
        ROOT / "README.md",
        *sorted(
            p for p in (ROOT / "docs").rglob("*.md") if p.name not in ("commands.md", FINDINGS.name, BY_RELEASE.name)
        ),
    ]


def traces_of_checks(ran: list[GateRun], made: dict[Path, str]) -> list[TraceRow]:
    """Adds the counterexamples of the gate's checks; the rows of the index for them."""
    folder = ROOT / "counterexamples"
    rows: list[TraceRow] = []
    for result in ran:
        for finding in result.verdict.properties:
            if finding.trace is None:
                continue
            stem = result.stem(finding)
            made[folder / f"{stem}.itf.json"] = to_itf(finding.trace, result.bound)
            made[folder / f"{stem}.md"] = story.markdown(finding.trace, result.bound)
            settings = tuple(sorted(result.asked.set))
            rows.append(TraceRow(result.verdict.model, settings, finding.name, len(finding.trace), f"{stem}.md"))
    return rows


def entries() -> list[verdicts.Entry]:
    """Every claim with what the ledger says."""
    return verdicts.entries(claims.read(), ledger.read())


def traces_of_claims(found: list[verdicts.Entry], made: dict[Path, str]) -> list[TraceRow]:
    """Adds the traces of claims that no check of the gate gives; the rows of the index for them."""
    rows: list[TraceRow] = []
    for answer in (a for e in found for a in e.answers):
        for name, path in answer.traces.items():
            if path in made or not path.is_file():
                continue
            told = path.with_name(path.name.replace(".itf.json", ".md"))
            trace, bound = verdicts.trace_of(answer, name)
            made[path] = path.read_text(encoding="utf-8")
            made[told] = story.markdown(trace, bound)
            rows.append(TraceRow(answer.run.subject, tuple(answer.run.settings), name, len(trace), told.name))
    return rows


def differing(made: dict[Path, str]) -> list[Path]:
    """Files that are not what would be generated."""
    return [p for p, text in made.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]


def stale(made: dict[Path, str]) -> list[Path]:
    """Files that are not what would be generated, and those in the generated folders that nothing generates."""
    folder = ROOT / "counterexamples"
    present = [*folder.glob("*--*"), *folder.rglob("*.md"), *(ROOT / "models").rglob("*.md")]
    return differing(made) + [p for p in dict.fromkeys(present) if p not in made]

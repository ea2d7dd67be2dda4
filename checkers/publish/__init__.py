"""Generated evidence: counterexamples, the pages of models and claims, sessions in the pages.

`python -m reassure.checkers.publish` runs every check of gate.toml and writes; `--check` only says what is stale;
`--pages` leaves out what needs the gate.
What the claims need is not run here: it comes from the ledger, with the traces that `reassure claims --refresh` wrote.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from reassure.checkers.analyses.mutants import record as mutant_record
from reassure.checkers.cli.commands import completion
from reassure.checkers.cli.own_process import SCRIPTS, SHELLS
from reassure.checkers.console.files import SUFFIX
from reassure.checkers.kafka.pages import (
    broker_page,
    bug_reports,
    findings,
    findings_index,
    measurements,
    patch_page,
    random_record,
    release_matrix,
)
from reassure.checkers.kafka.printed import tool_formats
from reassure.checkers.ledger import ledger, mutant_page, verdicts
from reassure.checkers.ledger.trace_store import TraceStore, trace_files, trace_uses
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.publish import commands_page, front_page, sessions, trace_pictures
from reassure.checkers.publish.model_pages import PROTOCOLS, GateRun, pages_of_claims, pages_of_models, protocol_of
from reassure.checkers.publish.trace_pages import pages_of_traces
from reassure.spec import claims
from reassure.spec.claims import statements

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {"hasty": "README.md", "voting": "docs/tutorial/6-your-own-protocol.md"}
"""The models whose violation a page has a picture of: the page that shows the model."""
COUNTEREXAMPLES = ROOT / "counterexamples"
PICTURED_TRACES = {
    "lasso": "core_liveness/a_pending_reassignment_ends",
    "raft_membership": "raft_membership/committed_entries_agree",
}
"""Pictures of the project's own traces on pages beside those of the findings, by name: the traces."""
COVERS = {"two_phase_commit": ("two_phase_commit", "managers=2", "everybody_commits")}
"""Pictures of how a cover is reached, by name: the model, its setting, the cover."""
EXPLORED = COVERS["two_phase_commit"]
"""The run that the picture of the explorer shows."""
SCREENSHOT = ROOT / "docs" / "images" / "explorer.png"
STATES = {"states": ("lease", "grants=2")}
"""Pictures of every state, by name: the model of `reassure new` and its setting."""
FINDINGS = ROOT / "docs" / "findings.md"
BY_RELEASE = FINDINGS.with_name("claims-by-release.md")
STATEMENTS = FINDINGS.with_name("statements.md")
BROKERS = ROOT / "docs" / "explanation" / "brokers.md"
COMPLETION = ROOT / "checkers" / "cli" / Path(SCRIPTS).name
KAFKA_PATCHES = ROOT / "docs" / "reference" / "kafka-patches.md"


def generated_files(ran: list[GateRun]) -> dict[Path, str]:
    """Everything that is generated, by path."""
    ledger_entries, stored = project_entries(), traces(ran).files()
    texts = {COUNTEREXAMPLES / file.name: file.text for file in stored}
    texts |= pages_of_models(ran, ledger_entries, ROOT / "models")
    return texts | session_pages() | pages(ledger_entries)


def pages(ledger_entries: list[verdicts.Entry]) -> dict[Path, str]:
    """The generated pages that need no check of the gate, by path; no block of the front page is generated."""
    texts = {
        **{ROOT / "docs" / "reference" / name: text for name, text in commands_page.pages().items()},
        ROOT / "docs" / "reference" / commands_page.NAME: commands_page.schema_text(),
        **{COMPLETION / f"{shell}.txt": completion.completion_script(shell) for shell in SHELLS},
        FINDINGS: findings.findings_markdown(ledger_entries, FINDINGS.parent),
        BY_RELEASE: release_matrix.matrix_page(ledger_entries),
        STATEMENTS: findings_index.statement_page(
            statements.read(), {letter: f"../models/{name}/claims/README.md" for name, (_, letter) in PROTOCOLS.items()}
        ),
        BROKERS: broker_page.broker_page(broker_page.recorded_assumptions())
        + random_record.random_section(random_record.recorded_random_runs()),
        KAFKA_PATCHES: patch_page.patch_page([patch_page.outcomes(section) for section in patch_page.SECTIONS]),
    }
    texts |= pages_of_claims(ledger_entries, ROOT / "models")
    sealed = sealed_traces()
    runs = findings.told_runs(ledger_entries)
    texts |= pages_of_traces(sealed.files(), sealed.uses, runs, COUNTEREXAMPLES)
    texts |= mutant_page.mutant_pages(*mutant_record.of_the_project(), COUNTEREXAMPLES, protocol_of)
    record, cases = findings.recorded(), findings.cases(ledger_entries)
    for headline in dict.fromkeys(case.headline for case in cases):
        for name, of_it in findings.tests_of([case for case in cases if case.headline == headline], record):
            texts |= kafka_test(name, of_it[0], record)
    reports = bug_reports.bug_reports(cases, record, measurements.measured())
    texts |= {FINDINGS.parent / "findings" / name: text for name, text in reports.items()}
    texts[FINDINGS.parent / "findings" / "README.md"] = findings_index.index_page(ledger_entries)
    front = ROOT / "README.md"
    texts[front] = front_page.front_page(front.read_text(encoding="utf-8"), ROOT)
    return texts | pictures(ledger_entries)


def pictures(ledger_entries: list[verdicts.Entry]) -> dict[Path, str]:
    """The pictures of the front page, of the tutorial, of the gallery and of each finding."""
    images = {m: trace_pictures.picture_on_page(ROOT / page, f"{m}.py", ROOT) for m, page in PICTURES.items()}
    for name, trace in PICTURED_TRACES.items():
        images[name] = trace_pictures.picture_of_file(COUNTEREXAMPLES / f"{trace}{SUFFIX}")
    images |= {name: trace_pictures.picture_of_cover(*of) for name, of in COVERS.items()}
    images |= {name: trace_pictures.picture_of_states(*of, ROOT) for name, of in STATES.items()}
    return {ROOT / "docs" / "images" / f"{name}.svg": image for name, image in images.items()} | {
        FINDINGS.parent / "findings" / f"{claim}.svg": trace_pictures.picture_of_file(path)
        for _, claim, _, path in findings.told_runs(ledger_entries)
    }


def session_pages() -> dict[Path, str]:
    """The pages that show what a command prints, with what it prints now."""
    formats = tool_formats.formats_table()
    texts = {page: page.read_text(encoding="utf-8") for page in pages_with_sessions()}
    return {
        page: sessions.renewed(front_page.with_part(text, "formats", formats), ROOT) for page, text in texts.items()
    }


def sessions_of_tests(names: list[str]) -> dict[Path, str]:
    """The pages of `tests/sessions` with these names, or all, as the commands print now."""
    paths = sorted((ROOT / "tests" / "sessions").glob("*.md"))
    chosen = [path for path in paths if not names or path.stem in names]
    return {path: sessions.promoted(path.read_text(encoding="utf-8"), ROOT) for path in chosen}


def kafka_test(name: str, case: findings.Case, record: findings.FindingsRecord) -> dict[Path, str]:
    """The run of a finding as a method of Kafka's own test class, by path, for the release whose classes ran it."""
    options = ["--property", case.headline.property, "--release", record.tests[case.key].build]
    with contextlib.redirect_stderr(io.StringIO()):
        text = sessions.output(["kafka", "test", str(case.path), *options])
    if not text.strip():
        raise Failure(Exit.SYSTEM, f"reassure kafka test {case.path} prints no test")
    return {FINDINGS.parent / "findings" / name: f"{text}\n"}


def pages_with_sessions() -> list[Path]:
    """The pages that show what a command prints."""
    written = {*commands_page.pages(), FINDINGS.name, BY_RELEASE.name, STATEMENTS.name}
    return [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name not in written)]


def traces(ran: list[GateRun]) -> TraceStore:
    """The counterexamples of the gate's checks, and of claims those that no check has."""
    store, sealed = traces_of_checks(ran), sealed_traces()
    store.uses = sealed.uses
    for answer in (a for entry in project_entries() for a in entry.answers):
        for key in map(answer.key, answer.traces):
            store.traces.setdefault(key, sealed.traces[key])
    return store


def sealed_traces() -> TraceStore:
    """The project's traces, but for files that are not as the ledger seals them."""
    recorded = ledger.read_ledger()
    return TraceStore.read(COUNTEREXAMPLES, recorded.traces, trace_uses(claims.read(), recorded.records))


def write_traces(store: TraceStore) -> list[Path]:
    """Writes and seals the project's traces, and removes every other file; the paths of what has changed."""
    changed = store.write(COUNTEREXAMPLES)
    recorded = ledger.read_ledger()
    recorded.traces = store.seals()
    ledger.write(recorded)
    return changed


def traces_of_checks(ran: list[GateRun]) -> TraceStore:
    """The counterexamples of the gate's checks."""
    store = TraceStore()
    for result in ran:
        for finding in result.result.properties:
            if finding.trace is not None:
                store.add(finding.trace, result.bound)
    return store


def project_entries() -> list[verdicts.Entry]:
    """Every claim with what the ledger says; `Failure` for a ledger that does not say what is so now."""
    found = verdicts.entries(claims.read(), ledger.read_ledger())
    if (code := verdicts.exit_code(found)) is not Exit.OK:
        raise Failure(code, "the ledger is stale or has other verdicts than expected: `reassure claims` says where")
    return found


def differing(made: dict[Path, str]) -> list[Path]:
    """Files that are not what would be generated."""
    return [p for p, text in made.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]


def stale_files(made: dict[Path, str]) -> list[Path]:
    """Files that are not what would be generated, and those in the generated folders that nothing generates."""
    folder = COUNTEREXAMPLES
    present = [*trace_files(folder), *folder.rglob("*.md"), *(ROOT / "models").rglob("*.md")]
    present += (FINDINGS.parent / "findings").glob("*.java")
    present += (FINDINGS.parent / "findings").glob("*.md")
    present += [*(FINDINGS.parent / "findings").glob("*.svg"), *(FINDINGS.parent / "images").glob("*.svg")]
    return differing(made) + [p for p in dict.fromkeys(present) if p not in made]

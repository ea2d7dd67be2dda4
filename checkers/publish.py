"""Generated evidence: counterexamples with their stories, the table of models, the sessions in the README.

`python -m reassure.checkers.publish` runs every check of gate.toml and writes; `--check` only says what is stale.
What the claims need is not run here: it comes from the ledger, with the traces that `reassure claims --refresh` wrote.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from reassure.checkers.base.model_loader import names
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.base.trace_files import trace_stem
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.cli.gate import gate_file
from reassure.checkers.cli.main import main as command
from reassure.checkers.evidence import ledger, verdicts
from reassure.checkers.evidence import pages as ledger_page
from reassure.checkers.traces import render as story
from reassure.spec import claims
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import to_itf

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class GateRun:
    """One check of the gate, run."""

    check: gate_file.Check
    asked: CheckRequest
    verdict: CheckResult
    bound: BoundModel

    @property
    def settings(self) -> str:
        return " ".join(self.asked.set)

    def stem(self, finding: PropertyResult) -> str:
        """The name of a counterexample's files."""
        return trace_stem(self.verdict.model, self.asked.set, finding.name)


def results(path: Path = ROOT / "gate.toml", first_only: bool = False) -> list[GateRun]:
    """Every search of the gate, or the first one of each model, run with the engine it names."""
    found: list[GateRun] = []
    for check in gate_file.read(path).checks:
        if check.kind != "check" or (first_only and check.model in {r.asked.model for r in found}):
            continue
        asked = check.request()
        verdict, bound = run(asked, Progress())
        found.append(GateRun(check, asked, verdict, bound))
    return found


def files(ran: list[GateRun]) -> dict[Path, str]:
    """Everything that is generated, by path."""
    made: dict[Path, str] = {}
    folder = ROOT / "counterexamples"
    rows = traces_of_checks(ran, made)
    found = entries()
    rows += traces_of_claims(found, made)
    made[folder / "README.md"] = _index(rows)
    made[ROOT / "models" / "README.md"] = f"{_models(ran)}\n{claims_section(found)}"
    for page in pages_with_sessions():
        made[page] = sessions(page.read_text(encoding="utf-8")).replace("\r", "")
    return made


def pages_with_sessions() -> list[Path]:
    """The pages that show what a command prints."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def traces_of_checks(ran: list[GateRun], made: dict[Path, str]) -> list[tuple[str, ...]]:
    """Adds the counterexamples of the gate's checks; the rows of the index for them."""
    folder = ROOT / "counterexamples"
    rows: list[tuple[str, ...]] = []
    for result in ran:
        for finding in result.verdict.properties:
            if finding.trace is None:
                continue
            stem = result.stem(finding)
            made[folder / f"{stem}.itf.json"] = to_itf(finding.trace, result.bound)
            made[folder / f"{stem}.md"] = story.markdown(finding.trace, result.bound)
            cells = (result.verdict.model, result.settings, finding.name, f"[{len(finding.trace)} states]({stem}.md)")
            rows.append(cells)
    return rows


def verdict_rows(ran: list[GateRun]) -> list[str]:
    """The lines of the table of models, without its head."""
    return _verdicts(ran).splitlines()[2:]


def entries() -> list[verdicts.Entry]:
    """Every claim with what the ledger says."""
    return verdicts.entries(claims.read(), ledger.read())


def traces_of_claims(found: list[verdicts.Entry], made: dict[Path, str]) -> list[tuple[str, ...]]:
    """Adds the traces of claims that no check of the gate gives; the rows of the index for them."""
    rows: list[tuple[str, ...]] = []
    for answer in (a for e in found for a in e.answers):
        for name, path in answer.traces.items():
            if path in made or not path.is_file():
                continue
            told = path.with_name(path.name.replace(".itf.json", ".md"))
            trace, bound = verdicts.trace_of(answer, name)
            made[path] = path.read_text(encoding="utf-8")
            made[told] = story.markdown(trace, bound)
            link = f"[{len(trace)} states]({told.name})"
            rows.append((answer.run.subject, " ".join(answer.run.settings), name, link))
    return rows


def claims_section(found: list[verdicts.Entry]) -> str:
    """The claims and the table of shared promises, for the page of models."""
    table = ledger_page.markdown_table(found)
    return (
        "<!-- generated: claims -->\n## Claims\n\nWhat the documents promise, in each reading, as `reassure claims` "
        "prints it from the ledger\n(`counterexamples/ledger.json`).\n\n"
        f"{ledger_page.markdown(found, ROOT / 'models')}\n### Shared promises\n\n{table}<!-- end -->\n"
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def _index(rows: Sequence[tuple[str, ...]]) -> str:
    head = ("model", "configuration", "property", "trace")
    return (
        "# Counterexamples\n\nFound by the checks of `gate.toml` and of the claims' ledger, written by "
        "`python -m reassure.checkers.publish`.\nEach `.md` is the story of the `.itf.json` beside it; "
        "`reassure replay` executes one in plain Python,\n`reassure show` tells it.\n\n"
        f"{_table(head, rows)}\n"
    )


def _verdicts(ran: list[GateRun]) -> str:
    rows = []
    for r in ran:
        s = r.verdict.stats
        fallen = [p.name for p in r.verdict.properties if p.status is PropertyStatus.VIOLATED]
        text = ", ".join(f"`{n}`" for n in fallen[:3]) + (f" and {len(fallen) - 3} more" if len(fallen) > 3 else "")
        rows.append(
            (
                f"`{r.verdict.model}`",
                r.settings or "as it is",
                r.verdict.verdict,
                text or "-",
                f"{s.distinct:,}",
                f"{s.generated:,}",
                str(s.depth),
            )
        )
    return _table(("model", "configuration", "verdict", "violated", "distinct", "generated", "depth"), rows)


def _models(ran: list[GateRun]) -> str:
    lines = [
        "# Models",
        "",
        "Written by `python -m reassure.checkers.publish` from the checks of `gate.toml`.",
        "",
        _verdicts(ran),
        "",
    ]
    seen: set[str] = set()
    for r in ran:
        if r.verdict.model in seen or r.asked.model not in names():
            continue
        seen.add(r.verdict.model)
        doc = (sys.modules[r.bound.model.module].__doc__ or "").strip().split("\n\n")[0]
        lines += [f"## {r.verdict.model}", "", doc, ""]
        rows = [(f"`{p.name}`", p.kind, p.status.replace("_", " ")) for p in r.verdict.properties]
        rows += [(f"`{c.name}`", "cover", f"reached at depth {c.depth}") for c in r.verdict.covers if c.reached]
        lines += [_table(("claim", "kind", "verdict"), rows), ""]
    return "\n".join(lines)


def sessions(text: str) -> str:
    """The text with the output after each `$ reassure ...` line of its console blocks as it is now."""

    def rerun(block: re.Match[str]) -> str:
        made = []
        for line in block[1].splitlines():
            if line.startswith("$ reassure "):
                made += [line, output(shlex.split(line[2:])[1:]).rstrip(), ""]
        return "```console\n" + "\n".join(made).rstrip() + "\n```"

    return re.sub(r"```console\n(.*?)```", rerun, text, flags=re.DOTALL)


def output(words: list[str]) -> str:
    """What a command prints on stdout, with what changes from run to run left out."""
    kept, sys.stdout = sys.stdout, io.StringIO()
    try:
        command(words)
        text = sys.stdout.getvalue()
    finally:
        sys.stdout = kept
    text = re.sub(r"^\d+\.\d+ s.*$", "...", text, flags=re.MULTILINE)
    # Which lemmas a proof takes is the solver's choice.
    lemmas = r"^an inductive invariant of \d+ lemmas\n(  .*\n)+"
    text = re.sub(lemmas, "an inductive invariant of ... lemmas\n  ...\n", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines())


def stale(made: dict[Path, str]) -> list[Path]:
    """Files that are not what would be generated, and traces that nothing generates."""
    wrong = [p for p, text in made.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]
    folder = ROOT / "counterexamples"
    return wrong + [p for p in folder.glob("*--*") if p not in made]


def main() -> int:
    """Writes everything, or with `--check` names what is stale."""
    made = files(results())
    wrong = stale(made)
    console = Console(highlight=False)
    for path in wrong:
        console.print(f"{'stale' if '--check' in sys.argv else 'written'}: {path.relative_to(ROOT)}", markup=False)
        if "--check" in sys.argv:
            continue
        if path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())

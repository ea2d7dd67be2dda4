"""The index of counterexamples: what happens in each run, in how many steps, in which releases; and their short names.

`README.md` has the runs that are evidence for a claim, and those of mutants; two pages have the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from reassure.checkers.console.files import NAMES, SUFFIX
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.trace_store import MUTANTS, StoredTrace, TraceUses, release_of
from reassure.checkers.publish.claim_pages import ACROSS
from reassure.checkers.publish.model_pages import PROTOCOLS, protocol_of
from reassure.checkers.request.model_loader import load_model
from reassure.spec import claims

FIRST = next(iter(PROTOCOLS))
"""The protocol with the most models."""
BY_MODEL, OF_FIRST = "by-model.md", f"by-model-{FIRST}.md"
COLUMNS = ("name", "what happens", "steps", "releases")
OTHERWISE = "Otherwise "
"""Begins the sentence of a property's docstring that says what happens where it is violated."""
DEADLOCK = "Nothing can happen any more."

HEAD = f"""# Counterexamples

{BY} from the checks of `gate.toml` and from the claims' ledger.
Each line is a run that violates a claim, an ITF file. Every command takes its name: `reassure show finding-1` prints
it, `reassure replay K21` executes it in plain Python, `reassure kafka replay K21/4.3` on Kafka's own classes. `K21`
alone is the first run of the claim, or that of the finding. The file says under which settings,
and by the rules of which releases, it is a run of its model, and what it violates there. Of the runs that no claim
needs, the shortest of each property are of [{PROTOCOLS[FIRST][0]}]({OF_FIRST}) and of [other models]({BY_MODEL}).
[Which mistakes the properties notice](mutants.md) is about mutants.
"""
HEAD_BY_MODEL = f"""# Runs that no claim needs

{BY}. [All counterexamples](README.md). A command takes the heading and the
name: `reassure show core_liveness/a_pending_reassignment_ends`. For each property of a model, the shortest is here."""


FindingRun = tuple[str, str, str, Path]
"""The run of a finding: its name, the claim, the finding's title, and the file."""


def pages_of_traces(
    traces: Sequence[StoredTrace], uses: TraceUses, findings: Sequence[FindingRun], folder: Path
) -> dict[Path, str]:
    """The three pages and the table of names, by path. folder: of the traces."""
    names = _names(traces, uses)
    for name, claim, _, path in findings:
        names[name] = names[claim] = path.relative_to(folder).as_posix()
    by_folder: dict[str, list[StoredTrace]] = {}
    for trace in sorted(traces, key=short):
        by_folder.setdefault(trace.name.partition("/")[0], []).append(trace)
    mutants = by_folder.pop(MUTANTS, [])
    index = [HEAD, *_findings(traces, findings, folder), *_by_document(by_folder)]
    index += ["## Mutants", "", _rows(mutants), ""] if mutants else []
    by_page: dict[str, list[str]] = {BY_MODEL: [HEAD_BY_MODEL], OF_FIRST: [HEAD_BY_MODEL]}
    for name in (name for name in by_folder if not _is_claim(name)):
        part = ["", f"## {name}", "", _rows(by_folder[name], f"{name}/")]
        by_page[OF_FIRST if protocol_of(name) == FIRST else BY_MODEL] += part
    return {
        folder / "README.md": "\n".join(index),
        **{folder / page: "\n".join(parts) + "\n" for page, parts in by_page.items()},
        folder / NAMES: json.dumps(dict(sorted(names.items(), key=lambda each: each[::-1])), indent=0) + "\n",
    }


def _findings(traces: Sequence[StoredTrace], findings: Sequence[FindingRun], folder: Path) -> list[str]:
    """The table of findings, with their titles."""
    files = {folder / trace.name: trace for trace in traces}
    rows = [
        (f"[{name}]({files[path].name}), {claim}", f"{title}.", _steps(files[path]), _releases(files[path]))
        for name, claim, title, path in findings
    ]
    return ["## Findings in released Kafka", "", table(COLUMNS, rows), ""] if rows else []


def _by_document(by_folder: Mapping[str, Sequence[StoredTrace]]) -> list[str]:
    """A table for each document, its claims in their order."""
    titles = {letter: title for title, letter in PROTOCOLS.values() if letter} | {ACROSS: "Several documents"}
    parts: list[str] = []
    for letter, title in titles.items():
        named = sorted((name for name in by_folder if _is_claim(name) and name[0] == letter), key=claims.order)
        if named:
            parts += [f"## {title}", "", _rows([trace for name in named for trace in by_folder[name]]), ""]
    return parts


def _is_claim(folder: str) -> bool:
    return folder[1:].isdigit()


def _rows(traces: Sequence[StoredTrace], above: str = "") -> str:
    """A line for each run; a sentence that runs in a row share stands once. above: a part of names in the heading."""
    rows, before = [], ""
    for trace in traces:
        text, name = what_happens(trace), short(trace).removeprefix(above)
        rows.append((f"[{name}]({trace.name})", text if text != before else "", _steps(trace), _releases(trace)))
        before = text
    return table(COLUMNS, rows)


def what_happens(trace: StoredTrace) -> str:
    """One sentence: what the docstring of the violated property says happens otherwise."""
    return _sentence(trace.model, trace.properties[0])


@cache
def _sentence(model: str, name: str) -> str:
    doc = next((p.doc for p in load_model(model).properties if p.name == name), "")
    sentence = " ".join(doc.split("\n\n")[0].split())
    if OTHERWISE in sentence:
        sentence = sentence.partition(OTHERWISE)[2]
        return sentence[:1].upper() + sentence[1:]
    return DEADLOCK if name == "deadlock" else f"`{name}` does not hold."


def short(trace: StoredTrace) -> str:
    """The short name of a trace."""
    return trace.name.removesuffix(SUFFIX)


def _steps(trace: StoredTrace) -> str:
    return str(trace.states - 1)


def _releases(trace: StoredTrace) -> str:
    """Releases, or "-" of a model that has none."""
    several = trace.releases
    return ", ".join(several) or "-" if len(several) < 3 else f"{several[0]} to {several[-1]}"


def _names(traces: Sequence[StoredTrace], uses: TraceUses) -> dict[str, str]:
    """The file of each claim, and of each claim by the rules of a release, where no file has that name already.

    The first reading counts that the run violates; runs of mutants count for no claim.
    """
    first: dict[str, tuple[int, str]] = {}
    for trace in traces:
        for key in trace.keys:
            for use in uses.get(key, []):
                if use.of_mutant:
                    continue
                for name in {use.claim, f"{use.claim}/{release_of(key)}".rstrip("/")}:
                    first[name] = min(first.get(name, (use.place, trace.name)), (use.place, trace.name))
    files = {short(trace) for trace in traces}
    return {name: file for name, (_, file) in first.items() if name not in files}

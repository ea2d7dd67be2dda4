"""The generated pages of models: an index, and for each protocol its models, checks, claims and counterexamples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from reassure.checkers.base.model_loader import load, names
from reassure.checkers.base.result import PropertyStatus
from reassure.checkers.evidence import pages
from reassure.checkers.evidence.verdicts import Entry
from reassure.checkers.publish.gate_run import GateRun

PROTOCOLS = {
    "kraft": ("KRaft reassignment", "K"),
    "kip435_batching": ("KIP-435, batches", "B"),
    "kip236_intermediate": ("KIP-236, changes in flight", "I"),
    "kip542_throttle": ("KIP-542, throttles", "T"),
    "kip36_racks": ("KIP-36, racks", "R"),
    "examples": ("Examples", ""),
    "mutants": ("Mutants", ""),
}
"""The folders of `models/`: what they are of, and the letter of their document's claims."""
BY = "Written by `python -m reassure.checkers.publish`"


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def protocol_of(model: str) -> str:
    """The folder of `models/` that has a model."""
    return load(model).module.split(".")[-2]


def check_row(run: GateRun) -> tuple[str, ...]:
    """A check in the table of a protocol."""
    s = run.verdict.stats
    fallen = [p.name for p in run.verdict.properties if p.status is PropertyStatus.VIOLATED]
    text = ", ".join(f"`{n}`" for n in fallen[:3]) + (f" and {len(fallen) - 3} more" if len(fallen) > 3 else "")
    counts = (f"{s.distinct:,}", f"{s.generated:,}", str(s.depth))
    return (f"`{run.verdict.model}`", run.settings or "as it is", run.verdict.verdict, text or "-", *counts)


def model_pages(ran: list[GateRun], found: list[Entry], folder: Path) -> dict[Path, str]:
    """The index and one page a protocol, by path; folder: of the models."""
    made = {folder / "README.md": _index(ran, found, folder)}
    for protocol in PROTOCOLS:
        made[folder / protocol / "README.md"] = _page(protocol, ran, found, folder / protocol)
    return made


def trace_pages(rows: Sequence[tuple[str, ...]], folder: Path) -> dict[Path, str]:
    """The index of counterexamples and one page a protocol. rows: model, configuration, property, link to the story."""
    of = {p: [r for r in rows if protocol_of(r[0]) == p] for p in PROTOCOLS}
    lines = [(f"[{PROTOCOLS[p][0]}]({p}.md)", f"{len(some):,}") for p, some in of.items() if some]
    made = {
        folder / "README.md": "# Counterexamples\n\n"
        f"{BY} from the checks of `gate.toml` and from the claims' ledger.\n"
        "Each `.md` is the story of the `.itf.json` beside it. `reassure replay` executes a trace in plain Python,\n"
        "`reassure show` prints it.\n\n"
        f"{table(('protocol', 'traces'), lines)}\n"
    }
    head = ("model", "configuration", "property", "trace")
    for protocol, some in of.items():
        if some:
            made[folder / f"{protocol}.md"] = f"# {PROTOCOLS[protocol][0]}: counterexamples\n\n{table(head, some)}\n"
    return made


def claims_of(protocol: str, found: list[Entry], folder: Path) -> str:
    """The claims of a protocol's document with the ledger's verdicts; links are relative to the folder."""
    letter = PROTOCOLS[protocol][1]
    own = [e for e in found if letter and e.claim.id.startswith(letter)]
    return _claims(own, folder) if own else ""


def _claims(found: list[Entry], folder: Path) -> str:
    return (
        "## Claims\n\nWhat the document promises, in each reading, as `reassure claims` prints it from the ledger\n"
        f"(`counterexamples/ledger.json`).\n\n{pages.markdown(found, folder)}"
    )


def _index(ran: list[GateRun], found: list[Entry], folder: Path) -> str:
    rows = []
    for protocol, (name, letter) in PROTOCOLS.items():
        models = [n for n in names() if protocol_of(n) == protocol]
        checks = [r for r in ran if r.verdict.model in models]
        claimed = sum(bool(letter) and e.claim.id.startswith(letter) for e in found)
        rows.append((f"[{name}]({protocol}/README.md)", str(len(models)), str(len(checks)), str(claimed or "-")))
    across = [e for e in found if e.claim.id.startswith("X")]
    return "\n".join(
        [
            "# Models",
            "",
            f"{BY} from the checks of `gate.toml` and from the claims' ledger.",
            "",
            table(("protocol", "models", "checks of the gate", "claims of its document"), rows),
            "",
            f"{_claims(across, folder)}\n## Shared promises",
            "",
            pages.markdown_table(found),
        ]
    )


def _page(protocol: str, ran: list[GateRun], found: list[Entry], folder: Path) -> str:
    own = [r for r in ran if protocol_of(r.asked.model) == protocol]
    lines = [f"# {PROTOCOLS[protocol][0]}", "", f"{BY}. [All models](../README.md).", ""]
    if own:
        head = ("model", "configuration", "verdict", "violated", "distinct", "generated", "depth")
        lines += ["## Checks", "", table(head, [check_row(r) for r in own]), ""]
    checked = list(dict.fromkeys(r.asked.model for r in own))
    for name in checked:
        lines += _model_section(next(r for r in own if r.asked.model == name))
    for name in (n for n in names() if protocol_of(n) == protocol and n not in checked):
        lines += [f"## {name}", "", _first_paragraph(load(name).module), ""]
    return "\n".join(lines) + claims_of(protocol, found, folder)


def _model_section(run: GateRun) -> list[str]:
    rows = [(f"`{p.name}`", p.kind, p.status.replace("_", " ")) for p in run.verdict.properties]
    rows += [(f"`{c.name}`", "cover", f"reached at depth {c.depth}") for c in run.verdict.covers if c.reached]
    about = f"With {run.settings}:" if run.settings else "As it is:"
    return [
        f"## {run.verdict.model}", "", _first_paragraph(run.bound.model.module), "", about, "",
        table(("property", "kind", "verdict"), rows), "",
    ]  # fmt: skip


def _first_paragraph(module: str) -> str:
    return (sys.modules[module].__doc__ or "").strip().split("\n\n")[0]

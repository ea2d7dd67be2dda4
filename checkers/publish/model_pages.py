"""The generated pages of models: an index, one page a protocol, and one page for each model that the gate checks.

Also here: the checks of the gate, run for the pages that show them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.gate import gate_file
from reassure.checkers.ledger.markdown import BY, table
from reassure.checkers.ledger.verdicts import Entry
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import first_few
from reassure.checkers.publish.claim_pages import ACROSS, claim_pages
from reassure.checkers.request.model_loader import load_model, names
from reassure.checkers.request.result import CheckResult, PropertyStatus, after
from reassure.spec.semantics.interpreter import BoundModel


@dataclass
class GateRun:
    """One check of the gate, run."""

    check: gate_file.Check
    request: CheckRequest
    result: CheckResult
    bound: BoundModel

    @property
    def settings(self) -> str:
        """The configuration, as on the command line."""
        return " ".join(self.request.set)


def gate_runs(path: Path, first_of: Collection[str] | None = None) -> list[GateRun]:
    """Every search of a gate file, or the first one of each of these models, run with the engine it names.

    Raises Ctrl-C of a search again: no page is of half a search.
    """
    runs: list[GateRun] = []
    for check in gate_file.read_gate_file(path).checks:
        if check.kind != "check":
            continue
        if first_of is not None and (check.model not in first_of or check.model in {r.request.model for r in runs}):
            continue
        request = check.request()
        result, bound = run(request, Progress())
        result.stopped.raise_interrupt()
        runs.append(GateRun(check, request, result, bound))
    return runs


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


def protocol_of(model: str) -> str:
    """The folder of `models/` that has a model."""
    return load_model(model).module.split(".")[-2]


def models_of(protocol: str) -> list[str]:
    """The models in a folder of `models/`."""
    return [n for n in names() if protocol_of(n) == protocol]


def check_row(run: GateRun) -> tuple[str, ...]:
    """A check in the table of a model."""
    s = run.result.stats
    violated = [p.name for p in run.result.properties if p.status is PropertyStatus.VIOLATED]
    text = first_few([f"`{n}`" for n in violated], 3)
    classes = (run.result.search.symmetry if run.result.search else {}).get("states")
    distinct = f"{s.distinct:,} classes of {classes:,}" if classes else f"{s.distinct:,}"
    counts = (distinct, f"{s.generated:,}", str(s.depth))
    return (run.settings or "default", run.result.verdict, text or "-", *counts)


def pages_of_models(ran: list[GateRun], entries: list[Entry], folder: Path) -> dict[Path, str]:
    """The index, the protocols and the models, by path; folder: of the models."""
    pages = {folder / "README.md": _index(ran, entries)}
    for protocol in PROTOCOLS:
        own = [r for r in ran if protocol_of(r.request.model) == protocol]
        pages[folder / protocol / "README.md"] = _protocol_page(protocol, own)
        for model in dict.fromkeys(r.request.model for r in own):
            pages[folder / protocol / f"{model}.md"] = _model_page(model, [r for r in own if r.request.model == model])
    return pages


def pages_of_claims(entries: list[Entry], folder: Path) -> dict[Path, str]:
    """The claims of every document, by path; folder: of the models."""
    pages = claim_pages(ACROSS, entries, folder / "claims")
    for protocol, (_, letter) in PROTOCOLS.items():
        pages |= claim_pages(letter, entries, folder / protocol / "claims")
    return pages


def _index(ran: list[GateRun], entries: list[Entry]) -> str:
    rows = []
    for protocol, (name, letter) in PROTOCOLS.items():
        models = models_of(protocol)
        checks = sum(r.result.model in models for r in ran)
        claims = sum(bool(letter) and e.claim.id.startswith(letter) for e in entries)
        claims_cell = f"[{claims}]({protocol}/claims/README.md)" if claims else "-"
        rows.append((f"[{name}]({protocol}/README.md)", str(len(models)), str(checks), claims_cell))
    return "\n".join(
        [
            "# Models",
            "",
            f"{BY} from the checks of `gate.toml` and from the claims' ledger.",
            "",
            table(("protocol", "models", "checks of the gate", "claims of its document"), rows),
            "",
            "[Claims about several documents](claims/README.md), and the properties that all protocols share.",
            "",
        ]
    )


def _protocol_page(protocol: str, ran: list[GateRun]) -> str:
    """The models of a protocol, a line each."""
    rows = []
    for model in models_of(protocol):
        checks = sum(r.request.model == model for r in ran)
        about = " ".join(_first_paragraph(load_model(model).module).split())
        name = f"[`{model}`]({model}.md)" if checks else f"[`{model}`]({Path(_source(model)).name})"
        rows.append((name, about, str(checks) if checks else "-"))
    title, letter = PROTOCOLS[protocol]
    lines = [
        f"# {title}",
        "",
        f"{BY}. [All protocols](../README.md)"
        + (", [the claims of the document](claims/README.md)" * bool(letter))
        + ".",
        "",
        table(("model", "what it is", "checks of the gate"), rows),
        "",
    ]
    return "\n".join(lines)


def _model_page(model: str, ran: list[GateRun]) -> str:
    """The checks of a model, and every verdict of the first one."""
    first = ran[0]
    rows = [(f"`{p.name}`", p.kind, p.status.replace("_", " ")) for p in first.result.properties]
    reached = {c.name: after(c.depth, c.kind) for c in first.result.covers if c.depth is not None}
    rows += [(f"`{name}`", "cover", f"reached {length}") for name, length in reached.items()]
    name = Path(_source(model)).name
    lines = [
        f"# {model}",
        "",
        _first_paragraph(load_model(model).module),
        "",
        f"{BY} from the checks of `gate.toml`. [Source]({name}), [counterexamples](../../counterexamples/README.md).",
        "",
        "## Checks",
        "",
        table(
            ("configuration", "verdict", "violated", "distinct states", "steps", "levels"), [check_row(r) for r in ran]
        ),
        "",
        "## Properties",
        "",
        f"With {first.settings}:" if first.settings else "In the default configuration:",
        "",
        table(("property", "kind", "verdict"), rows),
        "",
    ]
    return "\n".join(lines)


def _source(model: str) -> str:
    return sys.modules[load_model(model).module].__file__ or ""


def _first_paragraph(module: str) -> str:
    return (sys.modules[module].__doc__ or "").strip().split("\n\n")[0]

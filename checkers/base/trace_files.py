"""Counterexamples as files: what they say of where they come from, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.result import ENGINE_VERSION, RAISES, CheckResult, CoverResult, PropertyResult
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import to_itf


def trace_stem(model: str, settings: Iterable[str], name: str, method: str = "check") -> str:
    """The name, without suffix, of the files of a trace. settings: KEY=VALUE, in any order.

    Traces of two configurations, or of two methods, never have the same name.
    """
    chosen = "-".join(re.sub(r"[^a-z0-9]+", "-", pair.lower()) for pair in sorted(settings))
    return "--".join(part for part in (model, chosen, method if method != "check" else "", name) if part)


def results(verdict: CheckResult) -> list[PropertyResult | CoverResult]:
    """Everything in a verdict that may have a trace."""
    return [*verdict.properties, *verdict.covers]


def trace_meta(verdict: CheckResult, found: PropertyResult | CoverResult) -> dict[str, Any]:
    """What a trace says about where it comes from."""
    return {
        "model": verdict.model,
        "model_sha256": verdict.model_sha256,
        "config": verdict.config,
        "property": found.name,
        "property_kind": found.kind if isinstance(found, PropertyResult) else "cover",
        "engine": verdict.engine,
        "engine_version": ENGINE_VERSION,
        "repro": verdict.repro,
        **{key: found.trace.meta[key] for key in ("fairness", RAISES) if found.trace and key in found.trace.meta},
    }


def write_traces(verdict: CheckResult, bound: BoundModel, folder: Path) -> dict[str, str]:
    """Writes every trace as ITF; returns the files by property."""
    written = {}
    for found in results(verdict):
        if found.trace is not None:
            path = folder / f"{trace_stem(verdict.model, verdict.settings, found.name)}.itf.json"
            write_atomically(path, to_itf(found.trace, bound))
            written[found.name] = str(path)
    return written

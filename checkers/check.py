"""One check from a model's name to a verdict; what the command line, the gate and the evidence share."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from reassure.checkers.base.model_loader import bind, config_values, digest, load, own_file, settings
from reassure.checkers.base.options import Cluster, Options, Progress, Proof, Walks
from reassure.checkers.base.result import ENGINE_VERSION, Exit, Finding, Reached, Verdict, write_atomically
from reassure.checkers.reference import search as reference
from reassure.spec.frontend.lowering import Elaborated, SubsetError
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import Bound, Clipped, ConfigError, ModelError, make_config
from reassure.spec.semantics.trace import ReplayRefused, to_itf

Engine = Callable[[Bound, Elaborated, Options, Verdict, Progress], Verdict]


def _reference(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
    verdict.stats.workers = 1
    return reference.check(bound, options, verdict, progress)


def _compiled(work: Callable[[], Verdict]) -> Verdict:
    """Runs an engine that generates code; a disagreement with plain Python is a failure of this program."""
    from reassure.checkers.native.kernel_cache import roomy
    from reassure.checkers.traces.reconstruct import Disagreement

    try:
        return roomy(work)
    except Disagreement as error:
        raise Failure(Exit.DISAGREE, str(error)) from None


def _native(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
    from reassure.checkers.native import (
        engine as native,  # Numba takes a while to import, and only some engines need it
    )

    return _compiled(lambda: native.check(bound, lowered, options, verdict, progress))


def _spark(asked: Asked) -> Engine:
    def engine(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
        from reassure.checkers.spark import engine as spark
        from reassure.checkers.spark.run_directory import RunDirectoryError
        from reassure.checkers.spark.session import JobFailed, NoSpark

        try:
            return _compiled(lambda: spark.check(bound, lowered, options, verdict, progress, asked.cluster))
        except (NoSpark, JobFailed) as error:
            raise Failure(Exit.SYSTEM, str(error)) from None
        except RunDirectoryError as error:
            raise Failure(Exit.USAGE, str(error)) from None

    return engine


ENGINES: dict[str, Engine] = {"native": _native, "reference": _reference}
ENGINE_NAMES = ("native", "reference", "spark")
DEFAULT_ENGINE = "native"


def _engine(asked: Asked) -> Engine:
    if asked.proof is not None:
        return _prover(asked, asked.proof)
    if asked.walks is not None:
        return _walker(asked.walks)
    return _spark(asked) if asked.engine == "spark" else ENGINES[asked.engine]


def _walker(walks: Walks) -> Engine:
    def engine(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
        from reassure.checkers.native import simulation as simulate

        unknown = set(walks.weights) - {a.name for a in bound.model.actions}
        if unknown:
            has = ", ".join(a.name for a in bound.model.actions)
            raise Failure(Exit.USAGE, f"{bound.model.name} has no action {min(unknown)!r}; it has {has}")
        return _compiled(lambda: simulate.simulate(bound, lowered, options, verdict, progress, walks))

    return engine


def _prover(asked: Asked, proof: Proof) -> Engine:
    def engine(bound: Bound, lowered: Elaborated, options: Options, verdict: Verdict, progress: Progress) -> Verdict:
        from reassure.checkers.symbolic import prover as prove

        def work() -> Verdict:
            found, asked.certificate = prove.prove(bound, lowered, options, verdict, progress, proof)
            return found

        return _compiled(work)

    return engine


class Failure(Exception):
    """A run that cannot be: what to say, and the exit code."""

    def __init__(self, code: Exit, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass
class Asked:
    """What a check was asked for."""

    model: str
    set: list[str]
    engine: str
    options: Options
    accept_clipping: bool = False
    walks: Walks | None = None
    """Random walks instead of a search."""
    proof: Proof | None = None
    """A proof instead of a search."""
    cluster: Cluster = field(default_factory=Cluster)
    """For the distributed engine."""
    certificate: Any = None
    """What was proved, afterwards: a `certificate.Certificate`."""

    def repro(self) -> str:
        """The command that repeats it."""
        command = "simulate" if self.walks else "prove" if self.proof else "check"
        words = ["reassure", command, self.model, *(f"--set={s}" for s in self.set)]
        words += [f"--property={p}" for p in self.options.properties]
        words += [f"--depth={self.options.depth}"] if self.options.depth is not None else []
        words += ["--accept-clipping"] if self.accept_clipping else []
        words += ["--fail-fast"] if self.options.fail_fast else []
        how = self.walks or self.proof
        words += how.words() if how else [f"--engine={self.engine}"]
        words += self.cluster.words() if self.engine == "spark" else []
        return shlex.join(words)


def prepare(model: str, pairs: list[str]) -> tuple[Bound, Elaborated, str]:
    """A model ready to be checked, and its digest; `Failure` if it is none, or its configuration is wrong."""
    (bound, lowered), sha = _prepared(model, pairs, bind)
    return bound, lowered, sha


Prepared = TypeVar("Prepared", bound=tuple[Bound, Any])


def plain(model: str, pairs: list[str]) -> tuple[Bound, str]:
    """A model ready to be run by plain Python alone, and its digest; `Failure` as of `prepare`."""
    (bound, _), sha = _prepared(model, pairs, lambda loaded, chosen: (Bound(loaded, make_config(loaded, chosen)), None))
    return bound, sha


def _prepared(model: str, pairs: list[str], bind: Callable[[Model, dict[str, Any]], Prepared]) -> tuple[Prepared, str]:
    from reassure.checkers.base.model_loader import UnknownModel

    try:
        loaded = load(model)
        made = bind(loaded, settings(loaded, pairs))
        why = _without_start(made[0])
    except UnknownModel as error:
        raise Failure(Exit.USAGE, str(error)) from None
    except ConfigError as error:
        raise Failure(Exit.CONFIG, str(error)) from None
    except SubsetError as error:
        count = len(error.refusals)
        raise Failure(Exit.MODEL, f"{count} construct{'s' * (count > 1)} outside the language\n{error}") from None
    except (LanguageError, DomainError, ModelError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    if why:
        raise Failure(Exit.NOTHING, f"{loaded.name} has no initial state: {why}")
    return made, digest(loaded)


def _without_start(bound: Bound) -> str:
    """Why there is no initial state, if there is none: everything is true of no state."""
    why = f"{', '.join(i.name for i in bound.model.initials)} requires what is never so"
    for declared, _, state in bound.initial_states():
        if not isinstance(state, Clipped):
            return ""
        why = f"{declared.name} leaves the bound of {state.path}: {state.message}"
    return why


def must_match(bound: Bound, claimed: list[str], options: Options) -> None:
    """Each pattern of `--property` names something: one that does not must not hide behind the others."""
    for pattern in options.properties:
        if not any(fnmatchcase(name, pattern) for name in claimed):
            idle = any(fnmatchcase(p.name, pattern) for p in bound.not_applicable)
            why = f"{pattern} does not apply to this configuration" if idle else f"it has {', '.join(claimed)}"
            raise Failure(Exit.NOTHING, f"no property of {bound.model.name} matches {pattern}; {why}")


def run(asked: Asked, progress: Progress) -> tuple[Verdict, Bound]:
    """Checks a model; `Failure` where there is no verdict to be had."""
    began = time.monotonic()
    bound, lowered, sha = prepare(asked.model, asked.set)
    claimed = [p.name for p in bound.properties + bound.covers] + (["deadlock"] if bound.model.deadlock else [])
    verdict = Verdict(bound.model.name, sha, config_values(bound.config), asked.engine)
    verdict.accept_clipping = asked.accept_clipping
    verdict.not_applicable = [p.name for p in bound.not_applicable]
    verdict.asked = {n for n in claimed if asked.options.properties and asked.options.wants(n)}
    verdict.repro = asked.repro()
    if not claimed:
        raise Failure(Exit.NOTHING, f"{bound.model.name} declares no property, no cover, and no deadlock check")
    must_match(bound, claimed, asked.options)
    verdict.stats.seconds["load"] = time.monotonic() - began
    try:
        verdict = _engine(asked)(bound, lowered, asked.options, verdict, progress)
    except (ModelError, LanguageError) as error:
        raise Failure(Exit.MODEL, str(error)) from None
    except reference.Nondeterminism as error:
        raise Failure(Exit.INTERNAL, str(error)) from None
    except ReplayRefused as error:
        raise Failure(Exit.INTERNAL, f"a counterexample does not replay in plain Python: {error}") from None
    finally:
        progress.done()
    for found in results(verdict):
        if found.trace is not None:
            found.trace.meta = trace_meta(verdict, found)
            if own_file(asked.model):
                found.trace.meta["model_file"] = asked.model
    return verdict, bound


def results(verdict: Verdict) -> list[Finding | Reached]:
    """Everything in a verdict that may have a trace."""
    return [*verdict.properties, *verdict.covers]


def trace_meta(verdict: Verdict, found: Finding | Reached) -> dict[str, Any]:
    """What a trace says about where it comes from."""
    return {
        "model": verdict.model,
        "model_sha256": verdict.model_sha256,
        "config": verdict.config,
        "property": found.name,
        "property_kind": found.kind if isinstance(found, Finding) else "cover",
        "engine": verdict.engine,
        "engine_version": ENGINE_VERSION,
        "repro": verdict.repro,
    }


def write_traces(verdict: Verdict, bound: Bound, folder: Path) -> dict[str, str]:
    """Writes every trace as ITF; returns the files by property."""
    written = {}
    for found in results(verdict):
        if found.trace is not None:
            path = folder / f"{verdict.model}--{found.name}.itf.json"
            write_atomically(path, to_itf(found.trace, bound))
            written[found.name] = str(path)
    return written

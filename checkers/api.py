"""The Python API: load a model, walk it step by step, check it. Everything else in `reassure.checkers` is internal.

>>> import reassure
>>> model = reassure.load("die_hard", goal=4)
>>> [start] = model.initial_states()
>>> [step.name for step in model.steps(start)]
['fill_small', 'fill_big', 'empty_small', 'empty_big', 'small_to_big', 'big_to_small']
>>> model.take(start, "fill_big")
Jugs(small=0, big=5)
>>> result = reassure.check(model, engine="reference")
>>> result.exit().name, result.stats.distinct
('SAFETY', 16)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import CoverResult
from reassure.checkers.request.options import DEFAULT_ENGINE, SYMMETRIES, SearchOptions
from reassure.checkers.request.outside_values import values_digest
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus
from reassure.checkers.traces.named_path import NamedStep, follow_path, named_path
from reassure.checkers.traces.plain_json import to_plain
from reassure.checkers.traces.properties_here import violated_here
from reassure.spec.language.types import IdType, Type
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params
from reassure.spec.semantics.trace import JsonObject, Trace, from_itf, to_itf

__all__ = [
    "CheckResult",
    "CoverResult",
    "Exit",
    "Failure",
    "LoadedModel",
    "PropertyResult",
    "PropertyStatus",
    "StepTaken",
    "Trace",
    "Walk",
    "check",
    "load",
    "walk",
]


@dataclass(frozen=True)
class StepTaken:
    """An enabled step. after: None if the step leaves a declared bound."""

    name: str
    params: Params
    after: Any


@dataclass(frozen=True)
class LoadedModel:
    """A model under a configuration, executed by plain Python."""

    source: str
    """The name or path it was loaded by."""
    settings: dict[str, object]
    """The fields of the configuration that were set, as they were given."""
    bound: BoundModel
    digest: str

    @property
    def name(self) -> str:
        return self.bound.model.name

    @property
    def config(self) -> Any:
        """The configuration, an instance of the model's `Config`."""
        return self.bound.config

    def initial_states(self) -> list[Any]:
        """Every initial state within the declared bounds."""
        return [state for _, _, state in self.bound.initial_states() if not isinstance(state, Clipped)]

    def steps(self, state: Any) -> list[StepTaken]:
        """Every enabled step of a state, in canonical order: by action, then by parameters.

        Raises `ModelError` if an action raises.
        """
        return [
            StepTaken(step.action.name, step.params, None if isinstance(step.after, Clipped) else step.after)
            for step in self.bound.steps(state)
        ]

    def take(self, state: Any, action: str, **params: Any) -> Any:
        """The state after an action; None if it leaves a declared bound.

        An id may be given by its number.
        Raises `GuardRefused` if the action is not enabled, `ModelError` for an unknown action or parameter.
        """
        kinds = dict(self.bound.parameters(action))
        values = {name: _id(kinds.get(name), value) for name, value in params.items()}
        after = self.bound.take(state, action, values)
        return None if isinstance(after, Clipped) else after

    def holds(self, name: str, state: Any) -> bool:
        """Whether an invariant holds, or a cover is reached, in a state. Raises `KeyError` for an unknown name."""
        named = {p.name: p for p in [*self.bound.properties, *self.bound.covers] if not p.over_steps}
        return self.bound.holds(named[name], state)


class Walk:
    """A path of a model that is taken step by step; values are plain JSON, as in `docs/reference/traces.md`."""

    def __init__(self, model: LoadedModel, initial: NamedStep) -> None:
        self._bound = model.bound
        self._trace = self._extended([initial])
        self.changed: JsonObject = self.state
        """The fields of the state that the last step changed, with their new values."""

    @property
    def state(self) -> JsonObject:
        """The last state."""
        return self._plain(self._trace.states[-1])

    @property
    def trace(self) -> Trace:
        """The path so far."""
        return self._trace

    def take(self, action: str, /, **params: Any) -> Walk:
        """Takes a step; the walk itself. `Failure` names the guard that forbids it, or what is wrong with it."""
        before = self.state
        self._trace = self._extended([*named_path(self._trace, self._bound), NamedStep(action, params)])
        self.changed = {name: value for name, value in self.state.items() if value != before[name]}
        return self

    def violated(self) -> list[str]:
        """The properties that the last state, or the last step, violates; those about whole runs are not asked."""
        return [name for name, _ in violated_here(self._trace, self._bound)]

    def _extended(self, path: list[NamedStep]) -> Trace:
        followed = follow_path(path, self._bound)
        if followed.trace is None or followed.problem is not None:
            problem = followed.problem
            what = f"step {problem.step}: {problem.call}: {problem.reason}" if problem is not None else ""
            raise Failure(Exit.TRACE, f"{self._bound.model.name} does not have this path: {what}")
        return followed.trace

    def _plain(self, state: Any) -> JsonObject:
        data = to_plain(state, self._bound.type)
        assert isinstance(data, dict)
        return data


def walk(model: LoadedModel | str | Path, initial: str, /, **params: Any) -> Walk:
    """A walk that begins with an initial function of the model and its parameters, given as plain JSON.

    Raises `Failure` if the model has no such initial state.
    """
    loaded = model if isinstance(model, LoadedModel) else load(model)
    return Walk(loaded, NamedStep(initial, params))


def loaded_with(model: str | Path | LoadedModel, settings: Mapping[str, Any]) -> LoadedModel:
    """A model that may be loaded already; `Failure` for settings of one that is: it has its own."""
    if not isinstance(model, LoadedModel):
        return load(model, **settings)
    if settings:
        names = ", ".join(settings)
        raise Failure(Exit.USAGE, f"{names}: {model.name} is loaded already; give its settings to reassure.load")
    return model


def load(model: str | Path, **settings: Any) -> LoadedModel:
    """The model of a name (`core`) or a path, with configuration fields set.

    Raises `Failure`, with an exit code and one line, if there is none or a setting is wrong.
    """
    pairs = [f"{key}={_setting(value)}" for key, value in settings.items()]
    bound, digest = prepare_plain(str(model), pairs)
    return LoadedModel(str(model), settings, bound, digest)


def check(
    model: LoadedModel | str | Path,
    *,
    engine: str = DEFAULT_ENGINE,
    properties: Sequence[str] = (),
    depth: int | None = None,
    budget: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    fail_fast: bool = False,
    witness: bool = False,
    symmetry: str = "off",
    **settings: Any,
) -> CheckResult:
    """Searches every reachable state, as the command `check` does.

    Args:
        model: as `load` gives it, or takes it together with `settings`.
        engine: one of those that `reassure check --help` lists.
        properties: names or patterns of properties and covers (none: all).
        depth: levels, the initial states being level 1.
        budget: seconds.
        memory: bytes.
        workers: threads (none: one a core).
        fail_fast: stop at the first violation.
        witness: keep how covers are reached.
        symmetry: "on", "auto" or "any-order", as `reassure check --help` says; "off" visits every state.

    Returns:
        Every property with its status and shortest trace, of which the states are of `model`; `exit()` is `Exit.OK`
        only if all was established.

    Raises:
        Failure: the model or what is asked for is wrong, or an engine cannot run.
    """
    loaded = loaded_with(model, settings)
    options = SearchOptions(
        properties=list(properties),
        depth=depth,
        budget=budget,
        memory=memory,
        fail_fast=fail_fast,
        witness=witness,
        symmetry=symmetry,
    )
    if symmetry not in SYMMETRIES:
        raise Failure(Exit.USAGE, f"symmetry is one of {', '.join(SYMMETRIES)}, not {symmetry!r}")
    if workers is not None:
        options.workers = workers
    pairs = [f"{key}={_setting(value)}" for key, value in loaded.settings.items()]
    result, bound = run(CheckRequest(loaded.source, pairs, engine, options), Progress(quiet=True))
    of_other_values = bound.model is not loaded.bound.model and values_digest(bound) != values_digest(loaded.bound)
    if result.identity.model_sha256 != loaded.digest or of_other_values:
        raise Failure(Exit.SYSTEM, f"{loaded.source} was changed since it was loaded: load it again")
    if bound.model is not loaded.bound.model:  # the file was imported again: its classes are others
        for answer in result.answers:
            if answer.trace is not None:
                again = from_itf(json.loads(to_itf(answer.trace, bound)), loaded.bound)
                answer.trace = replace(again, meta=answer.trace.meta)
    return result


def _id(kind: Type | None, value: Any) -> Any:
    """A number as the id that it is of, where an id is wanted."""
    return kind.sort(value) if isinstance(kind, IdType) and type(value) is int else value


def _setting(value: Any) -> str:
    """A configuration value as the command line writes it."""
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "value", value))

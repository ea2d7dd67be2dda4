"""The subjects of claims, as they are now: models and functions, loaded once each.

Also here: the run that decides a reading of a claim.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reassure.checkers.request.digest import digest, digest_of_modules
from reassure.checkers.request.model_loader import (
    UnknownModel,
    config_values,
    function,
    home,
    load_model,
    module_of_function,
    settings,
)
from reassure.checkers.request.outside_values import values_digest, values_of
from reassure.checkers.request.shared_options import pairs
from reassure.spec.claims import Claim, Reading
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, make_config
from reassure.spec.semantics.trace import PlainConfig


@dataclass(frozen=True)
class RunSpec:
    """A model under a configuration by a method (`check`, `prove`), or a function that goes through cases."""

    method: str
    subject: str
    """The model's name; with `enumerate`, the function's."""
    settings: tuple[str, ...] = ()
    """KEY=VALUE, sorted by key."""

    @staticmethod
    def of(reading: Reading) -> RunSpec:
        """The run that decides a reading."""
        if reading.function is not None:
            return RunSpec(reading.method, reading.function)
        return RunSpec(reading.method, str(reading.model), tuple(pairs(dict(sorted(reading.set.items())))))

    @property
    def key(self) -> str:
        """Its record's name in the ledger."""
        return " ".join([self.method, self.subject, *self.settings])


def properties_by_run(chosen: Iterable[Claim]) -> dict[RunSpec, set[str]]:
    """The runs that claims need, with the properties and covers that are asked of each."""
    needed: dict[RunSpec, set[str]] = {}
    for reading in (r for c in chosen for r in c.readings):
        needed.setdefault(RunSpec.of(reading), set()).update(reading.properties)
    return needed


@dataclass(frozen=True)
class Subject:
    """The subject of a run, as it is now: its digest, or the reason why there is none."""

    sha256: str = ""
    absent: str = ""


def function_values(name: str) -> str:
    """The digest of the values that a function of `models` reaches; `LanguageError` if it may read more."""
    reached = values_of(function(name))
    if reached.read_when_called:
        names = ", ".join(reached.read_when_called)
        raise LanguageError(f"{name} uses {names} when it is called: read it once, where its module is imported")
    return reached.sha256


def _kind(wanted: RunSpec) -> tuple[str, str]:
    """The subject of a run."""
    return (wanted.method if wanted.method == "enumerate" else "model", wanted.subject)


class Subjects:
    """Models and functions by name, each loaded once; what is wrong with the claims about them."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Subject] = {}
        self.models: dict[str, Model] = {}
        self._texts: dict[str, str] = {}
        """The digests of modules, by name."""
        self._values: dict[RunSpec | tuple[str, str], str] = {}

    def of(self, wanted: RunSpec) -> Subject:
        """Raises `LanguageError` for a model or function that is there and cannot be loaded."""
        kind = _kind(wanted)
        if kind not in self.known:
            self.known[kind] = self._load(wanted)
        return self.known[kind]

    def _load(self, wanted: RunSpec) -> Subject:
        if wanted.method == "enumerate":
            dotted = wanted.subject.partition(":")[0]
            if not (home() / f"{dotted.replace('.', '/')}.py").is_file():
                return Subject(absent=f"no module {dotted} yet")
            function(wanted.subject)  # it is there
            name = module_of_function(wanted.subject)
            if name not in self._texts:
                self._texts[name] = digest_of_modules([name])
            return Subject(self._texts[name])
        try:
            model = self.models[wanted.subject] = load_model(wanted.subject)
        except UnknownModel:
            return Subject(absent=f"no model {wanted.subject} yet")
        return Subject(digest(model))

    def values(self, wanted: RunSpec) -> str:
        """The digest of the values that the subject of a run reaches, if it is there.

        Raises `LanguageError` for a function that reads more when it is called: no digest has it.
        """
        known = self._values.get(wanted) or self._values.get(_kind(wanted))
        if known is not None or self.of(wanted).absent:
            return known or ""
        if wanted.method == "enumerate":
            return self._values.setdefault(_kind(wanted), function_values(wanted.subject))
        model = self.models[wanted.subject]
        reached = values_of(model)
        if not reached.read_when_called:  # then it is the same for every configuration
            return self._values.setdefault(_kind(wanted), reached.sha256)
        bound = BoundModel(model, make_config(model, settings(model, list(wanted.settings))))
        return self._values.setdefault(wanted, values_digest(bound))

    def config(self, wanted: RunSpec) -> PlainConfig:
        """The configuration of a run of a model that is there."""
        model = self.models[wanted.subject]
        return config_values(make_config(model, settings(model, list(wanted.settings))))

    def wrong(self, claim: Claim, reading: Reading) -> list[str]:
        """The reasons why a reading can never be decided."""
        where, run = f"{claim.id}, reading {reading.name!r}", RunSpec.of(reading)
        try:
            if self.of(run).absent:
                return []
            self.values(run)
            if run.method == "enumerate":
                return []
            model = self.models[run.subject]
            config = make_config(model, settings(model, list(run.settings)))
        except (LanguageError, ConfigError, DomainError) as error:
            return [f"{where}: {error}"]
        reasons = []
        for name in reading.properties:
            declared = next((p for p in model.properties if p.name == name), None)
            if declared is None and not (name == "deadlock" and model.deadlock):
                reasons.append(f"{where}: {model.name} has no property or cover {name}")
            elif declared is not None and declared.when is not None and not declared.when(config):
                reasons.append(f"{where}: {name} does not apply to this configuration of {model.name}")
        return reasons

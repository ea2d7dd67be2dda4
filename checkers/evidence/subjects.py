"""The subjects of claims, as they are now: models and functions, loaded once each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reassure.checkers.base.digest import digest
from reassure.checkers.base.model_loader import UnknownModel, config_values, function, home, load, settings
from reassure.checkers.evidence.run_spec import RunSpec
from reassure.spec.claims import Claim, Reading
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import ConfigError, make_config


@dataclass(frozen=True)
class Subject:
    """The subject of a run, as it is now: its digest, or the reason why there is none."""

    sha256: str = ""
    absent: str = ""


class Subjects:
    """Models and functions by name, each loaded once; what is wrong with the claims about them."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Subject] = {}
        self.models: dict[str, Model] = {}

    def of(self, wanted: RunSpec) -> Subject:
        """Raises `LanguageError` for a model or function that is there and cannot be loaded."""
        kind = (wanted.method if wanted.method == "enumerate" else "model", wanted.subject)
        if kind not in self.known:
            self.known[kind] = self._load(wanted)
        return self.known[kind]

    def _load(self, wanted: RunSpec) -> Subject:
        if wanted.method == "enumerate":
            dotted = wanted.subject.partition(":")[0]
            if not (home() / f"{dotted.replace('.', '/')}.py").is_file():
                return Subject(absent=f"no module {dotted} yet")
            return Subject(function(wanted.subject)[1])
        try:
            model = self.models[wanted.subject] = load(wanted.subject)
        except UnknownModel:
            return Subject(absent=f"no model {wanted.subject} yet")
        return Subject(digest(model))

    def config(self, wanted: RunSpec) -> dict[str, Any]:
        """The configuration of a run of a model that is there."""
        model = self.models[wanted.subject]
        return config_values(make_config(model, settings(model, list(wanted.settings))))

    def wrong(self, claim: Claim, reading: Reading) -> list[str]:
        """The reasons why a reading can never be decided."""
        where, run = f"{claim.id}, reading {reading.name!r}", RunSpec.of(reading)
        try:
            if self.of(run).absent or run.method == "enumerate":
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

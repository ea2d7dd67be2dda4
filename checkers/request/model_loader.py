"""Models by name or by path, their digest, and the check that they are within the language."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import keyword
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reassure import models
from reassure.checkers.machine.atomic_files import did_you_mean
from reassure.checkers.machine.exit_codes import UsageFailure
from reassure.checkers.request.import_file import FromText, import_file
from reassure.spec.language.annotations import each_hint, resolve
from reassure.spec.language.types import IntType
from reassure.spec.language.vocabulary import LanguageError, Model, Terminal, declared_in
from reassure.spec.semantics.interpreter import ConfigError
from reassure.spec.semantics.trace import PlainConfig

FINDINGS = ("deadlock", "raises")
"""What is reported beside the properties of a model, by these names."""


class UnknownModel(UsageFailure):
    """Nothing of that name or path."""


def home() -> Path:
    """The folder of the models that come with the project."""
    return Path(next(iter(models.__path__)))


@functools.cache
def names() -> Mapping[str, Path]:
    """Every model that comes with the project, by name."""
    paths = sorted(home().rglob("*.py"), key=lambda path: path.stem)
    own = {p.stem: p for p in paths if not p.name.startswith("_") and "\nMODEL = " in p.read_text(encoding="utf-8")}
    return MappingProxyType(own)


def find_model(name: str) -> Path:
    """The file of a model given by name, path or dotted name (`pkg.mod`); `UnknownModel` with near names."""
    path = Path(name)
    if own_file(name):
        if not path.is_file():
            raise UnknownModel(f"no file {name}{did_you_mean(path)}")
        return path.resolve()
    models = names()
    if name in models:
        return models[name]
    dotted = Path(name.replace(".", "/") + ".py")
    if "." in name and dotted.is_file():
        return dotted.resolve()
    if path.is_dir():
        raise UnknownModel(f"{name} is a folder: give the file of a model in it")
    import difflib  # of few messages

    near = [f"{name}.py"] if Path(f"{name}.py").is_file() else difflib.get_close_matches(name, models, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `reassure models` lists what there is"
    if not near and name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
        hint = f": `reassure new {name}` writes one of that name; `reassure models` lists those that come with it"
    raise UnknownModel(f"no model {name!r}{hint}")


def own_file(name: str) -> bool:
    """Whether a model is given by its path rather than by the name of one that comes with the project."""
    return Path(name).suffix == ".py" or (Path(name).is_file() and name not in names())


def load_model(name: str) -> Model:
    """The model of a name or path.

    Raises `UnknownModel`, or `LanguageError` for a file that is not a model or cannot be imported.
    """
    path = find_model(name)
    module = import_file(path)
    model = getattr(module, "MODEL", None)
    if not isinstance(model, Model):
        raise LanguageError(f"{path.name} is not a model: it defines no `MODEL = Model.of(...)`")
    for claim in model.properties:
        if isinstance(claim.goal, Terminal):
            name = claim.goal.name
            raise LanguageError(
                f"{claim.name}: {name} is declared with @terminal, and is not a goal of leads_to: a goal is a function"
                f" of a state, or an invariant; let {name} and the goal call one function"
            )
    has = {id(d) for d in model.declarations()}
    missing = [d.name for d in declared_in(module.__name__) if id(d) not in has]
    if missing:
        more = ", ".join(missing)
        raise LanguageError(f"{path.name} declares {more}, but its MODEL lacks it: MODEL = ....adding({more})")
    if taken := [p.name for p in model.properties if p.name in FINDINGS]:
        raise LanguageError(f"{taken[0]} is a finding that every model can have: give the property another name")
    loader = module.__loader__
    used = [d.function for d in model.declarations()]
    used += [d.goal for d in model.properties if d.goal is not None]
    lost = [d for d in (loader.declared if isinstance(loader, FromText) else ()) if d.function not in used]
    if lost:
        line = lost[0].function.__code__.co_firstlineno
        raise LanguageError(
            f"{path.name} declares {', '.join(d.name for d in lost)} in a function or a loop, and its MODEL lacks it:"
            f" give each a name of its own, keep them in a list and write MODEL = ....adding(*list) (line {line})"
        )
    return model


def module_of_function(name: str) -> str:
    """The name of the module of a function `package.module:name` of `models`."""
    return f"reassure.models.{name.partition(':')[0]}"


def function(name: str) -> Callable[..., Any]:
    """The function `package.module:name` of a module of `models`; `LanguageError` if there is none."""
    dotted, _, called = name.partition(":")
    try:
        module = importlib.import_module(module_of_function(name))
    except Exception as error:
        raise LanguageError(f"{dotted} cannot be imported: {type(error).__name__}: {error}") from error
    value = getattr(module, called, None)
    if not callable(value):
        raise LanguageError(f"{dotted} has no function {called}")
    found: Callable[..., Any] = value
    return found


def settings(model: Model, pairs: list[str]) -> dict[str, bool | int | Enum]:
    """`KEY=VALUE` options as typed configuration values; `ConfigError` names what is wrong."""
    hints = each_hint(model.config)
    values: dict[str, bool | int | Enum] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise ConfigError(f"--set {pair}: write KEY=VALUE")
        if key not in hints:
            import difflib  # of few messages

            near = difflib.get_close_matches(key, hints, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(hints)}"
            raise ConfigError(f"{model.name} has no configuration field {key!r}; {hint}")
        if key in values:
            raise ConfigError(f"--set {key} is given twice")
        values[key] = _typed(model, key, text, hints[key])
    return values


def _typed(model: Model, key: str, text: str, annotation: Any) -> Any:
    plain = typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation
    if plain is bool:
        values = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        if text.lower() in values:
            return values[text.lower()]
        raise ConfigError(f"{key}={text}: write true or false")
    if plain is int:
        try:
            number = int(text)
        except ValueError:
            raise ConfigError(f"{key}={text}: a whole number is needed") from None
        try:
            kind = resolve(annotation, model.config())
        except (Exception, SystemExit):  # of a default or an annotation, which the configuration as a whole will tell
            return number
        if isinstance(kind, IntType) and not kind.low <= number <= kind.high:
            raise ConfigError(f"{key}={text}: it is {kind.low} to {kind.high}")
        return number
    if isinstance(plain, type) and issubclass(plain, Enum):
        for member in plain:
            if text.lower() in (member.name.lower(), str(member.value).lower()):
                return member
        raise ConfigError(f"{key}={text}: one of {', '.join(str(m.value) for m in plain)}")
    raise ConfigError(f"{key} cannot be set here")


def config_values(config: Any) -> PlainConfig:
    """A configuration as plain JSON values."""
    values = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return {k: v.value if isinstance(v, Enum) else v for k, v in values.items()}

"""Models by name or by path, their digest, and the check that they are within the language."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import hashlib
import importlib
import importlib.util
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from reassure import models
from reassure.spec.frontend.lowering import LoweredModel, lower_model
from reassure.spec.language.types import DomainError, IntType, resolve
from reassure.spec.language.vocabulary import LanguageError, Model, declared_in
from reassure.spec.semantics.interpreter import BoundModel, ConfigError, hints_of, make_config

OURS = ("reassure.models", "reassure.spec")
"""Packages of a model's text, wherever the project is installed."""


class UnknownModel(Exception):
    """Nothing of that name or path."""


def home() -> Path:
    """The folder of the models that come with the project."""
    return Path(next(iter(models.__path__)))


def names() -> dict[str, Path]:
    """Every model that comes with the project, by name."""
    paths = sorted(home().rglob("*.py"), key=lambda path: path.stem)
    return {p.stem: p for p in paths if not p.name.startswith("_") and "\nMODEL = " in p.read_text(encoding="utf-8")}


def find(name: str) -> Path:
    """The file of a model given by name or path; `UnknownModel` with near names."""
    path = Path(name)
    if own_file(name):
        if not path.is_file():
            raise UnknownModel(f"no file {name}")
        return path.resolve()
    known = names()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `reassure models` lists what there is"
    raise UnknownModel(f"no model {name!r}{hint}")


def own_file(name: str) -> bool:
    """Whether a model is given by its path rather than by the name of one that comes with the project."""
    return Path(name).suffix == ".py" or (Path(name).is_file() and name not in names())


def load(name: str) -> Model:
    """The model of a name or path.

    Raises `UnknownModel`, or `LanguageError` for a file that is no model or cannot be imported.
    """
    path = find(name)
    module = _import(path)
    model = getattr(module, "MODEL", None)
    if not isinstance(model, Model):
        raise LanguageError(f"{path.name} is no model: it defines no `MODEL = Model.of(...)`")
    has = {id(d) for d in model.declarations()}
    missing = [d.name for d in declared_in(module.__name__) if id(d) not in has]
    if missing:
        more = ", ".join(missing)
        raise LanguageError(f"{path.name} declares {more}, but its MODEL lacks it: MODEL = ....adding({more})")
    return model


def _import(path: Path) -> ModuleType:
    base = home().resolve()
    try:
        if path.resolve().is_relative_to(base):
            dotted = ".".join(["reassure.models", *path.resolve().relative_to(base).with_suffix("").parts])
            return importlib.import_module(dotted)
        # A file of one's own: its name, and its folder for what it imports.
        name = _module_name(path)
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise LanguageError(f"{path.name} is no Python file")
        made = importlib.util.module_from_spec(spec)
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        sys.modules[name] = made
        spec.loader.exec_module(made)
        return made
    except (LanguageError, DomainError):
        raise
    except (Exception, SystemExit) as error:  # a file that ends the interpreter has answered nothing
        where = ""
        if not isinstance(error, SyntaxError):  # which says where itself
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_code.co_filename == str(path):
                    where = f" (line {trace.tb_lineno})"
                trace = trace.tb_next
        raise LanguageError(f"{path.name} cannot be imported: {type(error).__name__}: {error}{where}") from error


def _module_name(path: Path) -> str:
    """The name to import a file of one's own under: never that of another module (`json.py` is a fine model)."""
    stem = path.stem.replace(".", "_")
    name, package = stem, "own"
    while _taken(name, path):
        name, package = f"{package}.{stem}", package + "_"  # a model is called by the last part
    return name


def _taken(name: str, path: Path) -> bool:
    """Whether a module name means another file."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) != str(path)
    there = None if "." in name else importlib.util.find_spec(name)
    return there is not None and there.origin != str(path)


def digest(model: Model) -> str:
    """SHA-256 over the text of every file the model is made of: its own, those it imports, the language."""
    return _digest(sources(model))


def function(name: str) -> tuple[Callable[[], Any], str]:
    """The function `package.module:name` of a module of `models`, with the digest of its text.

    Raises `LanguageError` if there is none.
    """
    dotted, _, called = name.partition(":")
    inside = f"reassure.models.{dotted}"
    try:
        module = importlib.import_module(inside)
    except Exception as error:
        raise LanguageError(f"{dotted} cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, called, None)
    if not callable(found):
        raise LanguageError(f"{dotted} has no function {called}")
    return found, _digest(_files([inside]))


def _digest(paths: set[str]) -> str:
    files = {Path(p).resolve() for p in paths}
    # Ordered by what is in them, so that it does not matter where they lie.
    texts = sorted(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def sources(model: Model) -> set[str]:
    """The files of a model's text: modules of its declarations and what they import, but for libraries."""
    start = {model.module, model.state.__module__, model.config.__module__}
    start |= {d.function.__module__ for d in model.declarations()}
    return _files(start)


def _files(start: Iterable[str]) -> set[str]:
    """The files of modules and of what they import."""
    pending, seen, files = list(start), set(), set()
    python = str(Path(dataclasses.__file__).parent)
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        path = getattr(module, "__file__", None)
        if name in seen or module is None or path is None:
            continue
        seen.add(name)
        if not name.startswith(OURS) and (path.startswith(python) or "site-packages" in path):
            continue
        files.add(path)
        pending += _imports(module, path)
    return files


def _imports(module: ModuleType, path: str) -> Iterator[str]:
    """The names of what a module imports, by its text: a constant does not say where it comes from."""
    for node in ast.walk(ast.parse(Path(path).read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            given = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(given, module.__package__) if node.level else given
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def settings(model: Model, pairs: list[str]) -> dict[str, Any]:
    """`KEY=VALUE` options as typed configuration values; `ConfigError` names what is wrong."""
    hints = hints_of(model.config)
    made: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise ConfigError(f"--set {pair}: write KEY=VALUE")
        if key not in hints:
            near = difflib.get_close_matches(key, hints, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(hints)}"
            raise ConfigError(f"{model.name} has no configuration field {key!r}; {hint}")
        if key in made:
            raise ConfigError(f"--set {key} is given twice")
        made[key] = _typed(model, key, text, hints[key])
    return made


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
        except Exception:  # of a default or an annotation, which the configuration as a whole will tell
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


def config_values(config: Any) -> dict[str, Any]:
    """A configuration as plain JSON values."""
    values = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return {k: v.value if isinstance(v, Enum) else v for k, v in values.items()}


def bind(model: Model, chosen: dict[str, Any]) -> tuple[BoundModel, LoweredModel]:
    """The model with a configuration, checked to be within the language (`SubsetError` otherwise)."""
    bound = BoundModel(model, make_config(model, chosen))
    return bound, lower_model(bound)

"""Imports a model's file: one that comes with the project, one in a package, or one that lies by itself."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from reassure.checkers.request.digest import STANDARD_LIBRARY
from reassure.spec.language import declarations
from reassure.spec.language.types import DomainError
from reassure.spec.language.vocabulary import Declaration, LanguageError

if TYPE_CHECKING:
    from traceback import FrameSummary

PROGRAM = Path(next(iter(sys.modules["reassure"].__path__)))
"""The folder of the package `reassure`."""
REMEDIES = {
    "TypeError: action() ": 'write `@action(who="leader")`',
    "Id.__init_subclass__()": 'write `class Broker(Id, size="brokers")`: the configuration has the field that sizes it',
    "Model.of()": "write `Model.of(__name__, state=State, config=Config)`",
    "non-default argument": "fields without a default come first, those of a base class among them",
}
"""By what Python says of a declaration that is called wrongly: how it is written."""


class FromText(SourceFileLoader):
    """Compiles a file each time that it is imported.

    Python's cache of bytecode knows a file by its length and the second of its last change: a model that is edited
    twice in a second would run as it was before.
    """

    declared: Sequence[Declaration] = ()
    """All that the module's text has declared, whether it kept it or not."""

    def path_stats(self, path: str) -> NoReturn:
        """Raises: so that nothing is taken from the cache, and nothing stored."""
        raise OSError

    def get_data(self, path: str) -> bytes:
        """The bytes of a file as they were when they were first read: what runs and what the digest is of."""
        read: dict[str, bytes] = self.__dict__.setdefault("read", {})
        if path not in read:
            read[path] = super().get_data(path)
        return read[path]

    def exec_module(self, module: ModuleType) -> None:
        """Executes a module, and keeps what it declares in functions, which no name of the module need have."""
        noted, made = declarations._noted, []  # the text of the language is part of every digest: it stays as it is

        def keep(declared: Any) -> Any:
            made.append(declared)
            return noted(declared)

        vars(declarations)["_noted"] = keep
        try:
            super().exec_module(module)
        finally:
            vars(declarations)["_noted"] = noted
        self.declared = [d for d in made if d.function.__module__ == module.__name__]


def changed_since_import(names: Iterable[str]) -> Path | None:
    """The file of one of these modules that has other bytes now than when it was imported; None if none has."""
    for name in names:
        loader = getattr(sys.modules.get(name), "__loader__", None)
        if isinstance(loader, FromText):
            path = Path(loader.path)
            if not path.is_file() or path.read_bytes() != loader.get_data(loader.path):
                return path
    return None


_roots: set[Path] = {PROGRAM / "models"}
"""The folders in and below which models are."""
_added_to_path: set[str] = set()
"""What `sys.path` has for their sake."""


def _find_models(folder: str) -> FileFinder:
    """Finds the modules of a folder of models. Raises `ImportError` for another folder, which Python sees to."""
    path = Path(folder)
    program = path.is_relative_to(PROGRAM) and not path.is_relative_to(PROGRAM / "models")
    installed = "site-packages" in path.parts or path.is_relative_to(STANDARD_LIBRARY)
    if program or installed or not path.is_dir() or _roots.isdisjoint((path, *path.parents)):
        raise ImportError
    return FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FromText, SOURCE_SUFFIXES))


def _import_from_text_below(root: Path) -> None:
    """Has files in and below a folder compiled whenever they are imported."""
    new = {root} - _roots
    if _find_models not in sys.path_hooks:
        sys.path_hooks.insert(0, _find_models)
        new |= {*_roots, root}
    _roots.update(new)
    if new:
        for folder in [folder for folder in sys.path_importer_cache if _is_below(folder, new)]:
            del sys.path_importer_cache[folder]


def _is_below(place: str, roots: Iterable[Path]) -> bool:
    """Whether a file or folder is one of these folders, or in one."""
    return f"{place}{os.sep}".startswith(tuple(f"{root}{os.sep}".replace(2 * os.sep, os.sep) for root in roots))


def import_file(path: Path) -> ModuleType:
    """The module of a file; `LanguageError`, with the file and line of the cause, if it cannot be imported.

    A file in a package (its folder has an `__init__.py`) is imported by its dotted name, so that relative imports
    work. A file that lies by itself is imported under its own name, and finds what lies beside it. Both find what
    lies in the working folder.
    """
    try:
        program = (PROGRAM / "models").resolve()
        if path.resolve().is_relative_to(program):
            _import_from_text_below(PROGRAM / "models")
            inner = path.resolve().relative_to(program).with_suffix("").parts
            return importlib.import_module(".".join(["reassure.models", *inner]))
        packages, root = _packages(path)
        for folder in (str(root), str(Path.cwd())):  # as `python -m` has the working folder
            if folder not in sys.path:
                sys.path.append(folder)
                _added_to_path.add(folder)
        _import_from_text_below(root)
        dotted = ".".join([*packages, path.stem])
        if packages and not _package_taken(packages, root):
            return importlib.import_module(dotted)
        _refuse_names_of_other_folders(path)
        return _import_by_path(_free_name(path), path)
    except (LanguageError, DomainError) as error:
        raise type(error)(f"{error}{_place(error)}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file that ends the interpreter has answered nothing
        raise LanguageError(f"{path.name} cannot be imported: {_in_one_line(error, path)}") from error


def path_of_modules() -> list[str]:
    """The folders that Python looks for modules in, without those that are there for the sake of models."""
    return [folder for folder in sys.path if folder not in _added_to_path]


def forget_files() -> None:
    """Forgets every module that was imported for a model of one's own: the next file finds what it would find alone."""
    sys.path[:] = path_of_modules()
    _added_to_path.clear()
    own = [root for root in _roots if not root.is_relative_to(PROGRAM)]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and isinstance(getattr(module, "__loader__", None), FromText):
            if _is_below(file, own):
                del sys.modules[name]


def _packages(path: Path) -> tuple[list[str], Path]:
    """The packages that a file is in, outermost first, and the folder that holds the outermost."""
    names: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return names, folder


def _package_taken(packages: list[str], root: Path) -> bool:
    """Whether the outermost package's name means another folder."""
    loaded = sys.modules.get(packages[0])
    spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(packages[0])
    places = spec.submodule_search_locations if spec is not None else None
    return not any(Path(place).resolve() == (root / packages[0]).resolve() for place in places or [])


def _import_by_path(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=FromText(name, str(path)))
    if spec is None or spec.loader is None or path.suffix != ".py":
        raise LanguageError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # a later import of this name must not find half a module
        raise
    return module


def _refuse_names_of_other_folders(path: Path) -> None:
    """Raises `LanguageError` where a file beside this one is imported, and its name means a module of another folder.

    Python knows one module by each name: the file would get the other folder's text, and its verdict would be wrong.
    """
    waiting, seen = [path], {path}
    while waiting:
        for beside in _imported_from_beside(waiting.pop()):
            meant = _file_of(beside.stem)
            if meant is not None and meant.resolve() != beside.resolve():
                raise LanguageError(
                    f"{path.name} imports {beside.name} beside it, and `{beside.stem}` is {meant} in this process:"
                    " rename the file, or give each folder an __init__.py and import `from . import ...`"
                )
            if beside not in seen:
                seen.add(beside)
                waiting.append(beside)


def _imported_from_beside(path: Path) -> list[Path]:
    """The files beside a file that it imports by their names. Names of the standard library mean the library."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # told when the file is imported
        return []
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    stems = sorted({name.split(".")[0] for name in names} - sys.stdlib_module_names)
    beside = [path.parent / f"{stem}.py" for stem in stems]
    return [file for file in beside if file.is_file()]


def _file_of(name: str) -> Path | None:
    """The file that `import name` takes, if there is one."""
    if name in sys.modules:
        origin = getattr(sys.modules[name], "__file__", None)
    else:
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec is not None else None
    return None if origin is None else Path(origin)


def _free_name(path: Path) -> str:
    """A module name that no other file has: `json.py` is a fine model. A model is called by the last part."""
    stem = path.stem.replace(".", "_")
    name, package = stem, "own"
    while _taken(name, path):
        name, package = f"{package}.{stem}", package + "_"
    return name


def _taken(name: str, path: Path) -> bool:
    """Whether a module name means another file."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) != str(path)
    spec = None if "." in name else importlib.util.find_spec(name)
    return spec is not None and spec.origin != str(path)


def _in_one_line(error: BaseException, path: Path) -> str:
    """The error in one line, with the file and line of the user's text that it comes from."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # names its place itself
        return text
    hint = next((f"; {remedy}" for phrase, remedy in REMEDIES.items() if phrase in text), "")
    if isinstance(error, ModuleNotFoundError) and error.name:
        first = error.name.partition(".")[0]
        above = [f for f in path.resolve().parents if (f / first).is_dir() or (f / f"{first}.py").is_file()]
        hint = f"; {first} is in {above[0]}: run the command in that folder" if above else hint
    text += hint
    if isinstance(error, ImportError) and "relative import" in text:
        return f"{text}; a relative import needs an __init__.py in {path.parent.name}/"
    frame = _frame_of(error)
    if frame is None:
        return text
    place = Path(frame.filename)
    line = f"line {frame.lineno}" if place == path else f"{place.name}, line {frame.lineno}"
    return f"{text} ({line})"


def _place(error: BaseException) -> str:
    """The file and line of a model's text that an error comes from, to be added to its text."""
    frame = _frame_of(error)
    return "" if frame is None else f" ({Path(frame.filename).name}:{frame.lineno})"


def _frame_of(error: BaseException) -> FrameSummary | None:
    from traceback import extract_tb  # of what fails

    frames = [f for f in extract_tb(error.__traceback__) if _of_a_model(f.filename)]
    return frames[-1] if frames else None


def _of_a_model(filename: str) -> bool:
    """Whether a file of a traceback is a model's, not the interpreter's, a library's or this program's."""
    path = Path(filename)
    ours = path.is_relative_to(PROGRAM) and not path.is_relative_to(PROGRAM / "models")
    others = "site-packages" in path.parts or path.is_relative_to(STANDARD_LIBRARY)
    return path.is_file() and not ours and not others

"""The house: who may import whom, folder by folder, and that every module can be read."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

from reassure.checkers.request.model_loader import load_model, names
from tests.helpers.source_faults import statements

ROOT = Path(__file__).parent.parent
FOLDERS = ("spec", "models", "checkers", "src/reassure")
MOST_LINES = 500

FLOORS: dict[str, tuple[str, ...]] = {
    # room of checkers: the rooms that it may import; each imports only what stands above it here
    "machine": (),
    "request": ("machine",),
    "encoding": ("machine", "request"),
    "traces": ("machine", "request"),
    "tla": ("machine", "request"),
    "engines": ("machine", "request", "encoding", "traces"),
    "check.py": ("machine", "request", "traces", "engines"),
    "api.py": ("machine", "request", "traces", "check.py"),
    "pictures": ("machine", "request", "traces"),
    "console": ("machine", "request", "traces", "check.py", "pictures"),
    "gate": ("machine", "request", "traces", "engines", "pictures", "console", "check.py"),
    "report": ("machine", "request", "traces", "console"),
    "analyses": ("machine", "request", "encoding", "traces", "engines", "check.py", "pictures", "console", "report"),
    "ledger": ("machine", "request", "traces", "check.py", "pictures", "console", "analyses"),
    "explorer": ("machine", "request", "traces", "engines", "pictures", "console", "analyses", "check.py"),
    "kafka": (
        "machine",
        "request",
        "encoding",
        "traces",
        "engines",
        "pictures",
        "console",
        "gate",
        "analyses",
        "ledger",
    ),
    "cli": ("machine", "request", "traces", "tla", "engines", "pictures", "console", "check.py"),
    "testing": ("machine", "request", "traces", "check.py", "api.py", "gate", "cli"),
    "publish": ("machine", "request", "traces", "check.py", "console", "gate", "analyses", "ledger", "kafka", "cli"),
}
INNER_FLOORS: dict[str, dict[str, tuple[str, ...]]] = {
    # the same inside of rooms that hold rooms
    "engines": {"reference": (), "native": (), "symbolic": ("native",), "spark": ("native",)},
    "analyses": {
        "guards": (),
        "fairness": (),
        "mutants": (),
        "find": ("guards",),
        "diff": (),
        "stuck": (),
        "suites": ("mutants",),
        "validate": (),
        "sweep": (),
        "graph": (),
    },
    "kafka": {
        "pages": (),
        "controller": ("pages",),
        "builds": ("controller",),
        "diff": ("controller", "builds"),
        "printed": (),
        "audit": ("printed",),
        "plan": ("printed", "audit"),
        "cluster": ("controller", "audit", "pages"),
        "reports": ("pages", "controller", "builds", "audit"),
        "command.py": ("controller", "builds", "diff", "cluster", "reports"),
    },
}
SPEC_FLOORS: dict[str, tuple[str, ...]] = {
    "language": (),
    "semantics": ("language",),
    "frontend": ("language", "semantics"),
    "kafka": ("language",),
    "claims": (),
}


def modules(*folders: str) -> list[Path]:
    """Every module of these folders; of the links in `src/reassure`, only the package's own."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [p for p in found if not any(parent.is_symlink() for parent in p.parents)]


class Module(NamedTuple):
    """What the tests look for in a module, which is parsed once."""

    imports: tuple[str, ...]
    """The dotted names that it imports, wherever in it."""
    at_once: tuple[str, ...]
    """Those that it imports when it is itself imported: not those for types, nor in functions."""
    public_classes: tuple[str, ...]
    is_told: bool
    """Whether it has a docstring, or nothing at all."""


@functools.cache
def parsed(path: Path) -> Module:
    imported: list[str] = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in statements(tree):
        if isinstance(node, ast.Import):
            imported += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            imported += (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
    at_once: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            at_once += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            at_once += (f"{node.module}.{alias.name}" for alias in node.names)
    classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    return Module(tuple(imported), tuple(at_once), tuple(classes), not tree.body or bool(ast.get_docstring(tree)))


def imports(path: Path) -> tuple[str, ...]:
    """The dotted names that a module imports, wherever in it."""
    return parsed(path).imports


def libraries(start: str) -> set[str]:
    """The libraries that are imported with a module of this package."""
    found, seen, left = set(), {start}, [start]
    while left:
        path = ROOT / "/".join(left.pop().split(".")[1:])
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for name in parsed(path).at_once:
            parent = name.rpartition(".")[0]
            if name.split(".")[0] != "reassure":
                found.add(name.split(".")[0])
                continue
            for one in (name, parent):
                inner = ROOT / "/".join(one.split(".")[1:])
                there = inner.with_suffix(".py").is_file() or inner.is_dir()
                if there and one not in seen and one.startswith("reassure."):
                    seen.add(one)
                    left.append(one)
    return found - set(sys.stdlib_module_names)


def room(path: Path, folder: str) -> str:
    """The room below a folder that a module is in; its own name if it is in none."""
    return path.relative_to(ROOT / folder).parts[0]


def imported_rooms(path: Path, folder: str) -> set[str]:
    """The rooms below a folder that a module of it imports, other than its own."""
    within = ["reassure", *folder.split("/")]
    found = set()
    for name in imports(path):
        parts = name.split(".")
        if parts[: len(within)] == within and len(parts) > len(within):
            inner = parts[len(within)]
            found.add(inner if (ROOT / folder / inner).is_dir() else f"{inner}.py")
    return {r for r in found if (ROOT / folder / r).exists()} - {room(path, folder)}


HOUSES = [
    ("checkers", FLOORS),
    ("spec", SPEC_FLOORS),
    *((f"checkers/{outer}", floors) for outer, floors in INNER_FLOORS.items()),
]


def test_floors_have_no_circle() -> None:
    for _, floors in HOUSES:
        order = list(floors)
        for name, below in floors.items():
            assert all(order.index(b) < order.index(name) for b in below), name


@pytest.mark.parametrize(("folder", "floors"), HOUSES)
def test_rooms_import_downwards_only(folder: str, floors: dict[str, tuple[str, ...]]) -> None:
    for path in modules(folder):
        where = room(path, folder)
        if where == "__init__.py":
            continue
        assert where in floors, f"{path.relative_to(ROOT)}: {where} has no place among the floors of this test"
        stray = imported_rooms(path, folder) - set(floors[where])
        assert not stray, f"{path.relative_to(ROOT)} imports {', '.join(sorted(stray))}"


@pytest.mark.parametrize("top", ["checkers", "spec"])
def test_no_circle_in_any_folder(top: str) -> None:
    """Of the files and folders of one folder, no two import each other, straight or through others."""
    folders = [ROOT / top, *(p for p in (ROOT / top).rglob("*") if p.is_dir() and any(p.glob("*.py")))]
    for folder in folders:
        here = str(folder.relative_to(ROOT))
        house = nx.DiGraph(
            (room(path, here), below)
            for path in modules(here)
            if path.name != "__init__.py"
            for below in imported_rooms(path, here)
        )
        assert [c for c in nx.strongly_connected_components(house) if len(c) > 1] == [], here


def test_every_floor_is_there() -> None:
    for folder, floors in HOUSES:
        assert [name for name in floors if not (ROOT / folder / name).exists()] == []


def test_the_picture_of_the_house_has_these_floors() -> None:
    """An arrow for each import that does not follow from others, and a row for each package."""
    page = (ROOT / "checkers" / "README.md").read_text(encoding="utf-8")
    arrows = set(re.findall(r"^  (\S+) --> (\S+)$", page, re.MULTILINE))
    house = nx.DiGraph([(package, below) for package, several in FLOORS.items() for below in several])
    assert arrows == set(nx.transitive_reduction(house).edges)
    named = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)}
    assert named >= set(FLOORS)


def test_spec_needs_the_standard_library_only() -> None:
    for path in modules("spec"):
        for name in imports(path):
            ours = name.startswith("reassure.spec")
            assert ours or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_models_import_the_language_and_models() -> None:
    for path in modules("models"):
        for name in imports(path):
            ours = name.split(".")[0] == "reassure" and not name.startswith("reassure.checkers")
            assert ours or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("module", "needs"),
    [
        ("cli.main", set()),
        ("cli.commands.check", set()),
        ("check", set()),
        ("engines.native.engine", set()),
    ],
)
def test_a_check_imports_what_it_needs(module: str, needs: set[str]) -> None:
    """Every run pays for what is imported at the top; networkx, Z3 and PySpark take longer than most checks."""
    assert libraries(f"reassure.checkers.{module}") == needs


def test_checkers_import_no_model() -> None:
    """Models are loaded by name or path; only the loader knows where they lie."""
    for path in modules("checkers"):
        for name in imports(path):
            assert not name.startswith(("reassure.models.", "tests")), f"{path.name} imports {name}"
            assert name != "reassure.models" or path.name == "model_loader.py", f"{path.name} imports {name}"


OF_KAFKA = ("checkers/kafka", "spec/kafka", "models")
WORDS = re.compile(r"(?<![a-z])(kafka|kraft|isr)(?![a-z])", re.IGNORECASE)
SAYS_KAFKA = {
    "checkers/cli/commands/completion.py": 1,
    "checkers/cli/commands/replay.py": 1,
    "checkers/console/commands.py": 6,
    "checkers/console/overview.py": 6,
    "checkers/gate/gate_file.py": 1,
    "checkers/gate/kinds.py": 2,
    "checkers/ledger/pages.py": 6,
    "checkers/ledger/integrity.py": 4,
    "checkers/ledger/verdicts.py": 1,
    "checkers/publish/__init__.py": 9,
    "checkers/publish/claim_pages.py": 1,
    "checkers/publish/commands_page.py": 3,
    "checkers/publish/model_pages.py": 1,
    "checkers/publish/trace_pages.py": 2,
    "checkers/tla/context.py": 1,
    "spec/claims/__init__.py": 7,
    "spec/language/declarations.py": 1,
    "src/reassure/__init__.py": 1,
}
"""Lines, by file, that name Kafka, KRaft or the ISR outside of Kafka's rooms. These numbers may only become smaller."""
IMPORTS_KAFKA = {"checkers/publish/__init__.py", "checkers/ledger/verdicts.py"}
"""The files outside of Kafka's rooms that import from them. This set may only become smaller."""


def outside_of_kafka() -> list[Path]:
    return [
        path
        for path in modules("checkers", "spec", "src/reassure")
        if not path.relative_to(ROOT).as_posix().startswith(OF_KAFKA)
    ]


def test_only_the_rooms_of_kafka_name_it() -> None:
    """The checker is of any protocol."""
    lines = {path: path.read_text(encoding="utf-8").splitlines() for path in outside_of_kafka()}
    counts = {
        str(path.relative_to(ROOT)): sum(bool(WORDS.search(line)) for line in of_it) for path, of_it in lines.items()
    }
    assert {name: count for name, count in counts.items() if count} == SAYS_KAFKA


def test_only_the_rooms_of_kafka_import_them() -> None:
    """Commands are imported by name (`console/commands.py`), and models by the loader."""
    importing = {
        str(path.relative_to(ROOT))
        for path in outside_of_kafka()
        if any(name.startswith(("reassure.checkers.kafka", "reassure.spec.kafka")) for name in imports(path))
    }
    assert importing == IMPORTS_KAFKA


CHECK = """
import sys
from reassure.checkers.cli.main import main
code = main(["check", sys.argv[1], "--quiet"])
names = {".".join(name.split(".")[:3]) for name in sys.modules if name.split(".")[0] in ("reassure", "rich")}
print(code, sorted(names - {"reassure", "reassure.checkers", "reassure.spec"}))
"""


def test_a_check_loads_nothing_of_kafka() -> None:
    """Nor of the ledger, the gate or an analysis, of a model that is not about Kafka; nor rich, to print to a pipe."""
    words = [sys.executable, "-c", CHECK, "two_phase_commit"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    code, _, rooms = ran.stdout.splitlines()[-1].partition(" ")
    loaded = {room for room in ast.literal_eval(rooms) if room.split(".")[:2] != ["reassure", "models"]}
    inner = ("cli", "console", "encoding", "engines", "machine", "request", "traces", "check")
    assert code == "0"
    assert loaded == {f"reassure.checkers.{room}" for room in inner} | {
        "reassure.spec.frontend",
        "reassure.spec.language",
        "reassure.spec.semantics",
    }


def test_nothing_is_imported_by_the_name_of_its_folder() -> None:
    """`import spec` finds nothing where the project is installed."""
    for path in modules(*FOLDERS, "tests"):
        for name in imports(path):
            assert name.split(".")[0] not in ("spec", "models", "checkers"), f"{path.name} imports {name}"


def test_no_public_class_name_stands_in_two_modules() -> None:
    """Whoever reads a name must not have to look up which of two classes it is."""
    modules_of: dict[str, list[str]] = {}
    for path in modules("checkers"):
        for name in parsed(path).public_classes:
            modules_of.setdefault(name, []).append(str(path.relative_to(ROOT)))
    shared = {name: files for name, files in modules_of.items() if len(files) > 1}
    assert shared == {}


def test_modules_are_short() -> None:
    long = {
        str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in modules(*FOLDERS, "tests")
    }
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_every_module_says_what_it_holds() -> None:
    for path in modules(*FOLDERS, "tests"):
        assert parsed(path).is_told, f"{path.relative_to(ROOT)} has no docstring"


def test_names_of_models_are_unique() -> None:
    stems = [p.stem for p in modules("models") if "\nMODEL = " in p.read_text(encoding="utf-8")]
    assert len(stems) == len(set(stems))
    assert sorted(names()) == sorted(stems)


def test_every_property_of_a_model_says_what_is_lost() -> None:
    for name, path in names().items():
        if path.parent.name == "mutants":
            continue
        for declared in load_model(name).properties:
            if declared.kind != "cover":
                assert declared.doc, f"{name}: {declared.name} has no docstring"


def test_no_test_module_is_imported() -> None:
    """It would be run once more in the one that imports it; what several need is in `tests/helpers`."""
    for path in modules("tests"):
        for name in imports(path):
            assert not any(part.startswith("test_") for part in name.split(".")), f"{path.name} imports {name}"


def test_helpers_need_no_folder_of_tests() -> None:
    for path in modules("tests/helpers"):
        for name in imports(path):
            assert not name.startswith("tests.") or name.startswith("tests.helpers"), f"{path.name} imports {name}"


def test_tests_mirror_the_house() -> None:
    """A folder of tests has the name of what it tests."""
    for top in ("checkers", "models", "spec"):
        for folder in (ROOT / "tests" / top).rglob("*"):
            if folder.is_dir() and folder.name != "__pycache__":
                assert (ROOT / folder.relative_to(ROOT / "tests")).is_dir(), f"{folder} mirrors nothing"

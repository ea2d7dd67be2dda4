"""Models in a user's own folders: by themselves, in packages, beside packages that have the names of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reassure import load
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.import_file import import_file

VARIANT = """
from reassure import Model
from reassure.models.examples import die_hard
MODEL = die_hard.MODEL.without('goal_not_reached')
"""
RELATIVE = VARIANT.replace("'goal_not_reached'", "name") + "\n"


def reassure(folder: Path, *words: str) -> tuple[int, str, str]:
    """The command's exit code, output and messages, run in a folder by a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "reassure", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def written(folder: Path, **files: str) -> Path:
    """The folder with files; a double underscore in a name is a slash."""
    for name, text in files.items():
        path = folder / (name.replace("__init__", "INIT").replace("__", "/").replace("INIT", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


PACKAGES = ("models", "spec", "checkers", "protocols")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of each name, and a model in each."""
    folder = tmp_path_factory.mktemp("packages")
    for package in PACKAGES:
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text("")
        (folder / package / "names.py").write_text("name = 'goal_not_reached'\n")
        model = f"from .names import name\nfrom {package} import names\n" + RELATIVE
        (folder / package / "lease.py").write_text(model)
    return folder


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("named", ["{}/lease.py", "{}.lease"])
def test_a_package_of_any_name(package: str, named: str, packages: Path) -> None:
    code, out, err = reassure(packages, "check", named.format(package), "--engine=reference")
    assert (code, err) == (0, "")
    assert out.startswith("lease ")


def test_packages_of_these_names_do_not_hide_ours(packages: Path) -> None:
    code, _, err = reassure(packages, "check", "die_hard", "--engine=reference")
    assert (code, err) == (12, "")


def test_nested_packages(tmp_path: Path) -> None:
    written(tmp_path, a____init__="", a__b____init__="", a__name="name = 'goal_not_reached'\n")
    (tmp_path / "a" / "b" / "__init__.py").write_text("")
    (tmp_path / "a" / "b" / "mine.py").write_text("from ..name import name\n" + RELATIVE)
    code, _, err = reassure(tmp_path, "check", "a/b/mine.py", "--engine=reference")
    assert (code, err) == (0, "")


def test_a_relative_import_without_a_package(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from .names import name\n" + RELATIVE)
    code, _, err = reassure(tmp_path, "check", "mine.py")
    assert code == 150
    assert "a relative import needs an __init__.py in" in err


def test_a_package_of_the_repository_is_found_where_the_command_runs(tmp_path: Path) -> None:
    """By a gate with one process, with two, and by a check alone: what another check has imported decides nothing."""
    written(
        tmp_path,
        models____init__="",
        models__lease=VARIANT,
        protocols__uses="from models import lease\nMODEL = lease.MODEL\n",
    )
    checks = [f'[[check]]\nmodel = "{name}.py"\nexpect = "pass"\n' for name in ("models/lease", "protocols/uses")]
    (tmp_path / "gate.toml").write_text("".join(checks))
    one, two = (reassure(tmp_path, "gate", f"-j{jobs}") for jobs in (1, 2))
    assert (one[0], one[1]) == (two[0], two[1]) and one[0] == 0, one
    assert reassure(tmp_path, "check", "protocols/uses.py", "--quiet")[0] == 0
    below = tmp_path / "protocols"
    answers = [
        reassure(below, "gate", "../gate.toml", "-j1"),
        reassure(below, "gate", "../gate.toml", "-j2"),
        reassure(below, "check", "uses.py"),
    ]
    assert [code for code, *_ in answers] == [150, 150, 150]
    for _, out, err in answers:
        assert f"No module named 'models'; models is in {tmp_path}: run the command in that folder" in out + err


def test_an_error_is_told_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("from typing import Annotated\n\nWIDE = Annotated[int, Rnage(0, 3)]\n")
    (tmp_path / "mine.py").write_text("import parts\n" + VARIANT)
    code, _, err = reassure(tmp_path, "check", "mine.py")
    assert code == 150
    assert "NameError: name 'Rnage' is not defined (parts.py, line 3)" in err


def test_a_name_without_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "preferred.py").write_text(VARIANT)
    code, _, err = reassure(tmp_path, "check", "preferred")
    assert code == 64
    assert "did you mean preferred.py?" in err


SHARED = "name = 'goal_not_reached'\n"


def test_a_name_that_means_a_file_of_another_folder_is_refused(tmp_path: Path) -> None:
    """One process, two folders, a `parts.py` in each: the second file would be checked with the first one's text."""
    for folder in ("a", "b"):
        written(
            tmp_path / folder,
            parts=SHARED,
            between="import parts\n",
            mine="import between\nfrom parts import name\n" + RELATIVE,
        )
    load_both = "import reassure; [reassure.load(f'{folder}/mine.py') for folder in ('a', 'b')]"
    done = subprocess.run([sys.executable, "-c", load_both], cwd=tmp_path, capture_output=True, text=True, check=False)
    error = done.stderr.splitlines()[-1]
    assert "Failure: mine.py imports between.py beside it, and `between` is " in error
    assert f"{tmp_path / 'a' / 'between.py'} in this process: rename the file" in error


def test_a_name_of_the_standard_library_means_the_library(tmp_path: Path) -> None:
    written(
        tmp_path / "a", queue="from reassure import Model\n" + RELATIVE, mine="import queue\nqueue.Queue\n" + VARIANT
    )
    assert reassure(tmp_path, "check", "a/mine.py", "--engine=reference")[::2] == (0, "")


@pytest.fixture
def path_of_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added to it while a test runs is gone afterwards."""
    monkeypatch.setattr(sys, "path", sys.path.copy())


@pytest.mark.usefixtures("path_of_imports")
def test_half_a_module_is_not_left_behind(tmp_path: Path) -> None:
    """A file that fails while it is imported, and is repaired: what imports it by its name gets the repaired text."""
    written(tmp_path, half_made=SHARED + "raise ValueError\n", whole="from half_made import name\n" + RELATIVE)
    with pytest.raises(Failure, match=r"half_made\.py cannot be imported: ValueError"):
        load(tmp_path / "half_made.py")
    written(tmp_path, half_made="name = 'no_such_property'\n")
    with pytest.raises(Failure, match="no_such_property"):
        load(tmp_path / "whole.py")


def put(path: Path, text: str) -> None:
    """Writes a file that was last changed in a second that is always the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.mark.usefixtures("path_of_imports")
@pytest.mark.parametrize(
    ("edited", "imported", "text"),
    [
        ("twice_alone.py", "twice_alone.py", ""),
        ("twice_beside.py", "twice.py", "from twice_beside import value\n"),
        ("twice_package/inner/part.py", "twice_package/whole.py", "from .inner.part import value\n"),
    ],
    ids=["alone", "beside", "in a package"],
)
def test_a_model_edited_twice_in_a_second(
    edited: str, imported: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's cache of bytecode would take it for unchanged: same length, same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for package in ("twice_package", "twice_package/inner"):
        put(tmp_path / package / "__init__.py", "")
    found = []
    for number in (1, 2):
        put(tmp_path / edited, f"value = {number}\n")
        if text:
            put(tmp_path / imported, text)
        found.append(import_file(tmp_path / imported).value)
        for name in [name for name in sys.modules if name.startswith("twice")]:
            del sys.modules[name]
    assert found == [1, 2]
    assert list(tmp_path.rglob("*.pyc")) == []


def test_models_of_the_project_are_compiled_from_their_text(tmp_path: Path) -> None:
    """The program itself is taken from Python's cache."""
    text = """
import sys
from reassure import load
load("die_hard")
for name in ("reassure.models.examples.die_hard", "reassure.checkers.request.model_loader"):
    print(type(sys.modules[name].__loader__).__name__)
"""
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["FromText", "SourceFileLoader"]

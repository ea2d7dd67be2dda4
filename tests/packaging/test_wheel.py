"""What is installed is `reassure` and nothing else, beside packages of any name, and it works without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("src", "spec", "models", "checkers", "counterexamples", "pyproject.toml", "README.md", "LICENSE")
REPRODUCIBLE = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
LEASE = """
from reassure import invariant
from reassure.models.kraft import kraft
from reassure.models.kraft.state import Cluster

from models.limits import LIMIT


@invariant
def few_requests(s: Cluster) -> bool:
    \"\"\"A queue that grows is not drained.\"\"\"
    return len(s.requests) <= LIMIT


MODEL = kraft.MODEL.adding(few_requests)
"""


def copy_of_the_checkout(tree: Path) -> Path:
    for part in PARTS:  # a copy: what an earlier build left in the checkout does not count
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy(ROOT / part, tree / part)
    return tree


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    tree = copy_of_the_checkout(folder / "tree")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    built = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(tree)], capture_output=True, text=True, check=False, env=REPRODUCIBLE
    )
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: the wheel's, unpacked as pip does, for the libraries of this environment."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def reassure(site: Path, folder: Path, *words: str) -> tuple[int, str, str]:
    """The installed command, run in a folder that it knows nothing of."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "reassure", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_one_package_is_installed(site: Path) -> None:
    assert sorted(p.name for p in site.iterdir() if not p.name.endswith(".dist-info")) == ["reassure"]
    named = ("py.typed", "counterexamples/ledger.json", "models/plans/cluster.json", "spec/claims/K.toml")
    assets = (file.relative_to(ROOT) for file in (ROOT / "checkers").glob("*/assets/*"))
    for name in (*named, *map(str, assets)):
        assert (site / "reassure" / name).is_file(), name
    assert list((site / "reassure" / "counterexamples").glob("K21/*.itf.json"))
    assert not list((site / "reassure").rglob("tests"))


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= 3_000_000


def test_beside_a_package_called_models(site: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    (tmp_path / "models" / "limits.py").write_text("LIMIT = 4\n")
    (tmp_path / "models" / "lease.py").write_text(LEASE)
    code, out, err = reassure(
        site, tmp_path, "check", "models/lease.py", "--engine=reference", "--depth=3", "--property=few_requests"
    )
    assert (code, err) == (0, "")
    assert "few_requests" in out
    assert (site / "reassure" / "spec" / "README.md").is_file()  # the page of the language
    code, _, err = reassure(site, tmp_path, "check", "die_hard", "--engine=reference", "--quiet")
    assert (code, err) == (12, "")


def test_claims_and_traces_are_there(site: Path, tmp_path: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in site.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    _, out, _ = reassure(site, tmp_path, "claims", "--claim=K1")
    assert "K1" in out
    assert "never run" not in out
    code, _, err = reassure(site, tmp_path, "claims", "--refresh", "--claim=K1")
    assert code == 64
    assert "installed package" in err
    trace = site / "reassure" / "counterexamples" / "die_hard" / "goal_not_reached.itf.json"
    for named in (str(trace), "die_hard/goal_not_reached", "finding-3"):
        assert reassure(site, tmp_path, "replay", named)[0] == 0
    assert {p: p.stat().st_mtime_ns for p in site.rglob("*") if p.is_file() and p.suffix != ".pyc"} == before


def test_mypy_understands_a_variant(wheel: Path, tmp_path: Path) -> None:
    """As installed, in an environment of its own: what a user's editor sees."""
    venv.create(tmp_path / "venv", with_pip=False)
    (packages,) = (tmp_path / "venv").glob("lib/python3*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (tmp_path / "limits.py").write_text("LIMIT = 4\n")
    (tmp_path / "lease.py").write_text(LEASE.replace("models.limits", "limits"))
    bad = LEASE.replace("models.limits", "limits").replace("s.requests", "s.request")
    (tmp_path / "bad.py").write_text(bad)
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MYPYPATH")}
    python = tmp_path / "venv" / "bin" / "python"

    def checked(name: str) -> tuple[int, str]:
        words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={python}", name]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    code, out = checked("lease.py")
    assert code == 0, out
    code, out = checked("bad.py")
    assert (code, 'has no attribute "request"' in out) == (1, True), out


def test_two_builds_give_the_same_files(wheel: Path, tmp_path: Path) -> None:
    """In folders of other names, at other times, under other umasks."""
    tree = copy_of_the_checkout(tmp_path / "the" / "other")
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (1, 10**9))
    for name, where, umask, kinds in (
        ("first", wheel.parent / "tree", 0o022, ("sdist",)),
        ("second", tree, 0o077, ("sdist", "wheel")),
    ):
        (tmp_path / name).mkdir()
        for kind in kinds:
            build = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
            done = subprocess.run(
                [sys.executable, "-c", build, str(tmp_path / name)],
                cwd=where,
                env=REPRODUCIBLE,
                umask=umask,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
    shutil.copy(wheel, tmp_path / "first")
    first, second = (
        {file.name: file.read_bytes() for file in folder.iterdir()}
        for folder in (tmp_path / "first", tmp_path / "second")
    )
    assert sorted(first) == ["reassure-0.1.0-py3-none-any.whl", "reassure-0.1.0.tar.gz"]
    assert [name for name in first if first[name] != second[name]] == []
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("reassure-0.1.0.dist-info/METADATA").decode().split("\n\n")[0].splitlines()
    assert {"License-Expression: Apache-2.0", "License-File: LICENSE"} <= set(metadata)

"""Kafka's jars and the driver compiled against them: fetched with Maven, kept in the cache, checked by digest.

Maven is told coordinates only; from where it takes them is for its own settings to say. The cache keeps, for each
release and driver, the compiled driver and a list of the jars (which stay in Maven's repository) with their digests.
What is missing or has changed is fetched or compiled again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from reassure.checkers.base.atomic_files import write_atomically
from reassure.checkers.base.exit_codes import Exit, Failure
from reassure.checkers.kafka.controller.releases import (
    CONTROLLER,
    NEWEST,
    SILENCE,
    TEST_MODULES,
    TESTED_WITH,
    Release,
)

DRIVER = "ControllerDriver.java"
MAVEN_SECONDS = 600
JAVAC_SECONDS = 120
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For a JVM whose run is over before the second compiler pays; with few cores it is in the way."""
FORMAT = 2
WITHOUT = "the answers that come with the project need neither: `reassure kafka conform --kept`"


@dataclass(frozen=True)
class ClassPath:
    """A release ready to be run. classes: the compiled driver. jars: Kafka and what it needs."""

    release: Release
    classes: Path
    jars: tuple[Path, ...]

    @property
    def text(self) -> str:
        """As `java -cp` wants it."""
        return os.pathsep.join(str(path) for path in (self.classes, *self.jars))


def folder() -> Path:
    """The folder that releases are kept in: below REASSURE_CACHE, or the user's cache folder."""
    cache_root = os.environ.get("REASSURE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(cache_root) if cache_root else base / "reassure") / "kafka"


def tool(name: str) -> str:
    """The path of `java`, `javac` or `mvn`; `Failure` says what is missing and what works without it."""
    home = os.environ.get("JAVA_HOME")
    if home and name != "mvn" and (Path(home) / "bin" / name).is_file():
        return str(Path(home) / "bin" / name)
    path = shutil.which(name)
    if path is None:
        needed = "Maven" if name == "mvn" else "a JDK, 17 or newer,"
        raise Failure(Exit.SYSTEM, f"no `{name}` on the path: {needed} is needed to run Kafka's classes; {WITHOUT}")
    return path


def java_source(name: str = DRIVER) -> str:
    """The text of a Java file of this package."""
    return resources.files(__package__).joinpath("java", name).read_text(encoding="utf-8")


def fetched(release: Release, tests: bool = False) -> ClassPath | None:
    """The class path of a release in the cache; None if anything is missing, damaged or of another driver."""
    place = _place(release, tests)
    manifest = _manifest(place)
    jars, classes = _intact(manifest.get("jars")), _intact(manifest.get("classes"))
    if not jars or not classes or manifest.get("driver") != _digest(java_source().encode()):
        return None
    return ClassPath(release, place / "classes", tuple(jars))


def _manifest(place: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else {}


def _intact(digests: Any) -> list[Path]:
    """The files of a manifest if each is what it was, else none."""
    try:
        digest_of = {Path(path): sha for path, sha in digests.items()}
        return list(digest_of) if all(_digest(path.read_bytes()) == sha for path, sha in digest_of.items()) else []
    except (OSError, AttributeError, TypeError):
        return []


def fetch(release: Release, tests: bool = False, seconds: float = MAVEN_SECONDS) -> ClassPath:
    """The release from the cache, or by Maven and javac. `Failure` says in a line what went wrong.

    tests: with the jars of Kafka's own tests and what they need. seconds: how long Maven may take.
    """
    if (class_path := fetched(release, tests)) is not None:
        return class_path
    javac, maven = tool("javac"), tool("mvn")
    if tests and release.listed and not release.tested:
        there = ", ".join(r.version for r in NEWEST if r.tested)
        raise Failure(
            Exit.SYSTEM,
            f"Kafka {release.version} was published without the jars of its tests; {there} are, "
            "and `reassure kafka test --main` needs none",
        )
    place = _place(release, tests)
    jars = _known_jars(release, tests) or resolved(maven, _coordinates(release, tests), seconds)
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place), tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as temporary:
        if (class_path := fetched(release, tests)) is not None:  # by another process, meanwhile: a JVM may run from it
            return class_path
        classes = Path(temporary) / "classes"
        compiled(javac, jars, {DRIVER: java_source()}, classes)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        shutil.move(classes, place / "classes")
        manifest = {
            "format": FORMAT,
            "driver": _digest(java_source().encode()),
            "jars": _digests(jars),
            "classes": _digests(sorted((place / "classes").rglob("*.class"))),
        }
        write_atomically(place / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    return ClassPath(release, place / "classes", tuple(jars))


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One process at a time writes a release's folder; a process that ends lets go of it."""
    with open(place.with_name(f".{place.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compiled(javac: str, jars: list[Path], sources: dict[str, str], classes: Path) -> None:
    """Compiles Java texts, by file name or path, into a folder; `Failure` with the compiler's first line."""
    with tempfile.TemporaryDirectory() as temporary:
        paths = [str(Path(temporary) / name) for name in sources]
        for path, text in zip(paths, sources.values(), strict=True):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
        options = ["-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", os.pathsep.join(map(str, jars))]
        ran = _run(
            [javac, *(f"-J{option}" for option in QUICK), *options, "-d", str(classes), *paths], JAVAC_SECONDS, "javac"
        )
    if ran.returncode != 0:
        lines = [line for line in (ran.stdout + ran.stderr).splitlines() if "error:" in line]
        first = (lines or ["no reason given"])[0].replace(temporary + os.sep, "")
        raise Failure(Exit.SYSTEM, f"javac refuses {Path(paths[0]).name}: {first}")


def _coordinates(release: Release, tests: bool) -> list[str]:
    coordinates = [f"{CONTROLLER}:{release.version}", SILENCE]
    if tests:
        coordinates += [f"org.apache.kafka:{module}:{release.version}:test" for module in TEST_MODULES]
        coordinates.append(f"{CONTROLLER}:{release.version}:test-sources")
        coordinates += TESTED_WITH
    return coordinates


def resolved(maven: str, coordinates: list[str], seconds: float) -> list[Path]:
    """The jars of some coordinates and all that they need to run."""
    with tempfile.TemporaryDirectory() as temporary:
        pom, listed = Path(temporary) / "pom.xml", Path(temporary) / "class-path"
        pom.write_text(_pom(coordinates), encoding="utf-8")
        goals = ["dependency:build-classpath", "-DincludeScope=runtime", f"-Dmdep.outputFile={listed}"]
        ran = _run([maven, "-q", "-B", "-f", str(pom), *goals], seconds, "Maven")
        if ran.returncode != 0 or not listed.is_file():
            lines = [line for line in ran.stdout.splitlines() if "ERROR" in line]
            why = _without_hosts((lines or ["no reason given"])[0])
            raise Failure(Exit.SYSTEM, f"Maven cannot bring {coordinates[0]}: {why}")
        text = listed.read_text(encoding="utf-8").strip()
    return [Path(path) for path in text.split(os.pathsep) if path]


def _pom(coordinates: list[str]) -> str:
    """A project that needs just these: group:artifact:version, or with a classifier behind."""
    needed = []
    for text in coordinates:
        group, artifact, version, *classifier = text.split(":")
        more = f"<classifier>{classifier[0]}</classifier>" if classifier else ""
        needed.append(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version>{more}</dependency>"
        )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>reassure</groupId><artifactId>kafka-class-path</artifactId><version>1</version>"
        f"<dependencies>{''.join(needed)}</dependencies></project>\n"
    )


def _without_hosts(line: str) -> str:
    """A line of Maven's without colours, cut before it says where it looked; what is missing, if it says so."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", line).replace("[ERROR]", "").strip()
    missing = re.search(r"Could not find artifact (\S+)|(\S+) was not found in ", plain)  # the second: asked for before
    if missing:
        return f"Could not find artifact {missing[1] or missing[2]}"
    return plain.split(" from ")[0].split(" (http")[0][:200]


def _run(command: list[str], seconds: float, name: str) -> subprocess.CompletedProcess[str]:
    environment = {"MAVEN_OPTS": " ".join(QUICK), **os.environ}  # half of Maven's time, where the user says nothing
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            errors="replace",
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise Failure(Exit.SYSTEM, f"{name} did not finish within {seconds:g} s") from None
    except OSError as error:
        raise Failure(Exit.SYSTEM, f"{name} cannot be run: {error.strerror}") from None


def _place(release: Release, tests: bool) -> Path:
    """Each driver has a folder of its own: two checkouts may run at once."""
    return folder() / f"{_name(release, tests)}-driver-{_digest(java_source().encode())[:12]}"


def _name(release: Release, tests: bool) -> str:
    return release.version + ("-tests" if tests else "")


def _known_jars(release: Release, tests: bool) -> list[Path]:
    """The jars of a release if any driver has run with them."""
    for place in sorted(folder().glob(f"{_name(release, tests)}-driver-*")):
        if jars := _intact(_manifest(place).get("jars")):
            return jars
    return []


def _digests(paths: list[Path]) -> dict[str, str]:
    return {str(path): _digest(path.read_bytes()) for path in paths}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

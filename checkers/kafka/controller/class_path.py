"""Kafka's jars and the driver compiled against them: fetched with Maven, kept in the cache, checked by digest.

Maven is told coordinates only; from where it takes them is for its own settings to say. The cache keeps, for each
release and driver, the compiled driver and a list of the jars (which stay in Maven's repository) with their digests;
and what was compiled last. What is missing or has changed is fetched or compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from reassure.checkers.kafka.controller.releases import (
    CONTROLLER,
    DIGEST,
    NEWEST,
    OF_KAFKA,
    SILENCE,
    TEST_MODULES,
    TESTED_WITH,
    VERSION_FILE,
    LocalBuild,
    Release,
    has_libraries,
    libraries_of,
    local_build,
    test_parts,
)
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.class_archive import NONE, Archive, jvm_archive
from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure
from reassure.checkers.machine.own_files import cache_folder, locked, others_can_write, own_folder, temporary_folder
from reassure.spec.semantics.trace import JsonObject

DRIVER = "ControllerDriver.java"
TOPIC_DRIVER = "TopicDriver.java"
DRIVER_JAR = "driver.jar"
MAVEN_SECONDS = 600
JAVAC_SECONDS = 120
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For a JVM whose run is over before the second compiler pays; with few cores it is in the way."""
FORMAT = 2
MOST_BUILDS = 24
"""Builds of one's own that the cache keeps."""
MOST_ARCHIVES = 16
"""Archives of a release's classes that the cache keeps: each has 13 MB."""
MOST_PROGRAMS = 128
"""Compiled programs that the cache keeps: tests and programs of traces, changed classes of Kafka."""
WITHOUT = "the answers that come with the project need neither: `reassure kafka conform --kept`"


@dataclass(frozen=True)
class ClassPath:
    """A release ready to be run. classes: the compiled driver, as a jar. jars: Kafka and what it needs."""

    release: Release
    classes: Path
    jars: tuple[Path, ...]

    @property
    def text(self) -> str:
        """As `java -cp` wants it."""
        return os.pathsep.join(str(path) for path in (self.classes, *self.jars))


def kafka_archive(class_path: ClassPath, writes: bool) -> contextlib.AbstractContextManager[Archive]:
    """What a JVM is given whose class path begins as this one: see `jvm_archive`.

    Nothing for a build of one's own: what it costs to write an archive is more than a few JVMs gain.
    """
    if class_path.release.build or class_path.classes.name != DRIVER_JAR:
        return contextlib.nullcontext(NONE)
    files = [Path(tool("java")).resolve(), class_path.classes, *class_path.jars]
    return jvm_archive("kafka-jvm", MOST_ARCHIVES, QUICK, files, writes)


def releases_folder() -> Path:
    """The folder that releases are kept in: below REASSURE_CACHE, or the user's cache folder."""
    return cache_folder("kafka")


def tool(name: str) -> str:
    """The path of `java`, `javac` or `mvn`; `Failure` says what is missing and what works without it."""
    home = os.environ.get("JAVA_HOME")
    if home and name != "mvn" and (Path(home) / "bin" / name).is_file():
        return str(Path(home) / "bin" / name)
    path = shutil.which(name)
    if path is None:
        needed = "Maven" if name == "mvn" else "a JDK, 17 or newer,"
        raise SystemFailure(f"no `{name}` on the path: {needed} is needed to run Kafka's classes; {WITHOUT}")
    return path


def java_source(name: str = DRIVER) -> str:
    """The text of a Java file of this package."""
    return resources.files(__package__).joinpath("java", name).read_text(encoding="utf-8")


def driver_sources() -> dict[str, str]:
    """The Java files of the driver, as they are compiled.

    `TopicDriver` extends `ControllerDriver`, whose text stays as it is: the kept answers bear its digest. It is
    compiled without its `private`, and what is overridden or changed without its `final`.
    """
    text = java_source().replace("public final class", "public class", 1)
    for name in ("private final int index", "private static final Uuid TOPIC_ID"):
        text = text.replace(name, name.replace("final ", ""), 1)
    text = text.replace("private ", "")
    return {DRIVER: text, TOPIC_DRIVER: java_source(TOPIC_DRIVER)}


def _digest_of_driver() -> str:
    return _digest("\0".join(driver_sources().values()).encode())


def must_be_own() -> None:
    """`Failure` if other users can write to the folder that classes are run from."""
    with contextlib.suppress(FileNotFoundError):
        if (why := others_can_write(releases_folder())) is not None:
            raise SystemFailure(f"classes of Kafka are not run from {releases_folder()}: {why}")


def fetched(release: Release, tests: bool = False) -> ClassPath | None:
    """The class path of a release in the cache; None if anything is missing, damaged or of another driver.

    `Failure` if other users can write to the cache.
    """
    must_be_own()
    place = _place(release, tests)
    manifest = _manifest(place)
    jars, classes = _intact(manifest.get("jars")), _intact(manifest.get("classes"))
    if not jars or classes != [place / DRIVER_JAR] or manifest.get("driver") != _digest_of_driver():
        return None
    return ClassPath(release, place / DRIVER_JAR, tuple(jars))


def _manifest(place: Path) -> JsonObject:
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
    if DIGEST in release.version and not release.build:
        raise UsageFailure(f"{release.version} names a build by its digest: write its path, as in --release PATH")
    javac = tool("javac")
    if tests and release.listed and not release.tested:
        there = ", ".join(r.version for r in NEWEST if r.tested)
        raise SystemFailure(
            f"Kafka {release.version} was published without the jars of its tests; {there} are, "
            "and `reassure kafka test --main` needs none",
        )
    place = _place(release, tests)
    own_folder(place.parent)
    with _alone(place), tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as temporary:
        if (class_path := fetched(release, tests)) is not None:  # by another process, meanwhile: a JVM may run from it
            return class_path
        (fresh := Path(temporary) / "place").mkdir()
        jars = (_jars_of_build if release.build else _jars_of_release)(release, tests, fresh, seconds)
        try:
            compile_java(javac, jars, driver_sources(), fresh / "classes")
        except SystemFailure as failure:
            if not release.build:
                raise
            why = str(failure).removeprefix(f"javac refuses {DRIVER}: ")
            raise SystemFailure(f"the driver does not compile against {release.build}: {why}") from None
        if release.build:
            _write_version(release, fresh / "classes")
        _pack(fresh / "classes", fresh / DRIVER_JAR)
        shutil.rmtree(place, ignore_errors=True)
        shutil.move(fresh, place)
        jars = [place / jar.relative_to(fresh) if jar.is_relative_to(fresh) else jar for jar in jars]
        manifest = {
            "format": FORMAT,
            "driver": _digest_of_driver(),
            "jars": _digests(jars),
            "classes": _digests([place / DRIVER_JAR]),
        }
        if release.build:
            _must_be_unchanged(
                release
            )  # while it was copied and compiled: what is kept bears the digest of what was there
        write_atomically(place / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    if release.build:
        _forget_older_builds()
    return ClassPath(release, place / DRIVER_JAR, tuple(jars))


def _jars_of_release(release: Release, tests: bool, fresh: Path, seconds: float) -> list[Path]:
    return _known_jars(release, tests) or resolved_jars(tool("mvn"), _coordinates(release, tests), seconds)


def _must_be_unchanged(release: Release) -> LocalBuild:
    """The build, read now; `SystemFailure` if it is not the one that the release is named by."""
    build = local_build(release.build)
    if build.name != release.version:
        raise SystemFailure(f"{release.build} has changed since this command began: start it again")
    return build


def _jars_of_build(release: Release, tests: bool, fresh: Path, seconds: float) -> list[Path]:
    """The jars of a build: folders of classes as copies in `fresh`, libraries by Maven if it has none."""
    build = _must_be_unchanged(release)
    parts = [*build.parts, *(test_parts(build) if tests else ())]
    jars = [part.stored(fresh / "modules" / f"{n}-{part.name.replace('/', '-')}.jar") for n, part in enumerate(parts)]
    jars += [part.paths[0] for part in build.libraries]
    if not has_libraries(build):
        with_libraries = libraries_of(release)
        others = _jars_of_release(with_libraries, False, fresh, seconds)
        jars += [jar for jar in others if not jar.name.startswith(OF_KAFKA)]
    return jars + (resolved_jars(tool("mvn"), list(TESTED_WITH), seconds) if tests else [])


def _write_version(release: Release, classes: Path) -> None:
    """The driver says hello with the version that it finds first on the class path: that of the build."""
    file = classes / VERSION_FILE
    file.parent.mkdir(parents=True)
    file.write_text(f"version={release.version}\n", encoding="utf-8")


def _pack(classes: Path, jar: Path) -> None:
    """Moves compiled classes into a jar: Java archives the classes of a JVM only if no folder is on its path."""
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(path for path in classes.rglob("*") if path.is_file()):
            packed.write(file, file.relative_to(classes))
    shutil.rmtree(classes)


def _forget_older_builds() -> None:
    """The newest builds stay in the cache: a checkout gives another with each change."""
    _forget_older(releases_folder().glob(f"*{DIGEST}*-driver-*/manifest.json"), MOST_BUILDS)


def _forget_older(manifests: Iterable[Path], most: int) -> None:
    """Removes the folders of manifests but of the newest ones. Another process may do the same."""

    def age(file: Path) -> float:
        with contextlib.suppress(OSError):
            return file.stat().st_mtime
        return 0.0

    for manifest in sorted(manifests, key=age)[:-most]:
        shutil.rmtree(manifest.parent, ignore_errors=True)


def program(name: str, source: str, text: str, coordinates: list[str], seconds: float) -> tuple[Path, ...]:
    """The class path of a Java program: its classes, then the jars of some coordinates; kept in the cache.

    name: of its folder there, beside a digest. source, text: the Java file. `Failure` says in a line what went wrong.
    """
    digest = _digest("\0".join([text, *coordinates]).encode())
    place = releases_folder() / f"{name}-{digest[:12]}"

    def kept() -> tuple[Path, ...]:
        must_be_own()
        manifest = _manifest(place)
        jars, classes = _intact(manifest.get("jars")), _intact(manifest.get("classes"))
        return (place / "classes", *jars) if jars and classes and manifest.get("driver") == digest else ()

    if parts := kept():
        return parts
    javac, maven = tool("javac"), tool("mvn")
    own_folder(place.parent)
    with _alone(place), tempfile.TemporaryDirectory(dir=place.parent, prefix=".fetching-") as temporary:
        if parts := kept():
            return parts
        fresh = Path(temporary) / "place"
        (fresh / "classes").mkdir(parents=True)
        jars = resolved_jars(maven, coordinates, seconds)
        compile_java(javac, jars, {source: text}, fresh / "classes")
        shutil.rmtree(place, ignore_errors=True)
        shutil.move(fresh, place)
        classes = sorted(path for path in (place / "classes").rglob("*") if path.is_file())
        manifest = {"format": FORMAT, "driver": digest, "jars": _digests(jars), "classes": _digests(classes)}
        write_atomically(place / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    return (place / "classes", *jars)


def _alone(place: Path) -> contextlib.AbstractContextManager[None]:
    """One process at a time writes a release's folder; a process that ends lets go of it."""
    return locked(place.with_name(f".{place.name}.lock"), 2 * MAVEN_SECONDS)


def compiled_java(javac: str, jars: list[Path], sources: dict[str, str], classes: Path) -> None:
    """As `compile_java`, or a copy of what the same compiler made of the same texts and jars before."""
    kept = releases_folder().with_name("java")
    if not own_folder(kept) or not all(jar.exists() for jar in jars):
        compile_java(javac, jars, sources, classes)
        return
    files = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in (Path(javac).resolve(), *jars)]
    place = kept / _digest(json.dumps([FORMAT, files, *sources.items()]).encode())[:32]
    if not _taken(place, classes):
        with tempfile.TemporaryDirectory(dir=kept, prefix=".compiling-") as temporary:
            fresh = Path(temporary) / "place"
            compile_java(javac, jars, sources, fresh / "classes")
            shutil.copytree(fresh / "classes", classes, dirs_exist_ok=True)
            (fresh / "digests.json").write_text(json.dumps(_contents(fresh / "classes")), encoding="utf-8")
            shutil.rmtree(place, ignore_errors=True)
            with contextlib.suppress(OSError):  # another process has put its own there
                fresh.rename(place)
        _forget_older(kept.glob("*/digests.json"), MOST_PROGRAMS)


def _taken(place: Path, classes: Path) -> bool:
    """Copies compiled classes from the cache; False if there are none, or not as they were."""
    try:
        digests = json.loads((place / "digests.json").read_text(encoding="utf-8"))
        if not digests or _contents(place / "classes") != digests:
            return False
        (place / "digests.json").touch()
        shutil.copytree(place / "classes", classes, dirs_exist_ok=True)
    except (OSError, ValueError, shutil.Error):  # also if another process has just removed it
        return False
    return True


def _contents(classes: Path) -> dict[str, str]:
    files = sorted(path for path in classes.rglob("*") if path.is_file())
    return {str(path.relative_to(classes)): _digest(path.read_bytes()) for path in files}


def compile_java(javac: str, jars: list[Path], sources: dict[str, str], classes: Path) -> None:
    """Compiles Java texts, by file name or path, into a folder; `Failure` with the compiler's first line."""
    with temporary_folder("kafka") as temporary:
        paths = [str(temporary / name) for name in sources]
        for path, text in zip(paths, sources.values(), strict=True):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
        options = ["-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", os.pathsep.join(map(str, jars))]
        ran = _run(
            [javac, *(f"-J{option}" for option in QUICK), *options, "-d", str(classes), *paths], JAVAC_SECONDS, "javac"
        )
    if ran.returncode != 0:
        lines = (ran.stdout + ran.stderr).splitlines()
        errors = [number for number, line in enumerate(lines) if "error:" in line]
        symbols = [line.strip() for line in lines[errors[0] :] if line.startswith("  symbol:")] if errors else []
        first = lines[errors[0]].replace(str(temporary) + os.sep, "") if errors else "no reason given"
        first += f", {re.sub(' +', ' ', symbols[0])}" if first.endswith("cannot find symbol") and symbols else ""
        raise SystemFailure(f"javac refuses {Path(paths[0]).name}: {first}")


def _coordinates(release: Release, tests: bool) -> list[str]:
    coordinates = [f"{CONTROLLER}:{release.version}", SILENCE]
    if tests:
        coordinates += [f"org.apache.kafka:{module}:{release.version}:test" for module in TEST_MODULES]
        coordinates.append(f"{CONTROLLER}:{release.version}:test-sources")
        coordinates += TESTED_WITH
    return coordinates


def resolved_jars(maven: str, coordinates: list[str], seconds: float) -> list[Path]:
    """The jars of some coordinates and all that they need to run."""
    with temporary_folder("kafka") as temporary:
        pom, listed = temporary / "pom.xml", temporary / "class-path"
        pom.write_text(_pom(coordinates), encoding="utf-8")
        goals = ["dependency:build-classpath", "-DincludeScope=runtime", f"-Dmdep.outputFile={listed}"]
        ran = _run([maven, "-q", "-B", "-f", str(pom), *goals], seconds, "Maven")
        if ran.returncode != 0 or not listed.is_file():
            lines = [line for line in ran.stdout.splitlines() if "ERROR" in line]
            why = _without_hosts((lines or ["no reason given"])[0])
            raise SystemFailure(f"Maven cannot bring {coordinates[0]}: {why}")
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
        raise SystemFailure(f"{name} did not finish within {seconds:g} s") from None
    except OSError as error:
        raise SystemFailure(f"{name} cannot be run: {error.strerror}") from None


def _place(release: Release, tests: bool) -> Path:
    """Each driver, and each form of its classes, has a folder of its own: two checkouts may run at once."""
    digest = _digest(f"{DRIVER_JAR}\0{_digest_of_driver()}".encode())
    return releases_folder() / f"{_name(release, tests)}-driver-{digest[:12]}"


def _name(release: Release, tests: bool) -> str:
    if tests and release.build:
        digests = "".join(_digest(f.read_bytes()) for p in test_parts(local_build(release.build)) for _, f in p.files())
        return f"{release.version}-tests-{_digest(digests.encode())[:12]}"
    return release.version + ("-tests" if tests else "")


def _known_jars(release: Release, tests: bool) -> list[Path]:
    """The jars of a release if any driver has run with them."""
    for place in sorted(releases_folder().glob(f"{_name(release, tests)}-driver-*")):
        if jars := _intact(_manifest(place).get("jars")):
            return jars
    return []


def _digests(paths: list[Path]) -> dict[str, str]:
    return {str(path): _digest(path.read_bytes()) for path in paths}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

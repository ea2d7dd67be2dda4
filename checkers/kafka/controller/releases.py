"""Releases of Kafka that are driven, and where they are found: by Maven coordinates, or a build by its path.

Also here: a build of Kafka in the file system: jars, folders of classes, or a checkout that Gradle has built.

A build is named by a path, or by several joined by the separator of class paths. Each path is a jar, a folder of jars
(also one with the folder `libs`, as a distribution has it), a folder of classes, or a checkout of Kafka's sources. Of a
checkout, each module's `build/classes/java/main` and `build/resources/main` count, or else the jar in `build/libs`;
libraries are taken from a folder `build/dependant-libs*`, which Gradle's task `copyDependantLibs` fills.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reassure.checkers.machine.exit_codes import SystemFailure, UsageFailure
from reassure.spec.kafka.releases import RELEASES_OF_RULES, minor, numbers

MODULES = {
    "metadata": "org/apache/kafka/controller/ReplicationControlManager.class",
    "server-common": "org/apache/kafka/server/common/MetadataVersion.class",
    "clients": "org/apache/kafka/common/Uuid.class",
    "raft": "org/apache/kafka/raft/RaftClient.class",
}
"""The modules of Kafka that its controller needs, with a class of each."""
MORE_MODULES = ("storage/api", "storage")
"""Modules that the controller of some releases needs: taken from a checkout if they are built."""
TEST_CLASSES = {
    "metadata": "org/apache/kafka/controller/ReplicationControlManagerTest.class",
    "server-common": "org/apache/kafka/server/util/MockTime.class",
    "clients": "org/apache/kafka/test/TestUtils.class",
    "raft": "org/apache/kafka/raft/MockLog.class",
}
LIBRARIES = ("slf4j-api", "jackson-databind", "metrics-core", "pcollections")
"""The names of jars without which Kafka's controller does not run: the other libraries come with them."""
BINDING = re.compile(r"^(slf4j-(log4j12|reload4j|simple|jdk14)|log4j-slf4j\d?-impl|logback-classic)-")
"""Jars that would make the controller log a line for each record."""
OF_KAFKA = ("kafka-", "kafka_", "connect-", "trogdor-")
NO_CLASSES = re.compile(r"-(test|tests|sources|test-sources|javadoc|scaladoc)\.jar$")
CONTROLLER_CLASSES = ("org/apache/kafka/controller/", "org/apache/kafka/metadata/")
OF_A_RELEASE = re.compile(r"^kafka-[a-z-]+-(\d+\.\d+\.\d+(-SNAPSHOT)?)\.jar$")
"""The name of a jar of Kafka that states its version."""
VERSION_FILE = "kafka/kafka-version.properties"
UNKNOWN = "unknown"
DIGEST = "+build-"
"""Stands before the digest in the name of a build."""
DIGITS = 12
"""Of the digest, in that name."""


@dataclass(frozen=True)
class ClassPathPart:
    """An entry of a class path: a jar, or the folders of a module. name: of the module or the jar."""

    name: str
    paths: tuple[Path, ...]

    @property
    def is_jar(self) -> bool:
        return self.paths[0].is_file()

    def has(self, name: str) -> bool:
        """Whether the part has a class or another file, by its path within."""
        if not self.is_jar:
            return any((path / name).is_file() for path in self.paths)
        with _archive(self.paths[0]) as archive:
            return name in archive.NameToInfo

    def text(self, name: str) -> str:
        """The text of a file within; "" if there is none."""
        if self.is_jar:
            with _archive(self.paths[0]) as archive:
                return archive.read(name).decode("latin-1") if name in archive.NameToInfo else ""
        return next((f.read_text("latin-1") for path in self.paths if (f := path / name).is_file()), "")

    def files(self) -> Iterator[tuple[str, Path]]:
        """Every file of the part, by its path within; of a jar the jar itself."""
        if self.is_jar:
            yield self.name, self.paths[0]
            return
        for path in self.paths:
            for file in sorted(path.rglob("*")):
                if file.is_file():
                    yield str(file.relative_to(path)), file

    def stored(self, jar: Path) -> Path:
        """The part as one jar: itself, or else `jar`, a copy of its folders that no later build of them changes."""
        if self.is_jar:
            return self.paths[0]
        jar.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(jar, "w") as archive:
            for name, file in dict(reversed(list(self.files()))).items():
                archive.writestr(zipfile.ZipInfo(name), file.read_bytes())
        return jar


@dataclass(frozen=True)
class LocalBuild:
    """The classes of a build. text: as the user names it. libraries: jars that are not Kafka's."""

    text: str
    parts: tuple[ClassPathPart, ...]
    libraries: tuple[ClassPathPart, ...]
    stated: str
    """The version that the checkout or its jars state, such as 4.4.0-SNAPSHOT; "unknown" if they state none."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of every class and jar: another content has another digest, wherever it lies."""
        whole = hashlib.sha256()
        for part in (*self.parts, *self.libraries):
            for name, file in part.files():
                whole.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
        return whole.hexdigest()

    @property
    def name(self) -> str:
        """The version of the build: what it states, and the digest."""
        return f"{self.stated}{DIGEST}{self.digest[:DIGITS]}"


def names_a_build(text: str) -> bool:
    """Whether a text names a build rather than a release: it has a separator of paths, or is one that exists."""
    return os.sep in text or os.pathsep in text or Path(text).exists()


def _absolute(text: str) -> str:
    """The paths of a build without a reference to the working directory."""
    return os.pathsep.join(os.path.abspath(path) for path in text.split(os.pathsep) if path)


def local_build(text: str) -> LocalBuild:
    """The build at a path or several; `SystemFailure` says in a line why it cannot be run."""
    parts: list[ClassPathPart] = []
    libraries: list[ClassPathPart] = []
    versions: set[str] = set()
    for path in map(Path, filter(None, text.split(os.pathsep))):
        own = _parts(path)
        parts += [part for part in own if not _is_library(part)]
        libraries += [part for part in own if _is_library(part)]
        if _is_checkout(path):
            libraries += _libraries_of_checkout(path)
        versions |= _versions(path, own)
    for module, name in MODULES.items():
        if not any(part.has(name) for part in parts):
            raise SystemFailure(
                f"{text} has no class {_dotted(name)}: the jar or classes of kafka-{module} are missing"
            )
    if len(versions) > 1:
        raise SystemFailure(f"{text} mixes jars of Kafka {' and '.join(sorted(versions))}")
    return LocalBuild(text, tuple(parts), tuple(libraries), next(iter(versions), UNKNOWN))


def has_libraries(build: LocalBuild) -> bool:
    """Whether the build comes with the libraries that Kafka's controller needs."""
    return all(any(part.name.startswith(f"{name}-") for part in build.libraries) for name in LIBRARIES)


def test_parts(build: LocalBuild) -> list[ClassPathPart]:
    """The classes of Kafka's own tests in a build; `SystemFailure` if they are not there."""
    parts = []
    for path in map(Path, filter(None, build.text.split(os.pathsep))):
        if _is_checkout(path):
            modules = [(module, path / module / "build") for module in MODULES]
            parts += [_folders(f"{module}-test", folder, "test") for module, folder in modules]
            parts += [
                ClassPathPart(jar.name, (jar,))
                for _, folder in modules
                for jar in sorted(folder.glob("libs/*-test.jar"))
            ]
        elif path.is_dir():
            parts += [ClassPathPart(jar.name, (jar,)) for jar in sorted(path.glob("*-test.jar"))]
        else:
            parts.append(ClassPathPart(path.name, (path,)))
    parts = [part for part in parts if part.paths]
    for module, name in TEST_CLASSES.items():
        if not any(part.has(name) for part in parts):
            tasks = " ".join(f":{each}:testClasses" for each in TEST_CLASSES)
            raise SystemFailure(
                f"{build.text} has no classes of the tests of kafka-{module}, such as {_dotted(name)}; in a checkout "
                f"`./gradlew {tasks}` compiles them, and `reassure kafka test --main` needs none"
            )
    return parts


def newer_source(text: str) -> Path | None:
    """A source of a checkout that is newer than every class of its module, so that the build may be an old one."""
    for path in filter(_is_checkout, map(Path, text.split(os.pathsep))):
        for module in MODULES:
            times = [file.stat().st_mtime for part in _module(path, module) for _, file in part.files()]
            sources = (path / module / "src" / "main" / "java").rglob("*.java")
            newest = max(sources, key=lambda file: file.stat().st_mtime, default=None)
            if newest is not None and times and newest.stat().st_mtime > max(times):
                return newest
    return None


def _parts(path: Path) -> list[ClassPathPart]:
    """The entries of the class path that one path stands for."""
    if path.is_file():
        if not zipfile.is_zipfile(path):
            raise SystemFailure(f"{path} is neither a jar nor a folder")
        return [ClassPathPart(path.name, (path,))]
    if not path.is_dir():
        raise SystemFailure(f"{path} does not exist")
    if _is_checkout(path):
        missing = [module for module in MODULES if not _module(path, module)]
        if missing:
            raise SystemFailure(
                f"{path} is a checkout of Kafka that is not built: neither {missing[0]}/build/classes/java/main nor a "
                f"jar in {missing[0]}/build/libs is there; `./gradlew {' '.join(f':{m}:jar' for m in missing)}` "
                "builds what is missing"
            )
        return [part for module in (*MODULES, *MORE_MODULES) for part in _module(path, module)]
    if (path / "org").is_dir():
        return [ClassPathPart(path.name, (path,))]
    for folder in (path, path / "libs"):
        jars = [jar for jar in sorted(folder.glob("*.jar")) if not NO_CLASSES.search(jar.name)]
        if jars:
            _must_have_each_class_once(jars)
            return [ClassPathPart(jar.name, (jar,)) for jar in jars if not BINDING.match(jar.name)]
    raise SystemFailure(f"{path} has no jars, no classes (a folder `org`) and no checkout of Kafka (`metadata/build`)")


def _must_have_each_class_once(jars: list[Path]) -> None:
    """`SystemFailure` for jars of a folder, two of which have one class of the controller: which one counts."""
    having: dict[str, Path] = {}
    for jar in jars:
        with contextlib.suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                is_ours = name.startswith(CONTROLLER_CLASSES) and name.endswith(".class")
                if is_ours and having.setdefault(name, jar) != jar:
                    raise SystemFailure(
                        f"{jar.parent} has {having[name].name} and {jar.name}, and both have {name}: remove one of them"
                    )


def _is_checkout(path: Path) -> bool:
    return (path / "metadata").is_dir() and ((path / "gradle.properties").is_file() or (path / "clients").is_dir())


def _module(checkout: Path, module: str) -> list[ClassPathPart]:
    """The classes of a module, as Gradle leaves them; empty if it is not built."""
    folder = checkout / module / "build"
    if (part := _folders(module, folder, "main")).paths:
        return [part]
    jars = [jar for jar in sorted(folder.glob("libs/*.jar")) if not NO_CLASSES.search(jar.name)]
    if len(jars) > 1:
        names = ", ".join(jar.name for jar in jars)
        raise SystemFailure(f"{folder / 'libs'} has {names}: `./gradlew clean` removes older ones")
    return [ClassPathPart(jar.name, (jar,)) for jar in jars]


def _folders(name: str, build: Path, sources: str) -> ClassPathPart:
    """The classes and resources of a module; no path if it has no classes."""
    folders = [build / "classes" / "java" / sources, build / "resources" / sources]
    return ClassPathPart(name, tuple(path for path in folders if path.is_dir()) if any(_classes(folders[0])) else ())


def _classes(folder: Path) -> Iterator[Path]:
    return folder.rglob("*.class")


def _libraries_of_checkout(path: Path) -> list[ClassPathPart]:
    """The jars that are not Kafka's, of one folder that has all that are needed: core's, or the latest other one."""
    folders = [*path.glob("*/build/dependant-libs*"), *path.glob("*/*/build/dependant-libs*")]
    for folder in sorted(folders, key=lambda f: (f.parent.parent.name == "core", f.stat().st_mtime), reverse=True):
        jars = [jar for jar in sorted(folder.glob("*.jar")) if not jar.name.startswith(OF_KAFKA)]
        if all(any(jar.name.startswith(f"{name}-") for jar in jars) for name in LIBRARIES):
            return [ClassPathPart(jar.name, (jar,)) for jar in jars if not BINDING.match(jar.name)]
    return []


def _is_library(part: ClassPathPart) -> bool:
    if not part.is_jar or part.name.startswith(OF_KAFKA):
        return False
    with _archive(part.paths[0]) as archive:
        return not any(name.startswith("org/apache/kafka/") for name in archive.NameToInfo)


def _versions(path: Path, parts: Sequence[ClassPathPart]) -> set[str]:
    """The versions that a path states: of a checkout that of its sources, else those of its jars and classes."""
    properties = path / "gradle.properties"
    texts = [properties.read_text("latin-1")] if properties.is_file() else []
    if not texts:
        texts = [part.text(VERSION_FILE) for part in parts]
        texts += [file.read_text("latin-1") for file in sorted(path.glob(f"*/build/{VERSION_FILE}"))]
    matches = (re.search(r"^version\s*[=:]\s*(\S+)", text, re.MULTILINE) for text in texts)
    named = [] if _is_checkout(path) else (OF_A_RELEASE.match(part.name) for part in parts)
    return {match[1] for match in (*matches, *named) if match}


def _archive(jar: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(jar)
    except (OSError, zipfile.BadZipFile) as error:
        raise SystemFailure(f"{jar} cannot be read: {error}") from None


def _dotted(name: str) -> str:
    return name.removesuffix(".class").replace("/", ".")


CONTROLLER = "org.apache.kafka:kafka-metadata"
SILENCE = "org.slf4j:slf4j-nop:1.7.36"
"""Else the controller logs a line for each record."""
TESTED_WITH = (
    "org.junit.jupiter:junit-jupiter:5.10.2",
    "org.junit.platform:junit-platform-console:1.10.2",
    "org.mockito:mockito-junit-jupiter:5.11.0",
)
"""Maven coordinates that Kafka's own tests of the controller need beside its test jars."""
TEST_MODULES = ("kafka-metadata", "kafka-raft", "kafka-server-common", "kafka-clients")
WITHOUT_TESTS = ("4.2.2", "4.4.0")
"""Releases that Kafka published without the jars and the sources of its tests; Maven finds those of all others."""


@dataclass(frozen=True)
class Release:
    """A release of Kafka. rules: the name of the rules that it goes by (`RELEASES_OF_RULES`).

    tested: Kafka published the jars of its tests. listed: the release is in the table, so its rules were compared.
    A build of one's own is a release too: build is its path or paths, and its version ends with a digest of its
    classes, as in 4.4.0-SNAPSHOT+build-1a2b3c4d5e6f.
    """

    version: str
    rules: str
    tested: bool = False
    listed: bool = False
    build: str = ""

    @property
    def stated(self) -> str:
        """The version that a build states; of a release its version."""
        return self.version.partition("+")[0]


RELEASES = tuple(
    sorted(
        (
            Release(version, rules, tested=version not in WITHOUT_TESTS, listed=True)
            for rules, versions in RELEASES_OF_RULES.items()
            for version in versions
        ),
        key=lambda release: numbers(release.version),
    )
)
"""Every release in the table, oldest first."""
LATEST = RELEASES[-1]
NEWEST = tuple({(minor(r.version), r.rules): r for r in RELEASES}.values())
"""What `--release all` means: the newest patch of each minor version, and before a change of rules by a patch too."""


def release(version: str) -> Release:
    """A release by its version, or a build of one's own by its path; `Failure` for what is neither.

    One that is not in the table has the rules of the newest patch of its minor version; if there is none, rules that
    bear the name of its minor version, which a model may have or not. A build that states no version has no rules.
    """
    is_version = re.fullmatch(r"\d+\.\d+\.\d+", version)
    if not is_version and names_a_build(version):
        build = local_build(version)
        numbered = re.match(r"\d+\.\d+\.\d+", build.stated)
        return Release(
            build.name, release(numbered[0]).rules if numbered else "", tested=True, build=_absolute(version)
        )
    if not is_version:
        raise UsageFailure(f"{version!r} is not a release of Kafka; write {LATEST.version}, or the path of a build")
    of_minor = [r for r in RELEASES if minor(r.version) == minor(version)]
    listed = next((r for r in of_minor if r.version == version), None)
    return listed or Release(version, of_minor[-1].rules if of_minor else minor(version))


def release_on_worker(version: str, build: str) -> Release:
    """The release of a task of Spark; `SystemFailure` if the path of a build has another one on this machine."""
    kafka = release(build or version)
    if kafka.version != version:
        raise SystemFailure(f"{build} is Kafka {kafka.version} on a worker, and {version} where the command runs")
    return kafka


def libraries_of(kafka: Release) -> Release:
    """The release whose libraries a build gets that has none: what it states, or the newest in the table before it."""
    numbered = re.match(r"\d+\.\d+\.\d+", kafka.stated)
    older = [r for r in RELEASES if numbered and numbers(r.version) <= numbers(numbered[0])]
    if not older:
        raise SystemFailure(
            f"{kafka.build} has no libraries ({', '.join(LIBRARIES)}) and states no version by which Maven could bring "
            "them: `./gradlew :core:copyDependantLibs` copies them into a checkout"
        )
    return older[-1]


def own_release(name: Any) -> Release:
    """The release of a model's configuration or of a run: of the name of rules, the newest patch that goes by them.

    A full version stands for itself, and None for the newest release. A build, which a run names by its digest, has no
    path: it cannot be fetched.
    """
    text = str(getattr(name, "value", name))
    if DIGEST in text:
        return Release(text, "")
    by_rules = [r for r in RELEASES if r.rules == text]
    if by_rules:
        return by_rules[-1]
    return LATEST if name is None else release(text)

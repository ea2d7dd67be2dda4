"""A build of Kafka from a release's published sources and patches: a folder of jars, as any build is.

Maven brings the sources of `kafka-metadata` (classifier `sources`), javac compiles the changed files, and those into
which it copies a changed constant, against the release's jars, and the folder holds all jars of the release, that of
`kafka-metadata` with the new classes in it, the changed sources and a file that names release, patches and classes.
Patches are of three kinds: `source_patch`, `unified_diff`, and a whole edited source file; all refer to the text of the
release, so that several add up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.kafka.builds.source_patch import (
    Hunk,
    SourcePatch,
    applied,
    digest_of_lines,
    hunks_of,
    parsed_patch,
)
from reassure.checkers.kafka.builds.unified_diff import file_diffs, is_unified_diff, patched, written_diff
from reassure.checkers.kafka.controller import class_path
from reassure.checkers.kafka.controller.class_path import MAVEN_SECONDS, compiled_java, fetch, tool
from reassure.checkers.kafka.controller.releases import CONTROLLER, Release
from reassure.checkers.machine.exit_codes import Failure, SystemFailure, UsageFailure

NEWEST_WITH_SOURCES = "4.3.1"
"""4.4.0 is published without its sources."""
BUILD = "build.json"
"""The file that describes a build, in its folder."""
CONSTANT = re.compile(r'\b([A-Z][A-Z0-9_]*)\s*=(?!=)\s*((?:"(?:[^"\\\n]|\\.)*"|[^;"])+);')
"""Of Java; a field by any other name is none in Kafka's style."""
SOURCES = "sources"
"""The folder of the changed sources, in that of the build."""
IN_REPOSITORY = "metadata/src/main/java"
"""The folder of `kafka-metadata` in Kafka's repository, whose sources its jar holds."""
GENERATED = "THIS CODE IS AUTOMATICALLY GENERATED"
"""Stands in sources that Kafka's build writes: they are in the jar and not in the repository."""


@dataclass(frozen=True)
class PatchedBuild:
    """A build in a folder. files: the changed sources, by path within the jar. classes: all that were compiled.

    digests: SHA-256 of each patch. comment: of the patches.
    """

    folder: Path
    release: Release
    files: tuple[str, ...]
    classes: tuple[str, ...]
    digests: tuple[str, ...]
    comment: str


class UnpublishedSources(SystemFailure):
    """Kafka published the release without its sources."""


class ReleaseSources:
    """The sources of `kafka-metadata` of a release, in Maven's repository."""

    def __init__(self, release: Release, jar: Path) -> None:
        self.release, self.jar = release, jar
        with zipfile.ZipFile(jar) as archive:
            self.texts = {name: archive.read(name) for name in archive.namelist() if name.endswith(".java")}

    def text(self, path: str) -> str:
        """A file's text; "" if the release has no such file."""
        return self.texts.get(path, b"").decode()

    def decoded(self) -> dict[str, str]:
        """All files."""
        return {path: content.decode() for path, content in self.texts.items()}

    def path(self, *names: str) -> str:
        """The path within the jar of a file that a patch names, such as `metadata/src/main/java/org/apache/...`.

        Of several names the first that is of one file alone; the first as it is if none is.
        """
        for name in names:
            if "org/apache/" in name:
                return name[name.index("org/apache/") :]
            parts = name.split("/")
            for tail in ("/".join(parts[i:]) for i in range(len(parts))):
                paths = [path for path in self.texts if path.endswith(f"/{tail}")]
                if len(paths) == 1:
                    return paths[0]
        return names[0]


def sources(release: Release, seconds: float = MAVEN_SECONDS) -> ReleaseSources:
    """The sources of a release, by Maven if its repository lacks them; `UnpublishedSources` if there are none."""
    name = f"{CONTROLLER.partition(':')[2]}-{release.version}"
    for jar in fetch(release).jars:
        if jar.name == f"{name}.jar" and (beside := jar.with_name(f"{name}-sources.jar")).is_file():
            return ReleaseSources(release, beside)
    try:
        jars = class_path.resolved_jars(tool("mvn"), [f"{CONTROLLER}:{release.version}:sources"], seconds)
    except Failure as failure:
        if "Could not find artifact" not in str(failure):
            raise
        raise UnpublishedSources(
            f"Kafka {release.version} is published without its sources, so that no patch can be compiled; "
            f"{NEWEST_WITH_SOURCES} has them"
        ) from None
    return ReleaseSources(release, next(jar for jar in jars if jar.name == f"{name}-sources.jar"))


# -- patches -------------------------------------------------------------------------------------------------------


def read_patch(path: Path, release_sources: ReleaseSources) -> SourcePatch:
    """A file as a patch: one of our own, a unified diff or an edited source; `Failure` says in a line what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageFailure(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    if path.suffix == ".java":
        return SourcePatch("", _change(_path_of_class(path, text), text, release_sources))
    if not is_unified_diff(text):
        patch = parsed_patch(text, str(path))
        return SourcePatch(patch.comment, {release_sources.path(name): hunks for name, hunks in patch.files.items()})
    texts: dict[str, str] = {}
    for diff in file_diffs(text, str(path)):
        if "/src/test/" in f"/{diff.path}":  # classes of tests are not part of a build
            continue
        name = release_sources.path(diff.path, diff.old_path)
        if not diff.created and name not in texts:
            _must_be_there(name, release_sources)
        texts[name] = patched(texts.get(name, release_sources.text(name)), diff)  # a file may have several changes
    if not texts:
        raise UsageFailure(f"{path} changes nothing but tests")
    files: dict[str, tuple[Hunk, ...]] = {}
    for name, edited in texts.items():
        files |= _change(name, edited, release_sources)
    return SourcePatch("", files)


def _path_of_class(path: Path, text: str) -> str:
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    if package is None:
        raise UsageFailure(f"{path} names no package: it is not an edited source of Kafka's")
    return f"{package[1].replace('.', '/')}/{path.name}"


def _change(name: str, text: str, release_sources: ReleaseSources) -> dict[str, tuple[Hunk, ...]]:
    hunks = hunks_of(release_sources.text(name), text)
    if not hunks:
        raise UsageFailure(f"{name} is as Kafka {release_sources.release.version} has it: nothing is changed")
    return {name: hunks}


def _must_be_there(name: str, release_sources: ReleaseSources) -> None:
    if name not in release_sources.texts:
        raise SystemFailure(f"the sources of kafka-metadata {release_sources.release.version} have no {name}")


def edited_texts(patches: Sequence[SourcePatch], release_sources: ReleaseSources) -> dict[str, str]:
    """The changed files with all patches applied, by path; `SystemFailure` where one does not fit."""
    hunks: dict[str, tuple[Hunk, ...]] = {}
    for patch in patches:
        for name, of_file in patch.files.items():
            hunks[name] = (*hunks.get(name, ()), *of_file)
    for name, of_file in hunks.items():
        if not all(h.covers == (1, 1) and h.digest == digest_of_lines([]) for h in of_file):  # a new file
            _must_be_there(name, release_sources)
    return {name: applied(of_file, release_sources.text(name), name) for name, of_file in hunks.items()}


def repository_diff(patches: Sequence[SourcePatch], release_sources: ReleaseSources) -> str:
    """The patches as one unified diff of a checkout of Kafka's repository; `SystemFailure` where one does not fit."""
    parts = []
    for name, text in sorted(edited_texts(patches, release_sources).items()):
        original = release_sources.text(name)
        if GENERATED in original:
            raise SystemFailure(f"{name} is written by Kafka's build: a checkout has no such file to change")
        parts.append(written_diff(original, text, f"{IN_REPOSITORY}/{name}"))
    return "".join(parts)


# -- builds --------------------------------------------------------------------------------------------------------


def make_build(patches: Sequence[Path], release: Release, folder: Path) -> PatchedBuild:
    """Makes the build in a folder, which holds an older one or nothing; `Failure` says in a line what is wrong."""
    if folder.exists() and not (folder / BUILD).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageFailure(f"{folder} exists and does not hold a build; name a new folder")
    release_sources = sources(release)
    digests = tuple(_digest_of(path) for path in patches)
    read = [read_patch(path, release_sources) for path in patches]
    texts = edited_texts(read, release_sources)
    jars = fetch(release).jars
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        built, classes = Path(temporary) / "build", Path(temporary) / "classes"
        compiled_texts = texts | users_of_constants(texts, release_sources.decoded())
        compiled_java(tool("javac"), list(jars), compiled_texts, classes)
        built.mkdir()
        _link_jars(jars, compiled_texts, classes, built)
        for name, text in texts.items():
            (built / SOURCES / name).parent.mkdir(parents=True, exist_ok=True)
            (built / SOURCES / name).write_text(text, encoding="utf-8")
        names = tuple(sorted(str(path.relative_to(classes)) for path in classes.rglob("*.class")))
        description = {
            "release": release.version,
            "patches": [{"name": p.name, "sha256": sha256} for p, sha256 in zip(patches, digests, strict=True)],
            "files": sorted(texts),
            "classes": names,
        }
        (built / BUILD).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        built.rename(folder)
    comment = "\n\n".join(patch.comment for patch in read if patch.comment)
    return PatchedBuild(folder, release, tuple(sorted(texts)), names, digests, comment)


def _digest_of(path: Path) -> str:
    """SHA-256 of a file; "" for one that cannot be read, which `read_patch` refuses."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def users_of_constants(texts: Mapping[str, str], originals: Mapping[str, str]) -> dict[str, str]:
    """The unchanged files into whose classes javac copies a constant that is changed, by path.

    texts: the changed files. originals: all files of the release. A class that names the one of a changed constant
    counts as one with a changed constant.
    """
    changed = [name for name, text in texts.items() if not _constants(originals.get(name, "")) <= _constants(text)]
    users: dict[str, str] = {}
    while changed:
        word = re.compile(rf"\b{re.escape(Path(changed.pop()).stem)}\b")
        new = {n: t for n, t in originals.items() if n not in texts and n not in users and word.search(t)}
        users |= new
        changed += [name for name, text in new.items() if _constants(text)]
    return users


def _constants(text: str) -> set[tuple[str, str]]:
    """Names and values of what may be a constant of a class."""
    return {(name, "".join(value.split())) for name, value in CONSTANT.findall(text)}


def _link_jars(jars: Sequence[Path], texts: dict[str, str], classes: Path, folder: Path) -> None:
    """All jars in a folder, `kafka-metadata` with the new classes; the others are links where the disk allows them.

    `SystemFailure` if no jar is that of `kafka-metadata`: the build would be the release as it is.
    """
    replaced = False
    for jar in jars:
        if re.fullmatch(r"kafka-metadata-[\d.]+\.jar", jar.name):
            _replace_classes(jar, texts, classes, folder / jar.name)
            replaced = True
            continue
        try:
            os.link(jar, folder / jar.name)
        except OSError:
            shutil.copy2(jar, folder / jar.name)
    if not replaced:
        raise SystemFailure("the release has no jar of kafka-metadata by its version, which the changed classes are of")


def _replace_classes(jar: Path, texts: dict[str, str], classes: Path, out: Path) -> None:
    """A copy of a jar with the classes of some sources compiled anew; the same input gives the same bytes."""
    stale = re.compile("|".join(re.escape(name.removesuffix(".java")) + r"(\$.*)?\.class" for name in texts))
    new = {str(path.relative_to(classes)): path.read_bytes() for path in sorted(classes.rglob("*.class"))}
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in old.infolist():
            if entry.filename not in new and not stale.fullmatch(entry.filename):
                copy.writestr(entry, old.read(entry))
        for name, content in new.items():
            copy.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)

"""A checkout of Kafka as Gradle leaves it, laid out from published jars: Kafka cannot be built in these tests.

`metadata`, `server-common` and `raft` have class folders, the other modules the jar in `build/libs`.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from tests.helpers.kafka_jars import class_path

OF_JAR = {"storage-api": "storage/api"}
"""The folder of a module in a checkout, by its jar, where they differ."""
AS_CLASSES = ("metadata", "server-common", "raft")


def lay_out(version: str, checkout: Path, states: str = "") -> Path:
    """Lays out a release as a checkout that states a version (default: its own), with its libraries."""
    for jar in class_path(version).jars:
        if not jar.name.startswith("kafka-"):
            libraries = checkout / "core" / "build" / "dependant-libs-2.13.16"
            libraries.mkdir(parents=True, exist_ok=True)
            (libraries / jar.name).symlink_to(jar)
            continue
        module = jar.name.removeprefix("kafka-").removesuffix(f"-{version}.jar")
        build = checkout / OF_JAR.get(module, module) / "build"
        if module in AS_CLASSES:
            unpack(jar, build)
        else:
            (build / "libs").mkdir(parents=True)
            shutil.copy(jar, build / "libs" / jar.name)
    (checkout / "gradle.properties").write_text(f"group=org.apache.kafka\nversion={states or version}\n")
    return checkout


def unpack(jar: Path, build: Path, sources: str = "main") -> None:
    """The classes and resources of a jar in the folders of a module's build."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith("/"):
                continue
            kind = "classes/java" if name.endswith(".class") else "resources"
            file = build / kind / sources / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(name))

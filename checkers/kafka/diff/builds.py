"""The identity of a build: a digest of the classes of Kafka that it runs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from reassure.checkers.kafka.controller.class_path import ClassPath


def digest_of(class_path: ClassPath) -> str:
    """A digest of every jar and class folder of a build, which does not depend on where they lie."""
    lines = []
    for path in class_path.jars:
        files = sorted(path.rglob("*.class")) if path.is_dir() else [path]
        lines += [f"{_sha256(file)} {file.relative_to(path.parent)}" for file in files]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

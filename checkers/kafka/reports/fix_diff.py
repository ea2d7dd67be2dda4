"""The fix of a finding for a release, and the unified diff of fix and test that a checkout of the release takes.

The project's patches are of 4.3.1. For another release a patch is placed where its lines stand in that release's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reassure.checkers.kafka.builds.patched_build import (
    NEWEST_WITH_SOURCES,
    ReleaseSources,
    edited_texts,
    read_patch,
    repository_diff,
    sources,
)
from reassure.checkers.kafka.builds.source_patch import Hunk, SourcePatch, hunks_of
from reassure.checkers.kafka.builds.unified_diff import file_diffs, patched, written_diff
from reassure.checkers.kafka.controller.kafka_tests import TEST, with_methods
from reassure.checkers.kafka.controller.releases import release

TESTS_IN_REPOSITORY = "metadata/src/test/java"


@dataclass(frozen=True)
class ReleaseFix:
    """A fix for a release. patch: of its text. diff: the same as a unified diff of Kafka's repository."""

    patch: SourcePatch
    diff: str

    @property
    def places(self) -> str:
        """The files that it changes, with the lines of the release's text that are changed or follow new text."""
        parts = []
        for name, hunks in self.patch.files.items():
            lines = sorted({hunk.line for hunk in hunks})
            parts.append(f"`{Path(name).name}`, line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}")
        return "; ".join(parts)


def fix_for(path: Path, release_sources: ReleaseSources) -> ReleaseFix:
    """The fix of a file for a release; `OfAnotherText` where its lines are not in the release's text."""
    if release_sources.release.version == NEWEST_WITH_SOURCES:
        patch = read_patch(path, release_sources)
    else:
        written_for = sources(release(NEWEST_WITH_SOURCES))
        patch = read_patch(path, written_for)
        patch = SourcePatch(patch.comment, _moved(edited_texts([patch], written_for), written_for, release_sources))
    return ReleaseFix(patch, repository_diff([patch], release_sources))


def _moved(texts: Mapping[str, str], written_for: ReleaseSources, to: ReleaseSources) -> dict[str, tuple[Hunk, ...]]:
    """The hunks of another release that make the same changes."""
    hunks = {}
    for name, text in texts.items():
        (diff,) = file_diffs(written_diff(written_for.text(name), text, name), name)
        hunks[name] = hunks_of(to.text(name), patched(to.text(name), diff))
    return hunks


def diff_of_test(kafkas_text: str, method: str) -> str:
    """The diff that puts a method into Kafka's test class, whose text is given."""
    return written_diff(kafkas_text, with_methods(kafkas_text, [method]), f"{TESTS_IN_REPOSITORY}/{TEST}")

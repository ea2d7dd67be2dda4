"""The answers of releases to a model's steps, a file for each release: the comparison without a JVM.

A file holds the steps that were asked, as the rows of the driver's protocol, and the answers; column by column,
compressed. It says of which driver it is, and of which questions: answers of another driver are stale.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from reassure.checkers.kafka.controller.class_path import java_source
from reassure.checkers.kafka.controller.driver import Driver, Words
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.words import Setup
from reassure.checkers.machine.exit_codes import Exit, Failure

MAGIC = b"reassure answers 1\n"
QUESTION, ANSWER = 7, 4
_PRESET = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}
_FILTERS: list[dict[str, int]] = [{"id": lzma.FILTER_DELTA, "dist": 8}, _PRESET]


def answers_folder() -> Path:
    """The folder of the answers that come with the project."""
    return Path(__file__).parent / "answers"


def answers_file(release: Release) -> Path:
    """The file of a release."""
    return answers_folder() / f"{release.version}.answers"


@dataclass
class Recorder:
    """A driver that also keeps what it is asked and what it answers. rows: by setup."""

    driver: Driver
    rows: dict[Setup, dict[bytes, bytes]] = field(default_factory=dict)

    @property
    def release(self) -> Release:
        return self.driver.release

    def begin(self, setup: Setup) -> None:
        self.driver.begin(setup)
        self.now = self.rows.setdefault(setup, {})

    def steps(self, steps: Words) -> Words:
        answers = self.driver.steps(steps)
        self.now.update(zip(_each(steps), _each(answers), strict=True))
        return answers

    def describe(self, step: list[int]) -> tuple[tuple[int, int, int, int], str]:
        return self.driver.describe(step)

    def write(self, path: Path) -> None:
        """Writes the file; the same answers always give the same bytes."""
        scopes: list[tuple[str, int]] = []
        columns: list[bytes] = []
        for setup, rows in sorted(self.rows.items(), key=lambda item: item[0].packed()):
            scopes.append((setup.packed().hex(), len(rows)))
            both = np.frombuffer(b"".join(q + a for q, a in sorted(rows.items())), np.int64)
            columns += [column.tobytes() for column in both.reshape(-1, QUESTION + ANSWER).T]
        head = {"release": self.release.version, "driver": driver_digest(), "scopes": scopes}
        text = json.dumps(head, sort_keys=True).encode()
        packed = lzma.compress(b"".join(columns), format=lzma.FORMAT_RAW, filters=_FILTERS)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MAGIC + struct.pack(">i", len(text)) + text + packed)


class RecordedAnswers:
    """The answers of a file, asked as a driver is. unanswered: steps that the file does not know."""

    def __init__(self, release: Release, path: Path) -> None:
        """Reads the file; `Failure` if there is none, or if it is of another driver."""
        self.release, self.unanswered = release, 0
        self.scopes: dict[str, dict[bytes, bytes]] = {}
        try:
            content = path.read_bytes()
            if not content.startswith(MAGIC):
                raise ValueError("it is not a file of answers")
            (length,) = struct.unpack_from(">i", content, len(MAGIC))
            start = len(MAGIC) + 4
            head = json.loads(content[start : start + length])
            if head["release"] != release.version:
                raise ValueError(f"it has the answers of Kafka {head['release']}, not of {release.version}")
            if head["driver"] != driver_digest():
                raise Failure(Exit.DRIFT, f"the answers of Kafka {release.version} are stale: {_again(release)}")
            words = np.frombuffer(lzma.decompress(content[start + length :], lzma.FORMAT_RAW, None, _FILTERS), np.int64)
            at = 0
            for setup, count in head["scopes"]:
                rows = words[at : at + count * (QUESTION + ANSWER)].reshape(QUESTION + ANSWER, count).T
                at += count * (QUESTION + ANSWER)
                questions, answers = _each(rows[:, :QUESTION]), _each(rows[:, QUESTION:])
                self.scopes[setup] = dict(zip(questions, answers, strict=True))
        except FileNotFoundError:
            raise Failure(Exit.SYSTEM, f"no answers of Kafka {release.version} are kept: {_again(release)}") from None
        except (OSError, ValueError, KeyError, TypeError, struct.error, lzma.LZMAError) as error:
            raise Failure(Exit.SYSTEM, f"{path} cannot be read: {error}") from None

    def begin(self, setup: Setup) -> None:
        self.now = self.scopes.get(setup.packed().hex(), {})

    def steps(self, steps: Words) -> Words:
        """The answers; to a step that is not known, the answer that nothing was executed."""
        answers = []
        for row, words in zip(_each(steps), steps.tolist(), strict=True):
            answer = self.now.get(row)
            self.unanswered += answer is None
            answers.append(np.frombuffer(answer, np.int64) if answer is not None else np.array([*words[:3], 1 << 23]))
        return np.array(answers, np.int64).reshape(-1, ANSWER)

    def describe(self, step: list[int]) -> tuple[tuple[int, int, int, int], str]:
        """The answer alone: Kafka's own words are not kept."""
        state, epochs, incarnations, answer = self.steps(np.array([step], np.int64))[0].tolist()
        return (state, epochs, incarnations, answer), ""

    def must_answer(self) -> None:
        """`Failure` if anything was asked that the file does not know."""
        if self.unanswered:
            what = f"{self.unanswered:,} steps of the model are not among the answers of Kafka {self.release.version}"
            raise Failure(Exit.DRIFT, f"{what}: {_again(self.release)}")


def driver_digest() -> str:
    """The digest of the driver, which its answers are stamped with."""
    return hashlib.sha256(java_source().encode()).hexdigest()


def _again(release: Release) -> str:
    return f"`reassure kafka record --release {release.version}` asks it"


def _each(rows: Words) -> list[bytes]:
    whole, width = np.ascontiguousarray(rows, np.int64).tobytes(), rows.shape[1] * 8
    return [whole[i : i + width] for i in range(0, len(whole), width)]

"""A JVM that runs Kafka's controller, as a Python object: batches of steps in, batches of answers out.

A JVM that dies or falls silent raises `JvmLost`, a message of one line; another one can be started at once.

Also here: a Java program of the project's own, with a pipe in and a pipe out.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from reassure.checkers.kafka.controller.class_path import QUICK, ClassPath, kafka_archive, tool
from reassure.checkers.kafka.controller.releases import Release
from reassure.checkers.kafka.controller.words import Command, Setup
from reassure.checkers.machine.exit_codes import Exit, Failure


class Jvm:
    """One process of a Java program. As a context: it ends with it."""

    def __init__(self, command: Sequence[str], errors: IO[bytes], inherited: Sequence[int] = ()) -> None:
        """errors: the file of its error output, closed with it. inherited: descriptors that stay open in it.

        Raises `OSError` if it cannot be started.
        """
        self.errors = errors
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,  # Ctrl-C is for this program, which then ends the JVM
            pass_fds=inherited,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.process.kill()
        self.process.wait()
        self.stdout.close()
        self.errors.close()


Words = NDArray[np.int64]
OPTIONS = (*QUICK, "-Xmx512m", "-Xlog:disable", "-Xlog:all=error:stderr")
"""Java's own warnings would be answers: it prints them to standard output."""
ARCHIVE_SECONDS = 10.0
"""For a JVM to write the archive of its classes, which takes it half a second."""
SILENCE = 120.0
"""Seconds without an answer after which a JVM counts as hung."""
STEP = np.dtype(">i8")
SUCCESSOR = np.dtype([("state", ">i8"), ("settings", ">i4"), ("answer", ">i4")])
SUCCESSOR_OF_TOPIC = np.dtype(
    [("state", ">i8"), ("second", ">i8"), ("settings", ">i4"), ("answer", ">i4"), ("answer_of_second", ">i4")]
)
"""Where the topic may be deleted and may have a second partition."""


class JvmLost(Failure):
    """The JVM ended, or gave no answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(Exit.SYSTEM, message)


class Driver(Jvm):
    """One JVM with one controller. Use as a context: the JVM ends with it."""

    def __init__(self, class_path: ClassPath, silence: float = SILENCE) -> None:
        self.release: Release = class_path.release
        self.silence = silence
        self.executed = self.idle = self.topic = False
        main = "org.apache.kafka.controller.TopicDriver"
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with kafka_archive(class_path, writes=True) as (options, inherited):
                super().__init__([tool("java"), *OPTIONS, *options, "-cp", class_path.text, main], errors, inherited)
        except OSError as error:
            raise JvmLost(f"java cannot be run: {error.strerror}") from None
        self.archives = bool(inherited)
        (length,) = struct.unpack(">H", self._read(2))
        version = self._read(length).decode()
        if version != self.release.version:
            self.close()
            raise JvmLost(f"the jars of Kafka {self.release.version} say that they are {version}")

    def close(self) -> None:
        """Ends the process. One that archives its classes ends by itself, unless it owes an answer or did nothing."""
        if self.archives and self.executed and self.idle:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self.stdin.close()
                self.process.wait(ARCHIVE_SECONDS)
        super().close()

    # -- requests ------------------------------------------------------------------------------------------------

    def begin(self, setup: Setup) -> None:
        """A fresh controller; `Failure` if the release has no such setup."""
        self.topic = setup.topic
        self._write((b"T" if self.topic else b"I") + setup.packed())
        (length,) = struct.unpack(">H", self._read(2))
        if length:
            raise Failure(Exit.USAGE, self._read(length).decode())

    def steps(self, steps: Words) -> Words:
        """Executes rows of seven words in turn; rows of four words: state, epochs, incarnations, answer."""
        self._write(b"S" + struct.pack(">i", len(steps)) + steps.astype(STEP).tobytes())
        got = np.frombuffer(self._read(len(steps) * 32), STEP)
        return got.astype(np.int64).reshape(-1, 4)

    def describe(self, step: Sequence[int]) -> tuple[tuple[int, int, int, int], str]:
        """One step, with Kafka's records or what was thrown as text."""
        self._write(b"D" + struct.pack(">i7q", 1, *step))
        state, epochs, incarnations, answer, length = struct.unpack(">4qi", self._read(36))
        return (state, epochs, incarnations, answer), self._read(length).decode()

    def execute(self, words: tuple[int, ...], command: Command, set_state: bool) -> tuple[tuple[int, ...], int, str]:
        """One command: the words of the state after it, the answer's word, Kafka's records as text.

        words: as of `packed_state`, and where the topic may be deleted as of `packed_second` behind. set_state: they
        are the state that the controller is to hold first; else it goes on from the present one.
        """
        row = [*words[:3], *command.words(set_state), *words[3:]]
        if not self.topic:
            (*after, answer), records = self.describe(row)
            return tuple(after), answer, records
        self._write(b"D" + struct.pack(">i9q", 1, *row))
        *first, answer, second, epochs, length = struct.unpack(">6qi", self._read(52))
        return (*first, second, epochs), answer, self._read(length).decode()

    def commands(self, commands: Sequence[Command]) -> None:
        """The commands that `expand` tries."""
        self.width = len(commands)
        rows = b"".join(struct.pack(">2q", *command.words(True)[:2]) for command in commands)
        self._write(b"C" + struct.pack(">i", len(commands)) + rows)

    def expand(self, states: Words) -> NDArray[Any]:
        """Every command in every row (state, settings): (state, settings, answer) by row and command.

        Where the topic may be deleted: in every row (state, settings, second partition), `SUCCESSOR_OF_TOPIC`.
        """
        kind = SUCCESSOR_OF_TOPIC if self.topic else SUCCESSOR
        self._write(b"X" + struct.pack(">i", len(states)) + states.astype(STEP).tobytes())
        size = len(states) * self.width * kind.itemsize
        return np.frombuffer(self._read(size), kind).reshape(len(states), self.width)

    # -- the pipe ------------------------------------------------------------------------------------------------

    def _write(self, content: bytes) -> None:
        self.idle = False
        self.executed |= content[:1] in (b"S", b"D", b"X")
        try:
            self.stdin.write(content)
            self.stdin.flush()
        except OSError:
            raise self._lost() from None

    def _read(self, size: int) -> bytes:
        """So many bytes; `JvmLost` if the pipe ends or stays silent."""
        self.idle = False
        parts: list[bytes] = []
        while size > 0:
            ready, _, _ = select.select([self.stdout], [], [], self.silence)
            if not ready:
                raise JvmLost(f"the JVM of Kafka {self.release.version} gave no answer for {self.silence:g} s")
            part = os.read(self.stdout.fileno(), min(size, 1 << 20))
            if not part:
                raise self._lost()
            parts.append(part)
            size -= len(part)
        self.idle = True
        return b"".join(parts)

    def _lost(self) -> JvmLost:
        """The error of a JVM that ended: its signal, or the first line that it left."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        code = self.process.returncode
        self.errors.seek(0)
        texts = self.errors.read(20_000).decode(errors="replace").splitlines()
        lines = [line for line in texts if line.strip() and not line.startswith("SLF4J")]  # of a build without logging
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        why = f": {lines[0]}" if lines else ""
        return JvmLost(f"the JVM of Kafka {self.release.version} {how}{why}")

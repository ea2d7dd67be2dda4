"""A Java program of the project's own, with a pipe in and a pipe out."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self


class Jvm:
    """One process of a Java program. As a context: it ends with it."""

    def __init__(self, command: Sequence[str], errors: IO[bytes]) -> None:
        """errors: the file of its error output, closed with it. Raises `OSError` if it cannot be started."""
        self.errors = errors
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,  # Ctrl-C is for this program, which then ends the JVM
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

"""Ends processes and removes a folder when the program that started them is gone, however it ended.

A process of its own that reads lines from its standard input: `+PID` and `-PID` of processes that run and have ended,
`remove PATH` for the folder. At the end of the input, which comes with the end of the other program even by SIGKILL,
it kills the processes that still run. It is started by its path and imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time


def main() -> None:
    """Reads until the input ends, then kills and removes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: set[int] = set()
    folder = ""
    for line in sys.stdin:
        text = line.strip()
        if text.startswith("+"):
            running.add(int(text[1:]))
        elif text.startswith("-"):
            running.discard(int(text[1:]))
        else:
            folder = text.removeprefix("remove ") if text.startswith("remove ") else ""
    for process in running:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    if folder:
        for _ in range(20):  # files of a process that is being killed may still appear
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.1)


if __name__ == "__main__":
    main()

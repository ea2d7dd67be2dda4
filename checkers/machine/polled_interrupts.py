"""Ctrl-C and SIGTERM while a library works that neither an exception nor its own handler may cut off.

Python raises `KeyboardInterrupt` between any two instructions, also within a destructor, which loses it, and within a
conversion of ctypes, which makes another error of it. Z3 has a handler of its own for SIGINT, which can wait for ever
for a lock that the interrupted thread holds. In `polled_interrupts` neither is called: a thread takes the signals, and
`look` raises where the work can end.

Also here: the two places where this program reaches into the interpreter, each with a way back.
"""

from __future__ import annotations

import _thread
import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

from reassure.checkers.machine.own_process import SIGNALS, TOGETHER, Interrupts
from reassure.checkers.machine.stop import BY_USER, Interrupted

AGAIN = 0.05
"""Seconds between two looks at the signals, and between two calls of `cancel`: the first may come before there is
something to cancel."""

_watcher: _Watcher | None = None


def interrupted() -> bool:
    """Whether a signal has asked a block of `polled_interrupts` to end."""
    return _watcher is not None and _watcher.asked


def look() -> None:
    """Raises `Interrupted` if a signal has asked this to end."""
    if interrupted():
        raise Interrupted(BY_USER.reason, BY_USER.text)


@contextlib.contextmanager
def polled_interrupts(cancel: Callable[[], None]) -> Iterator[None]:
    """Signals that would end the command take effect in the block where `look` is called, and nowhere else.

    cancel: ends what the main thread waits for; called in another thread from the first signal on, until the block
    ends. A second signal raises `KeyboardInterrupt`, as outside of such a block. The end of the block raises
    `Interrupted` if a signal came and nothing has raised before. The block of a thread that is not the main one, and a
    block within a block, change nothing.
    """
    global _watcher
    of = {number: signal.getsignal(number) for number in SIGNALS}
    handled = {number: handler for number, handler in of.items() if callable(handler)}
    if _watcher is not None or not handled or threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = [number for number, handler in of.items() if handler is signal.SIG_IGN]  # Z3 would take them
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*handled, *ignored])  # which the other thread inherits
    watcher = _watcher = _Watcher(handled, cancel)
    try:
        watcher.start()
        yield
    finally:
        watcher.end()
        _watcher = None
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if watcher.asked:
        raise Interrupted(BY_USER.reason, BY_USER.text)


class _Watcher(threading.Thread):
    """Looks for signals: those that wait, and those that threads took which were there before.

    asked: whether one came.
    """

    def __init__(
        self, handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], object]], cancel: Callable[[], None]
    ) -> None:
        super().__init__(daemon=True)
        self.handlers, self.cancel = handlers, cancel
        self.asked = self.insisted = False
        self.ended = threading.Event()
        self.taken, self.written = os.pipe()
        """A pipe for the signals that other threads took."""

    def start(self) -> None:
        for end in (self.taken, self.written):
            os.set_blocking(end, False)
        self.wakeup = signal.set_wakeup_fd(self.written, warn_on_full_buffer=False)
        for number in self.handlers:
            signal.signal(number, self._handle)
        super().start()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.insisted:
            self.handlers[signal.Signals(number)](number, frame)

    def run(self) -> None:
        last = -math.inf
        while not self.ended.wait(AGAIN):
            number = self._waiting() or self._taken()
            if number is not None and time.monotonic() - last >= TOGETHER:
                last = time.monotonic()
                if self.asked:
                    self.insisted = True
                    _thread.interrupt_main(number)
                self.asked = True
            if self.asked:
                self.cancel()

    def _waiting(self) -> signal.Signals | None:
        """A signal that waits."""
        waiting = signal.sigpending().intersection(self.handlers)
        return signal.Signals(signal.sigwait(waiting)) if waiting else None

    def _taken(self) -> signal.Signals | None:
        """A signal that another thread took."""
        with contextlib.suppress(BlockingIOError):
            for number in os.read(self.taken, 64):
                if number in self.handlers and not self.insisted:  # `interrupt_main` writes too
                    return signal.Signals(number)
        return None

    def end(self) -> None:
        """Ends the thread, and puts back the handlers."""
        self.ended.set()
        self.join()
        self.asked = self.asked or self._taken() is not None
        for number, handler in self.handlers.items():
            if self.asked and isinstance(handler, Interrupts):
                handler.last = time.monotonic()  # a signal to both processes may come a second time
            signal.signal(number, handler)
        signal.set_wakeup_fd(self.wakeup)
        os.close(self.taken)
        os.close(self.written)


def traced_return(
    function: FunctionType, call: Callable[[], object], value: object
) -> tuple[int, dict[str, object]] | None:
    """The line at which `function` last returned `value` during a call, and the names it saw there; None if it did not.

    A debugger's or a coverage tool's own tracing is put back.
    """
    code = function.__code__
    returns: list[tuple[int, dict[str, object]]] = []

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return" and argument is value:
            returns.append((frame.f_lineno, {**frame.f_globals, **frame.f_locals}))
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: local if frame.f_code is code else None)
    try:
        call()
    finally:
        sys.settrace(before)
    return returns[-1] if returns else None


class patched_code:
    """Within, the function runs other code, for whoever calls it."""

    __slots__ = ("code", "function", "original")

    def __init__(self, function: FunctionType, code: CodeType) -> None:
        self.function, self.code = function, code

    def __enter__(self) -> None:
        self.original = self.function.__code__
        self.function.__code__ = self.code

    def __exit__(self, *error: object) -> None:
        self.function.__code__ = self.original

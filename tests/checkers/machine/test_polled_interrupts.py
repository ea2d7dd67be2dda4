"""Signals within a block take effect where it is asked for them, and nowhere else."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from reassure.checkers.machine.own_process import TOGETHER, Interrupts
from reassure.checkers.machine.polled_interrupts import interrupted, look, polled_interrupts
from reassure.checkers.machine.stop import BY_USER, Ending, Interrupted

LONG = 20.0
"""Seconds after which a test gives up."""


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Handlers as a command has them."""
    before = {n: signal.signal(n, signal.default_int_handler) for n in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def wait_for(event: threading.Event) -> None:
    assert event.wait(LONG)


def send(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_again_and_again_until_the_block_ends(number: signal.Signals) -> None:
    times, twice = list[float](), threading.Event()

    def cancel() -> None:
        times.append(time.monotonic())
        if len(times) == 2:
            twice.set()

    with pytest.raises(Interrupted) as raised, polled_interrupts(cancel):
        look()
        assert not interrupted()
        send(number)
        wait_for(twice)
        assert interrupted()
        look()
        raise AssertionError("`look` has not raised")
    assert raised.value.stop == BY_USER
    assert not interrupted()
    look()


def test_the_block_raises_at_its_end_what_nobody_has_raised_in_it() -> None:
    asked = threading.Event()
    with Ending() as ending:
        with polled_interrupts(asked.set):
            send()
            wait_for(asked)
        raise AssertionError("the block has ended as if nothing had happened")
    assert ending.stop == BY_USER


def test_another_error_of_the_block_is_kept() -> None:
    asked = threading.Event()
    with pytest.raises(ZeroDivisionError), polled_interrupts(asked.set):
        send()
        wait_for(asked)
        raise ZeroDivisionError


def test_a_second_signal_does_not_wait_for_the_block() -> None:
    asked = threading.Event()
    with pytest.raises(KeyboardInterrupt), polled_interrupts(asked.set):
        send()
        wait_for(asked)
        time.sleep(TOGETHER + 0.1)
        send()
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            pass
        raise AssertionError("nothing has raised")


def test_two_signals_at_once_are_one() -> None:
    asked, calls = threading.Event(), list[None]()

    def cancel() -> None:
        calls.append(None)
        if len(calls) == 3:
            asked.set()

    with pytest.raises(Interrupted), polled_interrupts(cancel):
        send(signal.SIGTERM)
        send(signal.SIGINT)
        wait_for(asked)


def test_the_second_of_two_signals_at_once_may_come_after_the_block() -> None:
    asked, handler = threading.Event(), Interrupts()
    signal.signal(signal.SIGINT, handler)
    with pytest.raises(Interrupted), polled_interrupts(asked.set):
        send()
        wait_for(asked)
    signal.raise_signal(signal.SIGINT)
    handler.last -= TOGETHER
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_outside_of_a_block_signals_are_as_before() -> None:
    with polled_interrupts(lambda: None):
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert not [t for t in threading.enumerate() if type(t).__name__ == "_Watcher"]


def test_a_block_in_a_block_changes_nothing() -> None:
    asked, never = threading.Event(), list[None]()
    with pytest.raises(Interrupted), polled_interrupts(asked.set):
        with polled_interrupts(lambda: never.append(None)):
            send()
            wait_for(asked)
        assert interrupted()
        look()
    assert not never


def test_a_thread_that_is_not_the_main_one_has_no_block() -> None:
    masks = list[set[int]]()

    def work() -> None:
        with polled_interrupts(lambda: None):
            masks.append(set(signal.pthread_sigmask(signal.SIG_BLOCK, [])))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert masks == [set()]


def test_a_signal_that_another_thread_takes_is_seen() -> None:
    """A thread that is older than the block does not block them; the screen of a terminal and libraries have some."""
    ended, asked = threading.Event(), threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    with pytest.raises(Interrupted), polled_interrupts(asked.set):
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGINT)
        wait_for(asked)
    ended.set()
    thread.join()


def test_what_was_ignored_stays_ignored() -> None:
    """As in a shell's background job, where SIGINT is ignored and SIGTERM ends the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with polled_interrupts(lambda: None):
        send()
        time.sleep(0.1)
        assert not interrupted()
    asked = threading.Event()
    with pytest.raises(Interrupted), polled_interrupts(asked.set):
        send(signal.SIGTERM)
        wait_for(asked)


def test_without_handlers_there_is_nothing_to_ask_for() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with polled_interrupts(lambda: None):
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
        send()
        assert not interrupted()

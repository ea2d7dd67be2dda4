"""The language of kernels: what it takes does as machine code what it does as plain Python; the rest is refused."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reassure.checkers.engines.native.translator import llvm, native_function
from reassure.checkers.engines.native.translator.language import (
    LANES,
    State,
    Static,
    Words,
    compare_and_swap,
    compare_line,
    highest,
    kernel,
    load_acquire,
    lowest,
    popcount,
    rare_kernel,
    scaled,
    store_release,
    words_from,
    wrap,
)
from reassure.checkers.engines.native.translator.native_function import ModelFunction, native
from reassure.checkers.engines.native.translator.translator import UNROLLED, Translator
from reassure.checkers.engines.native.translator.types import KernelRefusal
from reassure.checkers.engines.native.translator.word_rows import zeros
from tests.helpers.model_text import module as imported
from tests.helpers.runs import filled

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
MIX = -7046029254386353131


# -- kernels that use all of the language ------------------------------------------------------------------------------


@kernel
def arithmetic(a: int, b: int) -> int:
    c = wrap(wrap(a * b) + wrap(a - b)) ^ (a & b) | (b >> 7)
    c = wrap(c * MIX)
    c ^= c >> 32
    return wrap(-c) if c > 0 and b != 0 else ~c


@kernel
def shifts(a: int, n: int) -> int:
    return wrap(a << (n & 63)) ^ (a >> (n & 63)) ^ wrap(a << 5) ^ (a >> 63)


@kernel
def bits(a: int, b: int) -> int:
    return popcount(a) + 100 * lowest(a) + 10_000 * highest(a) + 1_000_000 * scaled(a, b & 1023)


@kernel
def choices(a: int, b: int, c: int) -> int:
    if a < b <= c or not a >= 0:
        result = min(a, b)
    elif a == b:
        result = max(b, c)
    else:
        result = 1 if a > c else (2 if b > c else 3)
    truth = a < c
    result = result ^ (truth + 4)
    return result if truth or (b > 0 and c > 0) else b


@kernel
def loops(n: int, words: Words) -> int:
    total = 0
    for i in range(n):
        if i == 7:
            continue
        for j in range(i, -1, -2):
            if j == 3:
                break
            total += i * j + words[j & 7]
        words[i & 7] += total
    while True:
        total -= 5
        if total < 100:
            return total
        n += 1
        if n > 60:
            break
    return total + n


@kernel
def mixed(state: State) -> int:
    h = state[0]
    for k in range(1, len(state)):
        if k == 2 and state[1] < 0:
            break
        h = wrap(h * 31) ^ state[k]
    return h


@kernel
def reordered(words: Static, array: Words) -> State:
    return tuple(array[words - 1 - k] for k in range(words))


@kernel
def extremes(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


@rare_kernel
def is_sorted(words: Static, array: Words) -> bool:
    return all(array[k] <= array[k + 1] for k in range(words - 1))


@kernel
def unrolled(words: Static, array: Words) -> int:
    size: Static = 2 * words - words
    state = reordered(size, array)
    low, high = extremes(state[0], state[words - 1])
    if words == 1:
        return low
    anything = any(array[k] == low for k in range(1, words))
    return mixed(state) ^ wrap(high - low) ^ is_sorted(words, array) ^ (8 if anything else 16)


@kernel
def atomics(words: Words, at: int, old: int, new: int) -> int:
    before = compare_and_swap(words, at, old, new)
    rest = words_from(words, at)
    store_release(rest, 1, load_acquire(words, at))
    return before


@kernel
def lines(line: Words, value: int, mask: int) -> int:
    return compare_line(line, 1, value, mask)


@dataclass
class Inner:
    factor: int
    callback: Callable[[Words, Words, int], int]


@dataclass
class Outer:
    inner: Inner
    words: Words
    count: int
    total: int


@kernel
def fields(outer: Outer) -> None:
    inner, words = outer.inner, outer.words
    for i in range(outer.count):
        outer.total += words[i] * inner.factor
        words[i] = i
    outer.count = inner.callback(words, words_from(words, 1), outer.total)


EXPORTED = (arithmetic, shifts, bits, choices, loops, mixed, unrolled, atomics, lines, fields)


def both(function: Any, *arguments: Any) -> Any:
    """The result of a kernel: the same as machine code and as plain Python, with the same effects on arrays."""
    plain = [array("q", a) if isinstance(a, list) else a for a in arguments]
    compiled = [np.array(a, np.int64) if isinstance(a, list) else a for a in arguments]
    result = function(*plain)
    assert native(function)(*compiled) == result
    for a, b in zip(plain, compiled, strict=True):
        assert list(a) == list(b) if isinstance(a, array) else a == b
    return result


@settings(max_examples=300, deadline=None)
@given(INT64, INT64)
def test_operators(a: int, b: int) -> None:
    both(arithmetic, a, b)
    both(shifts, a, b)
    both(bits, a, b)


@settings(max_examples=300, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3))
def test_choices(a: int, b: int, c: int) -> None:
    both(choices, a, b, c)


@settings(max_examples=100, deadline=None)
@given(st.integers(-1, 20), st.lists(st.integers(-9, 99), min_size=8, max_size=8))
def test_loops(n: int, words: list[int]) -> None:
    both(loops, n, words)


@settings(max_examples=100, deadline=None)
@given(st.lists(INT64, min_size=1, max_size=5))
def test_states_and_static_parameters(words: list[int]) -> None:
    both(mixed, tuple(words))
    both(unrolled, len(words), words)


def test_atomics() -> None:
    assert both(atomics, [3, 4, 5, 6], 1, 4, 9) == 4
    assert both(atomics, [3, 4, 5, 6], 1, 7, 9) == 4


SOME = st.sampled_from([0, 1, -1, 5 << 56, 3 << 56 | 1, -(1 << 63), (1 << 63) - 1])


@settings(max_examples=300, deadline=None)
@given(st.lists(SOME, min_size=9, max_size=9), SOME, INT64)
def test_words_in_a_line(line: list[int], value: int, mask: int) -> None:
    for bits in (mask, -1, 0, ~(127 << 56)):
        both(lines, line, value, bits)


def test_what_is_found_in_a_line() -> None:
    """The word 7 under a tag in bits 56-62, wherever that is at most the tag of the value; and what is free."""
    line = [7, 1 << 56 | 7, 0, 3 << 56 | 7, 8, 7, 0, -(1 << 63) | 7, 7]
    free = (1 << 1 | 1 << 5) << LANES
    for tag, found in ((0, 1 << 4 | 1 << 7), (1, 1 | 1 << 4 | 1 << 7), (3, 1 | 1 << 2 | 1 << 4 | 1 << 7)):
        assert both(lines, line, tag << 56 | 7, ~(127 << 56)) == found | free


def test_dataclasses_and_function_values() -> None:
    """A block with another in it: integers are read back, arrays are written in place, a function value is called."""

    def last(words: Any, rest: Any, total: int) -> int:
        return int(words[2]) + int(rest[1]) + total

    pointer = ctypes.POINTER(ctypes.c_int64)
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, pointer, pointer, ctypes.c_int64)(last)
    address = ctypes.cast(entry, ctypes.c_void_p).value
    assert address is not None
    results = []
    for words, callback, run in (
        (array("q", [5, 6, 7]), last, fields),
        (np.array([5, 6, 7], np.int64), ModelFunction(address, "wwi"), native(fields)),
    ):
        outer = Outer(Inner(10, callback), words, 3, 1)
        run(outer)
        results.append((outer.count, outer.total, list(words)))
    assert results == [(2 + 2 + 181, 181, [0, 1, 2])] * 2


@pytest.mark.parametrize(
    "words",
    [
        np.zeros(4, np.int32),
        np.zeros((4, 4), np.int64)[:, 0],
        [1, 2, 3, 4],
        np.zeros(4),
        zeros(4)[::2],
        zeros(4).cast("B"),
    ],
)
def test_only_contiguous_words_are_taken(words: Any) -> None:
    with pytest.raises(TypeError, match="contiguous array of int64"):
        native(atomics)(words, 0, 0, 0)


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = [
    ("return a // b", "no operator FloorDiv"),
    ("return a / b", "no operator Div"),
    ("return a + 1.5", "1.5 is not an integer"),
    ("return len(w)", "len of a words"),
    ("return print(a)", "print is neither a kernel nor an intrinsic"),
    ("return plain(a)", "plain is neither a kernel nor an intrinsic"),
    ("return unknown", "unknown is neither a variable that was assigned before nor an integer constant of the module"),
    ("return w", "words where int is needed"),
    ("return w[0:1][0]", "no slices"),
    ("return a.b", "an attribute of a int"),
    ("return [a][0]", "List is not an expression of the language"),
    ("return a if w else b", "a words as a condition"),
    ("return a << 64", "a shift by 64"),
    ("return a + (1 << 64)", "18446744073709551616 does not fit 64 bits"),
    ("return a in w", "no comparison In"),
    ("return other(a, b, w)", "calls itself"),
    ("return needs_static(a)", "words of needs_static is static"),
    ("return needs_static(1, 2)", "needs_static takes 1 arguments"),
    ("return needs_static(words=1)", "arguments are positional"),
    ("return max(x for x in w)", "max takes two arguments"),
    ("return a and b", "and, or take comparisons"),
    ("return all(w[k] for k in range(a))", "all is of one expression for a name in a static range"),
    ("try:\n        return a\n    finally:\n        pass", "Try is not a statement of the language"),
    ("assert a\n    return b", "Assert is not a statement of the language"),
    ("a = b = 1\n    return a", "one target for each assignment"),
    ("a, b = w\n    return a", "2 targets for a words"),
    ("for x in w:\n        pass\n    return a", r"loops are over range\(...\)"),
    ("for x in range(a):\n        pass\n    else:\n        pass\n    return a", "no else"),
    ("for x in range(0, a, b):\n        pass\n    return a", "the step of a range is static and not 0"),
    ("while a:\n        pass\n    else:\n        pass\n    return a", "no else after a loop"),
    ("if a:\n        return b", "may end without a result"),
    ("a = w\n    return b", "words where int is needed"),
    ("a: Static = b\n    return 1", "a static variable gets a static value, once"),
    ("k = 0\n    for k in range(3):\n        a += k\n    return a", "an unrolled loop needs a name of its own"),
]


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[str], str]:
    """Translates a kernel with this body; returns why it is refused."""

    def reason(body: str) -> str:
        text = f"""
from reassure.checkers.engines.native.translator.language import Static, Words, kernel

def plain(a: int) -> int:
    return a

@kernel
def needs_static(words: Static) -> int:
    return words

@kernel
def other(a: int, b: int, w: Words) -> int:
    return wrong(a, b, w)

@kernel
def wrong(a: int, b: int, w: Words) -> int:
    {body}
"""
        made = imported(text, tmp_path, "")
        with pytest.raises(KernelRefusal) as caught:
            Translator().export(made.wrong, "wrong", {})
        message = str(caught.value)
        place, _, found = message.partition(": ")
        file, _, line = place.rpartition(":")
        assert Path(file).parent == tmp_path and 1 <= int(line) <= len(text.splitlines())
        return found

    return reason


@pytest.mark.parametrize(("body", "reason"), REFUSED, ids=[r for _, r in REFUSED])
def test_refusals(body: str, reason: str, refused: Callable[[str], str]) -> None:
    import re

    assert re.search(reason, refused(body))


def test_a_refusal_names_the_line(refused: Callable[[str], str], tmp_path: Path) -> None:
    made = imported(
        """
from reassure.checkers.engines.native.translator.language import kernel

@kernel
def wrong(a: int) -> int:
    b = a + 1

    return b // 2
""",
        tmp_path,
        "",
    )
    with pytest.raises(KernelRefusal, match=r"\.py:8: no operator FloorDiv"):
        Translator().export(made.wrong, "wrong", {})


# -- where machine code is kept ----------------------------------------------------------------------------------------


def test_the_key_of_machine_code_covers_what_it_is_made_from() -> None:
    """The modules that kernels call into, and the translator; so that code of another text is never found."""
    from reassure.checkers.engines.native.kernels import search_loop

    text = "\n".join(native_function._made_from(search_loop))
    tag_at = "('reassure.checkers.engines.native.kernels.state_table', 'TAG_AT', 56)"  # a constant of another module
    functions = ("def keep_new(", "def insert_state(", "def append_successors(", "def wrap(")
    for mark in (*functions, tag_at, "class Translator"):
        assert mark in text, mark


def shared_modules() -> list[ModuleType]:
    import pkgutil

    from reassure.checkers.engines.native import kernels as package

    names = [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__)]
    for name in names:
        __import__(name)
    exporting = [sys.modules[name] for name in names if hasattr(sys.modules[name], "EXPORTED")]
    assert len(exporting) >= 5
    return exporting


def test_a_kernel_is_inlined_and_a_rare_one_is_not() -> None:
    translator = Translator()
    for name, function in (("one", arithmetic), ("two", is_sorted)):
        translator.export(function, name, {"words": 2})
    inner = [line for line in translator.text().splitlines() if line.startswith("define internal")]
    marks = {line.split("@")[1].split("(")[0]: line.rpartition(")")[2] for line in inner}
    assert marks["test_translator.arithmetic"] == " alwaysinline nounwind {"
    assert marks["test_translator.is_sorted.2"] == " noinline nounwind {"


@pytest.mark.parametrize("module", shared_modules(), ids=lambda m: m.__name__.rpartition(".")[2])
@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_every_kernel_is_compiled(module: ModuleType, words: int) -> None:
    for size in (words, None):
        text = native_function.text_of(module, size)
        for name in native_function.exported(module, size):
            assert f"@{name}(" in text
        native_function.prepare_kernels(module, size)


@pytest.mark.parametrize("module", shared_modules(), ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_kernel_is_translated_for_large_states(module: ModuleType) -> None:
    """Of these sizes some have loops whose labels begin alike (`b1`, `b12`); the last is the largest that is taken."""
    for words in (14, 15, 17, UNROLLED):
        text = native_function.text_of(module, words)
        assert all(f"@{name}(" in text for name in native_function.exported(module, words))


UNASSIGNED = """
define i64 @given(i64 %a) {
  %one = alloca i64, align 8
  %bit = alloca i1
  %several = alloca i64, i64 3, align 8
  store i64 7, ptr %one, align 8
  store i1 true, ptr %bit
  %at = getelementptr i64, ptr %several, i64 2
  store i64 9, ptr %at, align 8
  %b = load i1, ptr %bit
  %c = zext i1 %b to i64
  %d = load i64, ptr %one, align 8
  %e = load i64, ptr %at, align 8
  %f = add i64 %d, %e
  %g = add i64 %c, %f
  ret i64 %g
}
"""


@pytest.mark.parametrize(
    ("left_out", "results"),
    [
        ("", (17, 17)),
        ("  store i64 7, ptr %one, align 8\n", (10 + 0x5555555555555555, 10 - 0x5555555555555556)),
        ("  store i1 true, ptr %bit\n", (17, 16)),
        ("  store i64 9, ptr %at, align 8\n", (8 + 0x5555555555555555, 8 - 0x5555555555555556)),
    ],
)
def test_a_variable_that_is_read_before_it_is_assigned_shows(left_out: str, results: tuple[int, int]) -> None:
    got = []
    for byte in (0x55, 0xAA):
        holder, addresses = llvm.unkept_functions(filled(UNASSIGNED.replace(left_out, ""), byte), ["given"], 0)
        got.append(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses["given"])(0))
        del holder
    assert tuple(got) == results


FILLED = """
import json, sys
from reassure.checkers.engines.native.translator import llvm
from tests.helpers.runs import checked, everything, filled
made, byte = llvm.object_code, int(sys.argv[1])
if byte:
    llvm.object_code = lambda ir, level: made(filled(ir, byte), 0)
for model, options in (("core_liveness", {"workers": 2}), ("two_phase_commit", {"symmetry": "on"})):
    print(json.dumps(everything(checked(model, [], "native", **options)[0]), default=repr))
"""


def test_the_kernels_of_the_program_assign_before_they_read(tmp_path: Path) -> None:
    """All machine code of a search, that of the program's own kernels too, whatever local variables hold before."""
    said = []
    for byte in (0, 0x55, 0xAA):
        cache = {"REASSURE_CACHE": str(tmp_path / str(byte))} if byte else {}
        run = [sys.executable, "-c", FILLED, str(byte)]
        said.append(subprocess.run(run, env={**os.environ, **cache}, capture_output=True, text=True, check=True).stdout)
    records = [json.loads(line) for line in said[0].splitlines()]
    assert [(r["verdict"], r["distinct"]) for r in records] == [("liveness-violation", 1_668), ("pass", 80)]
    assert said[1] == said[0] and said[2] == said[0]

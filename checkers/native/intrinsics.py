"""Bit operations that a kernel is made of: sets are masks, sequences are packed items with their length on top."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LENGTH_AT = 56
ITEMS = (1 << LENGTH_AT) - 1


def _of_word(name: str, index: bool, doc: str) -> Any:
    """An intrinsic of one int64 that LLVM has under `llvm.<name>.i64`. index: a bit's number, so 0 to 63."""

    @intrinsic
    def operation(typingctx: Any, word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            i64 = ir.IntType(64)
            kinds = [i64, ir.IntType(1)] if index else [i64]
            function = builder.module.declare_intrinsic(f"llvm.{name}", [i64], ir.FunctionType(i64, kinds))
            if not index:
                return builder.call(function, [args[0]])
            found = builder.call(function, [args[0], ir.Constant(ir.IntType(1), 0)])
            if name == "ctlz":
                found = builder.sub(ir.Constant(i64, 63), found)
            return builder.and_(found, ir.Constant(i64, 63))

        return types.int64(types.int64), codegen

    operation.__doc__ = doc
    return operation


popcount = _of_word("ctpop", False, "Members of a set.")
lowest = _of_word("cttz", True, "Index of the lowest member; some index for the empty set.")
highest = _of_word("ctlz", True, "Index of the highest member; some index for the empty set.")


@intrinsic
def scaled(typingctx: Any, word: Any, size: Any) -> Any:
    """A word, read as a fraction of 2^64, times `size`: its place among so many, in the order of the words."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.int64(types.int64, types.int64), codegen


@njit(nogil=True)
def seq_get(seq, i, k):  # type: ignore[no-untyped-def]
    return (seq >> ((i * k) & 63)) & ((1 << k) - 1)


@njit(nogil=True)
def seq_keep(seq, mask, k):  # type: ignore[no-untyped-def]
    """The items that are in a set, in their order."""
    result, n, item_mask = 0, 0, (1 << k) - 1
    for _ in range(seq >> LENGTH_AT):
        item = seq & item_mask
        seq >>= k
        if (mask >> item) & 1:
            result |= item << (n * k)
            n += 1
    return result | (n << LENGTH_AT)


@njit(nogil=True)
def seq_cat(a, b, k):  # type: ignore[no-untyped-def]
    n = a >> LENGTH_AT
    total = n + (b >> LENGTH_AT)
    return (a & ITEMS) | (((b & ITEMS) << ((n * k) & 63)) & ITEMS) | (total << LENGTH_AT)


@njit(nogil=True)
def seq_set(seq, k):  # type: ignore[no-untyped-def]
    result, item_mask = 0, (1 << k) - 1
    for _ in range(seq >> LENGTH_AT):
        result |= 1 << (seq & item_mask)
        seq >>= k
    return result


@njit(nogil=True)
def seq_sorted(mask, k):  # type: ignore[no-untyped-def]
    """The members of a set, ascending."""
    result, n = 0, 0
    while mask != 0:
        result |= (lowest(mask)) << (n * k)
        mask &= mask - 1
        n += 1
    return result | (n << LENGTH_AT)


@njit(nogil=True)
def seq_first(seq, mask, k):  # type: ignore[no-untyped-def]
    """The first item that is in a set; some index if none is."""
    item_mask = (1 << k) - 1
    for _ in range(seq >> LENGTH_AT):
        item = seq & item_mask
        if (mask >> item) & 1:
            return item
        seq >>= k
    return 0


@njit(nogil=True)
def seq_drop(seq, count, k):  # type: ignore[no-untyped-def]
    n = seq >> LENGTH_AT
    gone = min(n, count)
    return ((seq & ITEMS) >> ((gone * k) & 63)) | ((n - gone) << LENGTH_AT)


@njit(nogil=True)
def seq_take(seq, count, k):  # type: ignore[no-untyped-def]
    n = min(seq >> LENGTH_AT, count)
    return (seq & ((1 << ((n * k) & 63)) - 1)) | (n << LENGTH_AT)


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to an element of a one-dimensional contiguous array."""
    view = context.make_array(array_type)(context, builder, array)
    return builder.gep(view.data, [index])


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Asks for the cache line of an element, to be written."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32])
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            function = ir.Function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, ir.Constant(i32, 1), ir.Constant(i32, 2), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def compare_and_swap(typingctx: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    """Stores `new` if the element is `expected`; gives the value it had. Atomic."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        done = builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(done, 0)

    return types.int64(array, types.intp, types.int64, types.int64), codegen


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """The element, read atomically: what was written before it is seen too."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "acquire", 8, typ=ir.IntType(64))

    return types.int64(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Writes the element atomically, after everything written before it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen

"""The loop form of an action -> a function in LLVM IR.

    i64 @action_k(ptr %row, ptr %out, i64 %n, ptr %tally, i64 %where)

appends the successors of the state at `%row` to `%out` from row `%n` on, and returns the new end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatchmethod

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, Code, Layout
from reassure.checkers.engines.native.kernels.model_code import ACTION_BITS, ACTIONS_AT, CLIPS_TOTAL, ERROR, STEP_BITS
from reassure.checkers.engines.native.model import loop_form as form
from reassure.checkers.engines.native.model.emit_nodes import NodeEmitter, low
from reassure.checkers.engines.native.model.ir_text import FunctionText, literal
from reassure.checkers.engines.native.model.kernel_numbers import step_words
from reassure.spec.frontend.ir import Node
from reassure.spec.language.types import BoolType, Type, bits_of

PARAMETERS = ("ptr noalias %row", "ptr noalias %out", "i64 %n", "ptr noalias %tally", "i64 %where")


class LoopEmitter:
    """Emits one action."""

    def __init__(
        self,
        layout: Layout,
        paths: tuple[str, ...],
        claims: int,
        parameter_words: int,
        clip_at: int,
        helpers: dict[str, str],
    ) -> None:
        """claims: over steps, in all. clip_at: where the tally counts the first bound."""
        self.layout = layout
        self.paths = paths
        self.step_words = step_words(claims)
        self.parameter_words = parameter_words
        self.row_words = layout.words + self.step_words + parameter_words
        self.clip_at = clip_at
        self.helpers = helpers

    def action(self, loops: form.ActionLoops) -> str:
        """The text of the action's function."""
        name = f"action_{loops.number}"
        self.f = f = FunctionText(name, PARAMETERS, internal=True, suffix="alwaysinline nounwind ")
        self.values = NodeEmitter(f, self.layout, self.paths, self.helpers)
        self.loops = loops
        self.end = f.at_entry("alloca i64, align 8")
        f.entry.append(f"  store i64 %n, ptr {self.end}, align 8")
        self.next_value = "leave"
        """The block to go to where there is no step."""
        self._block(loops.body)
        f.jump("leave")
        f.start("leave")
        f.do(f"ret i64 {f.op(f'load i64, ptr {self.end}, align 8')}")
        return f.text()

    def _block(self, block: form.Block) -> None:
        for statement in block:
            self._emit(statement)

    @singledispatchmethod
    def _emit(self, statement: form.Statement) -> None:
        raise AssertionError(f"no code for {statement}")

    # -- statements ---------------------------------------------------------------------------------

    @_emit.register
    def _(self, statement: form.Let) -> None:
        self.values.value(statement.node)

    @_emit.register
    def _(self, statement: form.LoopGuard) -> None:
        f, condition = self.f, self.values.value(statement.condition)
        passed = f.fresh()
        f.branch(condition, passed, self.next_value)
        f.start(passed)

    @_emit.register
    def _(self, statement: form.Error) -> None:
        raise_unless(self.values, statement.condition, self.next_value)

    @_emit.register
    def _(self, statement: form.StepError) -> None:
        raise_unless(self.values, statement.condition)

    @_emit.register
    def _(self, statement: form.Clip) -> None:
        f = self.f
        within, leaves = f.fresh(), f.fresh()
        f.branch(self.values.value(statement.condition), leaves, within)
        f.start(leaves)
        for place in (self.clip_at + statement.number, CLIPS_TOTAL, ACTIONS_AT + self.loops.number):
            count(f, place, "1")
        f.jump(self.next_value)
        f.start(within)

    @_emit.register
    def _(self, statement: form.Split) -> None:
        f, values = self.f, self.values
        yes, no, joined = f.fresh(), f.fresh(), f.fresh()
        f.branch(values.value(statement.condition), yes, no)
        before = values.emitted
        for label, block in ((yes, statement.yes), (no, statement.no)):
            f.start(label)
            values.emitted = dict(before)  # what one way computes is unknown in the other, and behind both
            self._block(block)
            f.jump(joined)
        values.emitted = before
        f.start(joined)

    @_emit.register
    def _(self, statement: form.Emit) -> None:
        f = self.f
        words = [self._state_word(statement.next, w) for w in range(self.layout.words)]
        words += self._claim_words(statement.claims)
        if statement.parameters is not None:
            words += self._parameter_words(statement.parameters)
        end = f.op(f"load i64, ptr {self.end}, align 8")
        at = f.op(f"mul i64 {end}, {self.row_words}")
        start = f.op(f"getelementptr i64, ptr %out, i64 {at}")
        for w, value in enumerate(words):
            place = f.op(f"getelementptr i64, ptr {start}, i64 {w}") if w else start
            f.do(f"store i64 {value}, ptr {place}, align 8")
        f.do(f"store i64 {f.add(end, '1')}, ptr {self.end}, align 8")

    def _state_word(self, leaves: tuple[Node, ...], w: int) -> str:
        """A word of the next state; fields that stay are copied in one piece."""
        f, kept, result = self.f, 0, "0"
        for field in self.layout.fields:
            if field.word != w:
                continue
            places = [field.code.leaf, field.code.leaf + 1] if field.code.optional else [field.code.leaf]
            if all(leaves[i].op == "var" and leaves[i].data == self.paths[i] for i in places):
                kept |= ((1 << field.code.bits) - 1) << field.shift
            else:
                result = f.either(result, f.left(self.values.encoded(field.code, leaves), field.shift))
        return f.either(f.both(self.values.word(w), literal(kept)), result) if kept else result

    def _claim_words(self, claims: tuple[tuple[int, Node], ...]) -> list[str]:
        """The action's number and the claims that the step hits."""
        f, words = self.f, ["0"] * self.step_words
        words[0] = str(self.loops.number)
        for number, hit in claims:
            word, bit = divmod(number, STEP_BITS)
            words[word] = f.either(words[word], f.left(self.values.number(hit), ACTION_BITS + bit))
        return words

    def _parameter_words(self, leaves: tuple[Node, ...]) -> list[str]:
        """With which parameters the step was taken."""
        f, words = self.f, ["0"] * self.parameter_words
        for field in self.loops.parameter_fields:
            stored = f.left(self.values.encoded(field.code, leaves), field.shift)
            words[field.word] = f.either(words[field.word], stored)
        return words

    # -- loops --------------------------------------------------------------------------------------

    def _run(
        self,
        loop: form.ForEach,
        first: str,
        following: Callable[[str], tuple[str, str]],
        bind: Callable[[str], None],
        runs: str = "true",
    ) -> None:
        """A loop over a number that begins at `first`.

        following: from the number to the next one, and whether there is one. bind: names the values of the number.
        runs: whether there is a first one.
        """
        f, outer = self.f, self.next_value
        head, latch, done = (f.fresh() for _ in range(3))
        before = f.block
        if runs == "true":
            f.jump(head)
        else:
            f.branch(runs, head, done)
        f.start(head)
        number = "%" + f.fresh()
        place = len(f.lines)
        self.next_value = latch
        bind(number)
        self._block(loop.body)
        f.jump(latch)
        f.start(latch)
        next_number, more = following(number)
        f.branch(more, head, done)
        f.lines.insert(place, f"  {number} = phi i64 [ {first}, %{before} ], [ {next_number}, %{latch} ]")
        f.start(done)
        self.next_value = outer

    def _counted(self, loop: form.ForEach, count: int | str, bind: Callable[[str], None]) -> None:
        """A loop over 0, 1, ... below a number that is at least 1; only 0 where there is nothing to choose."""
        f = self.f
        end = str(count)
        if loop.when is not None:
            end = f.choose(self.values.value(loop.when), end, "1")

        def following(number: str) -> tuple[str, str]:
            one_more = f.add(number, "1")
            return one_more, f.compare("ult", one_more, end)

        self._run(loop, "0", following, bind)

    def _bind(self, loop: form.ForEach, node: Node, value: str) -> None:
        """Names the value of a parameter's scalar; where there is nothing to choose it is zero."""
        if loop.when is not None:
            kind = "i1" if isinstance(node.type, BoolType) else "i64"
            value = self.f.choose(self.values.value(loop.when), value, _nothing(node.type), kind)
        self.values.emitted[node] = value

    def _value_of(self, number: str, kind: Type) -> str:
        """The value of a scalar type with this number, counted from 0."""
        return self.values.truth_of(self.f.plus(number, low(kind)), kind)

    @_emit.register
    def _(self, loop: form.ForEachIndex) -> None:
        self._counted(loop, loop.type.count, lambda i: self._bind(loop, loop.node, self._value_of(i, loop.type)))

    @_emit.register
    def _(self, loop: form.ForEachOptional) -> None:
        f = self.f

        def bind(number: str) -> None:
            code = Code(0, loop.type, True, 0)
            self._bind(loop, loop.node, f.compare("ne", number, "0"))
            self._bind(loop, loop.value, self.values.optional_value(number, code))

        self._counted(loop, loop.type.count + 1, bind)

    @_emit.register
    def _(self, loop: form.ForEachMember) -> None:
        f = self.f
        mask = self._upper(loop.mask, loop.type.count)

        def following(rest: str) -> tuple[str, str]:
            without = f.both(rest, f.plus(rest, -1))
            return without, f.compare("ne", without, "0")

        def bind(rest: str) -> None:
            lowest = f.count(f.op(f"call i64 @llvm.cttz.i64(i64 {rest}, i1 false)"))
            self._bind(loop, loop.node, self.values.truth_of(lowest, loop.type))

        self._run(loop, mask, following, bind, f.compare("ne", mask, "0"))

    def _upper(self, mask: form.Mask, count: int) -> str:
        """The bits that a mask leaves of so many."""
        f, values = self.f, self.values
        result = literal((1 << count) - 1)
        for node in mask.within:
            result = f.both(result, values.value(node))
        for node in mask.without:
            result = f.both(result, f.flipped(values.value(node)))
        for node in mask.exclude_items:
            result = f.both(result, f.flipped(f.left_by("1", values.number(node))))
        for node in mask.only_items:
            result = f.both(result, f.left_by("1", values.number(node)))
        return result

    @_emit.register
    def _(self, loop: form.ForEachSubset) -> None:
        """Through the subsets of a mask in ascending order: the next one is (this - mask) & mask."""
        f, values = self.f, self.values
        upper, lower = self._upper(loop.mask, loop.items), "0"
        for node in loop.mask.including:
            lower = f.either(lower, values.value(node))
        for node in loop.mask.include_items:
            lower = f.either(lower, f.left_by("1", values.number(node)))
        runs = "true"
        free = upper
        if lower != "0":
            beyond = f.flipped(upper)
            runs = f.compare("eq", f.both(lower, beyond), "0")
            free = f.both(upper, f.flipped(lower))
        if loop.when is not None:
            free = f.choose(values.value(loop.when), free, "0")

        def following(chosen: str) -> tuple[str, str]:
            after = f.both(f.sub(chosen, free), free)
            return after, f.compare("ne", after, "0")

        self._run(loop, "0", following, lambda c: self._bind(loop, loop.node, f.either(c, lower)), runs)

    @_emit.register
    def _(self, loop: form.ForEachSequence) -> None:
        """By a number that counts the shorter ones first; what is left of it has the items as digits."""
        f, kind = self.f, loop.type
        k, base = bits_of(kind.item), kind.item.count
        shorter = [sum(base**i for i in range(n)) for n in range(kind.length + 1)]

        def bind(number: str) -> None:
            length, rest, items = "0", number, "0"
            for n in range(1, kind.length + 1):
                reached = f.compare("uge", number, str(shorter[n]))
                length = f.add(length, f.widened(reached))
                rest = f.choose(reached, f.plus(number, -shorter[n]), rest)
            for place in range(kind.length):
                digit = f.op(f"urem i64 {rest}, {base}")
                rest = f.op(f"udiv i64 {rest}, {base}")
                items = f.either(items, f.left(digit, place * k))
            self._bind(loop, loop.node, f.either(items, f.left(length, SEQ_LENGTH_AT)))

        self._counted(loop, kind.count, bind)

    @_emit.register
    def _(self, loop: form.ForEachSlot) -> None:
        f = self.f
        slots = [self.values.value(slot) for slot in reversed(loop.slots)]
        if not slots:
            f.jump(self.next_value)
            f.start(f.fresh())
            return

        def bind(number: str) -> None:
            record = slots[0]
            for i, slot in enumerate(slots[1:], 1):
                record = f.choose(f.compare("eq", number, str(i)), slot, record)
            occupied = f.fresh()
            f.branch(f.compare("ne", record, "0"), occupied, self.next_value)
            f.start(occupied)
            self._bind(loop, loop.node, record)

        self._counted(loop, len(slots), bind)

    @_emit.register
    def _(self, loop: form.ForEachRecordSet) -> None:
        f, size = self.f, len(loop.slots)
        table = f"sets_{len(self.helpers)}"
        numbers = ", ".join(f"i64 {literal(slot)}" for one in loop.sets for slot in one)
        self.helpers[table] = f"@{table} = internal constant [{size * len(loop.sets)} x i64] [{numbers}]\n"

        def bind(number: str) -> None:
            row = f.op(f"mul i64 {number}, {size}")
            for i, slot in enumerate(loop.slots):
                place = f.op(f"getelementptr i64, ptr @{table}, i64 {f.plus(row, i)}")
                self._bind(loop, slot, f.op(f"load i64, ptr {place}, align 8"))

        self._counted(loop, len(loop.sets), bind)


def _nothing(kind: Type) -> str:
    """The value of a scalar of a value that is absent: the one that is stored as 0."""
    return "false" if isinstance(kind, BoolType) else literal(low(kind))


def raise_unless(values: NodeEmitter, condition: Node, following: str = "") -> None:
    """Writes down that plain Python raises in this state unless a condition holds.

    following: the block that is next after that; empty: the one that is next if the condition holds.
    """
    f = values.f
    passed, raises = f.fresh(), f.fresh()
    f.branch(values.value(condition), passed, raises)
    f.start(raises)
    row = f.op("add i64 %where, 1")
    f.do(f"store i64 {row}, ptr {f.op(f'getelementptr i64, ptr %tally, i64 {ERROR}')}, align 8")
    f.jump(following or passed)
    f.start(passed)


def count(f: FunctionText, place: int, number: str) -> None:
    """Adds to a place of the tally."""
    at = f.op(f"getelementptr i64, ptr %tally, i64 {place}")
    f.do(f"store i64 {f.add(f.op(f'load i64, ptr {at}, align 8'), number)}, ptr {at}, align 8")

"""The model's own part of a kernel: two functions in LLVM IR, made from the lowered model, and what their numbers mean.

    i64 @check(ptr %row, ptr %tally, i64 %where)                        the claims that a state hits, as bits
    i64 @expand(ptr %row, ptr %out, i64 %n, ptr %tally, i64 %where)     its successors, appended to %out from row %n

With representatives, `@steps` is `@expand` before they take the place of successors.

A successor's row is the next state, the step words (word 0: the action, from bit 16 the claims over the step), and the
parameter words. What plain Python cannot do is noted in `tally[ERROR]` as `%where` + 1.
"""

from __future__ import annotations

from reassure.checkers.encoding.state_layout import Layout, placed, state_layout
from reassure.checkers.engines.native.kernels.kernel_shape import STEPS
from reassure.checkers.engines.native.kernels.model_code import (
    ACTIONS_AT,
    STATE_CLAIMS,
    TERMINAL,
    TERMINAL_RAISES,
)
from reassure.checkers.engines.native.model.build_loops import ActionBuilder, Numbers, kernel_parameters
from reassure.checkers.engines.native.model.emit_loops import PARAMETERS, LoopEmitter, count, raise_unless
from reassure.checkers.engines.native.model.emit_nodes import NodeEmitter
from reassure.checkers.engines.native.model.ir_text import DECLARATIONS, FunctionText
from reassure.checkers.engines.native.model.kernel_numbers import (
    MOST_TEMPORAL,
    RAISES_AT,
    JudgeText,
    ModelKernel,
    parameter_codes,
)
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import LanguageError

MOST_SUCCESSORS = 1 << 26
"""Successors of one state for which there is room."""


def model_kernel(
    model: LoweredModel, layout: Layout, parameters: bool = False, representatives: str = ""
) -> ModelKernel:
    """The kernel's own part of a lowered model.

    parameters: successors come with the parameters of their step. A model that was lowered with switches goes without
    guard k where `tally[SWITCH] = k + 1`. representatives: the text of a function of this name, which puts other states
    in the place of successors.
    Raises `LanguageError` if the model has more of something than there is room for.
    """
    paths = tuple(leaf.path for leaf in model.leaves)
    step_flags = tuple(dict.fromkeys(f.name for formulas in model.step_formulas for f in formulas))
    places = [placed(parameter_codes(kernel_parameters(a.parameters))) for a in model.actions] if parameters else []
    fields = tuple(fields_of_action for fields_of_action, _ in places) or ((),) * len(model.actions)
    parameter_words = max((words for _, words in places), default=0) if parameters else None
    numbers = Numbers(model.graph, paths, step_flags, parameters)
    loops = tuple(
        ActionBuilder(numbers, i, action, formulas).build(fields[i])
        for i, (action, formulas) in enumerate(zip(model.actions, model.step_formulas, strict=True))
    )
    most = sum(one.most for one in loops)
    if most > MOST_SUCCESSORS:
        widest = max(loops, key=lambda one: one.most)
        raise LanguageError(
            f"one state may have {most:,} steps, {widest.most:,} of them by {widest.name}; at most "
            f"{MOST_SUCCESSORS:,} are possible: draw a parameter from what the state holds"
        )
    helpers: dict[str, str] = {}
    emitter = LoopEmitter(
        layout, paths, len(step_flags), parameter_words or 0, ACTIONS_AT + len(model.actions), helpers
    )
    functions = [emitter.action(one) for one in loops]
    claims, check = _check(model, layout, paths, helpers)
    row_words = emitter.row_words if representatives else 0
    parts = [DECLARATIONS, *functions, _expand(len(loops), row_words), check, *helpers.values(), *_new(representatives)]
    return ModelKernel(
        "\n".join(parts), layout, step_flags, tuple(numbers.clips), tuple(a.name for a in model.actions),
        most, parameter_words, fields if parameters else (), claims, loops,
    )  # fmt: skip


def kernel_listing(model: LoweredModel) -> str:
    """The LLVM IR of a model, behind comments that name its numbers. Raises `LanguageError` as `model_kernel` does."""
    kernel = model_kernel(model, state_layout(model.bound))
    actions = (f"; @action_{number} is {name}" for number, name in enumerate(kernel.actions))
    flags = (f"; bit {bit} of @check is {name}" for bit, name in enumerate(kernel.state_flags))
    return "\n".join([*actions, *flags, kernel.ir])


def _new(text: str) -> list[str]:
    """The lines of a text but for the declarations that every kernel has."""
    known = DECLARATIONS.splitlines()
    return [line for line in text.splitlines() if line not in known]


def _expand(actions: int, row_words: int) -> str:
    """The function that calls every action and counts their successors. row_words: where others take their place.

    Then the successors themselves are what `steps` has.
    """
    suffix = "noinline nounwind " if row_words else "nounwind "
    f = FunctionText(STEPS if row_words else "expand", PARAMETERS, internal=False, suffix=suffix)
    n = "%n"
    for number in range(actions):
        end = f.op(f"call i64 @action_{number}(ptr %row, ptr %out, i64 {n}, ptr %tally, i64 %where)")
        count(f, ACTIONS_AT + number, f.sub(end, n))
        n = end
    f.do(f"ret i64 {n}")
    return f.text() + (_of_classes(row_words) if row_words else "")


def _of_classes(row_words: int) -> str:
    """The function that puts representatives in the place of the successors."""
    f = FunctionText("expand", PARAMETERS, internal=False, suffix="nounwind ")
    end = f.op(f"call i64 @{STEPS}(ptr %row, ptr %out, i64 %n, ptr %tally, i64 %where)")
    f.op(f"call i64 @representatives(ptr %out, i64 %n, i64 {end}, i64 {row_words})")
    f.do(f"ret i64 {end}")
    return f.text()


def _check(
    model: LoweredModel, layout: Layout, paths: tuple[str, ...], helpers: dict[str, str]
) -> tuple[tuple[str, ...], str]:
    """The names of the claims over states, by bit, and the function that judges a state."""
    f = FunctionText(
        "check", ("ptr noalias %row", "ptr noalias %tally", "i64 %where"), internal=False, suffix="nounwind "
    )
    values = NodeEmitter(f, layout, paths, helpers)
    claims = [formula for formula in model.state_formulas if formula.claim is not None and not formula.claim.temporal]
    if len(claims) > STATE_CLAIMS:
        raise LanguageError(f"{len(claims)} invariants and covers of states: at most {STATE_CLAIMS} are possible")
    result = "0"
    for bit, formula in enumerate(claims):
        for check in formula.checks:
            raise_unless(values, check.condition)
        assert formula.claim is not None
        hit = formula.condition if formula.claim.kind == "cover" else model.graph.not_(formula.condition)
        hit = model.graph.and_(*(check.condition for check in formula.checks), hit)  # what raises hits nothing
        result = f.either(result, f.left(values.number(hit), bit))
    ended, raises = _terminal(model)
    result = f.either(result, f.left(values.number(ended), TERMINAL))
    result = f.either(result, f.left(values.number(raises), TERMINAL_RAISES))
    f.do(f"ret i64 {result}")
    return (*(formula.name for formula in claims), "terminal"), f.text()


def _terminal(model: LoweredModel) -> tuple[Node, Node]:
    """Whether a state is terminal, and whether plain Python raises when asked: it asks one after the other."""
    g = model.graph
    ended = raises = g.false
    for formula in model.terminal_formulas:
        safe = g.and_(*(check.condition for check in formula.checks))
        raises = g.or_(raises, g.and_(g.not_(ended), g.not_(safe)))
        ended = g.or_(ended, formula.condition)
    return ended, raises if model.bound.model.deadlock else g.false


def judge_of(model: LoweredModel, layout: Layout) -> JudgeText:
    """The properties about whole runs of a lowered model.

    i64 @judge(ptr %row, ptr %tally, i64 %where)    two bits for each property: what it is of, and its goal; one more:
                                                    whether plain Python raises in one of them

    Raises `LanguageError` if there are too many.
    """
    formulas = [f for f in model.state_formulas if f.claim is not None and f.claim.temporal]
    if len(formulas) > MOST_TEMPORAL:
        raise LanguageError(f"{len(formulas)} properties about whole runs: at most {MOST_TEMPORAL} are possible")
    f = FunctionText(
        "judge", ("ptr noalias %row", "ptr noalias %tally", "i64 %where"), internal=False, suffix="nounwind "
    )
    helpers: dict[str, str] = {}
    values = NodeEmitter(f, layout, tuple(leaf.path for leaf in model.leaves), helpers)
    result = "0"
    for number, formula in enumerate(formulas):
        for check in formula.checks:
            raises = f.negated(values.value(check.condition))
            result = f.either(result, f.left(f.widened(raises), RAISES_AT))
        result = f.either(result, f.left(values.number(formula.condition), 2 * number))
        if formula.goal is not None:
            result = f.either(result, f.left(values.number(formula.goal), 2 * number + 1))
    f.do(f"ret i64 {result}")
    claims = tuple((formula.name, formula.claim.kind) for formula in formulas if formula.claim is not None)
    return JudgeText("\n".join([DECLARATIONS, f.text(), *helpers.values()]), claims, any(f.checks for f in formulas))

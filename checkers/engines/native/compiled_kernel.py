"""From a lowered model to its kernel: machine code, and what the numbers that it writes mean."""

from __future__ import annotations

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, KernelShape
from reassure.checkers.engines.native.kernels.state_table import MAX_TAG
from reassure.checkers.engines.native.model.model_kernel import ModelKernel, model_kernel
from reassure.checkers.engines.native.translator.statements import UNROLLED
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.language.vocabulary import LanguageError


class CompiledKernel(Kernel):
    """A kernel with the description of its model."""

    def __init__(self, model: ModelKernel, passing: bool = False) -> None:
        """passing: as of `Kernel`."""
        super().__init__(shape_of(model), passing)
        self.model = model


def shape_of(model: ModelKernel) -> KernelShape:
    """The part of a kernel that other processes need."""
    return KernelShape(
        ir=model.ir,
        words=model.layout.words,
        actions=len(model.actions),
        clips=len(model.clips),
        max_successors=model.max_successors,
        step_claims=len(model.step_flags),
        step_words=model.step_words,
        parameter_words=model.parameter_words,
    )


def compiled(
    lowered: LoweredModel, layout: Layout, parameters: bool = False, passing: bool = False, representatives: str = ""
) -> CompiledKernel:
    """The kernel of a model, its machine code taken from disk if it is there.

    parameters, representatives: as of `model_kernel`. passing: as of `Kernel`. Raises `LanguageError` for a
    model with more actions or claims than a kernel has room for, or of a larger state.
    """
    if layout.words > UNROLLED:
        raise LanguageError(
            f"a state takes {layout.words} words of 64 bits: the compiled engines take at most {UNROLLED}; "
            "give its fields smaller types (`reassure models NAME` shows them), or use `--engine reference`"
        )
    if len(lowered.actions) > MAX_TAG:
        raise LanguageError(f"{len(lowered.actions)} actions: the compiled engines take at most {MAX_TAG}")
    return CompiledKernel(model_kernel(lowered, layout, parameters, representatives), passing)

"""Whatever ends a command, as one line and an exit code."""

from __future__ import annotations

from reassure.checkers.machine.exit_codes import Exit, Failure

SHOWN = "`reassure check` shows how"


def as_failure(error: BaseException) -> Failure:
    """Translates an exception; one that is not known is a bug of this program."""
    from reassure.checkers.machine.own_process import ENDED
    from reassure.checkers.machine.stop import Interrupted
    from reassure.checkers.traces.reconstruct import Disagreement
    from reassure.spec.language.types import DomainError
    from reassure.spec.language.vocabulary import LanguageError
    from reassure.spec.semantics.interpreter import ConfigError, ModelError

    match error:
        case Failure():
            return error
        case OSError():
            return Failure(Exit.SYSTEM, f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
        case ConfigError():
            return Failure(Exit.CONFIG, str(error))
        case LanguageError() | DomainError():
            return Failure(Exit.MODEL, str(error))
        case ModelError():
            text = str(error)
            return Failure(Exit.MODEL, text if SHOWN in text else f"{text}; {SHOWN}")
        case Interrupted():
            return Failure(Exit.INCONCLUSIVE, error.stop.text)
        case Disagreement():
            return Failure(Exit.DISAGREE, str(error))
        case SystemExit():
            return Failure(Exit.INTERNAL, ENDED)
        case RecursionError():
            return Failure(Exit.MODEL, "a model nests too deeply")
        case MemoryError():
            return Failure(Exit.SYSTEM, "out of memory")
    return Failure(Exit.INTERNAL, f"{type(error).__name__}: {error} (a bug; REASSURE_DEBUG=1 shows where)")

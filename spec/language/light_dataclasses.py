"""`dataclass` for the program's own classes: as that of the standard library, and made sooner.

The standard library compiles a text for each method of each class whenever the program starts, which took a good part
of the processor time of a small command. Here only `__init__` is made of a text, and only when a class has its first
object: a command has objects of few of the classes. The other methods are functions that a class fills in. Type
checkers read the standard library's decorator, and see to it that nobody assigns to a field of a frozen class: at run
time nothing does. Models, whose records are values of a state, use the standard library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from functools import partial
    from operator import attrgetter

    def dataclass(cls=None, /, *, eq=True, frozen=False, **options):
        """As `dataclasses.dataclass`; with another option, such as `order=True`, it is just that."""
        if cls is None:
            return partial(dataclass, eq=eq, frozen=frozen, **options)
        if options:
            return dataclasses.dataclass(cls, eq=eq, frozen=frozen, **options)
        own = frozenset(cls.__dict__)
        cls.__doc__ = cls.__doc__ or cls.__name__  # or a signature is made of it
        cls = dataclasses.dataclass(cls, init=False, eq=False, repr=False)
        if "__init__" not in own:
            cls.__init__ = _first_init(cls)
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        if "__repr__" not in own:
            cls.__repr__ = _repr
        if eq:
            values = attrgetter(*names) if len(names) > 1 else _few(names)
            if "__eq__" not in own:
                cls.__eq__ = _equality(values)
            if "__hash__" not in own or cls.__hash__ is None:  # Python puts None beside an `__eq__` of the class
                cls.__hash__ = _hash(values) if frozen else None
        return cls

    def _first_init(cls):
        def __init__(self, *args, **kwargs):
            cls.__init__ = made = _init(cls)
            made(self, *args, **kwargs)

        return __init__

    def _init(cls):
        given, named, body, values = [], [], [], {"_unset": object()}
        for field in dataclasses.fields(cls):
            name, value, default = field.name, field.name, ""
            if field.default_factory is not dataclasses.MISSING:
                values[f"_make_{name}"], default = field.default_factory, " = _unset"
                value = f"{name} if {name} is not _unset else _make_{name}()" if field.init else f"_make_{name}()"
            elif field.default is not dataclasses.MISSING:
                values[f"_default_{name}"], default = field.default, f" = _default_{name}"
            if field.init:
                (named if field.kw_only else given).append(name + default)
            if field.init or "_make_" in value:
                body.append(f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join(["self", *given, *["*"][: len(named)], *named])
        exec(f"def __init__({parameters}):\n  " + "\n  ".join(body or ["pass"]), values)
        values["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return values["__init__"]

    def _few(names):
        return lambda self: tuple([getattr(self, name) for name in names])

    def _repr(self):
        names = [field.name for field in dataclasses.fields(self) if field.repr]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    def _equality(values):
        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values):
        def __hash__(self):
            return hash(values(self))

        return __hash__


__all__ = ["dataclass"]

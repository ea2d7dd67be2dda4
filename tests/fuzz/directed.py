"""Small models, each with one construct that an engine once got wrong; every engine must agree on them."""

# ruff: noqa: E501 - a row of the table is one line
from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.generate import HEADER, Source

PRELUDE = """
class N(Id, size="nodes"): ...

@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 64)] = {nodes}
    flag: bool = False

"""
ENDED = "\nMODEL = Model.of(__name__, state=State, config=Config)\n"


@dataclass(frozen=True)
class Directed:
    """state: fields. start: of the initial state. body: declarations. checks: which comparisons show it."""

    state: str
    start: str
    body: str
    checks: tuple[str, ...] = ("terms", "native")
    nodes: int = 3
    records: str = ""
    refused: str = ""
    """What the language says of it, if it does not take it."""

    def source(self, language: str, stem: str) -> Source:
        """The model as a file."""
        fields = "\n".join(f"    {f.strip()}" for f in self.state.split(";"))
        text = HEADER.format(language=language) + PRELUDE.format(nodes=self.nodes) + self.records
        text += f"\n@dataclass(frozen=True)\nclass State:\n{fields}\n"
        text += f"\n@initial\ndef start(c: Config) -> State:\n    return State({self.start})\n\n{self.body}"
        return Source({stem: text + ("" if "MODEL =" in self.body else ENDED)})


def step(body: str, params: str = "", decorator: str = 'who="w"', before: str = "") -> str:
    """An action `act` with this body."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"{before}\n@action({decorator})\ndef act(s: State, c: Config{params}) -> State:\n{lines}\n"


R = """
@dataclass(frozen=True)
class R:
    v: Annotated[int, Range({low}, {high})]
"""
NEVER = "\n@invariant\ndef never(s: State) -> bool:\n    return {}\n"
GOOD = "def good(n: N) -> bool:\n    require(n == N(0))\n    return True\n"
SMALL = "Annotated[int, Range(0, 3)]"

DIRECTED: dict[str, Directed] = {
    "1 guard within any": Directed(
        "a: frozenset[N]; done: bool", "every(N, c), False",
        step("require(any(good(n) for n in s.a))\nreturn replace(s, done=True)", before=GOOD) + NEVER.format("not s.done"),
        refused="whose order would show",
    ),
    "1 guard within any over a sequence": Directed(
        "a: Annotated[tuple[N, ...], MaxLen(3)]; done: bool", "(N(0), N(1)), False",
        step("require(any(good(n) for n in s.a))\nreturn replace(s, done=True)", before=GOOD) + NEVER.format("not s.done"),
    ),
    "1 guard within next": Directed(
        "a: Annotated[tuple[N, ...], MaxLen(3)]; done: bool", "(N(0), N(1)), False",
        step("require(next((True for n in s.a if good(n)), False))\nreturn replace(s, done=True)", before=GOOD) + NEVER.format("not s.done"),
    ),
    "1 guard within all": Directed(
        "a: frozenset[N]; done: bool", "every(N, c), False",
        step("require(not all(n != N(0) and good(n) for n in sorted(s.a)))\nreturn replace(s, done=True)", before=GOOD) + NEVER.format("not s.done"),
    ),
    "2 products": Directed(
        "x: Annotated[int, Range(0, 4294967296)]; y: Annotated[int, Range(0, 4294967296)]; done: bool", "4294967296, 4294967296, False",
        step("require(s.x * s.y > 5)\nreturn replace(s, done=True)") + NEVER.format("not s.done"), ("native",),
        refused="may be anything from",
    ),
    "2 a product in a value": Directed(
        "x: Annotated[int, Range(0, 4294967296)]; y: Annotated[int, Range(0, 9)]", "4294967296, 0",
        step("return replace(s, y=min(s.x * s.x * 2, 3))") + NEVER.format("s.y == 0"), ("native",),
        refused="may be anything from",
    ),
    "3 a sequence longer than a word": Directed(
        "a: frozenset[N]; done: bool", "every(N, c), False",
        step("require(len(tuple(sorted(s.a))) == 16)\nreturn replace(s, done=True)") + NEVER.format("not s.done"), ("native",), 16,
        refused="at most 14 fit",
    ),
    "4 a record out of its bound in a local": Directed(
        "k: Annotated[int, Range(0, 2)]; sent: Annotated[frozenset[R], MaxSize(2)]; done: bool", "2, frozenset(), False",
        step("more = s.sent | {R(s.k)}\nrequire(len(more) == 1)\nreturn replace(s, done=True)") + NEVER.format("not s.done"), records=R.format(low=0, high=1),
        refused="out of its bounds",
    ),
    "4 a record out of its bound in a claim": Directed(
        "k: Annotated[int, Range(0, 2)]; sent: Annotated[frozenset[R], MaxSize(2)]", "2, frozenset({R(0)})",
        step("return s") + NEVER.format("len(s.sent | {R(s.k)}) == 1"), records=R.format(low=0, high=1),
        refused="out of its bounds",
    ),
    "4 a record out of its bound that nothing reads": Directed(
        "k: Annotated[int, Range(0, 2)]", "2", step("x = frozenset({R(s.k)})\nreturn replace(s, k=0)"), records=R.format(low=0, high=1),
    ),
    "4 a record out of its bound behind a filter": Directed(
        "on: bool; sent: Annotated[frozenset[R], MaxSize(1)] | None", "False, frozenset()",
        step("return replace(s, sent=next((frozenset({R(3)}) for n in (N(0),) if s.on), None))"), records=R.format(low=0, high=1),
    ),
    "5 a default that is evaluated first": Directed(
        "a: frozenset[N]; leader: N | None", "every(N, c), None",
        step("return replace(s, leader=max(s.a, default=some(s.leader)))") + NEVER.format("s.leader is None"),
    ),
    "5 a default of next with a guard": Directed(
        "q: Annotated[tuple[N, ...], MaxLen(2)]; done: bool", "(N(1),), False",
        step("x = next((n for n in s.q), N(0) if good(N(1)) else N(2))\nreturn replace(s, done=x == N(1))", before=GOOD) + NEVER.format("not s.done"),
    ),
    "5 keyword arguments out of order": Directed(
        "x: N | None; y: N; q: Annotated[tuple[N, ...], MaxLen(2)]", "None, N(0), ()",
        step("return State(y=s.q[0], x=some(s.x), q=s.q)"),
    ),
    "5 keyword arguments of a helper out of order": Directed(
        "x: N | None; q: Annotated[tuple[N, ...], MaxLen(2)]", "None, ()",
        step("return replace(s, x=pick(b=s.q[0], a=some(s.x)))", before="def pick(a: N, b: N) -> N:\n    return b\n"),
    ),
    "5 a drawn set that raises": Directed(
        "a: frozenset[N]; x: N", "frozenset(), N(0)", step("return replace(s, x=n)", ", n: N", 'who="w", n=lambda s: frozenset({max(s.a)})'),
    ),
    "5 a wider state": Directed(
        "x: bool", "False",
        step("return State(x=True)") + """
BASE = Model.of(__name__, state=State, config=Config)

@dataclass(frozen=True)
class Wide(State):
    y: bool = False

@action(who="w")
def more(s: Wide) -> Wide:
    return replace(s, y=not s.y)

MODEL = BASE.adding(more, state=Wide)
""",
        refused="State where Wide is needed",
    ),
    "6 an optional record of a negative range": Directed(
        "x: R | None; y: bool", "R(-1), False",
        step("return replace(s, x=None if s.y else R(-1), y=not s.y)") + NEVER.format("s.x is None or s.x.v == -1"), records=R.format(low=-1, high=0),
    ),
    "6 absent from a parameter of another range": Directed(
        "x: Annotated[int, Range(0, 1)] | None", "0", step("return replace(s, x=p.v)", ", p: P"),
        records="\n@dataclass(frozen=True)\nclass P:\n    v: Annotated[int, Range(-5, 0)] | None\n",
    ),
    "7 a parameter that is an optional set": Directed(
        "x: frozenset[N] | None", "None", step("return replace(s, x=p)", ", p: frozenset[N] | None"),
    ),
    "7 a parameter that is an optional record": Directed(
        "x: R | None", "None", step("return replace(s, x=p)", ", p: R | None"), records=R.format(low=-1, high=1),
    ),
    "7 a parameter that is a set of records": Directed(
        "x: Annotated[frozenset[R], MaxSize(2)]", "frozenset()",
        step("return replace(s, x=p)", ", p: Annotated[frozenset[R], MaxSize(2)]"), records=R.format(low=-1, high=1),
    ),
    "8 an error behind a guard": Directed(
        "alive: frozenset[N]; x: N", "frozenset(), N(0)",
        step("require(n in s.alive)\nreturn replace(s, x=max(s.alive))", ", n: N"),
    ),
    "8 an index in an any that has ended": Directed(
        "q: Annotated[tuple[N, ...], MaxLen(2)]; x: bool", "(N(0),), False",
        step("return replace(s, x=any(s.q[i] == N(0) for i in range(2)))"),
    ),
    "8 a terminal that raises where it is not asked": Directed(
        "alive: frozenset[N]; x: bool", "frozenset(), False", step("return replace(s, x=not s.x)") + "\n@terminal\ndef ended(s: State) -> bool:\n    return max(s.alive) == N(0)\n",
    ),
    "8 a terminal that raises behind one that holds": Directed(
        "alive: frozenset[N]; x: bool", "frozenset(), False", step("require(not s.x)\nreturn replace(s, x=True)")
        + "\n@terminal\ndef done(s: State) -> bool:\n    return s.x\n\n@terminal\ndef ended(s: State) -> bool:\n    return max(s.alive) == N(0)\n",
    ),
    "9 an int field of 57 bits": Directed(
        "x: Annotated[int, Range(0, 144115188075855871)]", "144115188075855870", step("return replace(s, x=s.x + 1)") + NEVER.format("s.x % 2 == 0"),
    ),
    "9 an int field of 62 bits": Directed(
        "x: Annotated[int, Range(-2305843009213693950, 2305843009213693950)]", "2305843009213693949", step("require(s.x > 0)\nreturn replace(s, x=-s.x)"),
    ),
    "9 a sort of 64 with a subset guard": Directed(
        "a: frozenset[N]", "frozenset({N(61)})", step("require(s.a <= frozenset({N(0), N(61)}))\nreturn replace(s, a=s.a | {n})", ", n: N"), ("native",), 62,
    ),
    "9 an empty record": Directed(
        "x: E | None; y: Annotated[frozenset[E], MaxSize(1)]", "None, frozenset()",
        step("return replace(s, x=E() if s.x is None else None, y=s.y | {E()})"), records="\n@dataclass(frozen=True)\nclass E:\n    pass\n",
    ),
    "9 a set of no records": Directed(
        "x: Annotated[frozenset[R], MaxSize(0)]; y: bool", "frozenset(), False",
        step("return replace(s, x=s.x | {R(0)} if s.y else frozenset(), y=not s.y)") + NEVER.format("s.x == frozenset()"), records=R.format(low=0, high=1),
        refused="it is at least 1",
    ),
    "9 division by a length": Directed("k: Annotated[int, Range(0, 5)]", "5", step("return replace(s, k=s.k // len((N(0), N(1))))")),
    "9 a state of 62 words": Directed(
        "x: Map[N, Annotated[int, Range(0, 1152921504606846976)]]", "fill(N, c, 1152921504606846975)",
        step("require(n > N(59))\nreturn replace(s, x=s.x.put(n, s.x[n] + 1))", ", n: N") + NEVER.format("s.x[N(61)] + s.x[N(60)] < 2305843009213693952"), ("native",), 62,
    ),
    "9 more than 126 actions": Directed(
        "k: Annotated[int, Range(0, 200)]", "0",
        "".join(f'@action(who="w")\ndef a{i}(s: State) -> State:\n    require(s.k == 0)\n    return replace(s, k={i})\n' for i in range(1, 130)), ("native",),
    ),
    "10 a property that raises is not asked for": Directed(
        "a: frozenset[N]; x: bool", "frozenset(), False",
        step("return replace(s, x=not s.x)") + NEVER.format("not s.x") + "\n@invariant\ndef raising(s: State) -> bool:\n    return max(s.a) == N(0)\n", ("asked",),
    ),
    "11 an optional of a negative range": Directed(
        "x: Annotated[int, Range(-1, 0)] | None; y: Annotated[int, Range(0, 7)]", "0, 0",
        step("require(s.y < 7)\nreturn replace(s, x=None if s.y % 2 == 0 else -1, y=s.y + 1)") + NEVER.format("s.x is not None or s.y != 5"), ("terms", "native", "prove"),
    ),
    "12 max over negative ranges": Directed(
        "x: Annotated[int, Range(-3, -1)]; y: Annotated[int, Range(-9, 9)]", "-3, 0",
        step("require(s.x < -1)\nreturn replace(s, x=s.x + 1, y=max(-4, s.x))") + NEVER.format("s.y > -3 or s.y == 0"), ("terms", "native", "prove"),
    ),
    "12 max and min of numbers that cross": Directed(
        "x: Annotated[int, Range(-5, -1)]; y: Annotated[int, Range(-9, 9)]; z: Annotated[int, Range(-9, 9)]", "-5, 0, 0",
        step("require(s.x < -1)\nreturn replace(s, x=s.x + 1, y=max(-3, s.x), z=min(s.x, -3))") + NEVER.format("s.y <= -2 or s.y == 0"), ("terms", "native", "prove"),
    ),
    "13 rounding of negative numbers": Directed(
        "x: Annotated[int, Range(-5, 5)]; y: Annotated[int, Range(-9, 9)]; z: Annotated[int, Range(-9, 9)]", "-5, 0, 0",
        step("require(s.x < 5)\nreturn replace(s, x=s.x + 1, y=s.x // 3, z=s.x % 3)") + NEVER.format("s.z >= 0 and s.y != -1"), ("terms", "native", "prove"),
    ),
    "14 a certificate": Directed(
        "x: Annotated[int, Range(-3, 3)] | None; a: frozenset[N]", "None, frozenset()",
        step("require(s.x is None or s.x < 2)\nreturn replace(s, x=0 if s.x is None else s.x + 1, a=s.a | {n})", ", n: N")
        + NEVER.format("s.x is None or s.a != frozenset()"), ("prove",),
    ),
    "15 a conjunct that holds two": Directed(
        "x: bool; y: bool; z: bool", "False, True, False",
        step("require((s.x and s.y) and not c.flag)\nreturn replace(s, z=True)") + step("return replace(s, x=not s.x)").replace("act(", "flip(") + NEVER.format("not s.z or s.y"), ("guards",),
    ),
    "15 a guard that is reached twice": Directed(
        "x: Annotated[int, Range(0, 3)]", "0",
        "def low(s: State) -> int:\n    require(s.x < 2)\n    return s.x\n" + step("return replace(s, x=max(low(s), low(s)) + 1)") + NEVER.format("s.x < 3"), ("guards",),
    ),
    "15 a guard before what is never there": Directed(
        "x: bool", "False",
        step("require(sure(P(None)) or s.x)\nreturn replace(s, x=not s.x)", before="def sure(p: P) -> bool:\n    require(p.v is not None)\n    return p.v >= 0\n")
        + step("return s").replace("act(", "stay(") + NEVER.format("not s.x"), ("guards",),
        records="\n@dataclass(frozen=True)\nclass P:\n    v: Annotated[int, Range(0, 1)] | None\n",
    ),
    "16 a mutant of a helper": Directed(
        "x: Annotated[int, Range(0, 3)]", "0",
        "def low(s: State) -> bool:\n    return s.x < 2\n" + step("require(low(s))\nreturn replace(s, x=s.x + 1)") + NEVER.format("low(s) or s.x == 2"), ("mutants",),
    ),
    "17 a property of whole runs that raises beside another": Directed(
        "x: frozenset[N]", "frozenset()",
        step("return replace(s, x=s.x | {n})", ", n: N")
        + "\n@leads_to(lambda s: s.x == s.x)\ndef always(s: State) -> bool:\n    return True\n"
        + "\n@leads_to(lambda s: s.x != frozenset())\ndef raising(s: State) -> bool:\n    return tuple(sorted(s.x))[1] == N(2)\n",
    ),
    "18 an invariant that raises at once": Directed(
        "x: bool", "False",
        step("return replace(s, x=not s.x)") + NEVER.format("next(n for n in (N(0),) if s.x) == N(0)"), ("terms", "native", "prove"),
    ),
    "19 an entry of a map that a parameter chooses": Directed(
        "x: Map[N, bool]; y: bool", "fill(N, c, False), False",
        step("return replace(s, x=s.x.put(n, not s.x[n]))", ", n: N") + NEVER.format("s.y"), ("watching",),
    ),
    "20 a value is missing where no run gets": Directed(
        "x: frozenset[N]", "frozenset()",
        step("return replace(s, x=s.x | {n})", ", n: N")
        + step("if True:\n    refuse()\nreturn replace(s, x=next(s.x for w in ()))").replace("act(", "never("),
    ),
}  # fmt: skip

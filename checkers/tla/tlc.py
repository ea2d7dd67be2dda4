"""Runs TLC, the model checker of TLA+, and reads what it prints.

Also here: values as TLC prints them, read back as values of a model.
"""

from __future__ import annotations

import math
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reassure.checkers.machine.exit_codes import SystemFailure
from reassure.checkers.machine.own_files import temporary_folder
from reassure.checkers.tla.kinds import place_name
from reassure.spec.language.keys import TupleType
from reassure.spec.language.types import (
    BagType,
    BoolType,
    ColumnsType,
    EnumType,
    IdType,
    IntType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.language.values import Map

MESSAGE = re.compile(r"@!@!@STARTMSG (\d+):(\d+) @!@!@\n(.*?)@!@!@ENDMSG \1 @!@!@", re.DOTALL)
MAIN_CLASS = "tlc2/TLC.class"
ERRORS = ("1", "2")
"""Classes of messages about what is wrong."""
COMPLETE, COUNTS, DEPTH, STATE, BACK, STUTTERS = "2193", "2199", "2194", "2217", "2122", "2218"
PROGRESS = "2200"
SO_FAR = re.compile(r"([\d,]+) states generated.*?([\d,]+) distinct states found")
BY_INITIAL_STATE = "2107"
CONSTANT_FALSE = "constant"
VIOLATIONS = {
    "2230": CONSTANT_FALSE,
    "2114": "deadlock",
    "2110": "invariant",
    "2107": "invariant",
    "2112": "step",
    "2113": "step",
    "2116": "temporal",
}
NAMED = re.compile(r"(?:Invariant|Action property) (\S+) is violated")
SEEN = re.compile(r'<<"reassure", "([^"]+)", (\d+)>>')


@dataclass(frozen=True)
class TlcInstallation:
    """A Java and a jar with TLC. processor: seconds of processor that a run may use; None means no limit."""

    java: str
    jar: Path
    processor: float | None = None

    @classmethod
    def find(cls, jar: Path | None) -> TlcInstallation:
        """The jar that is given or that `TLA2TOOLS` names; `SystemFailure` says in one line what is missing."""
        named = jar or Path(os.environ.get("TLA2TOOLS", ""))
        if jar is None and not os.environ.get("TLA2TOOLS"):
            raise SystemFailure("TLC needs a tla2tools.jar: give --jar FILE, or set TLA2TOOLS to its path")
        if not named.is_file():
            raise SystemFailure(f"there is no file {named}, which should be tla2tools.jar")
        if not _has_tlc(named):
            raise SystemFailure(f"{named} is not tla2tools.jar: it has no {MAIN_CLASS}")
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=f"{home}/bin" if home else None)
        if java is None:
            raise SystemFailure("TLC needs Java, and there is none" + (f" in JAVA_HOME={home}" if home else ""))
        return cls(java, named.absolute())

    def version(self) -> str:
        """The day on which the jar's classes were made, which every jar of TLC has."""
        with zipfile.ZipFile(self.jar) as jar:
            year, month, day, *_ = jar.getinfo(MAIN_CLASS).date_time
        return f"{year}-{month:02}-{day:02}"


def _has_tlc(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as jar:
            return MAIN_CLASS in jar.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


@dataclass
class TlcTrace:
    """A counterexample. violated: one of `VIOLATIONS`. name: of the violated definition, where TLC says it. states:
    variables by name. loop: the number of the state that follows the last one, if it never ends.
    """

    violated: str = ""
    name: str = ""
    states: list[dict[str, str]] = field(default_factory=list)
    loop: int | None = None


@dataclass
class TlcRun:
    """What one run of TLC printed. complete: it searched every state, and went on after each violation.

    generated, distinct: states; of its last report, if it was ended.
    """

    seconds: float
    finished: bool
    text: str = ""
    processor: float = 0.0
    """Seconds of processor of all its threads."""
    generated: int = 0
    distinct: int = 0
    depth: int = 0
    complete: bool = False
    traces: list[TlcTrace] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """By name, the level at which the module of the second opinion saw something first."""
    error: str = ""

    @property
    def first(self) -> TlcTrace:
        """The first counterexample; an empty one if there is none."""
        return self.traces[0] if self.traces else TlcTrace()


def run_tlc(
    tlc: TlcInstallation,
    folder: Path,
    module: str,
    budget: float | None,
    memory: int | None = None,
    *options: str,
) -> TlcRun:
    """Runs TLC with one worker on a module of a folder and the configuration of its name.

    budget: seconds. memory: bytes. options: of TLC: `-deadlock` to search for none, `-continue` after a violation.
    """
    heap = [f"-Xmx{max(memory >> 20, 64)}m"] if memory else []
    limit = math.ceil(tlc.processor) if tlc.processor else 0
    limited = ["sh", "-c", f'ulimit -c 0; ulimit -S -t {limit}; exec "$@"', "tlc"] if limit else []
    with temporary_folder("tlc") as work:
        command = [
            *limited, tlc.java, *heap, "-XX:+UseSerialGC", f"-Djava.io.tmpdir={work}", "-cp", str(tlc.jar),
            "tlc2.TLC", "-tool", "-nowarning", *options, "-workers", "1", "-metadir", str(work),
            "-config", f"{module}.cfg", f"{module}.tla",
        ]  # fmt: skip
        began, used_before = time.monotonic(), processor_of_children()
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=budget, check=False
            )
        except subprocess.TimeoutExpired as expired:
            printed = expired.stdout or b""
            text = printed if isinstance(printed, str) else printed.decode(errors="replace")
            run = replace(read_run(text, time.monotonic() - began), finished=False, complete=False)
        else:
            run = read_run(done.stdout + done.stderr, time.monotonic() - began)
            run.finished = done.returncode != -signal.SIGXCPU
            if done.returncode < 0 and run.finished:
                run.error = f"ended by {signal.Signals(-done.returncode).name}"
            elif done.returncode and not run.traces:
                run.error = run.error or f"ended with the code {done.returncode}"
            run.complete = run.complete and not run.error
    run.processor = processor_of_children() - used_before
    return run


def processor_of_children() -> float:
    """The seconds of processor of all programs that this process has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_run(text: str, seconds: float) -> TlcRun:
    """What TLC's output says."""
    run, left = TlcRun(seconds, True, text), None
    for name, level in SEEN.findall(text):
        run.seen[name] = min(int(level), run.seen.get(name, int(level)))
    for code, kind, body in messages(text):
        numbers = [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", body)]
        if code == COUNTS and len(numbers) >= 2:
            run.generated, run.distinct, left = numbers[0], numbers[1], sum(numbers[2:3])
        elif code == PROGRESS and (found := SO_FAR.search(body)):
            run.generated, run.distinct = (int(n.replace(",", "")) for n in found.groups())
        elif code == DEPTH and numbers:
            run.depth = numbers[0]
        elif code == COMPLETE:
            run.complete = True
        elif code in VIOLATIONS:
            named = NAMED.search(body)
            states = [read_state(body)] if code == BY_INITIAL_STATE else []
            run.traces.append(TlcTrace(VIOLATIONS[code], named[1] if named else "", states))
        elif code in (STATE, STUTTERS, BACK) and run.traces:
            trace = run.traces[-1]
            if code == STATE:
                trace.states.append(read_state(body))
            else:
                trace.loop = len(trace.states) - 1 if code == STUTTERS or not numbers else numbers[0] - 1
        elif kind in ERRORS and not run.traces:
            run.error = run.error or " ".join(body.split())
    if run.complete and left != 0:  # it says how many states it found, and that none is left, wherever it ends well
        run.complete = False
        run.error = run.error or ("it printed no counts" if left is None else f"{left:,} states were left")
    run.complete = run.complete and not run.error
    if not run.complete and not run.traces and not run.error:
        lines = [line for line in text.splitlines() if line.strip()]
        raised = [line for line in lines if "Exception" in line or "Error" in line]
        run.error = [*raised, *lines[-1:], "TLC printed nothing"][0]
    return run


def messages(text: str) -> Iterator[tuple[str, str, str]]:
    """The messages of `-tool`: the code, the class and the text of each."""
    for match in MESSAGE.finditer(text):
        yield match[1], match[2], match[3]


def read_state(body: str) -> dict[str, str]:
    """The variables of one state of a trace."""
    _, _, rest = body.partition("\n")
    parts = re.split(r"^(?:/\\ )?([A-Za-z_]\w*) = ", rest, flags=re.MULTILINE)
    return {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}


TOKEN = re.compile(r'\s*(-?\d+|"[^"]*"|[A-Za-z_]\w*|<<|>>|\|->|:>|@@|\.\.|[{}\[\](),])')


class Unreadable(Exception):
    """What TLC printed is not a value of the model."""


class Name(str):
    """A model value, `TRUE` or `FALSE`."""


class _Reader:
    """Reads one value; sets are lists with the tag `set`, functions are lists of pairs."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            match = TOKEN.match(text, place)
            if match is None:
                raise Unreadable(text[place : place + 40])
            self.tokens.append(match[1])
            place = match.end()
        self.place = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token:
            raise Unreadable("it ends too early")
        if expected and token not in expected:
            raise Unreadable(f"{token!r} in place of {expected[0]!r}")
        self.place += 1
        return token

    def items(self, closing: str) -> list[Any]:
        found: list[Any] = []
        while self.peek() != closing:
            found.append(self.value())
            if self.peek() == ",":
                self.take()
        self.take(closing)
        return found

    def value(self) -> Any:
        token = self.take()
        if token == "{":
            return ("set", self.items("}"))
        if token == "<<":
            return ("tuple", self.items(">>"))
        if token == "[":
            return self.record()
        if token == "(":
            pairs = [self.pair()]
            while self.peek() == "@@":
                self.take()
                pairs.append(self.pair())
            self.take(")")
            return ("function", pairs)
        if token.startswith('"'):
            return token[1:-1]
        if re.fullmatch(r"-?\d+", token):
            if self.peek() == "..":
                self.take()
                return ("set", list(range(int(token), int(self.take()) + 1)))
            return int(token)
        return Name(token)

    def pair(self) -> tuple[Any, Any]:
        key = self.value()
        self.take(":>")
        return key, self.value()

    def record(self) -> Any:
        pairs = []
        while self.peek() != "]":
            name = self.take()
            self.take("|->")
            pairs.append((name, self.value()))
            if self.peek() == ",":
                self.take()
        self.take("]")
        return ("function", pairs)


def parsed_output(text: str) -> Any:
    """What TLC printed, as numbers, texts and pairs of a tag and parts."""
    reader = _Reader(text)
    data = reader.value()
    if reader.peek():
        raise Unreadable(f"{text[:60]} goes on after a value")
    return data


def value_of(data: Any, kind: Type) -> Any:
    """The value of a type that was parsed; `Unreadable` if it is none."""
    value = _of(data, kind)
    if kind.misfit(value) is not None:
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}")
    return value


def read_value(text: str, kind: Type) -> Any:
    """The value of a type that TLC printed; `Unreadable` if it is none."""
    return value_of(parsed_output(text), kind)


def _of(data: Any, kind: Type) -> Any:
    try:
        return _converted(data, kind)
    except (KeyError, ValueError, TypeError):
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}") from None


def _converted(data: Any, kind: Type) -> Any:
    if isinstance(kind, OptionType):
        return None if data == Name("None") else _of(data, kind.inner)
    if isinstance(kind, BoolType):
        return {"TRUE": True, "FALSE": False}[data]
    if isinstance(kind, IntType):
        return data
    if isinstance(kind, IdType):
        return kind.sort(data)
    if isinstance(kind, EnumType):
        return kind.sort[data]
    tag, parts = data
    if isinstance(kind, TupleType):
        items = parts if tag == "tuple" else [dict(parts)[place_name(i)] for i in range(len(kind.parts))]
        return tuple(_key(item, part) for item, part in zip(items, kind.parts, strict=True))
    if isinstance(kind, SetType | BagType) and tag == "set":
        return frozenset(_of(p, kind.item) for p in parts)
    if isinstance(kind, SeqType | ColumnsType) and tag == "tuple":
        return tuple(_of(p, kind.item) for p in parts)
    pairs = list(enumerate(parts, 1)) if tag == "tuple" else parts
    if isinstance(kind, MapType):
        return Map([(_key(k, kind.key), _of(v, kind.value)) for k, v in pairs])
    if not isinstance(kind, RecordType):
        raise Unreadable(f"{str(data)[:60]} is not of the kind {kind}")
    given = dict(pairs)
    return kind.cls(**{name: _of(given[name], t) for name, t in kind.fields})


def _key(key: Any, kind: Type) -> Any:
    return _of(Name(key) if isinstance(kind, BoolType) else key, kind)

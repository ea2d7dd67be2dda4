"""The durable truth of a distributed search: one directory, every level committed by one small file.

    run.json                         what the run is of; written first
    packed/0004/part-2-<attempt>-<digest>.parquet   new states of level 4 that partition 2 owns: columns w0, w1, ...;
                                     if steps are kept, also its origin: o0, o1, ... (`checkers.native.owner_text`)
    commits/0004.json                the commit of level 4: its files, and all counts up to it, with its seal
    tables.json                      the files of the datasets with their sizes; written last

A state file counts only if a commit names it, so that whatever a killed or doubled task leaves behind is not part of
the run. A commit's seal is a digest of it and of the seal before it, the first one's of run.json; a state file's name
has the digest of its states: a run that is damaged is not continued. The directory may be local, or anywhere that
Arrow's file systems reach (`s3://`, `gs://`, `abfs://`, `hdfs://`), or else fsspec's.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from reassure.checkers.engines.native.kernels.fingerprints import Key
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.machine.exit_codes import UsageFailure
from reassure.spec.semantics.trace import JsonObject, PlainConfig

SCHEMA = 2
F = TypeVar("F", bound=Callable[..., Any])
OF_ARROW = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""Schemes that Arrow knows; fsspec is asked for others."""
OBJECTS = ("s3", "gcs", "abfs")
"""Arrow's names of stores without folders, where what is written appears whole when it is closed."""


class RunDirectoryError(UsageFailure):
    """A directory that is not a run, or another one; the message says which."""


DATASETS = ("states", "edges", "levels", "properties")
MANIFEST, OPEN_END = "tables.json", "open_end"
ENDS = (MANIFEST, "levels/levels.parquet", "properties/properties.parquet")
"""Files that are written when a run has ended."""


def file_system(place: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI, and the path there. Raises `OSError` where there is none."""
    if place.startswith("file:"):
        parts = urlsplit(place.partition("?")[0])
        if parts.netloc not in ("", "localhost"):
            raise OSError(errno.EINVAL, f"{place}: a file URI has no host; write file:///{parts.netloc}{parts.path}")
        return pafs.LocalFileSystem(), os.path.abspath(unquote(place.removeprefix("file:").removeprefix("//localhost")))
    scheme, colon, _ = place.partition("://")
    if not colon:
        return pafs.LocalFileSystem(), os.path.abspath(place)
    try:
        if scheme in OF_ARROW:
            fs, root = pafs.FileSystem.from_uri(re.sub(r"[^!-~]", lambda m: quote(m[0]), place))
        else:
            fs, root = _of_fsspec(place, scheme)
    except Exception as error:  # fsspec's file systems are many programs
        raise OSError(errno.EINVAL, f"{place}: {_reason(error)}") from None
    return fs, root.rstrip("/")


def _of_fsspec(place: str, scheme: str) -> tuple[pafs.FileSystem, str]:
    try:
        import fsspec
    except ImportError:
        at_hand = ", ".join(f"{s}://" for s in OF_ARROW)
        raise OSError(
            f"of itself Arrow reaches {at_hand}; for {scheme}:// install fsspec and its package for {scheme}, "
            "here and for the executors"
        ) from None
    # Other processes write there, which a listing that is kept does not show.
    fs, root = fsspec.core.url_to_fs(place, use_listings_cache=False)
    return pafs.PyFileSystem(pafs.FSSpecHandler(fs)), root


def _reason(error: BaseException) -> str:
    """The text of an error in one line."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    lines = str(error).strip().splitlines()
    return re.sub(r"\s+", " ", lines[0])[:300].rstrip(".") if lines else type(error).__name__


def one_line_errors(method: F) -> F:
    """A method of `RunDirectory` that says in one line, with the directory, what its file system cannot do."""

    @functools.wraps(method)
    def call(self: RunDirectory, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (RunDirectoryError, MemoryError):
            raise
        except Exception as error:  # of no common class: Arrow's, or whatever fsspec's file systems raise
            if isinstance(error, OSError) and error.filename == self.uri:
                raise
            number = error.errno if isinstance(error, OSError) and error.errno else errno.EIO
            raise OSError(number, _reason(error), self.uri) from None

    return call  # type: ignore[return-value]


@dataclass(frozen=True)
class Identity:
    """The fields that must be equal for a run to be continued."""

    model: str
    model_sha256: str
    values_sha256: str
    """Of the values that the model reaches, also from outside of its text."""
    config: PlainConfig
    engine_version: str
    partitions: int
    words: int
    steps: bool = False
    """Whether states are kept with the steps they come by."""
    fingerprints: Key = ()
    """The key of the fingerprints that tables hold; none: they hold whole states."""
    claims: tuple[str, ...] = ()
    """Names of the properties and covers that the kernel looks at."""
    asked: tuple[str, ...] = ()
    """Names and patterns of the properties that were asked for; none: all."""


@dataclass
class Commit:
    """A level: its states' files by partition, and what the search had counted when it was found."""

    level: int
    files: dict[int, list[str]]
    """Relative to the directory."""
    rows: dict[int, int]
    """States by partition."""
    tally: list[int]
    """The kernel's counts up to here: of the levels before this one."""
    new: list[int]
    flags: list[tuple[int, int, int]]
    """Claims hit so far: word, bit, level."""
    shuffled: int = 0
    """Bytes that Spark shuffled to find this level."""
    seconds: float = 0.0
    generated: int = 0
    """Steps taken to find this level."""
    together: int = 0
    """Levels that were committed at once, each with the counts of all of them; 0: this one alone."""
    seal: str = ""

    @property
    def states(self) -> int:
        return sum(self.rows.values())

    def sealed(self, before: str) -> Commit:
        """This commit with its seal. before: the seal of the commit before it, or of the run."""
        text = json.dumps(asdict(replace(self, seal="")), sort_keys=True)
        return replace(self, seal=hashlib.sha256(f"{before} {text}".encode()).hexdigest())


def digest_of_states(rows: Rows, origins: Rows | None) -> str:
    """The digest of what a file of states has."""
    found = hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=8)
    if origins is not None:
        found.update(np.ascontiguousarray(origins).data)
    return found.hexdigest()


@dataclass
class RunDirectory:
    """One run's files."""

    uri: str
    fs: pafs.FileSystem = field(repr=False)
    root: str = ""
    goes_on: bool = field(default=False, repr=False)
    """Whether something was committed here."""

    @classmethod
    def at(cls, place: str) -> RunDirectory:
        """The directory at a path or URI. Raises `OSError` where there is no such file system."""
        fs, root = file_system(place)
        local = isinstance(fs, pafs.LocalFileSystem)
        return cls(root if local else place, fs, root.rstrip("/"))

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    @property
    def native(self) -> str | None:
        """The directory as Spark itself reads it; None where it cannot, or takes the name for a pattern."""
        if re.search(r"[][{}*?\\]", self.uri):
            return None
        if isinstance(self.fs, pafs.LocalFileSystem):
            return f"file://{self.root}"
        return self.uri if self.fs.type_name == "hdfs" else None

    def _folder_of(self, path: str) -> None:
        if self.fs.type_name not in OBJECTS:
            self.fs.create_dir(path.rsplit("/", 1)[0], recursive=True)

    @one_line_errors
    def _read(self, name: str) -> bytes:
        with self.fs.open_input_stream(self.path(name)) as stream:
            return bytes(stream.read())

    @one_line_errors
    def _write(self, name: str, fill: Callable[[Any], None]) -> None:
        """There whole or not at all: written beside and moved, where closing a file does not do that already.

        A move may be a copy (fsspec): JSON that is cut off cannot be read, and is taken as not there.
        """
        path = self.path(name)
        self._folder_of(path)
        whole = self.fs.type_name in OBJECTS
        folder, _, last = path.rpartition("/")
        aside = path if whole else f"{folder}/.{last}.{uuid.uuid4().hex[:8]}"  # readers of Parquet pass over dots
        try:
            with self.fs.open_output_stream(aside) as stream:
                fill(stream)
            if not whole:
                self._move(aside, path)
        except BaseException:
            with contextlib.suppress(Exception):
                self.fs.delete_file(aside)
            raise

    def _move(self, source: str, target: str) -> None:
        try:
            self.fs.move(source, target)
        except Exception:  # HDFS does not replace a file
            if self.fs.get_file_info(target).type != pafs.FileType.File:
                raise
            self.fs.delete_file(target)
            self.fs.move(source, target)

    def write_json(self, name: str, data: Any) -> None:
        """There whole or not at all."""
        self._write(name, lambda stream: stream.write(json.dumps(data, indent=1).encode()))

    @one_line_errors
    def _delete(self, name: str) -> None:
        self.fs.delete_file(self.path(name))

    @one_line_errors
    def _exists(self, name: str) -> bool:
        return bool(self.fs.get_file_info(self.path(name)).type == pafs.FileType.File)

    def must_be_there(self) -> None:
        """Raises `OSError` if the run is not, or no longer, to be seen from this host."""
        if not self._exists("run.json"):
            host = socket.gethostname()
            why = f"there is no run.json in it on {host}; it has to be where all machines see it, and to stay"
            raise OSError(errno.ENOENT, why, self.uri)

    @one_line_errors
    def files(self, dataset: str) -> list[str]:
        """A dataset's files, as paths of the file system."""
        infos = self.fs.get_file_info(pafs.FileSelector(self.path(dataset), allow_not_found=True))
        return sorted(f.path for f in infos if f.base_name.endswith(".parquet") and not f.base_name.startswith("."))

    @one_line_errors
    def read_dataset(self, path: str) -> pa.Table:
        """One of a dataset's files."""
        with self.fs.open_input_file(path) as stream:
            return pq.ParquetFile(stream).read()

    def ended(self) -> bool:
        """Whether the datasets are all there: the small ones are written last."""
        return all(self._exists(name) for name in ENDS)

    def begin(self, identity: Identity) -> None:
        """Starts a run. Raises `RunDirectoryError` if there is one already."""
        if self._exists("run.json"):
            raise RunDirectoryError(f"{self.uri} has a run already; --resume {self.uri} continues it")
        self.write_json("run.json", {"schema": SCHEMA, **asdict(identity)})

    def identity(self) -> Identity:
        """The identity of the run. Raises `RunDirectoryError`."""
        if not self._exists("run.json"):
            raise RunDirectoryError(f"{self.uri} has no run: there is no run.json in it")
        try:
            data = json.loads(self._read("run.json"))
            if data.pop("schema") != SCHEMA:
                raise RunDirectoryError(f"{self.uri} was written by another version of this program")
            data["fingerprints"] = tuple(tuple(lane) for lane in data["fingerprints"])
            if not isinstance(data["claims"], list) or not isinstance(data.get("asked", []), list):
                raise ValueError("it is not that of a run")
            data["claims"] = tuple(data["claims"])
            data["asked"] = tuple(data.get("asked", ()))
            identity = Identity(**data)
            numbers = (identity.partitions, identity.words)
            if not all(type(n) is int and n > 0 for n in numbers) or not isinstance(identity.config, dict):
                raise ValueError("it is not that of a run")
            return identity
        except (ValueError, TypeError, KeyError) as error:
            raise RunDirectoryError(f"{self.uri}: run.json cannot be read: {error}") from None

    def must_be(self, expected: Identity) -> None:
        """Raises `RunDirectoryError` by the name of what differs."""
        have = asdict(self.identity())
        self._must_match(have, expected, ("steps", "fingerprints"))
        if have["steps"] != expected.steps:
            raise RunDirectoryError(
                f"{self.uri} was begun with{'' if expected.steps else 'out'} --no-data: go on in the same way"
            )
        if bool(have["fingerprints"]) != bool(expected.fingerprints):
            raise RunDirectoryError(
                f"{self.uri} was begun with{'out' if expected.fingerprints else ''} --fingerprints: "
                "go on in the same way"
            )
        self._must_match(have, expected, ("asked",))

    def _must_match(self, have: JsonObject, expected: Identity, later: tuple[str, ...]) -> None:
        names = {
            "model_sha256": "text of the model",
            "engine_version": "engine version",
            "config": "configuration",
            "claims": "choice of properties",
        }
        for key, value in asdict(expected).items():
            if key not in later and have[key] != value and key == "values_sha256":
                raise RunDirectoryError(f"{self.uri} is of other values that the model has from outside of its text")
            if key not in later and have[key] != value:
                shown = f": {have[key]}, not {value}" if key != "model_sha256" else ""
                raise RunDirectoryError(f"{self.uri} is of another {names.get(key, key)}{shown}")

    @functools.cached_property
    def seal(self) -> str:
        """The digest of run.json, with which the seals of the commits begin."""
        return hashlib.sha256(self._read("run.json")).hexdigest()

    def commits(self) -> list[Commit]:
        """The committed levels, from the first. The last one may be cut off, and is not there then.

        Raises `RunDirectoryError` for what no run leaves: a level that is missing before others, or is another one.
        """
        commits: list[Commit] = []
        while self._exists(name := f"commits/{len(commits) + 1:04}.json"):
            try:
                data = json.loads(self._read(name))
            except ValueError:
                break
            try:
                for key in ("files", "rows"):
                    data[key] = {int(k): v for k, v in data[key].items()}
                data["flags"] = [tuple(f) for f in data["flags"]]
                commit = Commit(**data)
            except (LookupError, TypeError, ValueError, AttributeError):
                raise self._damaged(f"{name} is no commit") from None
            if commit != commit.sealed(commits[-1].seal if commits else self.seal):
                raise self._damaged(f"{name} is not as it was written after what is before it")
            commits.append(commit)
        here = len(commits) + 1
        if commits and (any(commit.together >= here for commit in commits) or any(n > here for n in self._numbers())):
            raise self._damaged(f"commits/{here:04}.json is missing or cut off, before others")
        return commits

    def _damaged(self, what: str) -> RunDirectoryError:
        return RunDirectoryError(f"{self.uri} is damaged: {what}; begin again with another --out")

    @one_line_errors
    def _numbers(self) -> list[int]:
        """The numbers of the levels that have a commit's file."""
        infos = self.fs.get_file_info(pafs.FileSelector(self.path("commits"), allow_not_found=True))
        return [int(found[1]) for info in infos if (found := re.fullmatch(r"(\d{4,})\.json", info.base_name))]

    def damage(self, name: str, rows: int, steps: bool) -> str:
        """What is wrong with a committed file of states; "" if it has these states. rows: their number."""
        self.must_be_there()
        try:
            states = self.read_states(name)
            origins = self.read_states(name, "o") if steps else None
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EIO):  # whatever the file system cannot do just now
                raise
            return f"{name} cannot be read: {_reason(error)}"
        found = digest_of_states(states, origins)
        whole = len(states) == rows and name.removesuffix(".parquet").endswith(f"-{found}")
        return "" if whole else f"{name} has other states than were committed"

    def must_be_undamaged(self, damages: Iterable[str]) -> None:
        """Raises `RunDirectoryError` for the first of what is wrong with files of states."""
        for what in damages:
            raise self._damaged(what)

    def commit(self, level: Commit) -> None:
        """Commits a level. Datasets of an earlier end are no longer those of the run, nor are later commits, which a
        driver leaves that was killed while it committed levels from the last to the first."""
        self.must_be_there()
        if not self.goes_on:
            self.goes_on = True
            self.clear_tables()
            for number in self._numbers():
                if number > level.level:
                    self._delete(f"commits/{number:04}.json")
        self.write_json(f"commits/{level.level:04}.json", asdict(level))

    def clear_tables(self) -> None:
        """Removes the datasets of an earlier end."""
        for name in ENDS:
            if self._exists(name):
                self._delete(name)
        for name in ("states", "edges"):
            for path in self.files(name):
                self._delete(f"{name}/{path.rpartition('/')[2]}")

    def end_tables(self, open_end: str) -> None:
        """Writes the list of the datasets' files: these are all. open_end: why states may be missing; "" if none is."""
        self.write_json(MANIFEST, {OPEN_END: open_end, **{name: self._sizes(name) for name in DATASETS}})

    @one_line_errors
    def _sizes(self, dataset: str) -> dict[str, int]:
        """The files of a dataset, with their sizes in bytes."""
        infos = self.fs.get_file_info(self.files(dataset))
        return {info.base_name: int(info.size) for info in infos}

    def must_have_tables(self) -> str:
        """Why states may be missing from the datasets, "" if none is.

        Raises `RunDirectoryError` where they are not the ones that the run has written.
        """
        if not self.ended():
            raise RunDirectoryError(
                f"{self.uri} has no tables: its run has not ended, was made with --no-data or by an earlier version"
            )
        try:
            listed = json.loads(self._read(MANIFEST))
            different = [name for name in DATASETS if dict(listed[name]) != self._sizes(name)]
            open_end = str(listed[OPEN_END])
        except (ValueError, LookupError, TypeError) as error:
            raise RunDirectoryError(f"{self.uri}: {MANIFEST} cannot be read: {_reason(error)}") from None
        if different:
            raise RunDirectoryError(
                f"{self.uri}: the files of {different[0]} are not those that the run wrote; --resume writes them anew"
            )
        return open_end

    @one_line_errors
    def write_states(self, level: int, part: int, rows: Rows, origins: Rows | None = None) -> str:
        """A file of states; its name, which no other attempt has."""
        digest = digest_of_states(rows, origins)
        name = f"packed/{level:04}/part-{part}-{uuid.uuid4().hex[:12]}-{digest}.parquet"
        path = self.path(name)
        self.must_be_there()
        self._folder_of(path)
        columns = {f"w{k}": np.ascontiguousarray(rows[:, k]) for k in range(rows.shape[1])}
        if origins is not None:
            columns |= {f"o{k}": np.ascontiguousarray(origins[:, k]) for k in range(origins.shape[1])}
        table = pa.table(columns)
        with self.fs.open_output_stream(path) as stream:
            pq.write_table(table, stream, compression="lz4", use_dictionary=False, write_statistics=False)
        return name

    def write_table(self, name: str, table: pa.Table) -> None:
        """A dataset's file; one of the same name is replaced."""
        self._write(name, lambda stream: pq.write_table(table, stream, compression="zstd"))

    @one_line_errors
    def read_states(self, name: str, letter: str = "w") -> Rows:
        """The states of a file, as rows; with the letter o their origins."""
        try:
            stream = self.fs.open_input_file(self.path(name))
        except FileNotFoundError:
            self.must_be_there()  # the likely reason, and what can be done
            raise
        with stream:
            file = pq.ParquetFile(stream)
            table = file.read([c for c in file.schema_arrow.names if c.startswith(letter)])
        return np.ascontiguousarray(np.stack([c.to_numpy() for c in table.columns], axis=1))

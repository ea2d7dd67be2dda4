"""The durable truth of a distributed search: one directory, every level committed by one small file.

    run.json                         what the run is of; written first
    packed/0004/part-2-<attempt>.parquet   new states of level 4 that partition 2 owns: columns w0, w1, ...; if
                                     steps are kept, also its origin: o0, o1, ... (`checkers.owner_text`)
    commits/0004.json                the commit of level 4: its files, and all counts up to it

A state file counts only if a commit names it, so that whatever a killed or doubled task leaves behind is no part of the
run. The directory may be local, or anywhere that Arrow's file systems reach (`s3://`, `hdfs://`, `gs://`).
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from checkers.breadth_first import Rows
from checkers.fingerprints import Key

SCHEMA = 1


class RunDirectoryError(Exception):
    """A directory that is no run, or another one; the message says which."""


@dataclass(frozen=True)
class Identity:
    """What has to be the same for a run to be continued."""

    model: str
    model_sha256: str
    config: dict[str, Any]
    engine_version: str
    partitions: int
    words: int
    steps: bool = False
    """Whether states are kept with the steps they come by."""
    fingerprints: Key = ()
    """The key of the fingerprints that tables hold; none: they hold whole states."""


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

    @property
    def states(self) -> int:
        return sum(self.rows.values())


@dataclass
class RunDirectory:
    """One run's files."""

    uri: str
    fs: pafs.FileSystem = field(repr=False)
    root: str = ""

    @classmethod
    def at(cls, place: str) -> RunDirectory:
        """The directory at a path or URI. Raises `OSError` where there is no such file system."""
        try:
            if "://" in place:
                fs, root = pafs.FileSystem.from_uri(place)
            else:
                fs, root = pafs.LocalFileSystem(), place
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise OSError(22, f"{place}: {str(error).splitlines()[0]}") from None
        return cls(place, fs, root.rstrip("/"))

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _read(self, name: str) -> Any:
        with self.fs.open_input_stream(self.path(name)) as stream:
            return json.loads(stream.read())

    def write_json(self, name: str, data: Any) -> None:
        """There whole or not at all: written beside and moved."""
        path = self.path(name)
        self.fs.create_dir(path.rsplit("/", 1)[0], recursive=True)
        aside = f"{path}.{uuid.uuid4().hex[:8]}"
        with self.fs.open_output_stream(aside) as stream:
            stream.write(json.dumps(data, indent=1).encode())
        self.fs.move(aside, path)

    def _exists(self, name: str) -> bool:
        return bool(self.fs.get_file_info(self.path(name)).type == pafs.FileType.File)

    def has(self, dataset: str) -> bool:
        """Whether a dataset was written."""
        return bool(self.fs.get_file_info(self.path(dataset)).type == pafs.FileType.Directory)

    def begin(self, identity: Identity) -> None:
        """Starts a run. Raises `RunDirectoryError` if there is one already."""
        if self._exists("run.json"):
            raise RunDirectoryError(f"{self.uri} has a run already; --resume {self.uri} continues it")
        self.write_json("run.json", {"schema": SCHEMA, **asdict(identity)})

    def identity(self) -> Identity:
        """What the run is of. Raises `RunDirectoryError`."""
        if not self._exists("run.json"):
            raise RunDirectoryError(f"{self.uri} has no run: there is no run.json in it")
        try:
            data = self._read("run.json")
            if data.pop("schema") != SCHEMA:
                raise RunDirectoryError(f"{self.uri} was written by another version of this program")
            data["fingerprints"] = tuple(tuple(lane) for lane in data["fingerprints"])
            return Identity(**data)
        except (ValueError, TypeError, KeyError) as error:
            raise RunDirectoryError(f"{self.uri}: run.json cannot be read: {error}") from None

    def must_be(self, wanted: Identity) -> None:
        """Raises `RunDirectoryError` by the name of what differs."""
        have = asdict(self.identity())
        if have["steps"] != wanted.steps:
            raise RunDirectoryError(
                f"{self.uri} was begun with{'' if wanted.steps else 'out'} --no-data: go on in the same way"
            )
        if bool(have["fingerprints"]) != bool(wanted.fingerprints):
            raise RunDirectoryError(
                f"{self.uri} was begun with{'out' if wanted.fingerprints else ''} --fingerprints: go on in the same way"
            )
        names = {
            "model_sha256": "text of the model",
            "engine_version": "engine version",
            "config": "configuration",
        }
        for key, value in asdict(wanted).items():
            if have[key] != value:
                shown = f": {have[key]}, not {value}" if key != "model_sha256" else ""
                raise RunDirectoryError(f"{self.uri} is of another {names.get(key, key)}{shown}")

    def commits(self) -> list[Commit]:
        """The committed levels, from the first. A missing one ends them."""
        found: list[Commit] = []
        while self._exists(f"commits/{len(found) + 1:04}.json"):
            data = self._read(f"commits/{len(found) + 1:04}.json")
            for key in ("files", "rows"):
                data[key] = {int(k): v for k, v in data[key].items()}
            data["flags"] = [tuple(f) for f in data["flags"]]
            found.append(Commit(**data))
        return found

    def commit(self, level: Commit) -> None:
        self.write_json(f"commits/{level.level:04}.json", asdict(level))

    def write_states(self, level: int, part: int, rows: Rows, origins: Rows | None = None) -> str:
        """A file of states; its name, which no other attempt has."""
        name = f"packed/{level:04}/part-{part}-{uuid.uuid4().hex[:12]}.parquet"
        path = self.path(name)
        self.fs.create_dir(path.rsplit("/", 1)[0], recursive=True)
        columns = {f"w{k}": np.ascontiguousarray(rows[:, k]) for k in range(rows.shape[1])}
        if origins is not None:
            columns |= {f"o{k}": np.ascontiguousarray(origins[:, k]) for k in range(origins.shape[1])}
        table = pa.table(columns)
        with self.fs.open_output_stream(path) as stream:
            pq.write_table(table, stream, compression="lz4", use_dictionary=False, write_statistics=False)
        return name

    def write_table(self, name: str, table: pa.Table) -> None:
        """A dataset's file; one of the same name is replaced."""
        path = self.path(name)
        self.fs.create_dir(path.rsplit("/", 1)[0], recursive=True)
        with self.fs.open_output_stream(path) as stream:
            pq.write_table(table, stream, compression="zstd")

    def read_states(self, name: str, letter: str = "w") -> Rows:
        """The states of a file, as rows; with the letter o their origins."""
        with self.fs.open_input_file(self.path(name)) as stream:
            file = pq.ParquetFile(stream)
            table = file.read([c for c in file.schema_arrow.names if c.startswith(letter)])
        return np.ascontiguousarray(np.stack([c.to_numpy() for c in table.columns], axis=1))


__all__ = ["Commit", "Identity", "RunDirectory", "RunDirectoryError"]

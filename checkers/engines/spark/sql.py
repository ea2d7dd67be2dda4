"""SQL over the datasets that a distributed search leaves: `reassure query DIR "select ..."`.

Also here: a run's datasets as a data source of Spark, read by Arrow: for places that Spark itself cannot read.

`s3://` takes jars of Hadoop's that Spark does not come with, and other settings than the search had. Here a task reads
each file as the search does. The executors need no more than for a search, so this module imports no more.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from rich.table import Table
from rich.text import Text

from reassure.checkers.engines.spark.run_directory import DATASETS, RunDirectory
from reassure.checkers.engines.spark.session import JobFailed, failed, start
from reassure.checkers.machine.exit_codes import UsageFailure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import SparkOptions


class File(InputPartition):
    """One file of a dataset, as a task."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class RunSource(DataSource):
    """Options: place, the run directory; dataset, its name."""

    @classmethod
    def name(cls) -> str:
        return "reassure"

    def schema(self) -> Any:
        directory, name = RunDirectory.at(self.options["place"]), self.options["dataset"]
        return from_arrow_schema(directory.read_dataset(directory.files(name)[0]).schema)

    def reader(self, schema: Any) -> DataSourceReader:
        return RunReader(self.options["place"], self.options["dataset"])


class RunReader(DataSourceReader):
    """Reads a dataset, a task for each file."""

    def __init__(self, place: str, dataset: str) -> None:
        self.place, self.dataset = place, dataset

    def partitions(self) -> list[InputPartition]:
        return [File(path) for path in RunDirectory.at(self.place).files(self.dataset)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, File)
        yield from RunDirectory.at(self.place).read_dataset(partition.path).to_batches()


class QueryError(UsageFailure):
    """A question that SQL cannot answer, in one line."""


@dataclass
class QueryAnswer:
    """The answer to a question. more: there were more rows than were asked for."""

    names: list[str]
    rows: list[tuple[Any, ...]]
    more: bool
    open_end: str
    """Why states may be missing from the tables; "" if none is."""


def run_sql(place: str, sql: str, cluster: SparkOptions, limit: int) -> QueryAnswer:
    """The answer to SQL. limit: of rows; 0: none.

    Raises `RunDirectoryError`, `NoSpark`, `OSError`, `QueryError`.
    """
    directory = RunDirectory.at(place)
    directory.identity()
    open_end = directory.must_have_tables()
    spark = start("reassure query", cluster)
    try:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import AnalysisException, ParseException, PySparkException
        from pyspark.sql import SparkSession

        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # what is wrong is said in one line
        context = spark.context
        session = SparkSession(context)
        session.conf.set("spark.sql.shuffle.partitions", str(2 * context.defaultParallelism))
        for name in DATASETS:
            if not re.search(rf"\b{name}\b", sql, re.IGNORECASE):
                continue  # to look at a table's files is a job of Spark, which may take seconds
            _frame(session, directory, name).createOrReplaceTempView(name)
        try:
            frame = session.sql(sql)
            collected = frame.limit(limit + 1).collect() if limit else frame.collect()
        except PySparkException as error:
            if not isinstance(error, AnalysisException | ParseException):
                raise JobFailed(failed(error)) from None
            raise QueryError(_line(str(error))) from None
        except Py4JJavaError as error:
            raise JobFailed(failed(error)) from None
        rows = [tuple(_plain(v) for v in row) for row in collected]
        more = bool(limit) and len(rows) > limit
        return QueryAnswer(frame.columns, rows[:limit] if more else rows, more, open_end)
    finally:
        spark.stop()


def _frame(session: Any, directory: RunDirectory, name: str) -> Any:
    """A dataset: read by Spark itself where it can, else in tasks, as the search does."""
    if directory.native is not None:
        return session.read.parquet(f"{directory.native}/{name}")

    session.dataSource.register(RunSource)
    return session.read.format("reassure").options(place=directory.uri, dataset=name).load()


def _line(text: str) -> str:
    """The sentence of an error of Spark's SQL."""
    return re.sub(r"\.? SQLSTATE: \w+(; line \d+ pos \d+)?", "", text.strip().splitlines()[0].rstrip(";"))


def _plain(value: Any) -> Any:
    """Rows as dicts, so that they can be written as JSON."""
    if hasattr(value, "asDict"):
        return {k: _plain(v) for k, v in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return value


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)


def show(names: list[str], rows: list[tuple[Any, ...]], form: str, console: Console) -> None:
    """Prints an answer. form: table, csv or json (a line for each row)."""
    if form == "json":
        for row in rows:
            print(json.dumps(dict(zip(names, row, strict=True)), default=str), file=console.file)
        return
    if form == "csv":
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([_cell(v) for v in row] for row in rows)
        console.file.write(text.getvalue())
        return
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(Text(_cell(v)) for v in row))  # a subscript is not markup
    console.print(table, soft_wrap=False)

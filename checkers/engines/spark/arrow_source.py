"""A run's datasets as a data source of Spark, read by Arrow: for places that Spark itself cannot read.

`s3://` takes jars of Hadoop's that Spark does not come with, and other settings than the search had. Here a task reads
each file as the search does. The executors need no more than for a search, so this module imports no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from reassure.checkers.engines.spark.run_directory import RunDirectory


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

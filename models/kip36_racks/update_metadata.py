"""UpdateMetadataRequest, versions 0 to 2 (KIP-36, R12): the whole request.

The document prints its fields in order, and those of a broker. Of what it does not print, a partition's state, Kafka's
protocol of that time has the layout, the same in all three versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reassure.models.kip36_racks.wire import (
    Broker,
    Message,
    read_brokers,
    read_front,
    schema,
    write_brokers,
    write_message,
)

HEAD_TEXT = """{
  "name": "UpdateMetadataRequest",
  "fields": [
    { "name": "VersionID", "type": "int16", "versions": "0+" },
    { "name": "CorrelationID", "type": "int32", "versions": "0+" },
    { "name": "ClientID", "type": "string", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Controller_ID", "type": "int32", "versions": "0+" },
    { "name": "Controller_Epoch", "type": "int32", "versions": "0+" },
    { "name": "Partition_States", "type": "[PartitionState]", "versions": "0+", "fields": [
      { "name": "Topic", "type": "string", "versions": "0+" },
      { "name": "Partition", "type": "int32", "versions": "0+" },
      { "name": "ControllerEpoch", "type": "int32", "versions": "0+" },
      { "name": "Leader", "type": "int32", "versions": "0+" },
      { "name": "LeaderEpoch", "type": "int32", "versions": "0+" },
      { "name": "Isr", "type": "[int32]", "versions": "0+" },
      { "name": "ZkVersion", "type": "int32", "versions": "0+" },
      { "name": "Replicas", "type": "[int32]", "versions": "0+" }
    ] }
  ]
}"""
"""All that stands before the brokers."""
HEAD = schema(HEAD_TEXT)


def write_request(head: Message, brokers: Sequence[Broker], version: int) -> bytes:
    """A request of a version, which its first field names."""
    return write_message(HEAD, {**head, "VersionID": version}, version) + write_brokers(brokers, version)


def read_request(data: bytes) -> tuple[dict[str, Any], tuple[Broker, ...]]:
    """The request without its brokers, and the brokers; it says itself of which version it is."""
    head, rest = read_front(HEAD, data)
    return head, read_brokers(rest, head["VersionID"])

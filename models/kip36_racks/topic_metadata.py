"""TopicMetadataRequest and TopicMetadataResponse, versions 0 and 1 (KIP-36, claim R8).

The document prints the response: in version 1 a rack follows each broker. Of what it does not print (the request, the
topics) Kafka's protocol of that time has the layout, the same in both versions. A response is of its request's version.
"""

from __future__ import annotations

from reassure.models.kip36_racks.wire import Message, WireError, read_message, schema, write_message

REQUEST_TEXT = """{
  "name": "TopicMetadataRequest",
  "fields": [
    { "name": "VersionID", "type": "int16", "versions": "0+" },
    { "name": "CorrelationID", "type": "int32", "versions": "0+" },
    { "name": "ClientID", "type": "string", "versions": "0+", "nullableVersions": "0+" },
    { "name": "Topics", "type": "[string]", "versions": "0+" }
  ]
}"""

RESPONSE_TEXT = """{
  "name": "TopicMetadataResponse",
  "fields": [
    { "name": "CorrelationID", "type": "int32", "versions": "0+" },
    { "name": "BrokerEndpoints", "type": "[BrokerEndPoint]", "versions": "0+", "fields": [
      { "name": "BrokerID", "type": "int32", "versions": "0+" },
      { "name": "Host", "type": "string", "versions": "0+" },
      { "name": "Port", "type": "int32", "versions": "0+" },
      { "name": "Rack", "type": "string", "versions": "1+", "nullableVersions": "1+" }
    ] },
    { "name": "TopicsMetadata", "type": "[TopicMetadata]", "versions": "0+", "fields": [
      { "name": "TopicErrorCode", "type": "int16", "versions": "0+" },
      { "name": "TopicName", "type": "string", "versions": "0+" },
      { "name": "Partitions", "type": "[PartitionMetadata]", "versions": "0+", "fields": [
        { "name": "PartitionErrorCode", "type": "int16", "versions": "0+" },
        { "name": "PartitionID", "type": "int32", "versions": "0+" },
        { "name": "Leader", "type": "int32", "versions": "0+" },
        { "name": "Replicas", "type": "[int32]", "versions": "0+" },
        { "name": "ISR", "type": "[int32]", "versions": "0+" }
      ] }
    ] }
  ]
}"""

REQUEST = schema(REQUEST_TEXT)
RESPONSE = schema(RESPONSE_TEXT)
NEWEST = 1


def _known(version: int) -> int:
    if version not in range(NEWEST + 1):
        raise WireError(f"version {version}; there are 0 to {NEWEST}")
    return version


def write_request(version: int, correlation: int, topics: list[str], client: str | None = None) -> bytes:
    """A request for the metadata of topics (all of them if none is named)."""
    message = {"VersionID": _known(version), "CorrelationID": correlation, "ClientID": client, "Topics": topics}
    return write_message(REQUEST, message, version)


def read_request(data: bytes) -> Message:
    """A request of either version: it says itself which one."""
    found = read_message(REQUEST, data, NEWEST)
    _known(found["VersionID"])
    return found


def write_response(message: Message, version: int) -> bytes:
    return write_message(RESPONSE, message, _known(version))


def read_response(data: bytes, version: int, rest: bool = False) -> Message:
    """The response as a reader of this version decodes it. rest: whether bytes may be left over."""
    return read_message(RESPONSE, data, _known(version), rest)


def answered(request: bytes, metadata: Message) -> bytes:
    """A broker's answer, in the version of the request and with its correlation id."""
    asked = read_request(request)
    return write_response({**metadata, "CorrelationID": asked["CorrelationID"]}, asked["VersionID"])

"""OTLP traces as protobuf, decoded into what OTLP/JSON holds; each message is checked against the bytes that it has."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.base.json_types import JsonDict

OTLP_ENDINGS = (".pb", ".binpb", ".otlp")
MOST_BYTES = 64 << 20  # of a file
MOST_FIELDS = 4_000_000  # of all messages together: what is decoded takes more memory than its bytes
MOST_DEPTH = 24
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class BadOtlp(ValueError):
    """Bytes are no OTLP traces; the message says why."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that is read: its name in JSON, and what it holds: a kind of value, or another message."""

    name: str
    kind: str = "text"
    is_list: bool = False


_Message = Mapping[int, _Field]
_ATTRIBUTES = _Field("attributes", "KeyValue", is_list=True)
_MESSAGES: Mapping[str, _Message] = {  # the fields of opentelemetry.proto that are read, by number
    "Request": {1: _Field("resourceSpans", "ResourceSpans", is_list=True)},
    "ResourceSpans": {1: _Field("resource", "Resource"), 2: _Field("scopeSpans", "ScopeSpans", is_list=True)},
    "Resource": {1: _ATTRIBUTES},
    "ScopeSpans": {2: _Field("spans", "Span", is_list=True)},
    "Span": {
        1: _Field("traceId", "id"),
        2: _Field("spanId", "id"),
        4: _Field("parentSpanId", "id"),
        5: _Field("name"),
        7: _Field("startTimeUnixNano", "fixed"),
        8: _Field("endTimeUnixNano", "fixed"),
        9: _ATTRIBUTES,
        11: _Field("events", "Event", is_list=True),
        15: _Field("status", "Status"),
    },
    "Event": {2: _Field("name"), 3: _ATTRIBUTES},
    "Status": {2: _Field("message"), 3: _Field("code", "integer")},
    "KeyValue": {1: _Field("key"), 2: _Field("value", "AnyValue")},
    "AnyValue": {
        1: _Field("stringValue"),
        2: _Field("boolValue", "truth"),
        3: _Field("intValue", "integer"),
        4: _Field("doubleValue", "double"),
        5: _Field("arrayValue", "ArrayValue"),
        6: _Field("kvlistValue", "KeyValueList"),
    },
    "ArrayValue": {1: _Field("values", "AnyValue", is_list=True)},
    "KeyValueList": {1: _Field("values", "KeyValue", is_list=True)},
}
_WIRES = {"integer": _VARINT, "truth": _VARINT, "fixed": _FIXED64, "double": _FIXED64}


def read_otlp(data: bytes) -> Iterator[JsonDict]:
    """Yield the requests of a file: one, or several, each after its length, as the Collector writes them.

    Raises:
        BadOtlp: it holds none.
    """
    decoder, start = _Decoder(), 0
    if data[:1] != b"\n":  # the first byte of a request
        while start < len(data):
            size = int.from_bytes(data[start : start + 4], "big")
            if not 0 < size <= len(data) - start - 4:
                raise BadOtlp("it is no OTLP traces in protobuf")
            yield decoder.message(memoryview(data)[start + 4 : start + 4 + size], "Request", 0)
            start += 4 + size
        return
    yield decoder.message(memoryview(data), "Request", 0)


@dataclass(slots=True)
class _Decoder:
    fields: int = 0

    def message(self, data: memoryview, kind: str, depth: int) -> JsonDict:
        """Return a message by the names of JSON; unknown fields are passed over."""
        if depth > MOST_DEPTH:
            raise BadOtlp("its values are nested too deeply")
        known, found = _MESSAGES[kind], JsonDict()
        for number, wire, value in self._fields(data):
            field = known.get(number)
            if field is None:
                continue
            if wire != _WIRES.get(field.kind, _BYTES):
                raise BadOtlp(f"`{field.name}` is of another type than in OTLP")
            read = self.message(value, field.kind, depth + 1) if field.kind in _MESSAGES else _value(value, field.kind)
            if field.is_list:
                found.setdefault(field.name, []).append(read)
            else:
                found[field.name] = read
        return found

    def _fields(self, data: memoryview) -> Iterator[tuple[int, int, Any]]:
        place = 0
        while place < len(data):
            self.fields += 1
            if self.fields > MOST_FIELDS:
                raise BadOtlp(f"it has more than {MOST_FIELDS:,} fields")
            tag, place = _varint(data, place)
            number, wire = tag >> 3, tag & 7
            if wire == _VARINT:
                value, place = _varint(data, place)
                yield number, wire, value
                continue
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
            if wire == _BYTES:
                size, place = _varint(data, place)
            if size is None or not number or size > len(data) - place:
                raise BadOtlp("it is cut off or is no protobuf")
            yield number, wire, data[place : place + size]
            place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), place
    raise BadOtlp("it is cut off or is no protobuf")


def _value(value: Any, kind: str) -> Any:
    """Return a plain value as JSON has it; 64 bits with a sign are an integer, ids are hexadecimal."""
    if kind == "truth":
        return bool(value)
    if kind == "integer":
        return value - 2**64 if value >= 2**63 else value
    if kind == "fixed":
        return struct.unpack("<Q", value)[0]
    if kind == "double":
        number = struct.unpack("<d", value)[0]
        return number if math.isfinite(number) else None
    if kind == "id":
        return bytes(value).hex()
    try:
        return str(value, "utf-8").replace("\x00", "\ufffd")
    except UnicodeDecodeError:
        raise BadOtlp("a text is no UTF-8") from None

"""Traces as OTLP: its protobuf read by hand, and requests that programs send."""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.base.types import JsonDict, as_text, objects
from judging.specs.files.encodings import is_too_deep
from judging.specs.records.values import at

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


PROTOBUF, JSON = "application/x-protobuf", "application/json"
MOST_REQUEST_BYTES = 16 << 20  # unpacked
MOST_REQUEST_SPANS = 20_000
_GZIP = 16 + zlib.MAX_WBITS
_TRACE, _SPAN = re.compile(r"(?!0{32})[0-9a-f]{32}"), re.compile(r"(?!0{16})[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SentSpan:
    """A span of a request; `line` is a request with it alone, as OTLP/JSON."""

    trace: str
    id: str
    is_root: bool
    line: str


def unpacked(body: bytes) -> bytes:
    """Return what a body packed by gzip holds.

    Raises:
        BadOtlp: it is no gzip, is cut off, or holds more than is taken.
    """
    unpacking = zlib.decompressobj(_GZIP)
    try:
        data = unpacking.decompress(body, MOST_REQUEST_BYTES + 1)
    except zlib.error:
        raise BadOtlp("it is no gzip") from None
    if len(data) > MOST_REQUEST_BYTES:
        raise BadOtlp(f"it has more than {MOST_REQUEST_BYTES >> 20} MiB unpacked")
    if not unpacking.eof:
        raise BadOtlp("its gzip is cut off")
    return data


def sent_spans(body: bytes, *, is_json: bool) -> tuple[list[SentSpan], int]:
    """Return the spans of a request, and how many more it has whose ids cannot be used.

    Raises:
        BadOtlp: it is no request with traces, or larger than is taken.
    """
    spans: list[SentSpan] = []
    bad = 0
    for count, (resource, span) in enumerate(_spans(_request(body, is_json=is_json)), start=1):
        if count > MOST_REQUEST_SPANS:
            raise BadOtlp(f"it has more than {MOST_REQUEST_SPANS:,} spans")
        trace, id_, parent = (
            as_text(span.get(name) or span.get(other)).lower()
            for name, other in (("traceId", "trace_id"), ("spanId", "span_id"), ("parentSpanId", "parent_span_id"))
        )
        if not (_TRACE.fullmatch(trace) and _SPAN.fullmatch(id_)):
            bad += 1
            continue
        alone = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
        spans.append(SentSpan(trace, id_, not parent.strip("0"), json.dumps(alone)))
    return spans, bad


def _request(body: bytes, *, is_json: bool) -> JsonDict:
    if not is_json:
        if body and body[:1] != b"\n":  # else it would be read as a file of several requests
            raise BadOtlp("it is no OTLP traces in protobuf")
        return next(read_otlp(body), {"resourceSpans": []})
    try:
        text = body.decode()
        request = json.loads(text)
        is_deep = is_too_deep(text, request)
    except (ValueError, RecursionError):
        raise BadOtlp("it is no JSON") from None
    if is_deep:
        raise BadOtlp("its values are nested too deeply")
    if not isinstance(request, dict) or not any(isinstance(request.get(name), list) for name in _REQUEST):
        raise BadOtlp("it has no `resourceSpans`")
    return request


_REQUEST, _SCOPES = ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans")


def _spans(request: JsonDict) -> Iterator[tuple[JsonDict, JsonDict]]:
    """Yield each span of a request with its resource: of that only what says which service it is."""
    for entry in (entry for name in _REQUEST for entry in objects(request.get(name))):
        attributes = objects(at(entry, "resource.attributes"))
        resource = {"attributes": [each for each in attributes if each.get("key") == "service.name"]}
        for scope in (scope for name in _SCOPES for scope in objects(entry.get(name))):
            yield from ((resource, span) for span in objects(scope.get("spans")))


def answer(*, rejected: int, why: str, is_json: bool) -> bytes:
    """Return an ExportTraceServiceResponse: empty where all spans were taken."""
    if is_json:
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": why}} if rejected else {}
        return json.dumps(partial).encode()
    return _field(1, b"\x08" + _encoded_varint(rejected) + _field(2, why.encode())) if rejected else b""


def refusal(code: int, why: str, *, is_json: bool) -> bytes:
    """Return a google.rpc.Status, which is what OTLP answers to requests that are refused."""
    if is_json:
        return json.dumps({"code": code, "message": why}).encode()
    return b"\x08" + _encoded_varint(code) + _field(2, why.encode())


def _field(number: int, data: bytes) -> bytes:
    """Return a field of protobuf that holds bytes."""
    return bytes([number << 3 | 2]) + _encoded_varint(len(data)) + data


def _encoded_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])

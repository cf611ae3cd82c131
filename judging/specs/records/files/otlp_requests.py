"""Requests of OTLP/HTTP with spans: read within limits, each span as a line of a file of traces; and their answers."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from evalsite.base.json_types import JsonDict
from judging.specs.records.files.json_parts import is_too_deep
from judging.specs.records.files.otlp_protobuf import BadOtlp, read_otlp
from judging.specs.records.values import as_text, at, objects

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
    return _field(1, b"\x08" + _varint(rejected) + _field(2, why.encode())) if rejected else b""


def refusal(code: int, why: str, *, is_json: bool) -> bytes:
    """Return a google.rpc.Status, which is what OTLP answers to requests that are refused."""
    if is_json:
        return json.dumps({"code": code, "message": why}).encode()
    return b"\x08" + _varint(code) + _field(2, why.encode())


def _field(number: int, data: bytes) -> bytes:
    """Return a field of protobuf that holds bytes."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])

"""Traces that programs send: kept until they are whole, imported as files of traces are, and never half or twice."""

from __future__ import annotations

import gzip
import json
import random
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.roles import Role, Scope
from evalsite.api import traces
from evalsite.api.models import BufferedSpan, BufferedTrace, TraceSource
from evalsite.api.tokens import make_token
from evalsite.api.traces import (
    KEPT_FOR,
    QUIET_FOR,
    STORED_EVERY,
    drop_old,
    due_sources,
    launch_traces,
    store_whole,
    work_traces,
)
from evalsite.base.types import JsonDict
from evalsite.review.models import ReviewItem
from evalsite.review.services.researcher_referrals import send_verdict
from judging.models import Benchmark, Case, Response, Score, Suite, System, Upload, Verdict
from judging.services.runs.new_runs import create_run
from judging.services.runs.run_plans import EvaluatorChoice, RunPlan
from judging.specs.records.files.otlp import JSON, MOST_REQUEST_BYTES, MOST_REQUEST_SPANS, PROTOBUF
from tests import factories
from tests.content import stored_document
from tests.factories import NOON
from tests.judging.services.run_rows import level_judge, work
from tests.judging.specs.records.tools.test_traces import SAID, WRITTEN, heard, said

pytestmark = pytest.mark.django_db
TRACE, OTHER_TRACE = "a1" * 16, "b2" * 16


def written(name: str) -> list[bytes]:
    """Return the two requests that a file of the SDK's holds, between which each trace is divided."""
    data = (WRITTEN / name).read_bytes()
    if name.endswith(".jsonl"):
        return data.splitlines()
    requests = []
    while data:
        size = int.from_bytes(data[:4], "big")
        requests.append(data[4 : 4 + size])
        data = data[4 + size :]
    return requests


def token_text(role: Role = Role.RESEARCHER, *scopes: Scope) -> str:
    person = factories.user(role=role)
    return make_token(owner=person, name="exporter", scopes=scopes or Scope, days=1, at=timezone.now()).secret


@pytest.fixture
def token() -> str:
    return token_text()


def send(body: bytes, token: str, *, kind: str = PROTOBUF, benchmark: str | None = "Desk", **headers: str) -> Any:
    """Post a body as an exporter does."""
    named = {} if benchmark is None else {"Evalsite-Benchmark": benchmark}
    all_headers = {
        "Authorization": f"Bearer {token}",
        **named,
        **{"-".join(k.split("_")): v for k, v in headers.items()},
    }
    return Client().post("/v1/traces", body, content_type=kind, headers=all_headers)


def span(id_: str, parent: str = "", trace: str = TRACE, **attributes: str) -> JsonDict:
    said = [{"key": key.replace("_", ".", 1), "value": {"stringValue": text}} for key, text in attributes.items()]
    times = {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "3000000000"}
    return {
        "traceId": trace,
        "spanId": id_ * 16,
        "parentSpanId": parent * 16,
        "name": "call",
        "attributes": said,
        **times,
    }


def request_of(*spans: JsonDict) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()


def store_all(after: timedelta = QUIET_FOR) -> int:
    at = timezone.now() + after
    return sum(store_whole(source, quiet_since=at - QUIET_FOR, at=at) for source in TraceSource.objects.all())


@pytest.mark.parametrize("packing", ["", "gzip"])
@pytest.mark.parametrize(("name", "kind"), [("framed.binpb", PROTOBUF), ("traces.jsonl", JSON)])
def test_spans_in_any_order_and_sent_twice_are_stored_as_a_file_of_them_is(
    name: str, kind: str, packing: str, token: str
) -> None:
    first, second = written(name)
    headers = {"Content_Encoding": packing} if packing else {}
    bodies = [gzip.compress(body) if packing else body for body in (second, first, second)]

    answers = [send(body, token, kind=kind, **headers) for body in bodies]
    count = store_all()

    whole = [(200, kind, b"{}" if kind == JSON else b"")] * 3
    assert [(answer.status_code, answer["Content-Type"], answer.content) for answer in answers] == whole
    assert heard(stored_document(Upload.objects.get())) == said(SAID["traces"])
    source = TraceSource.objects.get()
    assert (count, source.stored, source.left_out, source.spans) == (6, 6, 0, BufferedSpan.objects.count())
    assert (store_all(), Benchmark.objects.get().slug, Suite.objects.get().case_count) == (0, "desk", 6)


def test_a_trace_waits_for_its_root_and_for_what_comes_late(token: str) -> None:
    now = timezone.now()
    send(request_of(span("2", "1", input_value="Hi", output_value="Ho")), token, kind=JSON)
    without_root = due_sources(at=now + timedelta(hours=1))
    send(request_of(span("1")), token, kind=JSON)

    source = TraceSource.objects.get()
    assert (without_root, due_sources(at=now), due_sources(at=timezone.now() + QUIET_FOR)) == ([], [], [source])
    assert store_all() == 1
    send(request_of(span("1", trace=OTHER_TRACE)), token, kind=JSON)
    stored_at = TraceSource.objects.get().stored_at
    assert stored_at is not None
    soon, later = stored_at + STORED_EVERY - timedelta(seconds=1), stored_at + STORED_EVERY
    assert (due_sources(at=soon), due_sources(at=later)) == ([], [source])


def test_a_span_that_comes_after_its_trace_was_stored_changes_the_response_of_the_case(token: str) -> None:
    send(request_of(span("1", input_value="Hi", output_value="Ho")), token, kind=JSON)
    send(request_of(span("1", trace=OTHER_TRACE, input_value="Bye", output_value="So")), token, kind=JSON)
    store_all()
    tool = span("2", "1", gen_ai_x="", tool_name="bell") | {"name": "bell"}
    tool["attributes"].append({"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}})
    send(request_of(tool), token, kind=JSON)
    waiting = BufferedTrace.objects.filter(ended_at=None).count()

    store_all()

    current = Response.objects.filter(superseded_at=None).order_by("prompt__key")
    assert (waiting, sorted(Case.objects.values_list("key", flat=True))) == (1, [TRACE, OTHER_TRACE])
    assert [(row.prompt.key, len(row.messages)) for row in current] == [(TRACE, 3), (OTHER_TRACE, 0)]
    assert Suite.objects.get().case_count == 2


def test_traces_that_follow_make_the_suite_grow(token: str) -> None:
    for trace in (TRACE, OTHER_TRACE):
        send(request_of(span("1", trace=trace, input_value=f"Say {trace}", output_value="Ho")), token, kind=JSON)
        store_all()

    assert list(Suite.objects.order_by("number").values_list("case_count", flat=True)) == [1, 2]
    assert Response.objects.filter(prompt__cases__suites=Suite.objects.latest("number")).count() == 2


def test_one_step_of_each_trace_is_stored_where_the_source_says_so(token: str) -> None:
    headers = {"Evalsite_Step": "search"}
    inner = span("2", "1", input_value="Find it", output_value="Found") | {"name": "search"}
    whole = span("1", input_value="Hi", output_value="Ho")
    for benchmark, more in (("Steps", headers), ("Whole", {})):
        send(request_of(whole, inner), token, kind=JSON, benchmark=benchmark, **more)

    store_all()

    found = Response.objects.order_by("text").values_list("prompt__benchmark__name", "prompt__text", "text")
    assert list(found) == [("Steps", "Find it", "Found"), ("Whole", "Hi", "Ho")]
    assert {row.system.name for row in Response.objects.select_related("system")} == {"shop"}


def test_rules_judges_and_people_are_given_the_step_alone(token: str) -> None:
    inner = span("2", "1", input_value="Find it", output_value="Found by chmod") | {"name": "search"}
    whole = span("1", input_value="Hi", output_value="Ho")
    send(request_of(whole, inner), token, kind=JSON, Evalsite_Step="search")
    store_all()
    suite, (judge, rubric) = Suite.objects.get(), level_judge()
    systems = list(System.objects.all())
    choices = [EvaluatorChoice(), EvaluatorChoice(judge=judge, rubric=rubric)]
    run = create_run(plan=RunPlan(suite=suite, systems=systems, evaluators=choices), actor=None, at=NOON)

    work(run)
    send_verdict(verdict=Verdict.objects.get(), actor=factories.user(role=Role.RESEARCHER), at=NOON)

    item = ReviewItem.objects.get()
    shown = [Verdict.objects.get().response.text, *(score.response.text for score in Score.objects.all())]
    assert (set(shown), item.response_a and item.response_a.text) == ({"Found by chmod"}, "Found by chmod")


def test_what_has_no_root_for_a_day_is_dropped_and_counted(token: str) -> None:
    send(
        request_of(span("2", "1"), span("1", trace=OTHER_TRACE, input_value="Hi", output_value="Ho")), token, kind=JSON
    )
    store_all()
    received_at = TraceSource.objects.get().received_at

    early, dropped = (drop_old(at=received_at + KEPT_FOR - left) for left in (timedelta(seconds=1), timedelta(0)))

    source = TraceSource.objects.get()
    assert (early, dropped, source.dropped, source.stored, BufferedSpan.objects.count()) == (0, 1, 1, 1, 0)
    assert Response.objects.count() == 1


def test_a_trace_that_says_nothing_of_a_model_is_left_out_and_keeps_no_other_back(token: str) -> None:
    send(request_of(span("1"), span("1", trace=OTHER_TRACE, input_value="Hi", output_value="Ho")), token, kind=JSON)

    count = store_all()

    source = TraceSource.objects.get()
    assert (count, source.stored, source.left_out, source.trouble) == (1, 1, 1, traces.NOTHING_ASKED)
    assert list(Case.objects.values_list("key", flat=True)) == [OTHER_TRACE]


def test_spans_with_bad_ids_are_counted_in_the_answer_and_the_others_kept(token: str) -> None:
    spans = [span("1"), span("1") | {"traceId": "0" * 32}, span("1") | {"spanId": "zz"}, span("2") | {"traceId": 7}]

    answer = send(request_of(*spans), token, kind=JSON)

    partial = {"rejectedSpans": "3", "errorMessage": "Spans whose ids are not those of OTLP are not kept."}
    assert (answer.status_code, answer.json()) == (200, {"partialSuccess": partial})
    assert BufferedSpan.objects.count() == 1


def test_a_trace_has_room_for_so_many_spans(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_SPANS_OF_A_TRACE", 2)
    spans = [span(number) for number in "123"]

    answers = [send(request_of(*spans), token, kind=JSON).json() for _ in range(2)]

    assert [answer["partialSuccess"]["rejectedSpans"] for answer in answers] == ["1", "1"]
    assert BufferedSpan.objects.count() == 2


def test_more_than_can_wait_is_to_be_sent_again_later(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_WAITING", 1)

    answers = [send(request_of(span(number)), token, kind=JSON) for number in "12"]

    assert [(answer.status_code, answer.headers.get("Retry-After")) for answer in answers] == [(200, None), (429, "60")]


UNNAMED = "Say in the header Evalsite-Benchmark to which benchmark the traces belong."
LONG = "The header Evalsite-Benchmark has at most 200 printable characters."
DEEP = b'{"resourceSpans": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
MANY = request_of(*[span("1") for _ in range(MOST_REQUEST_SPANS + 1)])
BOMB = gzip.compress(b"\n" * (MOST_REQUEST_BYTES + 1))


@pytest.mark.parametrize(
    ("body", "kind", "packing", "status", "words"),
    [
        (b"hello", PROTOBUF, "", 400, "The traces cannot be read: it is no OTLP traces in protobuf."),
        (b"\n\x05ab", PROTOBUF, "", 400, "The traces cannot be read: it is cut off or is no protobuf."),
        (b"{", JSON, "", 400, "The traces cannot be read: it is no JSON."),
        (b"\xff", JSON, "", 400, "The traces cannot be read: it is no JSON."),
        (b"[]", JSON, "", 400, "The traces cannot be read: it has no `resourceSpans`."),
        (DEEP, JSON, "", 400, "The traces cannot be read: it is no JSON."),
        (MANY, JSON, "", 400, "The traces cannot be read: it has more than 20,000 spans."),
        (b"no gzip", JSON, "gzip", 400, "The traces cannot be read: it is no gzip."),
        (gzip.compress(b"{}")[:-9], JSON, "gzip", 400, "The traces cannot be read: its gzip is cut off."),
        (BOMB, PROTOBUF, "gzip", 400, "The traces cannot be read: it has more than 16 MiB unpacked."),
        (b"x" * (MOST_REQUEST_BYTES + 1), PROTOBUF, "", 413, "A request has at most 16 MiB."),
        (b"{}", JSON, "br", 415, "Send application/x-protobuf or application/json, as it is or packed by gzip."),
        (b"{}", "text/plain", "", 415, "Send application/x-protobuf or application/json, as it is or packed by gzip."),
    ],
)
def test_garbage_is_refused_and_nothing_of_it_is_kept(
    body: bytes, kind: str, packing: str, status: int, words: str, token: str
) -> None:
    answer = send(body, token, kind=kind, **({"Content_Encoding": packing} if packing else {}))

    told = answer.json()["message"] if kind == JSON else answer.content.decode().partition(words[:4])
    assert (answer.status_code, words[:4] + told[2] if isinstance(told, tuple) else told) == (status, words)
    assert not TraceSource.objects.exists()


def test_requests_with_bytes_that_changed_are_taken_or_refused(token: str) -> None:
    data, generator = written("framed.binpb")[0], random.Random(5)
    found = set()
    for _ in range(150):
        changed = bytearray(data)
        for place in generator.choices(range(len(changed)), k=3):
            changed[place] = generator.randrange(256)
        found.add(send(bytes(changed), token).status_code)

    assert found == {200, 400}
    assert store_all() >= 0


def test_only_who_may_import_sends_traces_by_a_token_of_the_scope(token: str) -> None:
    body = request_of(span("1"))
    viewer, reader = token_text(Role.VIEWER), token_text(Role.RESEARCHER, Scope.READ)
    browser = Client()
    browser.force_login(factories.user(role=Role.ADMIN))

    found = [send(body, text, kind=JSON).status_code for text in (token, viewer, reader, "evs_none", "")]
    by_session = browser.post("/v1/traces", body, content_type=JSON, headers={"Evalsite-Benchmark": "Desk"})

    assert (found, by_session.status_code) == ([200, 403, 403, 401, 401], 401)


@pytest.mark.parametrize(
    ("benchmark", "words"),
    [
        (None, UNNAMED),
        ("x" * 201, LONG),
        ("Help deks", "There is no benchmark 'Help deks', but there is: Help desk."),
    ],
)
def test_traces_name_the_benchmark_that_they_belong_to(benchmark: str | None, words: str, token: str) -> None:
    Benchmark.objects.create(name="Help desk", slug="help-desk", created_at=NOON)

    refused = send(request_of(span("1")), token, kind=JSON, benchmark=benchmark)
    taken = send(request_of(span("1")), token, kind=JSON, benchmark="Help%20desk")

    assert (refused.status_code, refused.json()["message"], taken.status_code) == (400, words, 200)
    assert TraceSource.objects.get().benchmark == "Help desk"


def test_the_page_shows_what_waits_and_what_was_dropped(client: Client, token: str) -> None:
    send(request_of(span("2", "1"), span("1", trace=OTHER_TRACE)), token, kind=JSON)
    client.force_login(factories.user(role=Role.RESEARCHER))
    client.force_login(factories.user(role=Role.ADMIN))

    page = client.get("/traces/")

    [source] = page.context["sources"]
    assert (source.spans, source.waiting, source.incomplete, source.dropped) == (2, 1, 1, 0)
    assert "http://testserver/v1/traces" in page.text


def test_a_worker_finds_what_is_whole_and_stores_it_once(token: str) -> None:
    send(request_of(span("1", input_value="Hi", output_value="Ho")), token, kind=JSON)
    early = launch_traces()
    BufferedTrace.objects.update(received_at=timezone.now() - QUIET_FOR)

    due, source = launch_traces(), TraceSource.objects.get()
    for _ in range(2):
        work_traces(source.pk)

    source.refresh_from_db()
    assert (early, due, launch_traces(), source.stored, Upload.objects.count()) == (0, 1, 0, 1, 1)

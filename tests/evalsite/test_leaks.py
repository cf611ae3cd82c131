"""What an annotator's session can get before committing, from every address of the site: nothing that is hidden.

Two ways to find a leak. Words: each hidden text is unlike any other and is looked for in bodies, headers, cookies and
the parts of archives. Changes: everything hidden is changed, and every byte must stay the same; that finds numbers too.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.urls.resolvers import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from debate.models import Agent, Debate, Statement
from evalsite.accounts.roles import Role
from evalsite.base import template_tags
from evalsite.review.models import Annotation, Assignment, Material, Queue, ReviewItem
from evalsite.review.states import ItemStatus, QueueMode
from judging.models import Judge, ModelEndpoint, Run, RunEvaluator, Score, System, Verdict
from tests import factories

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
# the same for everybody; healthz tells how long the broker takes, and second factors begin anew each time
NO_PAGES = {"logout", "login", "healthz", "livez", "readyz"}
NO_PAGES |= {"passkey-sign-in", "second-factor-app", "second-factor-passkey"}
REFUSED = ("403", "404", "405")
MODES = [QueueMode.BLIND, QueueMode.DEBATE]
SECRETS = {
    "system": "zq-system",
    "model": "zq-model",
    "endpoint": "zq-endpoint",
    "judge": "zq-judge",
    "rationale": "zq-rationale",
    "verdict": "zq-verdict",
    "score": "0.123457",
    "agent": "zq-agent",
    "reason": "zq-reason",
    "arm": "Audit",
    "chance": "0.234568",
    "colleague": "zq-colleague",
    "note": "zq-note",
    "statement": "zq-statement",
}


@dataclass(frozen=True, slots=True)
class World:
    """An item of each kind, claimed by an annotator and answered by a colleague, and the values of address parts."""

    client: Client
    items: tuple[ReviewItem, ...]
    values: Mapping[str, tuple[str, ...]]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(f"Answer text {number}" for number in range(1, 6))


def build(mode: str) -> World:
    systems = [factories.system(f"zq-system-{name}") for name in ("one", "two")]
    System.objects.update(model="zq-model-s")
    case = factories.case(reference="")
    answers = [f"Answer text {number}" for number in range(1, 6)]
    pair = [
        factories.response(prompt=case.prompt, system=system, text=text)
        for system, text in zip(systems, answers[:2], strict=True)
    ]
    owner = factories.debate_set(system_a=systems[0], system_b=systems[1], name="Set")
    debate = factories.debate(debate_set=owner, case=case, response_a=pair[0], response_b=pair[1], round_count=3)
    endpoint = factories.endpoint(name="zq-endpoint", model="zq-model-e")
    for agent_number, vote in ((1, 1), (2, -1)):
        statement = factories.statement(
            debate=debate, agent_number=agent_number, verdict=vote, text=f"zq-statement {agent_number}"
        )
        statement.agent.name, statement.agent.endpoint = f"zq-agent-{agent_number}", endpoint
        statement.agent.save()
    judged = factories.case()
    run = factories.run(suite=factories.suite(cases=[judged]), status="finished", finished_at=factories.NOON)
    run.systems.set(systems)
    judge = factories.judge(name="zq-judge-j", endpoint=endpoint)
    evaluator = factories.evaluator(run=run, kind="judge", name="zq-judge-e", judge=judge)
    only = factories.response(prompt=judged.prompt, system=systems[0], text=answers[2])
    verdict = factories.verdict(
        evaluator=evaluator,
        response=only,
        share=0.123457,
        value={"word": "zq-verdict"},
        rationale="zq-rationale",
        reason="zq-verdict because",
    )
    queues = [
        factories.queue(mode=mode, quorum=3, name="Debated", debate_set=owner),
        factories.queue(mode=mode, quorum=3, name="Judged", run=run),
        factories.queue(mode=mode, quorum=3, name="From a file"),
    ]
    material = Material.objects.create(
        queue=queues[2], key="m1", question="Why?", response_a=answers[3], response_b=answers[4], is_pair=True,
        system_a="zq-system-a", system_b="zq-system-b",
    )  # fmt: skip
    subjects: list[dict[str, Any]] = [{"debate": debate}, {"verdict": verdict}, {"material": material, "debate": None}]
    hidden = {"reason_text": "zq-reason", "arm": "audit", "inclusion_probability": 0.234568}
    items = [
        factories.review_item(queue=queue, **subject, **hidden) for queue, subject in zip(queues, subjects, strict=True)
    ]
    colleague = factories.user("zq-colleague", Role.ANNOTATOR)
    for item in items:
        factories.annotation(item=item, label="1", annotator=colleague, note="zq-note")
    ReviewItem.objects.update(answer_count=1)
    client = Client(headers={"X-Request-ID": "request-1"})
    client.force_login(factories.user("ada", Role.ANNOTATOR))
    for queue in queues:
        client.post(reverse("review:item-next", args=[queue.slug]))
    assert Assignment.objects.filter(annotator__username="ada", status="leased").count() == 3
    rows: dict[str, Sequence[Model]] = {
        "item_id": items, "run_id": [run], "set_id": [owner], "debate_id": [debate], "verdict_id": [verdict],
        "response_id": [*pair, only], "system_id": systems, "case_id": [case, judged], "suite_id": [run.suite],
        "evaluator_id": [evaluator], "endpoint_id": [endpoint], "judge_id": [judge], "person_id": [colleague],
    }  # fmt: skip
    values = {name: tuple(str(row.pk) for row in models) for name, models in rows.items()}
    values["item_id"] += tuple(item.address for item in items)  # what stands for it; its number leads nowhere
    values["key"] = ("1", *(str(claim.pk) for claim in claims_of_ada()))
    words = {"slug": tuple(queue.slug for queue in queues), "table": ("rows",)}
    return World(client, tuple(items), values | words | dict.fromkeys(("format", "format_name"), ("csv", "xlsx")))


def claims_of_ada() -> Iterable[Assignment]:
    """Return what was handed to the annotator of the world."""
    return Assignment.objects.filter(annotator__username="ada").order_by("pk")


def addresses(world: World) -> list[str]:
    """Return every own address of the site, filled with the rows of the world wherever it has some."""
    filled: list[str] = []
    for path in _paths(get_resolver().url_patterns):
        names = re.findall(r"<(?:\w+:)?(\w+)>", path)
        for chosen in product(*(world.values.get(name, ("1",)) for name in names)):
            values = iter(chosen)
            filled.append("/" + re.sub(r"<[^>]+>", lambda _, values=values: next(values), path))  # type: ignore[misc]  # bound per turn
    return [*filled, *(f"{reverse('review:item-detail', args=[item.pk])}?diff=1" for item in world.items)]


def _paths(patterns: list[URLPattern | URLResolver], path: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = path + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, here)
        elif pattern.name not in NO_PAGES:
            yield here.replace("^", "").replace("$", "")


def bytes_of(answer: Any) -> str:
    """Return status, headers, cookies and body of an answer as text; the parts of an archive one by one."""
    body: bytes = answer.getvalue()
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"".join(name.encode() + archive.read(name) for name in archive.namelist())
    head = f"{answer.status_code}\n{answer.headers}\n{answer.cookies}\n"
    text = head + body.decode("utf-8", "replace")
    text = re.sub(r"csrftoken=\w+|expires=[^;]+;|'Expires': '[^']+'", "", text)
    return re.sub(
        r'(csrfmiddlewaretoken" value="|data-csrf-token="|X-CSRFToken&quot;: &quot;|X-CSRFToken": ")\w+', "", text
    )


def walked(world: World, *, only: Iterable[str] = ()) -> dict[str, str]:
    """Return what each address answers to the annotator, as page and, where it is not refused, as fragment."""
    texts = {}
    for address in only or addresses(world):
        texts[address] = bytes_of(world.client.get(address))
        if not texts[address].startswith(REFUSED):
            texts[f"{address} as fragment"] = bytes_of(world.client.get(address, headers=HTMX))
    return texts


def leaks(texts: Mapping[str, str], *, mode: str) -> dict[str, str]:
    """Return the first address for each hidden word that was found."""
    secrets = {name: word for name, word in SECRETS.items() if mode == QueueMode.BLIND or name != "statement"}
    return {
        name: address
        for name, word in secrets.items()
        for address, text in reversed(list(texts.items()))
        if word in text
    }


def change_everything_hidden(mode: str) -> None:
    """Give every hidden fact another value of the same kind."""
    for number, system in enumerate(System.objects.order_by("pk")):
        System.objects.filter(pk=system.pk).update(name=f"other {number} name", model="another model")
    ModelEndpoint.objects.update(name="elsewhere", model="bigger")
    Judge.objects.update(name="somebody else")
    RunEvaluator.objects.update(name="nobody")
    Verdict.objects.update(value={"score": 3}, rationale="no", reason="none", status="refused", confidence=0.1)
    Score.objects.update(share=0.9, value=0.9)
    Material.objects.update(system_a="x", system_b="a much longer name")
    ReviewItem.objects.update(arm="routed", inclusion_probability=None, reason="order_flip", reason_text="Other.")
    for number, agent in enumerate(Agent.objects.order_by("pk")):
        Agent.objects.filter(pk=agent.pk).update(name=f"voice {number}")
    answers = Annotation.objects.filter(annotator__username="zq-colleague")
    answers.update(label="-1", note="something quite different", revealed_at=factories.NOON, revised_label="0")
    for answer in answers.select_related("annotator"):
        answer.annotator.username = "quite-another-person"
        answer.annotator.save()
    Run.objects.update(options={"seed": 9})
    if mode == QueueMode.BLIND:
        Statement.objects.update(text="They said something else.", verdict=-1)
        Debate.objects.update(status="agreed", verdict=-1, agreed_round=1, round_count=9, independent_verdict=1)


@pytest.mark.parametrize("mode", MODES)
def test_no_address_of_the_site_tells_an_annotator_what_is_hidden(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = build(mode)
    moment = timezone.now()
    monkeypatch.setattr(template_tags, "now", lambda: moment)  # "1 minute ago" stays so

    texts = walked(world)
    opened = [address for address in texts if not texts[address].startswith(REFUSED) and " as " not in address]
    change_everything_hidden(mode)
    after = walked(world, only=opened)

    assert leaks(texts, mode=mode) == {}
    changed = [address for address in after if texts[address] != after[address]]
    assert [(address, *difference(texts[address], after[address])) for address in changed] == []
    everything = "".join(texts.values())
    assert [text for text in world.texts if text not in everything] == []
    assert ("zq-statement" in everything) == (mode == QueueMode.DEBATE)
    assert {item.get_absolute_url() for item in world.items} < set(opened)
    assert {f"/api/v1/assignments/{claim.pk}" for claim in claims_of_ada()} < set(opened)
    exports = [address for address in texts if re.search(r"\.(csv|xlsx|jsonl|zip)$|/exports/", address)]
    assert {texts[address][:3] for address in exports} <= {"403", "404"}
    assert len(exports) > 30


def difference(before: str, after: str) -> tuple[str, str]:
    """Return what stands around the first place where two texts differ."""
    index = next((n for n, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    return before[max(0, index - 60) : index + 60], after[max(0, index - 60) : index + 60]


@pytest.mark.parametrize("mode", MODES)
def test_no_act_before_the_answer_tells_a_hidden_word(mode: str) -> None:
    world = build(mode)
    texts: dict[str, str] = {}

    for item in world.items:
        claim = Assignment.objects.get(item=item, annotator__username="ada")
        values = {"token": str(claim.token), "text": "odd", "note": "n", "reason": "r", "label": "", "idle": "0"}
        for act in ("heartbeat", "draft", "flag", "annotate", "reveal", "revise", "undo", "adjudicate", "skip"):
            for headers in ({}, HTMX):
                address = reverse(f"review:item-{act}", args=[item.pk])
                answer = world.client.post(address, values, headers=headers, follow=True)
                texts[f"{act} {item.pk} {headers}"] = bytes_of(answer)
        for act, entered in (("undo", {}), ("flag", {"text": "odd"}), ("annotate", {"label": "9"}), ("reveal", {})):
            answer = world.client.post(f"/api/v1/assignments/{claim.pk}/{act}", entered, "application/json")
            texts[f"API {act} {item.pk}"] = bytes_of(answer)

    assert leaks(texts, mode=mode) == {}
    assert ReviewItem.objects.filter(status=ItemStatus.OPEN, answer_count=1).count() == 3


@pytest.mark.parametrize("place", ["guidelines", "question", "file name", "number"])
def test_the_walk_finds_a_planted_leak(place: str) -> None:
    world = build(QueueMode.BLIND)
    if place == "guidelines":
        Queue.objects.filter(name="Debated").update(guidelines="By zq-system-one.")
    elif place == "question":
        Material.objects.update(question="What does zq-judge-j think?")
    elif place == "file name":
        answer = world.client.get(reverse("review:queue-list"))
        answer["Content-Disposition"] = 'attachment; filename="zq-system-one.csv"'
        assert leaks({"planted": bytes_of(answer)}, mode=QueueMode.BLIND) == {"system": "planted"}
        return
    page = reverse("review:item-detail", args=[world.items[0 if place == "guidelines" else 2].pk])
    before = bytes_of(world.client.get(page))
    if place == "number":
        Queue.objects.update(guidelines=f"The judges prefer {Annotation.objects.first().label}.")  # type: ignore[union-attr]  # there are three
        assert bytes_of(world.client.get(page)) != before
    else:
        assert set(leaks({page: before}, mode=QueueMode.BLIND)) == {"system" if place == "guidelines" else "judge"}

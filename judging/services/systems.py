"""Systems that this site asks: a model endpoint, the prompt that it is asked with, and its sampling."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.types import JsonDict, Refused
from judging.judges.answer_prompts import (
    OWN,
    PLAIN,
    SHIPPED,
    AskedQuestion,
    ResponseSettings,
    answer_request,
    asking_from_json,
    asking_turn_index,
    shipped_asking,
    turns_of,
    without_images,
)
from judging.judges.subjects import BadPrompt, VersionedPrompt
from judging.llm.chat import ChatRequest
from judging.models import Case, ModelEndpoint, PromptVersion, Run, RunKind, System
from judging.services.endpoints import RESERVED_FIELDS
from judging.specs.turns import text_of
from judging.specs.types import image_specs
from judging.stored_content import content_hash

NAME_LENGTH = 120
SEES_IMAGES = "sees_images"  # in what a run keeps of a system whose endpoint sees
MAX_SEED = 2**31 - 1


class SystemRefused(Refused):
    """The system cannot be stored, asked or deleted; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A model that responds, with the prompt that it is asked with."""

    endpoint: ModelEndpoint
    asking: ResponseSettings

    @property
    def system_name(self) -> str:
        """The name of its system where no other system has it."""
        return f"{self.endpoint.model[:100]} · {self.asking.prompt_version}"[:NAME_LENGTH]

    @property
    def key(self) -> str:
        """A hash of the server, the model and everything that it is asked with: another one is another system."""
        endpoint = self.endpoint
        server: JsonDict = {"base_url": endpoint.base_url, "model": endpoint.model, "extra": endpoint.extra}
        further = {"query": endpoint.query, "headers": endpoint.headers}
        server |= {name: value for name, value in further.items() if value}  # most have none, as all once had
        return content_hash({**server, **self.asking.as_json()})

    def frozen(self) -> JsonDict:
        """Return what a run keeps of it."""
        sight = {SEES_IMAGES: True} if self.endpoint.sees_images else {}
        return {"endpoint": self.endpoint.name, **self.asking.as_json(), **sight}


def worker_of(system: System) -> Worker:
    """Return how a system of this site is asked."""
    assert system.endpoint is not None
    return Worker(system.endpoint, asking_from_json(system.asking))


def asking_of_version(label: str) -> ResponseSettings:
    """Return a shipped prompt version or a stored one by its name.

    Raises:
        BadPrompt: there is none of this name.
    """
    if label in SHIPPED:
        return shipped_asking(label)
    stored = PromptVersion.objects.filter(name=OWN, label=label, is_active=True).first()
    if stored is None:
        labels = (
            PromptVersion.objects.filter(name=OWN, is_active=True).order_by("label").values_list("label", flat=True)
        )
        raise BadPrompt(f"There is no prompt version {label!r}. There are: {', '.join([*SHIPPED, *labels])}.")
    return ResponseSettings(stored.label, stored.text)


def plain_system(endpoint: ModelEndpoint) -> System:
    """Return the system that asks an endpoint the plain question; one to be stored with a run where there is none."""
    worker = Worker(endpoint, shipped_asking(PLAIN))
    existing = System.objects.select_related("endpoint").filter(asking_key=worker.key).first()
    fields = {"endpoint": endpoint, "asking": worker.asking.as_json(), "asking_key": worker.key}
    return existing or System(
        name=worker.system_name, model=endpoint.model[:NAME_LENGTH], prompt_version=PLAIN, **fields
    )


def question_of(case: Case) -> tuple[str, str]:
    """Return a case's instruction and question, apart where its source kept them apart."""
    if "instruction" in case.metadata:
        return str(case.metadata["instruction"]), str(case.metadata.get("question", ""))
    return "", case.prompt.text


def asked_question(case: Case, asking: ResponseSettings, *, with_images: bool = True) -> AskedQuestion:
    """Return what a prompt version shows of a case.

    One that leaves no place for the instruction or the context is given them before the question. Of a conversation,
    the turn that asks is the question; the turns around it are sent as they are.
    """
    prompt, context = case.prompt, case.prompt.context
    placeholders = VersionedPrompt(asking.prompt_version, asking.text).placeholders
    instruction, question = question_of(case)
    if "instruction" not in placeholders:
        instruction, question = "", prompt.text
    images = prompt.images if with_images else []
    turns = turns_of(prompt.text, images, prompt.messages) if images or prompt.messages else ()
    turns = turns if with_images else without_images(turns)
    if prompt.messages:
        index = asking_turn_index(turns)
        question = "" if index is None else text_of(turns[index])
    turn_text = question
    if context and "context" not in placeholders:
        question = f"{context}\n\n{question}"
    return AskedQuestion(question, instruction, context, turns, image_specs(images), turn_text)


def asking_request(
    case: Case, asking: ResponseSettings, *, endpoint: str = "", attempt: int = 0, with_images: bool = True
) -> ChatRequest:
    """Return the call that asks for the response of an attempt at a case, whatever kind of run it is for."""
    shown = asked_question(case, asking, with_images=with_images)
    return answer_request(asking, shown, endpoint=endpoint, attempt=attempt)


@transaction.atomic
def add_system(*, name: str, worker: Worker, description: str, actor: User | None, at: datetime) -> System:
    """Store a system that this site can ask. It never changes: other settings make another system.

    Raises:
        SystemRefused: its name is taken, its settings are those of another system, or its model cannot answer.
    """
    name = " ".join(name.split())[:NAME_LENGTH]
    if not name:
        raise SystemRefused("Enter a name.")
    if worker.endpoint.is_baseline:
        raise SystemRefused("A lexical baseline cannot give responses; choose a language model.")
    _check_asking(worker.asking)
    existing = System.objects.filter(asking_key=worker.key).first()
    if existing is not None:
        state = "" if existing.is_active else ", which is retired; restore it on its page"
        raise SystemRefused(f"These settings are those of the system {existing}{state}.")
    if System.objects.filter(name=name).exists():
        raise SystemRefused(f"Another system is called {name}. Choose a different name.")
    system = _stored(name, worker, description, at)
    record(actor, "system.added", system, endpoint=worker.endpoint.name, prompt=worker.asking.prompt_version)
    return system


def _check_asking(asking: ResponseSettings) -> None:
    reserved = sorted(RESERVED_FIELDS.intersection(asking.extra))
    if reserved:
        raise SystemRefused(
            f"Further fields cannot set {', '.join(reserved)}: other fields of the system or the site do."
        )
    for setting, value, low, high in (
        ("temperature", asking.temperature, 0, 2),
        ("top p", asking.top_p, 0, 1),
        ("limit of tokens", asking.max_tokens, 1, 1_000_000),
        ("random seed", asking.seed, 0, MAX_SEED),
    ):
        if value is not None and not low <= value <= high:
            raise SystemRefused(f"The {setting} is a number from {low} to {high:,}, not {value:g}.")


def _stored(name: str, worker: Worker, description: str, at: datetime) -> System:
    return System.objects.create(
        name=name,
        model=worker.endpoint.model[:NAME_LENGTH],
        prompt_version=worker.asking.prompt_version,
        asking_key=worker.key,
        endpoint=worker.endpoint,
        asking=worker.asking.as_json(),
        description=description,
        created_at=at,
    )


def system_of(worker: Worker, at: datetime) -> System:
    """Return the system that this server, model and asking make up, under a name that no other system has."""
    system = System.objects.filter(asking_key=worker.key).first() or _system_before_keys(worker)
    if system is not None:
        if not system.is_asked_here:
            system.endpoint, system.asking = worker.endpoint, worker.asking.as_json()
            system.save(update_fields=["endpoint", "asking"])
        return system
    name, endpoint = worker.system_name, worker.endpoint
    names = (name, f"{name[:60]} · {endpoint.name[:57]}", f"{name[:107]} · {worker.key[:10]}")
    free = next(candidate for candidate in names if not System.objects.filter(name=candidate).exists())
    return _stored(free, worker, "", at)


def _system_before_keys(worker: Worker) -> System | None:
    """Return a system made before systems had keys, where its last run asked the same endpoint in the same way."""
    system = System.objects.filter(name=worker.system_name, asking_key="").first()
    if system is None:
        return None
    frozen = Run.objects.filter(kind=RunKind.ESI, systems=system).order_by("-pk").values_list("options", flat=True)
    frozen_settings: JsonDict = next(
        (options["workers"][str(system.pk)] for options in frozen if str(system.pk) in options["workers"]), {}
    )
    asking = worker.asking.as_json()
    if frozen_settings.get("endpoint") != worker.endpoint.name or any(
        frozen_settings.get(name) != asking[name] for name in asking
    ):
        return None
    system.asking_key = worker.key
    system.save(update_fields=["asking_key"])
    return system


@transaction.atomic
def set_system_active(*, system: System, is_active: bool, actor: User | None) -> System:
    """Retire a system, so that no new run asks it, or bring it back. Its responses and runs stay."""
    if System.objects.filter(pk=system.pk, is_active=not is_active).update(is_active=is_active):
        record(actor, "system.restored" if is_active else "system.retired", system)
    system.is_active = is_active
    return system


@transaction.atomic
def delete_system(*, system: System, actor: User | None) -> None:
    """Delete a system that has no response and that no run asked.

    Raises:
        SystemRefused: results rest on it.
    """
    if system.responses.exists() or system.runs.exists():
        raise SystemRefused(f"{system} has responses or runs and cannot be deleted. Retire it instead.")
    record(actor, "system.deleted", NamedSubject(str(system), system.pk), asking=system.asking)
    system.delete()

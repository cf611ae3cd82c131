"""Makes, changes and retires judges and prompts, and the built-in lexical baselines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from evalsite.accounts.audit import NamedSubject, record
from evalsite.base.rows import grouped
from evalsite.base.types import JsonDict, Refused
from judging.judges.answer_prompts import OWN, SHIPPED, check_worker_prompt
from judging.judges.judge_kinds import BadJudgeOption, JudgeKind, starting_points
from judging.judges.kinds import custom
from judging.judges.kinds.custom import NAME as CUSTOM
from judging.judges.kinds.lexical import LENSES as KNOWN_LENSES
from judging.judges.registry import EDITABLE, KINDS, UnknownJudge, check_judge_prompt, judge_kind
from judging.judges.subjects import BadPrompt, VersionedPrompt, load_prompt
from judging.llm.endpoints import EndpointKind
from judging.models import Judge, ModelEndpoint, PromptVersion, Run, RunEvaluator, RunKind
from judging.selectors.judges import PanelRefused, defined_members, panels_with
from judging.specs.files.yaml_files import Node, YamlLimits, read_yaml, yaml_text


@dataclass(frozen=True, slots=True)
class PromptText:
    """One version of a prompt: the shipped file, or an edited one."""

    label: str
    text: str
    sha256: str
    version_id: int | None = None  # None: shipped
    created_at: datetime | None = None
    created_by: str = ""
    is_active: bool = True  # False: retired
    judges: tuple[Judge, ...] = ()
    runs: int = 0

    @property
    def is_used(self) -> bool:
        return bool(self.judges or self.runs)


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One prompt with all its versions, the shipped ones first."""

    name: str
    kind: str  # of judge; empty: it asks for responses
    texts: tuple[PromptText, ...]


def read_prompts(kinds: Mapping[str, str]) -> list[PromptFile]:
    """Return every editable prompt with its versions, without counting uses."""
    edited = grouped(
        (row.name, row) for row in PromptVersion.objects.select_related("created_by").order_by("created_at", "pk")
    )
    files = [
        PromptFile(name, kind, (_shipped(load_prompt(name)), *map(_edited, edited.get(name, []))))
        for name, kind in kinds.items()
    ]
    shipped = [_shipped(load_prompt(file), label) for label, file in SHIPPED.items()]
    return [*files, PromptFile(OWN, "", (*shipped, *map(_edited, edited.get(OWN, []))))]


def own_prompts() -> list[tuple[Judge, VersionedPrompt]]:
    """Return the judges in use whose prompt is their own, each with it, by name."""
    judges = Judge.objects.filter(kind=custom.NAME, is_active=True).order_by("name")
    return [(row, judge_kind(row.kind).prompts_sent(row.options)[0]) for row in judges]


def with_uses(file: PromptFile) -> PromptFile:
    """Return a prompt with the judges and the number of runs that use each version."""
    return PromptFile(file.name, file.kind, tuple(_used(file, text) for text in file.texts))


def _shipped(prompt: VersionedPrompt, label: str = "shipped version") -> PromptText:
    return PromptText(label, prompt.text, prompt.sha256)


def _edited(row: PromptVersion) -> PromptText:
    by = row.created_by.username if row.created_by else ""
    return PromptText(row.label, row.text, row.sha256, row.pk, row.created_at, by, row.is_active)


def _used(file: PromptFile, text: PromptText) -> PromptText:
    return replace(text, judges=tuple(_judges(file, text)), runs=_run_count(file, text))


def _judges(file: PromptFile, text: PromptText) -> Sequence[Judge]:
    if not file.kind:
        return []
    stored = text.text if text.version_id is not None else ""
    judges = Judge.objects.filter(kind=file.kind).order_by("name")
    kind = judge_kind(file.kind)
    return [
        judge
        for judge in judges
        if judge.options.get("prompt_text", "").strip() == stored
        and kind.prompts[file.name].items() <= kind.complete_options(judge.options).items()
    ]


def _run_count(file: PromptFile, text: PromptText) -> int:
    if not file.kind:
        runs = Run.objects.filter(systems__prompt_version=text.label)
        return runs.filter(Q(kind=RunKind.ESI) | Q(systems__endpoint__isnull=False)).distinct().count()
    stored = text.text if text.version_id is not None else ""
    used = RunEvaluator.objects.filter(
        options__judge_kind=file.kind, options__judge_options__prompt_text=stored
    ).values_list("run_id", flat=True)
    for name, value in judge_kind(file.kind).prompts[file.name].items():
        used = used.filter(**{f"options__judge_options__{name}": value})
    return used.distinct().count()


class PromptRefused(Refused):
    """The prompt cannot be stored as it is; the message is shown on the page."""


@transaction.atomic
def save_prompt_version(*, name: str, label: str, text: str, actor: User | None, at: datetime) -> PromptVersion:
    """Store an edited text under a name of its own; it is never changed afterwards.

    Raises:
        PromptRefused: it lacks a placeholder or has one too many, or its label or text is there already.
    """
    text, label = text.replace("\r\n", "\n").strip(), label.strip()
    _check(name, label, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    existing = PromptVersion.objects.filter(Q(label=label) | Q(sha256=digest), name=name).first()
    if existing is not None:
        subject = "This text is" if existing.sha256 == digest else "This name is"
        state = "" if existing.is_active else ", which is retired"
        raise PromptRefused(f"{subject} already stored as {existing.label}{state}.")
    version = PromptVersion.objects.create(
        name=name, label=label, text=text, sha256=digest, created_at=at, created_by=actor
    )
    _record(version, actor, "prompt.added")
    return version


@transaction.atomic
def set_prompt_active(*, version: PromptVersion, is_active: bool, actor: User | None) -> PromptVersion:
    """Retire a version, so that it is offered for nothing new, or bring it back. Judges and runs keep its text."""
    if PromptVersion.objects.filter(pk=version.pk, is_active=not is_active).update(is_active=is_active):
        _record(version, actor, "prompt.restored" if is_active else "prompt.retired")
    version.is_active = is_active
    return version


@transaction.atomic
def delete_prompt_version(*, version: PromptVersion, actor: User | None) -> None:
    """Delete a version that no judge and no run ever used.

    Raises:
        PromptRefused: a judge or a run uses it.
    """
    text = _edited(version)
    used = _used(PromptFile(version.name, EDITABLE.get(version.name, ""), (text,)), text)
    if used.is_used:
        judges, runs = len(used.judges), used.runs
        raise PromptRefused(
            f"{version} is used by {judges:,} judge{'' if judges == 1 else 's'} and {runs:,} "
            f"run{'' if runs == 1 else 's'} and cannot be deleted. Retire it instead."
        )
    _record(version, actor, "prompt.deleted")
    version.delete()


def _record(version: PromptVersion, actor: User | None, action: str) -> None:
    record(actor, action, NamedSubject(f"{version.name}: {version.label}", version.pk), sha256=version.sha256)


def _check(name: str, label: str, text: str) -> None:
    if not text or not label:
        raise PromptRefused("A version needs a name and a text.")
    try:
        if name == OWN:
            check_worker_prompt(text)
        else:
            check_judge_prompt(name, text)
    except BadPrompt as problem:
        raise PromptRefused(str(problem)) from None
    if name == OWN and label.upper() in SHIPPED:
        raise PromptRefused(f"{label.upper()} is a shipped version; choose another name.")


LIMITS = YamlLimits(max_bytes=1024 * 1024, max_nodes=10_000)
MEMBER = ("judge", "weight")  # what a file says of a panel's member; the judge is meant by name
FIELDS = ("name", "description", "kind", "endpoint", "options")


class BadJudgeFile(ValueError):
    """The file is no judge; the message names the line and what to do."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """A judge as a file says it. The endpoint is meant by name; empty: to be chosen."""

    name: str
    kind: JudgeKind
    description: str = ""
    endpoint: str = ""
    options: JsonDict = field(default_factory=dict)  # complete and checked


def judge_file(judge: Judge) -> str:
    """Return a judge as YAML with all its options; texts of several lines stand as blocks."""
    kind = judge_kind(judge.kind)
    content: JsonDict = {"name": judge.name}
    if judge.description:
        content["description"] = judge.description
    content["kind"] = judge.kind
    if judge.endpoint is not None:
        content["endpoint"] = judge.endpoint.name
    options = kind.complete_options(judge.options)
    if kind.asks_members:
        options["members"] = [{name: member[name] for name in MEMBER} for member in options["members"]]
    content["options"] = options
    return yaml_text(content)


def started_judge(name: str) -> JudgeFile:
    """Return the judge that a starting point of own prompts begins as. Raises: KeyError where there is none."""
    start, kind = starting_points()[name], KINDS[CUSTOM]
    options = kind.complete_options({**kind.new_options(), **start.options})
    return JudgeFile(start.title, kind, start.description, "", options)


def read_judge_file(data: bytes, file_name: str) -> JudgeFile:
    """Return the judge of a file.

    Raises:
        BadJudgeFile: no YAML, an unknown key or kind, or options that the kind does not take.
    """
    parsed = read_yaml(data, file_name, LIMITS)
    if parsed.value is None:
        problem = parsed.errors[0]
        raise BadJudgeFile(f"{file_name}, {problem.place}: {problem.message}")
    document = parsed.value
    for key, value in document.fields.items():
        if key not in FIELDS:
            raise _wrong(file_name, value, f"There is no field {key!r}. Fields: {', '.join(FIELDS)}.")
    texts = {key: _text_of(document, key, file_name) for key in FIELDS if key != "options"}
    if not document.is_mapping or not texts["name"] or texts["kind"] not in KINDS:
        kinds = ", ".join(KINDS)
        raise _wrong(
            file_name, document.get("kind") or document, f"A judge has a name, and a kind that is one of {kinds}."
        )
    kind, options = KINDS[texts["kind"]], document.get("options")
    raw_options: Any = options.plain() if options is not None else {}
    if not isinstance(raw_options, dict):
        raise _wrong(file_name, options or document, "The options are a mapping of names and values.")
    try:
        complete = kind.complete_options(raw_options)
    except BadJudgeOption as problem:
        raise _wrong(file_name, options or document, str(problem)) from None
    return JudgeFile(texts["name"], kind, texts["description"], texts["endpoint"], complete)


def _text_of(document: Node, key: str, file_name: str) -> str:
    value = document.get(key)
    if value is None or value.content is None:
        return ""
    if value.is_mapping or value.is_list:
        raise _wrong(file_name, value, f"The field {key!r} is a text.")
    return (value.raw or str(value.content)).strip()


def _wrong(file_name: str, node: Node, message: str) -> BadJudgeFile:
    return BadJudgeFile(f"{file_name}, line {node.line}: {message}")


class JudgeNotValid(Refused):
    """The judge cannot be stored; the message says what to change."""


class JudgeInUse(Refused):
    """The judge cannot be deleted; the message says why."""


@transaction.atomic
def save_judge(*, judge: Judge, options: JsonDict, actor: User | None) -> Judge:
    """Store a new judge, or one that was changed, with these options. Runs keep what they were started with.

    Raises:
        JudgeNotValid: no such kind, options that it does not take, a prompt without its placeholders, or no endpoint
            for a kind that asks a model.
    """
    judge.options = _checked_options(judge, options)
    facts = {"kind": judge.kind, "endpoint": judge.endpoint.name if judge.endpoint else ""}
    if judge.pk is None:
        judge.created_by = actor
        judge.save()
        record(actor, "judge.added", judge, **facts)
    elif changed := _changed(judge):
        judge.save()
        record(actor, "judge.changed", judge, **facts, changed=changed)
        _follow_member(judge, actor)
    return judge


def _changed(judge: Judge) -> list[str]:
    """Return the names of what is not as it is stored: fields of a judge, and its options."""
    stored = Judge.objects.get(pk=judge.pk)
    fields = [name for name in ("name", "description", "endpoint") if getattr(stored, name) != getattr(judge, name)]
    return fields + sorted(
        name for name, value in judge.options.items() if name not in stored.options or stored.options[name] != value
    )


def _checked_options(judge: Judge, options: JsonDict) -> JsonDict:
    texts = {name: value.replace("\r\n", "\n") for name, value in options.items() if isinstance(value, str)}
    try:
        kind = judge_kind(judge.kind)
        complete = kind.complete_options(options | texts)
        if kind.asks_members:
            complete["members"] = defined_members(complete["members"])
        kind.prompt_hash(complete)  # reads the prompt, and with it an edited one's placeholders
    except (BadJudgeOption, BadPrompt, UnknownJudge, PanelRefused) as error:
        raise JudgeNotValid(str(error)) from None
    if refusal := kind.refusal(complete):
        raise JudgeNotValid(refusal)
    if kind.is_imported:
        raise JudgeNotValid(f"{judge} was imported, so it cannot be asked or changed. Choose another name.")
    if kind.asks_model and judge.endpoint is None:
        raise JudgeNotValid(f"Choose the endpoint that {kind.title!r} asks.")
    if judge.endpoint is not None and not kind.asks_model:
        raise JudgeNotValid(f"{kind.title!r} asks no endpoint.")
    return complete


def _follow_member(member: Judge, actor: User | None) -> None:
    """Let the panels that have a judge as a member have it as it is now: they are new versions then.

    Raises:
        JudgeNotValid: with this change a panel's members would no longer be of one scale, or would ask the same.
    """
    for panel in panels_with(member):
        entries = [
            {**entry, "judge": member.name} if entry.get("id") == member.pk else entry
            for entry in panel.options["members"]
        ]
        try:
            panel.options = {**panel.options, "members": defined_members(entries)}
        except PanelRefused as refusal:
            raise JudgeNotValid(f"{member} is a member of {panel}. {refusal}") from None
        panel.save(update_fields=["options"])
        record(actor, "judge.changed", panel, kind=panel.kind, member=member.name)


@transaction.atomic
def set_judge_active(*, judge: Judge, is_active: bool, actor: User | None) -> Judge:
    """Retire a judge, so that nothing new is offered it, or bring it back. Its runs and verdicts stay."""
    if Judge.objects.filter(pk=judge.pk, is_active=not is_active).update(is_active=is_active):
        record(actor, "judge.restored" if is_active else "judge.retired", judge)
    judge.is_active = is_active
    return judge


@transaction.atomic
def delete_judge(*, judge: Judge, actor: User | None) -> None:
    """Delete a judge that no run ever used.

    Raises:
        JudgeInUse: runs used it, so their verdicts rest on it, or a panel has it as a member.
    """
    runs = judge.evaluators.values("run").distinct().count()
    if runs:
        times = "1 run" if runs == 1 else f"{runs:,} runs"
        raise JudgeInUse(f"{judge} is used by {times} and cannot be deleted. Retire it instead.")
    panels = panels_with(judge)
    if panels:
        raise JudgeInUse(f"{judge} is a member of {panels[0]} and cannot be deleted. Take it out of the panel first.")
    record(actor, "judge.deleted", NamedSubject(str(judge), judge.pk), kind=judge.kind, options=judge.options)
    Judge.objects.filter(pk=judge.pk).delete()


LENSES: tuple[str, ...] = tuple(KNOWN_LENSES)
JUDGES = {"level_cascade": "Lexical levels", "generic": "Lexical criteria"}  # kind -> first words of the name


def endpoint_name(lens: str) -> str:
    """Return the name of a lens's endpoint."""
    return f"lexical-{lens}"


def judge_name(kind: str, lens: str) -> str:
    """Return the name of a baseline judge."""
    return f"{JUDGES[kind]} ({lens})"


@transaction.atomic
def ensure_baselines() -> int:
    """Make the endpoints and judges that are missing and return how many; what is there is left as it is."""
    created = 0
    for lens in LENSES:
        endpoint, is_new = ModelEndpoint.objects.get_or_create(
            name=endpoint_name(lens),
            defaults={"kind": EndpointKind.LEXICAL, "model": lens, "max_concurrency": 8},
        )
        created += is_new
        for kind in JUDGES:
            _, is_new = Judge.objects.get_or_create(
                name=judge_name(kind, lens),
                defaults={
                    "kind": kind,
                    "endpoint": endpoint,
                    "options": judge_kind(kind).complete_options({}),
                },
            )
            created += is_new
    return created

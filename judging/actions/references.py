"""How people and programs name rows of this app, and how rows are shared with co-owners."""

from __future__ import annotations

from typing import TypeVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet

from evalsite.accounts.audit import record
from evalsite.base.actions.declarations import ActionCall, Noun, PageData, Reference, columns
from evalsite.base.rows import BadInput, Owned, listed, look_up, numbered_row, pick
from evalsite.base.types import Refused, whole_number
from judging.models import Benchmark, Case, Judge, ModelEndpoint, PromptVersion, Rubric, Run, Suite, System
from judging.selectors.endpoints import active_judges


def add_co_owner(*, row: Owned, person: User, permission: str, actor: User | None) -> None:
    """Let a person change a row like its owner. Raises: Refused: they do already, or their role does not allow it."""
    if person.pk == row.created_by_id or row.co_owners.filter(pk=person.pk).exists():
        raise Refused(f"{person.username} is an owner already.", field="person")
    if not person.has_perm(permission):
        raise Refused(f"The role of {person.username} does not allow it: researchers and admins can be co-owners.")
    row.co_owners.add(person)
    record(actor, f"{row._meta.model_name}.shared", row, with_person=person.username)


def remove_co_owner(*, row: Owned, person: User, actor: User | None) -> None:
    """Let a co-owner change a row no more."""
    row.co_owners.remove(person)
    record(actor, f"{row._meta.model_name}.unshared", row, with_person=person.username)


def find_suite(suites: QuerySet[Suite], text: str) -> Suite:
    """Return a suite by number, by the slug or name of its benchmark (the newest), or by slug@number.

    Raises:
        BadInput: there is none; the message lists slugs.
    """
    suites = suites.select_related("benchmark").order_by("-number", "-pk")
    name, _, number = text.rpartition("@")
    edition = whole_number(number)
    if name and edition is not None:
        suites = suites.filter(number=edition)
    else:
        name = text
        numbered = numbered_row(suites, text)
        if numbered is not None:
            return numbered
    benchmarks = Benchmark.objects.filter(pk__in=suites.order_by().values("benchmark")).order_by("slug")
    benchmark = pick(benchmarks, name, names_of=lambda row: (row.slug, row.name), what="suite")
    suite = suites.filter(benchmark=benchmark).first()
    assert suite is not None, "benchmarks without a suite are not offered"
    return suite


def find_case(cases: QuerySet[Case], text: str) -> Case:
    """Return a case by number, or by its suite and its key: SUITE:KEY.

    Raises:
        BadInput: there is none.
    """
    numbered = numbered_row(cases, text)
    if numbered is not None:
        return numbered
    name, _, key = text.partition(":")
    suite = find_suite(Suite.objects.all(), name)
    case = cases.filter(links__suite=suite, key=key).first()
    if case is None:
        raise BadInput(f"{suite} has no case {key!r}.")
    return case


def find_rubric(rubrics: QuerySet[Rubric], text: str) -> Rubric:
    """Return a rubric by number, by slug (the newest version), by slug@version or by name.

    Raises:
        BadInput: there is none; the message lists slugs.
    """
    slug, _, version = text.partition("@")
    rubrics = rubrics.order_by("-version", "-pk")
    named = rubrics.filter(slug=slug)
    if version:
        named = named.filter(version=whole_number(version) or 0)
    return named.first() or look_up(rubrics if not version else named, text, what="rubric", fields=("slug", "name"))


def find_prompt(versions: QuerySet[PromptVersion], text: str) -> PromptVersion:
    """Return an edited prompt by number, by the name of its version, or by PROMPT/VERSION where several have that name.

    Raises:
        BadInput: there is none, or several; the message lists them.
    """
    numbered = numbered_row(versions, text)
    named = list(versions.filter(label=text).order_by("name"))
    if numbered is not None and not named:
        return numbered
    if len(named) > 1:
        raise BadInput(f"“{text}” is the name of several. {listed(map(_in_full, named))} Name one of them.")
    return pick(
        versions.order_by("name", "label"),
        text,
        names_of=lambda version: (_in_full(version), version.label),
        what="prompt version",
    )


def _in_full(version: PromptVersion) -> str:
    return f"{version.name}/{version.label}"


CASE = Reference("case", finder=find_case)
SUITE = Reference("suite", finder=find_suite, rows=Suite.objects.all)
RUBRIC = Reference("rubric", finder=find_rubric, rows=Rubric.objects.all)
PROMPT_VERSION = Reference("prompt version", finder=find_prompt, rows=PromptVersion.objects.all)
RESPONSE = Reference("response", ())
VERDICT = Reference("verdict", ())
RUN = Reference("run", rows=lambda: Run.objects.select_related("suite__benchmark"))
SYSTEM = Reference("system", rows=System.objects.all)
JUDGE = Reference("judge", rows=lambda: Judge.objects.select_related("endpoint"))
ACTIVE_JUDGE = Reference("active judge", rows=active_judges)
ENDPOINT = Reference("active endpoint", rows=lambda: ModelEndpoint.objects.filter(is_active=True))


OwnedRow = TypeVar("OwnedRow", bound=Owned)
PERSON = Reference("active account", fields=("username",))


class CoOwnerForm(forms.Form):
    """One person."""

    person = forms.ModelChoiceField(User.objects.none(), label="Person", help_text="An active account.")

    def __init__(self, data: PageData | None, *, people: QuerySet[User]) -> None:
        super().__init__(data)
        choice = self.fields["person"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = people.order_by("username")


def itself(row: OwnedRow) -> OwnedRow:
    """Return the row whose owner may do what is declared: the row itself."""
    return row


owner_facts = columns(  # who changes a row
    *("id", "created_by.username as owner"),
    co_owners=lambda row: list(row.co_owners.order_by("username").values_list("username", flat=True)),
)


def declare_co_owners(noun: Noun[OwnedRow], *, permission: str) -> None:
    """Declare how co-owners of a kind of thing come and go."""

    @noun.one(
        "add-owner",
        permission=permission,
        form=CoOwnerForm,
        makes_form=lambda _row, _first, data: CoOwnerForm(data, people=User.objects.filter(is_active=True)),
        owned=itself,
        shown=owner_facts,
        said=lambda row: f"Co-owners of {row}: {', '.join(owner_facts(row)['co_owners'])}",
        button="Add co-owner",
        icon="person-plus",
    )
    def add(act: ActionCall[OwnedRow, CoOwnerForm]) -> OwnedRow:
        """Let another researcher change it too. Its owner, its co-owners and admins change it, nobody else."""
        add_co_owner(row=act.subject, person=act.data["person"], permission=permission, actor=act.actor)
        return act.subject

    @noun.one(
        "remove-owner",
        permission=permission,
        rows=lambda person: noun.rows(person).filter(co_owners__isnull=False).distinct(),
        form=CoOwnerForm,
        makes_form=lambda row, _first, data: CoOwnerForm(data, people=row.co_owners.all()),
        owned=itself,
        shown=owner_facts,
        said=lambda row: f"Co-owners of {row}: {', '.join(owner_facts(row)['co_owners']) or 'none'}",
        button="Remove co-owner",
        icon="person",
    )
    def remove(act: ActionCall[OwnedRow, CoOwnerForm]) -> OwnedRow:
        """Let a co-owner change it no more."""
        remove_co_owner(row=act.subject, person=act.data["person"], actor=act.actor)
        return act.subject

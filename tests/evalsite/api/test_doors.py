"""Every declared action through each door, by page, command and API: the same rows, sentence and audit entry."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import models, transaction

from evalsite.accounts.models import AuditEntry
from evalsite.accounts.roles import Role
from evalsite.base.actions.declarations import DELETE, Action, declared_nouns
from evalsite.base.rows import Owned
from evalsite.reports.models import Snapshot
from judging.models import UploadPart
from tests import databases, factories
from tests.evalsite.api import judging_examples, report_examples, review_examples, site_examples
from tests.evalsite.api.doors import Example, Outcome, api_client, by_api, by_command, by_page, page_of_action
from tests.evalsite.test_job_queues import broker
from tests.sizes import IS_WHOLE

__all__ = ["broker"]

pytestmark = pytest.mark.django_db
EXAMPLES: dict[str, Callable[[], Example]] = {
    **judging_examples.EXAMPLES,
    **review_examples.EXAMPLES,
    **site_examples.EXAMPLES,
    **report_examples.EXAMPLES,
}
# Actions whose page is a view of its own, by the name of its address; all others with a page are found by themselves.
PAGES = {
    "run create-esi": "judging:run-create",
    "run estimate-esi": "judging:run-estimate",
    "view create": "reports:view-save",
    "debate_set import-labels": "debate:label-create",
    "prompt create": "judging:prompt-detail",
}
ACTIONS = [
    pytest.param(action, id=f"{noun.name} {verb}")
    for noun in declared_nouns().values()
    for verb, action in noun.actions.items()
]
# Command and API look at a permission before they look at what is done: one action of each shows it, pages show each.
FIRST_OF_PERMISSION = {
    action.permission: action
    for noun in [*declared_nouns().values()][::-1]
    for action in [*noun.actions.values()][::-1]
}
APPS = {"judging", "debate", "review", "reports", "accounts", "auth"}
LEFT_OUT = {AuditEntry, Group, Permission, Snapshot, UploadPart}  # the last: files kept while a page looks at them
DRAWN = {
    "password",
    "key",
    "shuffle",
    "token",
    "token_hash",
    "digest",
    "badge",
    "bytes_name",
}  # at random, or by the number of the queue
# Of an act: when it was, how long it took, and what is drawn with it.
MOMENT = re.compile(r'\d{4}-\d\d-\d\d[T ][\d:.+Z]*|\d+\.\d{5,}|(?<=seconds": )[\d.e-]+|[\da-f]{32}')


def rows() -> list[str]:
    """Return every row of the product without what the moment decides, and without numbers of rows."""
    found = []
    for model in filled_models():
        names = [field.attname for field in model._meta.concrete_fields if _is_told(field)]
        told = [{name: row[name] for name in names} for row in model._default_manager.values()]
        found += [f"{model._meta.label} {_text(row)}" for row in told]
    return sorted(found)


def filled_models() -> list[type[models.Model]]:
    """Return the models of the product that have rows."""
    named = {
        model._meta.db_table: model
        for model in apps.get_models()
        if model._meta.app_label in APPS and model not in LEFT_OUT
    }
    return [named[table] for table in databases.filled_tables(named)]


def _is_told(field: models.Field[Any, Any]) -> bool:
    is_number = field.primary_key or field.is_relation or isinstance(field, models.DateTimeField)
    return not is_number and field.name not in DRAWN


def _text(value: object) -> str:
    return MOMENT.sub("", json.dumps(value, default=str, ensure_ascii=False, sort_keys=True))


def entries() -> list[tuple[str, int | None, str, str]]:
    """Return what the audit log says, with the door through which it was done apart."""
    return [
        (
            entry.action,
            entry.actor_id,
            without_numbers({**entry.detail, "through": ""}),
            entry.detail.get("through", ""),
        )
        for entry in AuditEntry.objects.exclude(action__startswith="token.").order_by("pk")
    ]


def after(act: Callable[[], Outcome], spoil: Callable[[], object] | None = None) -> tuple[Outcome, list[str], Any]:
    """Return what a door answers, and the rows and audit entries after it; then everything is as it was."""
    with transaction.atomic():
        if spoil is not None:
            spoil()
        outcome = act()
        found = outcome, rows(), entries()
        transaction.set_rollback(True)
    return found


@pytest.fixture(autouse=True)
def broker_of_jobs(request: pytest.FixtureRequest) -> None:
    """Give what is done to jobs a broker."""
    if "[job " in request.node.name:
        request.getfixturevalue("broker")


def tried(act: Callable[[], Outcome]) -> Outcome:
    """Return what a door answers; then everything is as it was."""
    with transaction.atomic():
        outcome = act()
        transaction.set_rollback(True)
    return outcome


@pytest.mark.sized
@pytest.mark.parametrize("action", ACTIONS)
def test_each_door_does_the_same_refuses_in_the_same_words_and_turns_away_the_same_people(
    action: Action[Any, Any],
) -> None:
    people = {role: factories.user(role.value, role) for role in Role}
    allowed = [role for role in Role if people[role].has_perm(action.permission)]
    example = EXAMPLES[f"{action.noun.name} {action.verb}"]()
    AuditEntry.objects.all().delete()  # of what made the example
    address = page_of_action(action, PAGES)
    person = people[allowed[0]]
    api = api_client(person)

    def doors(who: User, entered: Any) -> dict[str, Callable[[], Outcome]]:
        if databases.ON_POSTGRES:  # what an action stores is asked there once, not the same doors again
            return {"command": lambda: by_command(action, example, entered, who)}
        client = api if who == person else api_client(who)
        page = {} if address is None else {"": lambda: by_page(action, example, entered, who, address)}
        return page | {
            "command": lambda: by_command(action, example, entered, who),
            "API, token script": lambda: by_api(action, example, entered, client),
        }

    done = {door: after(act, example.prepare) for door, act in doors(person, example.entered).items()}
    facts = done["command"][0].facts or {}
    assert [outcome for outcome, *_ in done.values() if not outcome.is_allowed or outcome.refusals] == []
    assert {name: facts.get(name) for name in example.shows} == example.shows
    assert {without_numbers(outcome.facts) for door, (outcome, *_) in done.items() if door} == {without_numbers(facts)}
    assert differing(state for _, state, _ in done.values()) == []
    assert differing([entry[:3] for entry in log] for *_, log in done.values()) == []
    through = {door: {entry[3] for entry in log} for door, (*_, log) in done.items()}
    assert through == {door: {door} if log else set() for door, log in through.items()}

    if example.sentence:
        refused = {door: after(act, example.spoil) for door, act in doors(person, example.refused).items()}
        assert {door: sentence_of(outcome) for door, (outcome, *_) in refused.items()} == dict.fromkeys(
            refused, example.sentence
        )
        assert differing(state for _, state, _ in refused.values()) == []

    asked = doors(person, {}) if IS_WHOLE or action is FIRST_OF_PERMISSION[action.permission] else {""} & done.keys()
    for role in set(Role) - set(allowed) if not databases.ON_POSTGRES else ():
        acts = doors(people[role], example.entered)
        turned_away = {door: not acts[door]().is_allowed for door in asked}
        assert turned_away == dict.fromkeys(turned_away, True), role


DELETIONS = [param for param in ACTIONS if param.values[0].verb == DELETE]  # type: ignore[union-attr]


@pytest.mark.backend_free
@pytest.mark.parametrize("action", DELETIONS)
def test_the_audit_log_leads_to_no_page_of_what_was_deleted(action: Action[Any, Any]) -> None:
    people = {role: factories.user(role.value, role) for role in Role}
    person = next(person for person in people.values() if person.has_perm(action.permission))
    example = EXAMPLES[f"{action.noun.name} {action.verb}"]()

    by_command(action, example, example.entered, person)

    told = AuditEntry.objects.latest("pk")
    assert (told.actor, told.address) == (person, "")


OWNED = [param for param in ACTIONS if param.values[0].options.get("owned")]  # type: ignore[union-attr]
OWNED_ACTIONS = [param.values[0] for param in OWNED]


@pytest.mark.backend_free
@pytest.mark.sized
@pytest.mark.parametrize("action", OWNED)
def test_what_is_somebody_elses_is_changed_by_its_owners_and_admins_through_each_door(action: Action[Any, Any]) -> None:
    owner, other, friend = (factories.user(name, Role.RESEARCHER) for name in ("olga", "otto", "fred"))
    admin = factories.user("adam", Role.ADMIN)
    example = EXAMPLES[f"{action.noun.name} {action.verb}"]()
    whose = action.options["owned"]
    assert whose is not None
    owned = whose(example.subject)
    type(owned)._default_manager.filter(pk=owned.pk).update(created_by=owner)
    owned.created_by = owner
    owned.co_owners.add(friend)
    address = page_of_action(action, PAGES)
    sentence = f"{owned} is the work of olga. Only they, its co-owners and admins change it; they can add you."

    def doors(who: User) -> list[Callable[[], Outcome]]:
        page = [] if address is None else [lambda: by_page(action, example, example.entered, who, address)]
        return [
            *page,
            lambda: by_command(action, example, example.entered, who),
            lambda: by_api(action, example, example.entered, api_client(who)),
        ]

    before = rows()
    for act in doors(other):
        outcome, state, log = after(act)
        assert (outcome.is_allowed, outcome.refusals) in [(True, [sentence]), (False, ())]
        assert differing([[row for row in each if "ApiToken" not in row] for each in (before, state)]) == []
        assert [entry for entry in log if entry[1] == other.pk] == []
    place = OWNED_ACTIONS.index(action)  # in the gate each of them takes another door, of the next action the next one
    for number, who in enumerate((owner, friend, admin)):
        acts = doors(who)
        outcomes = [tried(act) for act in (acts if IS_WHOLE else [acts[(place + number) % len(acts)]])]
        assert [outcome for outcome in outcomes if not outcome.is_allowed or outcome.refusals] == [], who


def test_every_change_of_a_row_with_an_owner_is_for_its_owners() -> None:
    owned = (noun for noun in declared_nouns().values() if issubclass(noun.rows(None).model, Owned))
    nouns = sorted(owned, key=lambda noun: noun.name)
    changes = [action for noun in nouns for action in noun.actions.values() if action.has_subject]

    assert [noun.name for noun in nouns] == ["judge", "queue", "run", "team"]
    assert {f"{action.noun.name} {action.verb}" for action in changes if not action.options.get("owned")} == {
        "judge export",  # changes nothing
        "queue export",
        "queue reopen-items",  # what adjudicators do
        "queue ask-more-items",
        "queue next",  # and annotators
        "queue next-training",
        "queue train",
        "queue compare-guidelines",
        "queue confirm-guidelines",
        "queue export-data-set",  # these change nothing either
        "run export-esi",
        "run export",
    }


def differing(states: Iterable[Iterable[Any]]) -> list[Any]:
    """Return what not all of these lists hold."""
    first, *others = map(Counter, states)
    return [each for other in others for each in (first | other).elements() if first[each] != other[each]]


def without_numbers(facts: object) -> str:
    """Return facts as text without what differs where the same is done again."""
    drawn = r'"(password|token|prefix|secret)": "[\w/+=-]+"|/(shared|badges|invitation)/[\w-]+'
    return re.sub(r"\d+", "0", re.sub(drawn, "", _text(facts)))


def sentence_of(outcome: Outcome) -> str:
    """Return the sentence of a refusal without the flag of the command."""
    return re.sub(r"^--[a-z-]+: ", "", " ".join(outcome.refusals))


def test_every_example_is_of_a_declared_action() -> None:
    declared = {f"{noun.name} {verb}" for noun in declared_nouns().values() for verb in noun.actions}

    assert EXAMPLES.keys() == declared

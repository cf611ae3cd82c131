"""Nouns with their actions, deletions and list, declared once for every door, and in whose name they are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, Generic, TypedDict

from django import forms
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Model, QuerySet
from django.db.models.deletion import ProtectedError, RestrictedError
from django.utils.datastructures import MultiValueDict
from typing_extensions import TypeVar, Unpack

from evalsite.base.rows import BadInput, Owned, check_owner, is_owner, look_up, numbered_row
from evalsite.base.tables import facts_text
from evalsite.base.types import JsonDict, JsonObject, Refused

BATCH = 1_000  # rows that are deleted by one statement
NAMES_SHOWN = 3

Table = type[models.Model]
Rows = models.QuerySet[models.Model]


class InUse(Refused):
    """It cannot be deleted while other things rest on it; the message names them."""


@dataclass(frozen=True, slots=True)
class Dependents:
    """What hangs on a row: by table, the way from there to the row."""

    row: models.Model
    gone: dict[Table, str] = field(default_factory=dict)  # in the order in which they were found
    freed: dict[Table, str] = field(default_factory=dict)
    protecting: dict[Table, str] = field(default_factory=dict)

    def rows(self, table: Table, way: str) -> Rows:
        """Return the rows of a table that hang on the row in a way."""
        return table._base_manager.filter(**{way: self.row.pk})

    def counts(self, ways: dict[Table, str]) -> dict[str, int]:
        """Return the names of tables with the number of rows that hang on the row; without those that have none."""
        named = ((table, self.rows(table, way).count()) for table, way in ways.items() if not table._meta.auto_created)
        return {_name(table, count): count for table, count in named if count}

    @property
    def refusal(self) -> str:
        """Why the row cannot be deleted; empty where it can be."""
        for table, way in self.protecting.items():
            rows = self.rows(table, way)
            if count := rows.count():
                names = ", ".join(map(str, rows.order_by("pk")[:NAMES_SHOWN])) + (
                    ", ..." if count > NAMES_SHOWN else ""
                )
                return f"{self.row} cannot be deleted: {count:,} {_name(table, count)} rest on it ({names})."
        return ""

    @property
    def words(self) -> str:
        """What the deletion removes and what stays."""
        stays = _in_words(self.counts(self.freed))
        return f"Deleting {self.row} removes for good: {_in_words(self.counts(self.gone)) or 'nothing else'}." + (
            f" Without it stay: {stays}." if stays else ""
        )


def dependents_of(row: models.Model) -> Dependents:
    """Return what hangs on a row, in every app."""
    found = Dependents(row)
    ways: dict[Table, str] = {type(row): ""}
    for table in (waiting := [type(row)]):
        for relation in table._meta.get_fields(include_hidden=True):
            if not isinstance(relation, models.ManyToOneRel):
                continue
            child, way = relation.related_model, f"{relation.field.name}__{ways[table]}".removesuffix("__")
            if relation.on_delete is not models.CASCADE:
                kind = found.freed if relation.on_delete is models.SET_NULL else found.protecting
                kind.setdefault(child, way)
            elif child not in ways:
                ways[child] = way
                waiting.append(child)
    found.gone.update((table, way) for table, way in ways.items() if table is not type(row))
    for kind in (found.freed, found.protecting):
        for table in found.gone.keys() & kind.keys():
            del kind[table]
    return found


@transaction.atomic
def delete_with_dependents(row: models.Model) -> None:
    """Delete a row and what goes with it, what points to others first, so that no statement has many rows to find.

    Raises:
        InUse: something rests on it; nothing is deleted.
    """
    found = dependents_of(row)
    if refusal := found.refusal:
        raise InUse(refusal)
    try:
        for table in _outermost_first(found.gone):
            rows = found.rows(table, found.gone[table])
            while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
                table._base_manager.filter(pk__in=keys).delete()
        type(row)._base_manager.filter(pk=row.pk).delete()
    except (ProtectedError, RestrictedError) as error:
        named = getattr(error, "protected_objects", ()) or getattr(error, "restricted_objects", ())
        names = ", ".join(sorted({str(each._meta.verbose_name) for each in named}))
        raise InUse(f"{row} cannot be deleted: something rests on it ({names}).") from error


def _outermost_first(tables: Iterable[Table]) -> list[Table]:
    """Return tables so that one that points to another comes before it."""
    left, ordered = dict.fromkeys(tables), []
    while left:
        pointed = {
            field.related_model
            for table in left
            for field in table._meta.concrete_fields
            if field.is_relation and field.related_model is not table
        }
        free = [table for table in left if table not in pointed] or [next(iter(left))]
        for table in free:
            del left[table]
        ordered += free
    return ordered


def _name(table: Table, count: int) -> str:
    return str(table._meta.verbose_name if count == 1 else table._meta.verbose_name_plural)


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


class ConfirmForm(forms.Form):
    """The name of what is meant. Without it the form says what would go, so that every door shows it first."""

    confirm = forms.CharField(max_length=300, label="Name", help_text="In full, so that nothing else is meant.")

    def __init__(
        self, data: MultiValueDict[str, Any] | None, *, name: str, consequences: str, refusal: str = ""
    ) -> None:
        super().__init__(data)
        self.name, self.consequences = name, refusal or consequences
        self.refusal = refusal or f"{consequences} To do that, give the name in full: {name}"
        self.fields["confirm"].error_messages["required"] = self.refusal
        self.is_refused = bool(refusal)
        self.fields["confirm"].widget.attrs |= {"autocomplete": "off", "placeholder": name}

    def clean_confirm(self) -> str:
        """Refuse any other name, and tell what would be done."""
        entered = str(self.cleaned_data["confirm"])
        if self.is_refused or entered != self.name:
            raise forms.ValidationError(self.refusal)
        return entered


def deletion_form(row: Model, _first: JsonObject, data: MultiValueDict[str, Any] | None) -> ConfirmForm:
    """Return the form of a deletion, with what hangs on the row."""
    found = dependents_of(row)
    return ConfirmForm(data, name=str(row).strip(), consequences=found.words, refusal=found.refusal)


Row = TypeVar("Row", bound=Model)
Named = TypeVar("Named", bound=Model, default=Any)
Subject = TypeVar("Subject")
Filled = TypeVar("Filled", bound=forms.BaseForm)

PageData = MultiValueDict[str, Any]
PageFiles = MultiValueDict[str, Any]
MOST_ROWS = 200  # of one answer of a list
MOST_NUMBER = 2**31 - 1  # that a column of whole numbers holds in every database
CREATE, CHANGE, DELETE = "create", "change", "delete"  # mean the same for each noun; what is deleted is returned
ESTIMATE = "estimate"  # what CREATE would cost
READING = ("list", "show")  # verbs of each noun that are no actions
NOUNS: dict[str, Noun[Any]] = {}  # by name, as they are declared


def noun_without_rows(name: str, plural: str, *, help: str, permission: str) -> Noun[Any]:
    """Return a noun of what is no rows: nothing of it is listed or shown but by its acts."""
    return Noun(
        name=name,
        plural=plural,
        help=help,
        reference=Reference(name, ()),
        rows=lambda _person: User.objects.none(),
        view_permission=permission,
        shown=dict,
        reading=(),
    )


def declared_nouns() -> Mapping[str, Noun[Any]]:
    """Return every noun by its name: those of the modules or packages `actions` of the installed apps."""
    for config in apps.get_app_configs():
        folder = Path(config.path)
        for file in (*folder.glob("actions.py"), *sorted(folder.glob("actions/*.py"))):
            import_module(".".join([config.name, *file.relative_to(folder).with_suffix("").parts]))
    return NOUNS


class NoInput(forms.Form):
    """The form of an action that needs to be told nothing."""


class InvalidInput(Refused):
    """Entries that the form of an action refuses; `errors` holds the sentences by field, "" for those of none."""

    def __init__(self, errors: Mapping[str, Iterable[str]]) -> None:
        self.errors = {name: list(sentences) for name, sentences in errors.items()}
        super().__init__(" ".join(sentence for sentences in self.errors.values() for sentence in sentences))

    @classmethod
    def of(cls, form: forms.BaseForm) -> InvalidInput:
        """Return what is wrong with a form."""
        return cls({"" if name == "__all__" else str(name): map(str, errors) for name, errors in form.errors.items()})


@dataclass(frozen=True, slots=True)
class ActionCall(Generic[Subject, Filled]):
    """One act: on what, with which valid form, by whom (None: the site itself) and when."""

    subject: Subject
    form: Filled
    actor: User | None
    at: datetime

    @property
    def data(self) -> JsonDict:
        """What was entered, as the form cleaned it."""
        cleaned: JsonDict = self.form.cleaned_data
        return cleaned

    @property
    def person(self) -> User:
        """Who does what the site itself cannot."""
        assert self.actor is not None, "doors ask for a person"
        return self.actor


@dataclass(frozen=True, slots=True)
class Reference(Generic[Named]):
    """How people and programs name a row: by its number, by one of its fields if any, or as `finder` reads a text."""

    what: str  # it is called, in a refusal
    fields: tuple[str, ...] = ("name",)
    finder: Callable[[QuerySet[Any], str], Any] | None = None
    rows: Callable[[], QuerySet[Named]] | None = None  # where commands look for it

    def named(self, value: object) -> Named:
        """Return the row that a command names among all. Raises: Refused, as `find`."""
        assert self.rows is not None, f"nobody said where each {self.what} is"
        return self.find(self.rows(), value)

    def find(self, rows: QuerySet[Row], value: object) -> Row:
        """Return the row of these that is named.

        Raises:
            Refused: none is, or several; the message lists the names of these rows.
        """
        if isinstance(value, int) or not self.fields:
            row = numbered_row(rows, str(value))
            if row is None:
                raise Refused(f"There is no {self.what} {value}.")
            return row
        try:
            if self.finder is not None:
                named: Row = self.finder(rows, str(value))
                return named
            return look_up(rows, str(value), what=self.what, fields=self.fields)
        except BadInput as refusal:
            raise Refused(str(refusal)) from refusal


def columns(*ways: str, **computed: Callable[[Any], object]) -> Callable[[Any], JsonDict]:
    """Return what shows a row: its attributes, each as `name` or `name as key`, then what is computed of it.

    Dots lead from one row to another, and to None where there is none. Moments are in ISO 8601, amounts are texts, and
    of a row stands its name.
    """
    attributes = {way.rpartition(" ")[2]: way.partition(" ")[0].split(".") for way in ways}

    def shown(row: Any) -> JsonDict:
        found = {key: _attribute(row, names) for key, names in attributes.items()}
        return found | {key: value_of(row) for key, value_of in computed.items()}

    return shown


def _attribute(row: Any, names: Sequence[str]) -> object:
    value = row
    for name in names:
        value = None if value is None else getattr(value, name)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Model | Decimal):
        return str(value)
    return value() if callable(value) else value


def _fits_a_column(number: int) -> None:
    if abs(number) > MOST_NUMBER:
        raise forms.ValidationError(f"Enter a number no further from 0 than {MOST_NUMBER:,}.")


class ActionOptions(TypedDict, Generic[Subject, Filled], total=False):
    """What an action may say about itself.

    `about`: under which name the form takes the subject beside its data. `makes_form` builds the form where it takes
    more: from the subject, what `first_fields` read and the data of a page (None: as a page shows it at first). `rows`:
    what it can be done to, where that is less than what is seen. `said`: what came of it in a sentence, for the next
    page. `is_long`: it starts what ends later. `is_dry`: it only says what would be, and nothing that it writes is
    stored. `calls_models`: it waits for others, or stores in parts, so it is no transaction. `is_secret`: what it
    returns is shown once and kept nowhere. `needs_person`: the site itself cannot. `owned`: whose work it changes, so
    that only its owner, its co-owners and admins do it. `button`: what its button on the page of a row says, where no
    template places it; `icon`: the picture on it; `question`: what is asked before it acts; `is_offered`: whether a row
    has it, where not each does. `sends_file`: it returns a `SentFile` of one of these types, which pages and the API
    send and commands write. `makes`: the noun of what it returns, where that is another. `leads_to`: the page that
    comes after the row is gone.
    """

    about: str
    makes_form: Callable[[Subject, JsonObject, PageData | None], Filled]
    first_fields: Mapping[str, forms.Field]
    rows: Callable[[User | None], QuerySet[Any]]
    shown: Callable[[Any], JsonDict]
    lines: Callable[[JsonDict], str]
    said: Callable[[Any], str]
    is_long: bool
    is_dry: bool
    calls_models: bool
    is_secret: bool
    sends_file: Sequence[str]
    needs_person: bool
    owned: Callable[[Subject], Owned] | None
    button: str
    icon: str
    question: str
    is_offered: Callable[[Subject], bool]
    makes: Noun[Any]
    leads_to: str


@dataclass(frozen=True, slots=True)
class Action(Generic[Subject, Filled]):
    """One thing that can be done: the verb of a noun, who may, what is entered, and the function that does it."""

    noun: Noun[Any]
    verb: str
    permission: str
    has_subject: bool
    form_class: type[Filled]
    function: Callable[[ActionCall[Subject, Filled]], object]
    options: ActionOptions[Subject, Filled]

    @property
    def words(self) -> str:
        """What it does, in sentences: help of the command and description of the API."""
        return cleandoc(self.function.__doc__ or "")

    @property
    def fields(self) -> dict[str, forms.Field]:
        """What is entered, by name: the fields of the form, but for hidden ones that it does not name in `OPEN`, and
        what is read before the form exists.
        """
        base_fields: dict[str, forms.Field] = self.form_class.base_fields  # type: ignore[attr-defined]  # a form's
        opened = getattr(self.form_class, "OPEN", ())
        shown = {name: field for name, field in base_fields.items() if not field.widget.is_hidden or name in opened}
        return {**shown, **self.options.get("first_fields", {})}

    @property
    def made(self) -> Noun[Any]:
        """The noun of what it returns."""
        return self.options.get("makes", self.noun)

    def rows(self, actor: User | None) -> QuerySet[Any]:
        """Return what it can be done to by a person."""
        return self.options.get("rows", self.noun.rows)(actor)

    def form(
        self, subject: Subject, first: JsonObject, data: PageData | None, files: PageFiles | None = None
    ) -> Filled:
        """Return the form as a page would show it, or with what the page would send."""
        makes_form, about = self.options.get("makes_form"), self.options.get("about")
        told: JsonDict = {about: subject} if about else {}
        form = self.form_class(data, **told) if makes_form is None else makes_form(subject, first, data)
        for shown in form.fields.values():
            if type(shown) is forms.IntegerField and shown.max_value is None:
                shown.validators.append(_fits_a_column)
        if files:
            form.files = files
        return form

    def check_owner(self, subject: Subject, person: User | None) -> None:
        """Pass unless it changes somebody else's work. Raises: NotOwner."""
        owned = self.options.get("owned")
        if owned is not None:
            check_owner(owned(subject), person)

    def is_open_to(self, subject: Subject, person: User) -> bool:
        """Whether a person may do it to a row: by their role, by what they see, and by whose work it is."""
        owned = self.options.get("owned")
        return (
            person.has_perm(self.permission)
            and self.rows(person).filter(pk=getattr(subject, "pk", None)).exists()
            and (owned is None or is_owner(owned(subject), person))
        )

    def carry_out(self, act: ActionCall[Subject, Filled]) -> Any:
        """Do it, in one transaction unless it calls models, and return what came of it.

        Raises:
            Refused: it cannot be done, or it is somebody else's.
        """
        self.check_owner(act.subject, act.actor)
        if self.options.get("calls_models"):
            return self.function(act)
        with transaction.atomic():
            result = self.function(act)
            if self.options.get("is_dry"):
                transaction.set_rollback(True)
        return result

    def shown(self, result: Any) -> JsonDict:
        """Return what came of it as commands and the API show it."""
        if self.verb == DELETE:
            return {self.noun.name: str(result), "deleted": True}
        return self.options.get("shown", self.made.shown)(result)

    def lines(self, facts: JsonDict) -> str:
        """Return what is shown as lines for a terminal."""
        as_facts = self.verb == DELETE or "shown" in self.options
        return self.options.get("lines", facts_text if as_facts else self.made.lines)(facts)


@dataclass
class Noun(Generic[Row]):
    """A kind of thing: how one is named, who may see which, how it is shown and listed, and what can be done with it.

    A list is in the order of numbers, the newest first.
    """

    name: str
    plural: str
    help: str  # of its command
    reference: Reference
    rows: Callable[[User | None], QuerySet[Row]]  # that a person may see; what is not among them is not found
    view_permission: str
    shown: Callable[[Any], JsonDict]  # of one row, after an act
    detail: Callable[[Any], JsonDict] | None = None  # of one row, when it is asked for; None: as after an act
    in_list: Callable[[Any], JsonDict] | None = None  # of one row of many; None: as after an act
    reading: tuple[str, ...] = READING  # verbs that are no actions; none of what is no rows, which an act shows
    filter_form: type[forms.Form] = NoInput  # of a list
    listed: Callable[..., QuerySet[Row]] | None = None  # by the names of filters; None: what a person may see
    lines: Callable[[JsonDict], str] = facts_text  # of a detail, for a terminal
    references: Mapping[type[Model], Reference] = field(default_factory=dict)  # of what is named in forms
    actions: dict[str, Action[Any, Any]] = field(default_factory=dict)
    needs_broker: bool = False  # its command has one at hand while it runs
    prepares: Callable[[], object] | None = None  # what a served site has, before a command makes a new one
    waits: Callable[[Any, bool], object] | None = None  # until what was started has ended, drawing a bar or not

    def __post_init__(self) -> None:
        assert self.name not in NOUNS, f"{self.name} is declared twice"
        NOUNS[self.name] = self

    @property
    def plural_words(self) -> str:
        """The plural as people write it."""
        return self.plural.replace("-", " ")

    @property
    def filters(self) -> dict[str, forms.Field]:
        """The fields that choose rows of a list."""
        return dict(self.filter_form.base_fields)

    def detailed(self, row: Row) -> JsonDict:
        """Return one row as it is shown to whoever asks for it."""
        return (self.detail or self.shown)(row)

    def page(self, filters: JsonObject, *, among: QuerySet[Row], after: int | None, limit: int) -> JsonDict:
        """Return the first rows behind the one of this number, and the number to go on from; None at the end.

        Only rows `among` those that a person may see are listed.
        """
        rows = among if self.listed is None else self.listed(**filters)
        if self.listed is not None and among.query.has_filters():
            rows = rows.filter(pk__in=among.values("pk"))
        rows = rows.order_by("-pk")
        found = list((rows if after is None else rows.filter(pk__lt=after))[: limit + 1])
        return {
            "rows": list(map(self.in_list or self.shown, found[:limit])),
            "next": found[limit - 1].pk if len(found) > limit else None,
        }

    def reference_to(self, model: type[Model]) -> Reference:
        """Return how rows of a model are named in the forms of this noun's actions."""
        return self.references.get(model) or Reference(str(model._meta.verbose_name))

    def one(
        self,
        verb: str,
        *,
        permission: str,
        form: type[Filled] = NoInput,  # type: ignore[assignment]  # a default of the widest kind
        **options: Unpack[ActionOptions[Row, Filled]],
    ) -> Callable[[Callable[[ActionCall[Row, Filled]], object]], Action[Row, Filled]]:
        """Declare what is done to one of its kind, by the function that follows.

        A deletion says so, and one that asks for the name first has a button and shows what hangs on the row.
        """
        if verb == DELETE:
            asking = {"makes_form": deletion_form, "button": "Delete", "icon": "trash"} if form is ConfirmForm else {}
            defaults: Any = {"said": lambda row: f"{row} is deleted.", **asking}
            options = defaults | options
        return lambda function: self._declared(Action(self, verb, permission, True, form, function, options))

    def new(
        self,
        verb: str,
        *,
        permission: str,
        form: type[Filled],
        **options: Unpack[ActionOptions[None, Filled]],
    ) -> Callable[[Callable[[ActionCall[None, Filled]], object]], Action[None, Filled]]:
        """Declare what is done to none in particular: making a new one, or saying what it would be."""
        return lambda function: self._declared(Action(self, verb, permission, False, form, function, options))

    def _declared(self, action: Action[Subject, Filled]) -> Action[Subject, Filled]:
        assert action.verb not in {*self.actions, *READING}, f"{self.name} {action.verb} is declared twice"
        self.actions[action.verb] = action
        return action


PERSON = Reference("account", ("username", "email"), rows=User.objects.all)
ACTIVE_PERSON = Reference("active account", PERSON.fields, rows=lambda: User.objects.filter(is_active=True))


def acting_person(text: str, *, permission: str) -> User | None:
    """Return an active person who may do what the page demands of whoever presses its button; None for no name.

    Raises:
        Refused: there is no such person, or they may not.
    """
    if not text:
        return None
    person = ACTIVE_PERSON.named(text)
    if not person.has_perm(permission):
        raise Refused(f"“{person.username}” may not do this. Name somebody who may with --by.")
    return person

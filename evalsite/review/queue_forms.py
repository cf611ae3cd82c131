"""Forms of queues: their settings and members, their files, and audits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms.utils import ErrorDict
from django.http import QueryDict
from django.urls import reverse_lazy
from django.utils import timezone

from evalsite.base.actions.entries import RowField, TextsField
from evalsite.base.form_fields import DayField, LinesField, NameField, offer_rows, with_plain_ends
from evalsite.base.tables import CONTENT_TYPES, DATA_TYPES
from evalsite.base.types import JsonDict, choices_of, whole_number
from evalsite.review.audit_plans import cases_for
from evalsite.review.models import OrderPolicy, Prefill, Queue, ReviewItem, Team
from evalsite.review.questions.form_files import BadForm, read_form
from evalsite.review.questions.scales import Label, reads_highest_first, scale_from_words, words_of
from evalsite.review.routing import RETEST_GAP
from evalsite.review.selectors.annotation_exports import LABEL_STUDIO
from evalsite.review.selectors.audits import AuditSubject
from evalsite.review.selectors.pages import ItemFilters, choose_members, items_matching
from evalsite.review.services.claims import MOST_AT_ONCE
from evalsite.review.services.queues import guidelines_moved
from evalsite.review.states import ItemStatus, QueueMode
from evalsite.review.tables.queue_files import MaterialFile, read_materials
from judging.forms.imports import RecordFileForm, SizedFileField
from judging.forms.new_runs import AgreedForm
from judging.specs.records.file_records import ParsedFile

NAME_HINT = "Annotators see this name, so do not name systems, judges or the file. Empty: a neutral name."
QUESTION_HELP = "Shown with the choices. Empty: “Which response is better?” or “How good is the response?”."
OVERLAP_HELP = (
    "From 0 to 1: the share of items, drawn at random, that ask so many annotators; the others ask one. A change "
    "applies to items without annotations or assignments."
)
TEAM_HELP = "Its people are the members of the queue, and so is who joins it later."
BY_PARTS = "parts"
MODES_OF_ANY = [(value, text) for value, text in choices_of(QueueMode) if value != QueueMode.PREFILLED]
SEARCH, SEARCHED = "member_search", "member_searched"  # what is typed, and what the people listed were found by


class MemberPicker(forms.CheckboxSelectMultiple):
    """The people ticked and the first that a search finds: its page answers the search with whatever else was typed."""

    template_name = "review/_member_picker.html"
    search = ""

    def get_context(self, name: str, value: Any, attrs: JsonDict | None) -> JsonDict:
        """Return whom to list."""
        return _picker_context(self, name, value or (), self.search)


class PersonPicker(forms.RadioSelect):
    """One person: the one chosen and the first that a search finds. `search_url`: where the form is sent, if elsewhere.

    `suffix` tells the pickers of one page apart: it ends the ids and the names of what belongs to the search.
    """

    template_name = "review/_member_picker.html"
    search = search_url = suffix = ""

    def get_context(self, name: str, value: Any, attrs: JsonDict | None) -> JsonDict:
        """Return whom to list, and what choosing nobody is called where that may be."""
        nobody = getattr(getattr(self.choices, "field", None), "empty_label", None)
        context = {"search_url": self.search_url, "suffix": self.suffix, "nobody": nobody, "is_nobody": not value}
        return _picker_context(self, name, [value], self.search) | context


def _picker_context(picker: MemberPicker | PersonPicker, name: str, chosen: Iterable[Any], search: str) -> JsonDict:
    chosen_ids = [int(key) for key in chosen if re.fullmatch(r"[0-9]{1,9}", str(key))]
    people = getattr(picker.choices, "queryset", User.objects.none())
    members = choose_members(people=people, chosen_ids=chosen_ids, search=search)
    return {"name": name, "input_type": picker.input_type, "members": members}


def is_member_search(data: Mapping[str, Any]) -> bool:
    """Return whether a form was sent to search people: by its button, or by Enter in the field of the search."""
    typed = {name: text for name, text in data.items() if name.startswith(SEARCH) and not name.startswith(SEARCHED)}
    return "search" in data or any(
        text != data.get(SEARCHED + name.removeprefix(SEARCH), "") for name, text in typed.items()
    )


class PeopleSearchForm(forms.BaseForm):
    """A form that is also sent to search people: then it is not valid, and nothing is wrong with it yet."""

    def is_valid(self) -> bool:
        return super().is_valid() and not is_member_search(self.data)

    @property
    def errors(self) -> ErrorDict:
        return ErrorDict() if is_member_search(self.data) else super().errors


class ReasonForm(forms.Form):
    """Why something is done to an item."""

    reason = forms.CharField(max_length=300, label="Reason", error_messages={"required": "Give a reason."})


class PriorityForm(forms.Form):
    """How early an item is handed out."""

    priority = forms.IntegerField(
        min_value=-1_000,
        max_value=1_000,
        label="Priority",
        help_text="Higher comes first, whatever the order of the queue; 0 like the others, negative after them.",
    )


class DetailForm(forms.Form):
    """One column of what is known of an item."""

    name = forms.CharField(
        max_length=100, label="Column", help_text="scenario, language, or a column of the file. Annotators see none."
    )
    value = forms.CharField(
        max_length=2_000, required=False, label="Value", help_text="Empty: the column is taken away."
    )


PLACES = ("page", "size")  # in an address, that choose no items


class QueryForm(forms.Form):
    """Which items of a queue are meant, as the address of its page says it."""

    query = forms.CharField(
        max_length=2_000,
        required=False,
        label="Filter",
        help_text="As the address of the queue's page says it after the question mark: "
        f"status=split&person=ada. Filters: {', '.join(ItemFilters.names())}.",
        widget=forms.HiddenInput,
    )
    OPEN: tuple[str, ...] = ("query",)

    def clean_query(self) -> str:
        """Refuse filters that there are not, and values that filter nothing: more items than meant would be chosen."""
        given = {name: text for name, text in QueryDict(self.cleaned_data["query"]).dict().items() if text}
        filters = ItemFilters.read(given)
        if wrong := [name for name in given if name not in PLACES and not getattr(filters, name, "")]:
            raise forms.ValidationError(f"No filter reads like this: {', '.join(wrong)}.")
        return filters.query


class ItemsForm(QueryForm):
    """Some items of a queue: those that are named, or all that filters choose."""

    OPEN = ("items", "query", "matching")

    items = forms.ModelMultipleChoiceField(
        ReviewItem.objects.none(),
        required=False,
        label="Items",
        help_text="Numbers of items of the queue, or what stands for them in the addresses of their pages.",
        widget=forms.MultipleHiddenInput,
    )
    matching = forms.IntegerField(
        min_value=0,
        required=False,
        label="All that match",
        help_text="In place of items: all that the filter chooses, which are so many, as `queue count-items` says.",
        widget=forms.HiddenInput,
    )

    def __init__(self, *arguments: Any, queue: Queue, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queue = queue
        offer_rows(self, "items", queue.items.all())

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        """Count, for a page that names a filter, what it chooses now."""
        query = self.initial.get("query")
        if field_name == "matching" and query is not None and not self.initial.get("items"):
            return items_matching(queue=self.queue, query=query, at=timezone.now()).count()
        return super().get_initial_for_field(field, field_name)

    def clean(self) -> None:
        """Choose the items; refuse filters that choose other items by now than whoever says so has seen."""
        super().clean()
        cleaned = self.cleaned_data
        if self.errors:
            return
        expected, items = cleaned["matching"], cleaned["items"]
        if expected is not None:
            found = items_matching(queue=self.queue, query=cleaned["query"], at=timezone.now()).order_by("pk")
            if (count := found.count()) != expected:
                raise forms.ValidationError(f"By now the filter chooses {count:,} items, not {expected:,}. Look again.")
            items = found[: MOST_AT_ONCE + 1]
        if not 0 < len(items) <= MOST_AT_ONCE:
            self.add_error("items", f"Choose at least one item and at most {MOST_AT_ONCE:,}.")
        cleaned["items"] = sorted(items, key=lambda item: item.pk)  # locked in this order

    @property
    def consequences(self) -> str:
        """How many items are chosen, as a page says before it acts."""
        count = self["matching"].value()
        count = len(self["items"].value() or ()) if count in (None, "") else whole_number(str(count)) or 0
        return f"{count:,} item{'' if count == 1 else 's'} chosen."


class HandForm(PeopleSearchForm, ReasonForm):
    """Whom an item goes to, and why."""

    person = forms.ModelChoiceField(
        User.objects.none(),
        empty_label=None,
        label="Person",
        widget=PersonPicker,
        error_messages={"required": "Choose a person."},
    )
    field_order = ("person", "reason")

    def __init__(self, *arguments: Any, people: QuerySet[User], search_url: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        person = self.fields["person"]
        if isinstance(person, forms.ModelChoiceField) and isinstance(person.widget, PersonPicker):
            person.queryset, person.widget.search = people, self.data.get(SEARCH, "")
            person.widget.search_url = search_url


class ItemsHandForm(HandForm, ItemsForm):
    """Whom some items of a queue go to, and why."""


class WithdrawForm(ReasonForm):
    """From whom an item is taken, and why."""

    person = forms.ModelChoiceField(
        User.objects.none(),
        label="Who has the item",
        error_messages={"invalid_choice": "This item is not assigned to this person."},
    )
    field_order = ("person", "reason")

    def __init__(self, *arguments: Any, people: QuerySet[User], **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_rows(self, "person", people)


class ReleaseForm(HandForm):
    """Who gets what somebody holds, if anybody, and why."""

    person = forms.ModelChoiceField(
        User.objects.none(),
        required=False,
        blank=True,
        empty_label="No particular person",
        label="Assign them to",
        help_text="Items that this person has annotated or cannot annotate go to the next annotator.",
        widget=PersonPicker,
    )

    def __init__(self, *arguments: Any, holder: User | None, people: QuerySet[User], **options: Any) -> None:
        super().__init__(*arguments, people=people if holder is None else people.exclude(pk=holder.pk), **options)
        self.holder = holder

    def clean(self) -> None:
        """Require somebody whose items they are."""
        if self.holder is None:
            raise forms.ValidationError("Name the person who has the items.")


class QuotaForm(forms.Form):
    """How much of a queue a person is to do, and until when."""

    person = forms.ModelChoiceField(User.objects.none(), empty_label=None, help_text="Who may annotate in the queue.")
    items = forms.IntegerField(
        min_value=1, required=False, label="Items", help_text="At most so many. Empty: no limit."
    )
    until = DayField(label="Last day", help_text="They are handed no items after it. Empty: no last day.")

    def __init__(self, *arguments: Any, people: QuerySet[User], **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_rows(self, "person", people)


def _check_members(form: forms.BaseForm) -> None:
    """Take the members from a team; refuse others beside it, and to ask more people about each item than there are."""
    team, chosen = form.cleaned_data.get("team"), set(form.cleaned_data.get("members") or ())
    if team is not None:
        form.cleaned_data["members"] = people = list(team.members.all())
        if "members" in form.changed_data and chosen and chosen != {*people}:
            form.add_error("members", f"The members are those of {team}. Change the team, or choose none.")
    members, quorum = len(form.cleaned_data.get("members") or ()), form.cleaned_data.get("quorum") or 0
    is_chosen = bool({"members", "team", "quorum"} & {*form.changed_data}) and not is_member_search(form.data)
    if is_chosen and 0 < members < quorum:
        message = (
            f"{quorum} annotators per item are more than the members chosen ({members}). Add members or ask fewer."
        )
        form.add_error("quorum", message)


class MembersField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """The people who may answer in a queue."""

    widget = MemberPicker

    def __init__(self) -> None:
        hint = "Without any, every annotator can work on the queue."
        super().__init__(queryset=User.objects.none(), required=False, help_text=hint)


def offer_members(form: forms.BaseForm, people: QuerySet[User]) -> None:
    """Let a form take these people as members, and list those that its search finds."""
    offer_rows(form, "members", people)
    form.fields["members"].widget.search = form.data.get(SEARCH, "")


class QuorumField(forms.IntegerField):
    """How many people annotate an item."""

    def __init__(self, **options: Any) -> None:
        errors = dict.fromkeys(("min_value", "max_value"), "Enter a number of annotators between 1 and 20.")
        super().__init__(min_value=1, max_value=20, label="Annotators per item", error_messages=errors, **options)


QUEUE_CHOICES = (
    *("name", "question", "guidelines", "mode", "quorum", "overlap", "order", "retest_share", "gold_mark"),
    *("training_mark", "shows_agreement"),
)


SHARES = {"overlap": 1, "retest_share": 0.5, "gold_mark": 1, "training_mark": 1}  # at most


class QueueForm(PeopleSearchForm, forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """What the owner of a queue decides."""

    quorum = QuorumField(help_text="A change applies to items without annotations or assignments.")
    members = MembersField()
    guidelines_version = forms.IntegerField(
        required=False,
        widget=forms.HiddenInput,
        help_text="The version of the guidelines that yours are made of. Empty: the one that holds.",
    )

    class Meta:
        model = Queue
        fields = (*QUEUE_CHOICES, "team", "members")
        field_classes = {"name": NameField, "guidelines": LinesField}
        labels = {
            "question": "Question for annotators",
            "mode": "Annotation mode",
            "overlap": "Share of items asked of so many",
            "order": "Order of items",
            "retest_share": "Share annotated twice",
            "gold_mark": "Pass mark on gold items",
            "training_mark": "Pass mark on the training round",
            "shows_agreement": "Show agreement to annotators",
        }
        widgets = {"guidelines": forms.Textarea(attrs={"rows": 10}), "mode": forms.RadioSelect}
        help_texts = {
            "name": "Annotators see this name, so do not name systems, judges or the file.",
            "question": QUESTION_HELP,
            "guidelines": "Markdown. Shown beside every item.",
            "mode": "Only blind annotations measure agreement without the influence of judges.",
            "retest_share": "From 0 to 0.5: the chance with which each of a person's own items comes back to them, to "
            f"measure whether they agree with themselves. It comes after {RETEST_GAP} to {2 * RETEST_GAP} other "
            "items, so the last ones of a queue never do: of 45 items at 0.2, about 3 come back.",
            "gold_mark": "From 0 to 1: whoever shows, after ten gold items or more, that they answer a smaller share "
            "right is paused, and you are told. Without gold items nothing is checked.",
            "overlap": OVERLAP_HELP,
            "training_mark": "From 0 to 1: whoever answers a smaller share of the training items right is handed no "
            "items, and you are told. 0: everybody goes on.",
            "shows_agreement": "Their own page shows how often their label became the final label.",
            "team": TEAM_HELP,
        }

    def __init__(self, *arguments: Any, people: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial["guidelines_version"] = self.instance.guidelines_version
        self.kept = {name: getattr(self.instance, name) for name in ("order", *SHARES)}
        for name in self.kept:
            self.fields[name].required = False
        mode = self.fields["mode"]
        offer_members(self, people)
        if isinstance(mode, forms.ChoiceField):
            has_answers = Prefill.objects.filter(item__queue=self.instance).exists() if self.instance.pk else False
            mode.choices = choices_of(QueueMode) if has_answers else MODES_OF_ANY

    def clean(self) -> None:
        """Keep what is not given; refuse what is no share, and more annotators per item than there are members."""
        super().clean()
        for name, kept in self.kept.items():
            if self.cleaned_data.get(name, kept) in (None, ""):
                self.cleaned_data[name] = kept
            if name in SHARES and not 0 <= self.cleaned_data.get(name, 0) <= SHARES[name]:
                self.add_error(name, f"Enter a share from 0 to {SHARES[name]}.")
        _check_members(self)
        queue, cleaned = self.instance, self.cleaned_data
        # guidelines not changed here stay; those that would undo what somebody else changed are refused
        begun_with = cleaned.pop("guidelines_version", None) or queue.guidelines_version
        unchanged = [queue.guidelines, *queue.past_guidelines.filter(version=begun_with).values_list("text", flat=True)]
        if cleaned.get("guidelines", "") in map(with_plain_ends, unchanged):
            cleaned["guidelines"] = queue.guidelines
        elif begun_with != queue.guidelines_version:
            self.add_error("guidelines", guidelines_moved(queue, begun_with))


class QueueFilterForm(forms.Form):
    """Which queues are listed."""

    archived = forms.BooleanField(label="Archived ones", required=False)


class ItemFilterForm(forms.Form):
    """Which items are listed."""

    queue = RowField(
        Queue.objects.all(), what="queue", fields=("slug", "name"), help_text="The slug or the number of a queue."
    )
    text = forms.CharField(required=False, max_length=100, help_text="Part of the question, or of an answer in a file.")
    person = RowField(
        User.objects.all(), what="account", fields=("username",), help_text="Who annotated, skipped or holds them."
    )
    status = forms.ChoiceField(required=False, choices=[("", "All"), *choices_of(ItemStatus)])
    view = forms.CharField(required=False, max_length=80, help_text="A view that is kept with the queue, by its name.")

    def clean(self) -> None:
        """Refuse a view that the queue does not have."""
        super().clean()
        cleaned = self.cleaned_data
        if view := cleaned.get("view"):
            queue = cleaned.get("queue")
            if queue is None:
                self.add_error("queue", "Name the queue that the view is kept with.")
            elif view not in queue.views:
                known = ", ".join(sorted(queue.views)) or "none"
                self.add_error("view", f"The queue has no view of this name. There are: {known}.")


class FormField(forms.CharField):
    """Questions in YAML or JSON; what is cleaned is the definition that a queue stores, {} for none."""

    def __init__(self, *, required: bool) -> None:
        super().__init__(
            max_length=65_536,
            required=required,
            label="Questions",
            help_text="YAML or JSON: several questions on each item, in place of one with labels. A queue's questions "
            "never change once it is created.",
            widget=forms.Textarea(
                attrs={
                    "rows": 12,
                    "spellcheck": "false",
                    "class": "form-control code",
                    "hx-post": reverse_lazy("review:form-preview"),
                    "hx-trigger": "load, input changed delay:400ms",
                    "hx-target": "#form-preview",
                    "hx-swap": "outerHTML",
                    "hx-params": "form,csrfmiddlewaretoken",
                }
            ),
        )

    def clean(self, value: Any) -> JsonDict:
        text = super().clean(value)
        try:
            return read_form(text) if text.strip() else {}
        except BadForm as error:
            raise forms.ValidationError(str(error)) from error


class FormTextForm(forms.Form):
    """A form alone, to see what it asks."""

    form = FormField(required=True)


class MaterialFileForm(RecordFileForm):
    """A file of questions with responses, and how it is read."""

    file = SizedFileField(
        label="File",
        help_text="A table of questions with one or two responses each, or the export of an annotation tool; with "
        "pictures beside it in a ZIP.",
    )

    @cached_property
    def materials(self) -> ParsedFile[MaterialFile]:
        """What is in the file of a valid form."""
        data, has_scale = self.cleaned_data, bool(self.cleaned_data.get("scale"))
        return read_materials(data["contents"], data["file_name"], options=self.reading, has_scale=has_scale)


class QueueFileForm(MaterialFileForm):
    """A file of pairs or single responses, and how people are to answer it."""

    field_order = ("file",)

    name = NameField(max_length=200, required=False, help_text=NAME_HINT)
    question = forms.CharField(max_length=300, required=False, label="Question to annotators", help_text=QUESTION_HELP)
    guidelines = LinesField(
        required=False, widget=forms.Textarea(attrs={"rows": 6}), help_text="Markdown. Empty: the default guidelines."
    )
    scale = forms.CharField(
        max_length=300,
        required=False,
        label="Labels",
        help_text="For single responses: from the lowest to the highest, separated by commas, each with or without a"
        " description: 1 = useless, 2, 3, 4, 5 = complete. Empty: right, partly right, wrong.",
    )
    form = FormField(required=False)
    order_is_meant = forms.BooleanField(
        required=False,
        label="The worth of the labels is as I mean it",
        help_text="The words of the lowest and the highest label read as if the scale were the other way round.",
    )
    quorum = QuorumField(initial=2)
    overlap = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=1.0,
        required=False,
        label="Share of items asked of so many",
        help_text=OVERLAP_HELP,
    )
    mode = forms.ChoiceField(
        choices=MODES_OF_ANY, initial=QueueMode.BLIND, label="Annotation mode", widget=forms.RadioSelect
    )
    order = forms.ChoiceField(choices=OrderPolicy.choices, initial=OrderPolicy.GIVEN, label="Order of items")
    team = forms.ModelChoiceField(Team.objects.order_by("name"), required=False, help_text=TEAM_HELP)
    members = MembersField()

    def __init__(self, *arguments: Any, people: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        offer_members(self, people)
        if not _reads_highest_first(self.data.get("scale", "")):
            del self.fields["order_is_meant"]

    @property
    def is_in_doubt(self) -> bool:
        """Whether the scale reads upside down and nobody has said that it is meant so."""
        return "order_is_meant" in self.fields and not self.cleaned_data["order_is_meant"]

    def plan(self) -> Queue:
        """Return the queue as its owner decides about it, not stored."""
        data = self.cleaned_data
        return Queue(
            name=data["name"],
            source_file=data["file_name"],
            guidelines=data["guidelines"],
            question=data["question"],
            form=data["form"],
            quorum=data["quorum"],
            overlap=1.0 if data["overlap"] is None else data["overlap"],
            mode=QueueMode(data["mode"]),
            order=OrderPolicy(data["order"]),
            team=data["team"],
        )

    def clean(self) -> None:
        """Refuse labels beside a form, whose questions have their own."""
        super().clean()
        cleaned = self.cleaned_data
        if cleaned.get("form") and cleaned.get("scale"):
            self.add_error("scale", "The form says what is asked, so leave the labels empty.")
        _check_members(self)

    def clean_scale(self) -> tuple[Label, ...]:
        """Return the labels; numbers are worth their place between the lowest and the highest."""
        try:
            return scale_from_words(words_of(self.cleaned_data["scale"]))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


def _reads_highest_first(text: str) -> bool:
    try:
        return reads_highest_first(scale_from_words(words_of(text)))
    except ValueError:
        return False  # which the field says


class AnnotationFileForm(forms.Form):
    """A file of answers that a queue's page exported."""

    file = SizedFileField(
        label="File", help_text="CSV, XLSX or JSONL, as exported from the page of a queue, or JSON of Label Studio."
    )


class AnnotationsForm(AnnotationFileForm):
    """The same with who the people of the file are here."""

    people = TextsField(
        required=False,
        widget=forms.SelectMultiple,
        help_text="NAME=USER: a name in the file, and the user name of the same person on this site",
    )
    create_people = forms.BooleanField(
        required=False, help_text="Add the other people, without a role and unable to sign in"
    )

    def clean_people(self) -> dict[str, str]:
        """Return the user names here by the names in the file."""
        pairs = [text.rpartition("=") for text in self.cleaned_data["people"] or ()]
        if not all(name and user for name, _, user in pairs):
            raise forms.ValidationError("Write NAME=USER: the name in the file, then the user name on this site.")
        return {name: user for name, _, user in pairs}


class AnnotationsFileForm(forms.Form):
    """In which form annotations are sent."""

    format = forms.ChoiceField(
        choices=[(name, name) for name in (*CONTENT_TYPES, *DATA_TYPES, LABEL_STUDIO)],
        initial="csv",
        help_text="label-studio: tasks as Label Studio exports them.",
    )


class FilePeopleForm(forms.Form):
    """Who the people of a file are here, where the site knows nobody of that name."""

    create = forms.BooleanField(
        required=False,
        label="Add the other people",
        help_text="They get no role and cannot sign in. An admin can change that later.",
    )

    def __init__(self, *arguments: Any, unknown: Sequence[str], people: Any, may_create: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.unknown = tuple(unknown)
        if not may_create:
            del self.fields["create"]
        for number, name in enumerate(self.unknown):
            picker = PersonPicker()
            picker.suffix = f"-{number}"
            picker.search = self.data.get(f"{SEARCH}{picker.suffix}", "")
            self.fields[f"person-{number}"] = forms.ModelChoiceField(
                queryset=people,
                required=False,
                blank=True,  # or a radio button has no choice of nobody
                label=name,
                empty_label="No account yet",
                widget=picker,
            )
        if "create" in self.fields:
            self.fields["create"] = self.fields.pop("create")  # after the people

    @property
    def names(self) -> dict[str, str]:
        """The user names here of the people that somebody was chosen for."""
        chosen = {name: self.cleaned_data.get(f"person-{number}") for number, name in enumerate(self.unknown)}
        return {name: person.username for name, person in chosen.items() if person is not None}


class AuditForm(AgreedForm):
    """How large a random sample shall be, said by its size or by how narrow its interval shall be."""

    BY_SIZE, BY_WIDTH = "size", "width"
    use_required_attribute = False  # only one of the two is

    chosen_by = forms.ChoiceField(
        choices=[(BY_SIZE, "By number"), (BY_WIDTH, "By interval")],
        widget=forms.RadioSelect,
        label="Sample size",
    )
    size = forms.IntegerField(
        min_value=0,
        label="Number of cases",
        help_text="0: no audit.",
        error_messages={"required": "Enter a number of cases."},
    )
    width = forms.FloatField(
        error_messages={"required": "Enter a width."},
        min_value=0.1,
        max_value=50,
        label="Interval half-width, percentage points",
        help_text="Of a system's corrected mean, in the widest case: half of its responses are right.",
        widget=forms.NumberInput(attrs={"step": "0.1"}),
    )
    share = forms.FloatField(
        min_value=1,
        max_value=99,
        label="Expected mean, %",
        help_text="Mean score of the systems according to people. Enter 50 if unknown.",
        widget=forms.NumberInput(attrs={"step": "1"}),
    )

    def __init__(self, data: Mapping[str, Any] | None, *, subject: AuditSubject) -> None:
        super().__init__(data, initial=self.first_values(subject))
        self.subject = subject
        self.fields["size"].widget.attrs["max"] = subject.population

    @classmethod
    def first_values(cls, subject: AuditSubject) -> dict[str, int | str]:
        """Return what a page shows at first."""
        return {"chosen_by": cls.BY_SIZE, "size": subject.in_force, "width": 5, "share": 50}

    def clean(self) -> None:
        """Let only the one that was chosen be required, and turn an interval into a number."""
        super().clean()
        cleaned = self.cleaned_data
        by = cleaned.get("chosen_by")
        self.errors.pop(self.BY_WIDTH if by == self.BY_SIZE else self.BY_SIZE, None)
        if by == self.BY_WIDTH and cleaned.get("width"):
            cleaned["size"] = cases_for(cleaned["width"] / 100, cases=self.subject.population)
        elif by == self.BY_SIZE and (cleaned.get("size") or 0) > self.subject.population:
            self.add_error("size", f"There are {self.subject.population:,} cases.")

    @property
    def chosen(self) -> int:
        """The size, however it was said."""
        size: int = self.cleaned_data["size"]
        return size

    @property
    def expected(self) -> float:
        """The expected share, from 0 to 1."""
        share: float = self.cleaned_data["share"]
        return share / 100

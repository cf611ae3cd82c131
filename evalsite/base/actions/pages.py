"""The doors of pages: a button that does something to a row, and a page with the form of an action."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.views.decorators.cache import never_cache

from evalsite.base.actions.declarations import CHANGE, NOUNS, Action, ActionCall
from evalsite.base.actions.entries import first_entries
from evalsite.base.http import PLAIN, PageRequest, SentFile, V, form_view, get_view, post_view
from evalsite.base.rows import NotAllowed, NotOwner
from evalsite.base.types import JsonDict, Refused

MARK = "opened_as"  # the field of a mark
Page = Callable[..., HttpResponse]
Fragment = Callable[[PageRequest, Any, str], HttpResponse]  # of a row, with why nothing was done
Answer = Callable[[PageRequest, Any], HttpResponse]  # to what came of an action
Context = Callable[[PageRequest, Any], JsonDict]  # what a page with a form shows besides it; None: of no row


def button_page(
    action: Action[Any, Any],
    fragment: Fragment | None = None,
    *,
    answer: Answer | None = None,
    back: str = "",
) -> Page:
    """Return the view of a button: it acts and shows the row's page again, to htmx the fragment where there is one.

    The address names the row by its `key`, or by fields such as `slug`, and may say what is entered.

    `answer` shows what came of it instead; `back`: the page of the row that the button stands on, where that is not its
    own. What the address says after ? is kept on that page.
    """

    @post_view(action.permission)
    def view(request: PageRequest, **named: Any) -> HttpResponse:
        data = request.POST.copy()
        data.update({name: named.pop(name) for name in action.fields if name in named})
        subject: Any = _row(action.rows(request.user), named) if action.has_subject else None
        form, result, refusal = action.form(subject, {}, data), None, ""
        try:
            if form.is_valid():
                result = action.carry_out(ActionCall(subject, form, request.user, timezone.now()))
            else:
                refusal = " ".join(str(error) for errors in form.errors.values() for error in errors)
        except Refused as error:
            refusal = str(error)
        if request.htmx and fragment is not None:
            return fragment(request, _row(action.noun.rows(request.user), named), refusal)
        if refusal:
            messages.error(request, refusal)
        else:
            _say(request, action, result)
            if answer is not None:
                return answer(request, result)
            if "leads_to" in action.options:
                return redirect(action.options["leads_to"])
        return _back_to(request, resolve_url(back, *named.values()) if back else subject.get_absolute_url())

    return _door(view, action)


def _back_to(request: PageRequest, address: str) -> HttpResponse:
    return redirect(f"{address}?{request.GET.urlencode()}" if request.GET else address)


def form_page(
    action: Action[Any, Any],
    template: str,
    *,
    context: Context | None = None,
    answer: Answer | None = None,
    preview: Action[Any, Any] | None = None,
) -> Page:
    """Return the view of a form: it shows the form, acts, and goes to the page of the row that it was about or made.

    What a form is built from is read from the address, and so is what stands in it at first. `answer` shows what came
    of it instead. `preview` is done in its place by a button called `look`, and what it returns shown beside the form.
    """

    @form_view(action.permission)
    def view(request: PageRequest, **named: Any) -> HttpResponse:
        subject = _row(action.rows(request.user), named) if action.has_subject else None
        try:
            action.check_owner(subject, request.user)
        except NotOwner as refusal:
            messages.error(request, str(refusal))
            return redirect(subject or "home")
        first = first_entries(action, request.GET.dict())
        done = preview if preview is not None and "look" in request.POST else action
        form = done.form(subject, first, request.POST if request.method == "POST" else None, request.FILES)
        form.initial |= {
            name: request.GET.getlist(name) if isinstance(field, forms.ModelMultipleChoiceField) else request.GET[name]
            for name, field in form.fields.items()
            if name in request.GET
        }
        shown: JsonDict = {action.noun.name: subject, **first}
        if action.verb == CHANGE:
            _mark(form, request)
        try:
            if form.is_valid():
                result = done.carry_out(ActionCall(subject, form, request.user, timezone.now()))
                if done is action:
                    _say(request, action, result)
                    to = action.options.get("leads_to") or subject or result
                    return redirect(to) if answer is None else answer(request, result)
                shown["preview"] = result
        except Refused as refusal:
            show_refusal(form, refusal)
        if done is not action and not form.errors:
            entered = {**request.POST.dict(), **form.cleaned_data}
            form = action.form(subject, first, None)
            form.initial |= {name: entered[name] for name in form.fields if name in entered}
        shown |= {"form": form, **(context(request, subject) if context else {})}
        return render(request, template, shown, status=400 if form.is_bound and form.errors else 200)

    return _door(view, action)


def _mark(form: forms.BaseForm, request: PageRequest) -> None:
    """Let a form carry a mark of what it began with, and refuse it where that was changed since its page was opened."""
    began = salted_hmac(MARK, repr([str(form[name].initial) for name in form.fields])).hexdigest()
    if form.is_valid() and request.POST.get(MARK, began) != began and form.has_changed():
        form.add_error(None, "This was changed since the page was opened. Open the page again to see how it is now.")
    form.fields[MARK] = forms.CharField(required=False, widget=forms.HiddenInput, initial=began)


def file_page(action: Action[Any, Any]) -> Callable[..., HttpResponseBase]:
    """Return the view of a download: the address names the row if it is of one, and says what is entered."""

    @get_view(action.permission)
    def view(request: PageRequest, **named: Any) -> HttpResponseBase:
        data = request.GET.copy()
        data.update({name: named.pop(name) for name in action.fields if name in named})
        subject = _row(action.rows(request.user), named) if action.has_subject else None
        form = action.form(subject, {}, data)
        if not form.is_valid():
            raise Http404
        try:
            file: SentFile = action.carry_out(ActionCall(subject, form, request.user, timezone.now()))
        except NotAllowed:
            raise
        except Refused as refusal:
            return HttpResponse(str(refusal), status=409, content_type=PLAIN)
        return file.response()

    return view


def action_page(action: Action[Any, Any], takes: Callable[..., Any] = post_view) -> Callable[[V], V]:
    """Let a view of its own be the page of an action, for those who may do it."""
    return lambda view: _door(takes(action.permission)(view), action)


def page_of_button(request: PageRequest, noun: str, key: int, verb: str) -> HttpResponse:
    """Answer the button of an act that says itself what its button is: do it, or show its form where it has fields."""
    found = NOUNS.get(noun)
    action = found.actions.get(verb) if found is not None else None
    if action is None or "button" not in action.options:
        raise Http404
    page = form_page(action, "act.html", context=partial(act_context, action)) if action.fields else button_page(action)
    return page(request, key=key)


def act_context(action: Action[Any, Any], _request: PageRequest, subject: Any) -> JsonDict:
    """Return what the page of an act shows besides its form; one without a button is called as its verb."""
    button = action.options.get("button") or action.verb.replace("-", " ").capitalize()
    return {"action": action, "button": button, "subject": subject}


def _row(rows: QuerySet[Any], named: JsonDict) -> Any:
    return get_object_or_404(rows, **{"pk" if name == "key" else name: value for name, value in named.items()})


def show_refusal(form: Any, refusal: Refused) -> None:
    """Put a refusal beside the field that it names, else above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))


def _say(request: PageRequest, action: Action[Any, Any], result: Any) -> None:
    """Say on the next page what came of an action."""
    said = action.options.get("said")
    if said is not None:
        messages.success(request, said(result))


def _door(view: V, action: Action[Any, Any]) -> V:
    """Return a view that is known to be the page of an action, and not to be kept where it shows a secret."""
    page: Any = never_cache(view) if action.options.get("is_secret") else view
    page.action = action
    return page  # type: ignore[no-any-return]  # a view with an attribute

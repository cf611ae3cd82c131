"""The page of the sandbox: whether it works, which languages it runs, and which code came with suites."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from evalsite.base.http import PageRequest, get_view, page_of, post_view
from judging.sandbox.languages import LANGUAGES
from judging.sandbox.toolchains import available_languages, forget_toolchains, sandbox_status
from judging.selectors.handlers import cases_with_handlers, handler_sources


@get_view("judging.change_modelendpoint")
def language_list(request: PageRequest) -> HttpResponse:
    """Show the sandbox, its languages, and the functions that run only in it."""
    statuses = available_languages()
    page = page_of(request, cases_with_handlers(), per_page=25)
    context = {
        "sandbox": sandbox_status(),
        "rows": [(language, statuses[language.name]) for language in LANGUAGES],
        "ready": sum(status.version is not None for status in statuses.values()),
        "handlers": handler_sources(list(page.object_list)),
        "page_obj": page,
    }
    return render(request, "judging/language_list.html", context)


@post_view("judging.change_modelendpoint")
def language_probe(request: PageRequest) -> HttpResponse:
    """Look again for what is installed. Workers look when they start."""
    forget_toolchains()
    messages.success(request, "Checked again. Restart the workers so that they use the result.")
    return redirect("judging:language-list")

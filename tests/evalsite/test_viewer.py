"""A viewer's pages lead to nothing that a viewer may not open, and name no annotator."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client

from evalsite.accounts.roles import Role
from evalsite.review.models import ReviewItem
from tests import factories
from tests.evalsite.test_hostile_queries import addresses, make_objects

pytestmark = pytest.mark.django_db
LINKS = re.compile(r"""(?:href|hx-get)="([^"#][^"]*)\"""")
FORMS = re.compile(r"""<form[^>]*method="post"[^>]*>""", re.S)
OWN_FORMS = ("/logout/", "/password/", "/preferences/", "/tokens/")


def _pages(viewer: Client) -> dict[str, str]:
    """Return every page that a viewer may open, by its address."""
    found = {}
    for address in addresses():
        answer = viewer.get(address)
        if (
            answer.status_code == 200
            and not address.startswith("/login/")
            and answer["Content-Type"].startswith("text/html")
        ):
            found[address] = answer.text
    return found


def test_pages_of_a_viewer_link_to_what_they_may_open_have_no_form_that_changes_and_name_no_annotator() -> None:
    make_objects()
    colleague = factories.user("zq-colleague", Role.ANNOTATOR)
    factories.annotation(item=ReviewItem.objects.get(pk=1), label="correct", annotator=colleague)
    viewer = Client(raise_request_exception=False)
    viewer.force_login(factories.user("vera", Role.VIEWER))

    pages = _pages(viewer)

    links: dict[str, str] = {}
    for address, text in pages.items():
        for link in LINKS.findall(text):
            path = urlsplit(urljoin(address, unescape(link)))
            if not path.path.startswith("/static/"):
                links.setdefault(f"{path.path}?{path.query}", address)
    refused = sorted(f"{page} -> {link}" for link, page in links.items() if viewer.get(link).status_code == 403)
    forms = {
        (address, form)
        for address, text in pages.items()
        for form in FORMS.findall(text)
        if not any(own in form for own in OWN_FORMS) and not address.startswith(OWN_FORMS)
    }
    assert len(pages) > 30
    assert "\n".join(refused) == ""
    assert forms == set()
    assert [address for address, text in pages.items() if "zq-colleague" in text] == []

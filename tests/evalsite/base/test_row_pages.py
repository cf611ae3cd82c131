"""Rows read page by page while others come and go."""

from __future__ import annotations

import pytest

from evalsite.base.row_pages import row_pages
from judging.models import System
from tests import factories

pytestmark = pytest.mark.django_db


def test_row_pages_reads_each_page_when_the_one_before_is_done() -> None:
    _, second, _, fourth = (factories.system(name) for name in "abcd")
    names = []

    for page in row_pages(System.objects.exclude(pk=second.pk), 2):
        names.append([system.name for system in page])
        System.objects.filter(pk=fourth.pk).update(name="renamed")

    assert names == [["a", "c"], ["renamed"]]


def test_row_pages_ends_where_there_are_no_rows() -> None:
    assert list(row_pages(System.objects.all(), 2)) == []

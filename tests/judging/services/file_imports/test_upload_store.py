"""Bytes kept in the database in parts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from judging.models import UploadPart
from judging.services.file_imports import upload_store
from judging.services.file_imports.upload_store import PART_BYTES, BytesMissing
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_read_bytes_returns_what_was_kept_in_several_parts() -> None:
    data = b"".join(bytes([n]) * PART_BYTES for n in range(6)) + b"end"

    upload_store.store_bytes(name="a", data=data, at=NOON)

    assert upload_store.read_bytes("a") == data
    assert list(UploadPart.objects.order_by("number").values_list("name", "number")) == [("a", n) for n in range(7)]


def test_store_bytes_replaces_what_was_kept_under_the_name() -> None:
    upload_store.store_bytes(name="a", data=b"x" * (2 * PART_BYTES), at=NOON)
    upload_store.store_bytes(name="b", data=b"other", at=NOON)

    upload_store.store_bytes(name="a", data=b"short", at=NOON)

    assert (upload_store.read_bytes("a"), upload_store.read_bytes("b")) == (b"short", b"other")


def test_read_bytes_refuses_what_was_dropped() -> None:
    upload_store.store_bytes(name="a", data=b"x", at=NOON)
    upload_store.drop_bytes("a")

    with pytest.raises(BytesMissing, match="Upload it again"):
        upload_store.read_bytes("a")


def test_store_upload_removes_only_what_is_old_and_of_its_kind() -> None:
    for name, age in (("debates/old", 2), ("debates/new", 0), ("imports/old", 2)):
        upload_store.store_bytes(name=name, data=b"x", at=NOON - timedelta(days=age))

    token = upload_store.store_upload(b"y", at=NOON)

    assert sorted(UploadPart.objects.values_list("name", flat=True)) == [
        f"debates/{token}",
        "debates/new",
        "imports/old",
    ]

"""The table of other tools: what it claims of this one exists, and every tool has its cell."""

from __future__ import annotations

import pytest
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.urls import reverse

from evalsite.accounts.roles import Role
from evalsite.base.command_base import JsonCommand
from evalsite.tool_comparison import FEATURES, TOOLS, ComparedFeature, Support
from tests import factories


@pytest.mark.django_db
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_what_is_claimed_of_this_site_has_a_page_and_a_command(feature: ComparedFeature, client: Client) -> None:
    has_it = feature.here.support in (Support.YES, Support.PARTLY)

    assert len(feature.others) == len(TOOLS)
    assert (bool(feature.here.page), bool(feature.here.command)) == (has_it, has_it)
    if has_it:
        client.force_login(factories.user(role=Role.RESEARCHER))
        name = feature.here.command.split()[0]
        assert isinstance(load_command_class(get_commands()[name], name), JsonCommand)
        assert client.get(reverse(feature.here.page)).status_code == 200


@pytest.mark.django_db
def test_help_shows_every_feature_with_what_is_lacking_here_and_when_it_was_read(client: Client) -> None:
    client.force_login(factories.user(role=Role.VIEWER))

    page = client.get(reverse("help-topic", args=["tools"])).content.decode()

    assert [feature.name for feature in FEATURES if f"{feature.name}</th>" not in page] == []
    assert sum(feature.here.support is Support.NO for feature in FEATURES) == 5
    assert '<time datetime="2026-11-25">25 November 2026</time>' in page

"""What calls sent before prompts had a table of their own is in that table after the migration, and comes back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import QuerySet

from judging.models import Call, CallPrompt
from tests.factories import NOON

MESSAGES = [{"role": "user", "content": "How?"}]


@pytest.mark.usefixtures("older_database")
def test_move_out_and_back_keep_every_message() -> None:
    before, after = ("judging", "0015_prompts_by_content_and_reuse_days"), ("judging", "0016_move_messages_to_prompts")
    old = MigrationExecutor(connection)
    old.migrate([before])
    requests: list[dict[str, Any]] = [{"messages": MESSAGES, "seed": 1}, {"messages": MESSAGES}, {"messages": []}, {}]
    apps = old.loader.project_state([before]).apps
    endpoint = apps.get_model("judging", "ModelEndpoint").objects.create(name="e", base_url="http://e", model="m")
    for number, request in enumerate(requests):
        apps.get_model("judging", "Call").objects.create(
            key=str(number), endpoint=endpoint, status="failed", request=request, finished_at=NOON
        )
    MigrationExecutor(connection).migrate([after])
    moved = [(row.request, row.messages) for row in _calls()]
    shared = CallPrompt.objects.count()
    MigrationExecutor(connection).migrate([before])
    back = list(Call.objects.order_by("pk").values_list("request", flat=True))

    assert (moved, shared) == ([({"seed": 1}, MESSAGES), ({}, MESSAGES), ({}, []), ({}, [])], 2)
    assert back == requests


def _calls() -> QuerySet[Call]:
    """Return the calls with what this migration knows of them; later ones gave calls further columns."""
    return Call.objects.order_by("pk").select_related("prompt").only("request", "prompt__messages")

"""What calls sent before prompts had a table of their own is in that table after the migration, and comes back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from judging.models import Call, CallPrompt
from tests.factories import NOON

MESSAGES = [{"role": "user", "content": "How?"}]


@pytest.mark.django_db(transaction=True)
def test_move_out_and_back_keep_every_message() -> None:
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    old = MigrationExecutor(connection)
    after = next(key for key in old.loader.graph.nodes if key[1].endswith("_move_messages_to_prompts"))
    before = next(iter(old.loader.get_migration(*after).dependencies))
    old.migrate([before])
    requests: list[dict[str, Any]] = [{"messages": MESSAGES, "seed": 1}, {"messages": MESSAGES}, {"messages": []}, {}]
    try:
        apps = old.loader.project_state([before]).apps
        endpoint = apps.get_model("judging", "ModelEndpoint").objects.create(name="e", base_url="http://e", model="m")
        for number, request in enumerate(requests):
            apps.get_model("judging", "Call").objects.create(
                key=str(number), endpoint=endpoint, status="failed", request=request, finished_at=NOON
            )
        MigrationExecutor(connection).migrate([after])
        moved = [(row.request, row.messages) for row in Call.objects.order_by("pk").select_related("prompt")]
        shared = CallPrompt.objects.count()
        MigrationExecutor(connection).migrate([before])
        back = list(Call.objects.order_by("pk").values_list("request", flat=True))
    finally:
        MigrationExecutor(connection).migrate(latest)

    assert (moved, shared) == ([({"seed": 1}, MESSAGES), ({}, MESSAGES), ({}, []), ({}, [])], 2)
    assert back == requests

"""What only ESI runs have."""

from __future__ import annotations

from judging.judges.answer_prompts import shipped_asking
from judging.models import ModelEndpoint
from judging.services.systems import Worker


def test_the_key_of_a_worker_holds_the_query_and_headers_of_its_endpoint() -> None:
    asking = shipped_asking("DIRECT")
    server = {"base_url": "https://models.example/v1", "model": "m"}
    endpoints = (
        ModelEndpoint(**server),
        ModelEndpoint(**server, query="api-version=1"),
        ModelEndpoint(**server, query="api-version=2"),
        ModelEndpoint(**server, headers={"X-Tier": "batch"}),
    )

    keys = [Worker(endpoint, asking).key for endpoint in endpoints]

    # the first as it was before endpoints had a query and headers: stored systems stay found
    assert keys[0] == "006240825337dc16980525e6b32473b51dc959c3b4e8e0aa51457b857d21ce4f"
    assert len(set(keys)) == 4

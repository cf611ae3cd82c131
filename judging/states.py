"""Where a run may go from where it is: the one transition table. The words are those of `judging.models.RunStatus`."""

from __future__ import annotations

TRANSITIONS: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "paused", "cancelled", "finished"}),
    "running": frozenset({"paused", "cancelled", "finished"}),
    "paused": frozenset({"queued", "cancelled"}),
    "finished": frozenset({"queued"}),  # retry of failed tasks
    "cancelled": frozenset(),
}
ACTIVE = frozenset({"queued", "running"})


class RunRefused(ValueError):
    """The run cannot do that from where it is; the message is shown on the page."""


def check_transition(current: str, wanted: str) -> None:
    """Pass where a run may go from `current` to `wanted`.

    Raises:
        RunRefused: it may not.
    """
    if wanted not in TRANSITIONS[current]:
        raise RunRefused(f"The run is {current}; it cannot become {wanted}.")

"""Where items, queues and claims may go, when an item is settled, and the sentences that refuse the rest. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

UNDO_GRACE = timedelta(minutes=5)  # an answer may be taken back so long, even where it decided the item
FEWEST_UNABLE = 2  # people who cannot judge an item before somebody else has to decide
LEASE = timedelta(minutes=2)  # a claim lapses this long after the page's last heartbeat


class ReviewRefused(Exception):
    """An act that the queue's rules forbid; the message is the sentence the page shows."""


class ItemState(StrEnum):
    """Where an item is."""

    OPEN = "open"
    SETTLED = "settled"
    SPLIT = "split"  # needs adjudication
    ADJUDICATED = "adjudicated"
    STALE = "stale"
    EXCLUDED = "excluded"  # by its owner: broken, or no use


class QueueState(StrEnum):
    """Whether a queue hands out items."""

    OPEN = "open"
    PAUSED = "paused"
    ARCHIVED = "archived"


class ClaimState(StrEnum):
    """Where a person's claim on an item is."""

    LEASED = "leased"
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    LAPSED = "lapsed"
    WITHDRAWN = "withdrawn"  # taken back by the queue's owner


@dataclass(frozen=True, slots=True)
class Transition:
    """One allowed change and what brings it about."""

    before: StrEnum
    after: StrEnum
    when: str


ITEM_TRANSITIONS = (
    Transition(ItemState.OPEN, ItemState.SETTLED, "quorum reached with a strict majority"),
    Transition(ItemState.OPEN, ItemState.SPLIT, "quorum reached without a majority, or too many cannot judge it"),
    Transition(ItemState.OPEN, ItemState.STALE, "rubric or response changed"),
    Transition(ItemState.OPEN, ItemState.ADJUDICATED, "a researcher decided before all answers were there"),
    Transition(ItemState.SPLIT, ItemState.ADJUDICATED, "a researcher gave the final label"),
    Transition(ItemState.SPLIT, ItemState.OPEN, "more answers were asked for, or one was taken back"),
    Transition(ItemState.SPLIT, ItemState.STALE, "rubric or response changed"),
    Transition(ItemState.SETTLED, ItemState.SPLIT, "reopened with a reason"),
    Transition(ItemState.SETTLED, ItemState.OPEN, "more answers were asked for, or one was taken back"),
    Transition(ItemState.SETTLED, ItemState.STALE, "rubric or response changed"),
    Transition(ItemState.ADJUDICATED, ItemState.SPLIT, "reopened with a reason"),
    Transition(ItemState.ADJUDICATED, ItemState.STALE, "rubric or response changed"),
    Transition(ItemState.STALE, ItemState.OPEN, "the former rubric and response are back"),
    Transition(ItemState.STALE, ItemState.ADJUDICATED, "they are back, and with them a final label"),
    Transition(ItemState.OPEN, ItemState.EXCLUDED, "excluded with a reason"),
    Transition(ItemState.SPLIT, ItemState.EXCLUDED, "excluded with a reason"),
    Transition(ItemState.SETTLED, ItemState.EXCLUDED, "excluded with a reason"),
    Transition(ItemState.ADJUDICATED, ItemState.EXCLUDED, "excluded with a reason"),
    Transition(ItemState.EXCLUDED, ItemState.OPEN, "brought back"),
)
QUEUE_TRANSITIONS = (
    Transition(QueueState.OPEN, QueueState.PAUSED, "paused"),
    Transition(QueueState.PAUSED, QueueState.OPEN, "resumed"),
    Transition(QueueState.OPEN, QueueState.ARCHIVED, "archived"),
    Transition(QueueState.PAUSED, QueueState.ARCHIVED, "archived"),
    Transition(QueueState.ARCHIVED, QueueState.PAUSED, "brought back"),
)
CLAIM_TRANSITIONS = (
    Transition(ClaimState.LEASED, ClaimState.SUBMITTED, "answered"),
    Transition(ClaimState.LEASED, ClaimState.SKIPPED, "skipped with a reason"),
    Transition(ClaimState.LEASED, ClaimState.LAPSED, "no heartbeat for two minutes"),
    Transition(ClaimState.LAPSED, ClaimState.LEASED, "claimed again"),
    Transition(ClaimState.SKIPPED, ClaimState.LEASED, "skip taken back"),
    Transition(ClaimState.SUBMITTED, ClaimState.LEASED, "answer taken back"),
    Transition(ClaimState.LEASED, ClaimState.WITHDRAWN, "taken back by the owner with a reason"),
    Transition(ClaimState.LAPSED, ClaimState.WITHDRAWN, "taken back by the owner with a reason"),
    Transition(ClaimState.WITHDRAWN, ClaimState.LEASED, "handed to the person again"),
)
_ALLOWED = {(row.before, row.after) for row in (*ITEM_TRANSITIONS, *QUEUE_TRANSITIONS, *CLAIM_TRANSITIONS)}


def check_transition(before: StrEnum, after: StrEnum) -> None:
    """Accept a change of state that one of the tables holds. Raises: ReviewRefused."""
    if type(before) is not type(after) or (before, after) not in _ALLOWED:
        kinds = {ItemState: "An item", QueueState: "A queue", ClaimState: "A claim"}
        raise ReviewRefused(f"{kinds.get(type(before), 'It')} that is {before} cannot become {after}.")


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What the answers so far make of an item; `label` only when it is settled."""

    state: ItemState
    label: str | None
    votes: tuple[tuple[str, int], ...]  # most frequent first, ties by label


def outcome(labels: Sequence[str], *, quorum: int, unable: int = 0) -> ItemOutcome:
    """Return settled when the quorum is reached and one label has more than half of the answers, else open or split.

    `unable` people cannot judge the item. Once they are as many as were to answer it, and two at least, it is split.

    Raises:
        ValueError: the quorum is not positive.
    """
    if quorum < 1:
        raise ValueError(f"quorum of {quorum}")
    votes = tuple(sorted(Counter(labels).items(), key=lambda vote: (-vote[1], vote[0])))
    if len(labels) < quorum:
        is_stuck = unable >= max(quorum, FEWEST_UNABLE)
        return ItemOutcome(ItemState.SPLIT if is_stuck else ItemState.OPEN, None, votes)
    label, count = votes[0]
    if 2 * count > len(labels):
        return ItemOutcome(ItemState.SETTLED, label, votes)
    return ItemOutcome(ItemState.SPLIT, None, votes)


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What the checks need to know of an item and of the person before it."""

    state: ItemState
    queue: QueueState
    quorum: int
    answers: int  # committed by anyone
    leased: int = 0  # live claims of other people
    labels: tuple[str, ...] = ()  # of its scale
    is_member: bool = True
    has_answered: bool = False
    has_revised: bool = False
    is_unable: bool = False  # they have said that they cannot judge it


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """A person's claim as it is stored."""

    state: ClaimState
    token: str
    expires_at: datetime


_CLOSED = {
    ItemState.SETTLED: "This item is settled.",
    ItemState.SPLIT: "This item has all its answers and waits for adjudication.",
    ItemState.ADJUDICATED: "This item has been adjudicated.",
    ItemState.STALE: "This item is out of date: its rubric or a response has changed since.",
    ItemState.EXCLUDED: "The queue's owner has excluded this item; it needs no answers.",
}
_PAUSED = {
    QueueState.PAUSED: "This queue is paused; answers are taken again once it resumes.",
    QueueState.ARCHIVED: "This queue is archived and takes no more answers.",
}


def check_can_claim(item: ItemFacts) -> None:
    """Accept a person who may take one of the item's slots. Raises: ReviewRefused."""
    if not item.is_member:
        raise ReviewRefused("You are not a member of this queue.")
    if item.queue in _PAUSED:
        raise ReviewRefused(_PAUSED[item.queue])
    if item.has_answered:
        raise ReviewRefused("You have already answered this item.")
    if item.state in _CLOSED:
        raise ReviewRefused(_CLOSED[item.state])
    if item.answers + item.leased >= item.quorum:
        raise ReviewRefused("Other people are working on this item; every slot is taken.")


def check_can_hand(item: ItemFacts, *, reason: str) -> None:
    """Accept that an owner hands an item to somebody, also in a paused queue. Raises: ReviewRefused."""
    if not reason.strip():
        raise ReviewRefused("Say why this item changes hands.")
    if item.queue is QueueState.ARCHIVED:
        raise ReviewRefused(_PAUSED[item.queue])
    if not item.is_member:
        raise ReviewRefused("This person is not a member of the queue; add them in its settings first.")
    if item.has_answered:
        raise ReviewRefused("This person has already answered this item.")
    if item.state in _CLOSED:
        raise ReviewRefused(_CLOSED[item.state])
    if item.answers + item.leased >= item.quorum:
        raise ReviewRefused("Every slot of this item is taken; take it back from somebody first.")


def check_can_withdraw(claim: ClaimFacts | None, *, reason: str) -> None:
    """Accept that an owner takes an item back from whoever holds it. Raises: ReviewRefused."""
    if not reason.strip():
        raise ReviewRefused("Say why this item is taken back.")
    if claim is None or claim.state not in (ClaimState.LEASED, ClaimState.LAPSED):
        raise ReviewRefused("This person does not hold this item.")
    check_transition(claim.state, ClaimState.WITHDRAWN)


def check_can_answer(
    item: ItemFacts, claim: ClaimFacts | None, *, token: str, label: str, at: datetime, cannot_judge: bool = False
) -> None:
    """Accept an answer from whoever holds a live claim. Raises: ReviewRefused; the caller keeps the text typed.

    Who cannot judge the item gives no label.

    A claim whose lease has run out is still good while nobody took the slot over: the fencing token decides, and a
    free slot is not refused to the person who did the work.
    """
    if item.has_answered:
        raise ReviewRefused("You have already answered this item.")
    if item.state in _CLOSED:
        raise ReviewRefused(f"{_CLOSED[item.state]} Your answer was not counted; your text is kept as a draft.")
    if item.queue is QueueState.ARCHIVED:
        raise ReviewRefused(_PAUSED[item.queue])
    if claim is None or claim.token != token or claim.state not in (ClaimState.LEASED, ClaimState.LAPSED):
        raise ReviewRefused(
            "You no longer hold this item. Your text is kept as a draft; take the item again to send it."
        )
    is_late = claim.state is ClaimState.LAPSED or claim.expires_at < at
    if is_late and item.answers + item.leased >= item.quorum:
        raise ReviewRefused("Your claim ran out and someone else took over. Your text is kept as a draft.")
    if not cannot_judge:
        check_label(item, label)


def check_label(item: ItemFacts, label: str) -> None:
    """Accept a label of the item's scale. Raises: ReviewRefused."""
    if label not in item.labels:
        raise ReviewRefused(f"“{label}” is not on this item's scale: {', '.join(item.labels)}.")


def check_can_undo(item: ItemFacts, *, answered_at: datetime | None, at: datetime, cannot_judge: bool = False) -> None:
    """Accept that a person takes their answer back: while the item is open, or shortly after. Raises: ReviewRefused.

    Who said that they cannot judge an item takes that back only while it lacks labels.
    """
    if answered_at is None:
        raise ReviewRefused("You have not answered this item yet.")
    if item.queue is QueueState.ARCHIVED:
        raise ReviewRefused(_PAUSED[item.queue])
    is_late = answered_at + UNDO_GRACE < at
    if item.state in _CLOSED and (is_late or item.state not in (ItemState.SETTLED, ItemState.SPLIT)):
        raise ReviewRefused(f"{_CLOSED[item.state]} Your answer can no longer be changed.")
    if cannot_judge and item.state in _CLOSED and item.answers >= item.quorum:
        raise ReviewRefused(f"{_CLOSED[item.state]} It needs no more annotations.")
    if item.has_revised:
        raise ReviewRefused("You have seen the verdicts and revised; the blind answer stands as it was.")


def check_can_revise(item: ItemFacts, *, reason: str) -> None:
    """Accept the one revision after the reveal, with a reason. Raises: ReviewRefused."""
    if not item.has_answered:
        raise ReviewRefused("Answer first; the verdicts are revealed afterwards.")
    if item.is_unable:
        raise ReviewRefused("You said that you cannot judge this item, so there is no label to revise.")
    if item.has_revised:
        raise ReviewRefused("You have already revised this answer once.")
    if item.state in (ItemState.ADJUDICATED, ItemState.STALE, ItemState.EXCLUDED):
        raise ReviewRefused(_CLOSED[item.state])
    if not reason.strip():
        raise ReviewRefused("Say why you changed your mind.")


def check_can_adjudicate(item: ItemFacts, *, reason: str) -> None:
    """Accept a final label on an item that people differ on or cannot answer. Raises: ReviewRefused."""
    if item.has_answered:
        raise ReviewRefused("You annotated this item yourself, so somebody else has to decide it.")
    if item.state not in (ItemState.SPLIT, ItemState.OPEN):
        raise ReviewRefused(_CLOSED[item.state])
    if not reason.strip():
        raise ReviewRefused("Say why: the reason is stored beside the final label.")


def check_can_reopen(item: ItemFacts, *, reason: str) -> None:
    """Accept the reopening of a decided item, with a reason. Raises: ReviewRefused."""
    if item.state not in (ItemState.SETTLED, ItemState.ADJUDICATED, ItemState.EXCLUDED):
        raise ReviewRefused("Only a settled, adjudicated or excluded item can be reopened.")
    if not reason.strip():
        raise ReviewRefused("Say why this item is reopened.")


def check_can_exclude(item: ItemFacts, *, reason: str, is_audited: bool) -> None:
    """Accept that an owner takes an item out of the queue and its reports. Raises: ReviewRefused."""
    check_transition(item.state, ItemState.EXCLUDED)
    if is_audited:
        raise ReviewRefused(
            "This item belongs to the random audit, which would be biased without it. Decide it instead."
        )
    if not reason.strip():
        raise ReviewRefused("Say why this item is excluded.")


def check_can_take_back(item: ItemFacts, *, is_sent: bool, is_audited: bool, is_begun: bool = False) -> None:
    """Accept that an item which a researcher sent goes away again. Raises: ReviewRefused."""
    if not is_sent:
        raise ReviewRefused("Nobody sent this item by hand, so it cannot be taken back; its queue can be paused.")
    if is_audited:
        raise ReviewRefused("This item belongs to the random audit, which would be biased without it.")
    if item.answers or item.state is not ItemState.OPEN:
        raise ReviewRefused("People have answered this item; their answers are kept.")
    if item.leased:
        raise ReviewRefused("Somebody is at work on this item. Wait for the answer, or try again in a few minutes.")
    if is_begun:
        raise ReviewRefused(
            "Somebody has begun to annotate this item, and their text would be lost. Exclude it instead: that keeps it."
        )


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What is left in a queue, seen by one person."""

    state: QueueState
    is_member: bool
    n_open: int  # items that still need answers
    n_mine: int  # open items that this person has answered or skipped
    n_leased: int  # open items whose free slots others hold
    seconds_to_next_lapse: int | None = None


def why_nothing(queue: QueueFacts) -> str:
    """Return why there is no next item for this person, and when to come back."""
    if not queue.is_member:
        return "Nothing for you: you are not a member of this queue. Ask its owner to add you."
    if queue.state in _PAUSED:
        return _PAUSED[queue.state]
    if not queue.n_open:
        return "All done: every item of this queue has its answers."
    if queue.n_leased:
        minutes = max(1, -(-(queue.seconds_to_next_lapse or int(LEASE.total_seconds())) // 60))
        when = "in a minute" if minutes == 1 else f"in {minutes} minutes"
        return f"Nothing for you now: other people hold the last items. Come back {when}; a claim may lapse."
    return (
        f"Nothing for you now: the {queue.n_mine} open items wait for other people; you have answered or skipped them."
    )

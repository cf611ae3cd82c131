"""The call pool over the active endpoints, under the limiter that all workers share."""

from __future__ import annotations

import heapq
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from django.conf import settings

from judging.judges import lexical
from judging.llm.attempts import Attempt
from judging.llm.chat import ChatReply, ChatRequest, ReplyStatus
from judging.llm.client import ChatClient
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.lanes import reply_of
from judging.llm.limiter import LimiterFactory, connect
from judging.llm.pool import CallPool, PoolOptions
from judging.llm.retries import Action, RetryDecision
from judging.llm.sending import SendingProcess
from judging.models import ModelEndpoint
from judging.selectors.targets import Target, address_policy

logger = logging.getLogger(__name__)

LEXICAL_SLICE_SECONDS = 0.05  # baselines are computed in `completed` this long before it returns


@dataclass(frozen=True, slots=True)
class Unsent:
    """A request that was taken back. `paid`: what attempts without an answer have cost, as a failed reply."""

    token: str
    paid: ChatReply | None


@dataclass(slots=True)
class OpenPool:
    """A call pool over the active endpoints, which remembers what endpoints turned out to accept."""

    targets: Mapping[str, Target]
    pool: CallPool | SendingProcess
    end: Callable[[], None]
    learned: dict[str, Capabilities] = field(default_factory=dict)
    lexical: deque[tuple[str, Target, ChatRequest]] = field(default_factory=deque)
    sent: dict[str, tuple[Target, ChatRequest]] = field(default_factory=dict)
    paid: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)  # attempts of what was given back
    postponed: list[tuple[float, str]] = field(default_factory=list)  # monotonic time to ask again, token
    withdrawn: bool = False
    unsent: list[Unsent] = field(default_factory=list)  # given back since the last look

    def submit(self, token: str, target: Target, request: ChatRequest) -> None:
        """Ask; the reply comes out of `completed` with this token."""
        if target.is_lexical:
            self.lexical.append((token, target, request))
            return
        self.sent[token] = (target, request)
        paid = self.paid.get(token, ())
        bare = replace(request, endpoint=target.config.name, material={})
        self.pool.submit(token, target.config, bare, paid=paid)

    def completed(self, timeout: float) -> list[tuple[str, ChatReply]]:
        """Return what came back, waiting up to `timeout` seconds for the first.

        Raises:
            SenderLost: the process that sends ended by itself; nothing more will come back.
        """
        self._ask_postponed()
        done = self._compute()
        for item in self.pool.completed(0.0 if done else timeout):
            token = str(item.token)
            if item.requeue_seconds is None:
                del self.sent[token]
                self.paid.pop(token, None)
                done.append((token, item.reply))
                continue
            self.paid[token] = item.paid
            if self.withdrawn:
                self.unsent.append(self._unsent(token))
            else:
                heapq.heappush(self.postponed, (time.monotonic() + item.requeue_seconds, token))
        return done

    def withdraw(self) -> list[Unsent]:
        """Stop sending and return what will not be answered; replies on their way still come out of `completed`."""
        if not self.withdrawn:
            self.withdrawn = True
            tokens = [token for token, *_ in self.lexical] + [str(token) for token in self.pool.close()]
            tokens += [token for _, token in self.postponed]
            self.unsent = [self._unsent(token) for token in tokens]
            self.lexical.clear()
            self.postponed.clear()
        unsent, self.unsent = self.unsent, []
        return unsent

    def _unsent(self, token: str) -> Unsent:
        paid = self.paid.get(token, ())
        return Unsent(token, reply_of(paid, RetryDecision(Action.REQUEUE, reason="withdrawn")) if paid else None)

    def _ask_postponed(self) -> None:
        while self.postponed and self.postponed[0][0] <= time.monotonic():
            _, token = heapq.heappop(self.postponed)
            self.submit(token, *self.sent[token])

    def _compute(self) -> list[tuple[str, ChatReply]]:
        done: list[tuple[str, ChatReply]] = []
        until = time.monotonic() + LEXICAL_SLICE_SECONDS
        while self.lexical and time.monotonic() < until:
            token, target, request = self.lexical.popleft()
            done.append((token, baseline_reply(target, request)))
        return done

    def close(self) -> None:
        """Stop sending and store what was learned of endpoints."""
        self.end()
        for name, capabilities in self.learned.items():
            ModelEndpoint.objects.filter(name=name).update(capabilities=asdict(capabilities))


def baseline_reply(target: Target, request: ChatRequest) -> ChatReply:
    """Return a lexical baseline's reply, which costs nothing; a failed one where it cannot read its material."""
    started = time.monotonic()
    try:
        text = lexical.lexical_reply(request, target.config.model)
    except Exception:  # one answer that a baseline cannot read must not end the run
        logger.exception("calls.lexical_crashed endpoint=%s", target.config.name)
        return ChatReply(ReplyStatus.FAILED, error_kind="internal", error_text="The lexical baseline failed.")
    seconds = time.monotonic() - started
    return ChatReply(
        ReplyStatus.FINISHED, text, "stop", prompt_tokens=0, completion_tokens=0, seconds=seconds, attempts=1
    )


def open_pool(*, targets: Mapping[str, Target], threads: int, apart: bool = False) -> OpenPool:
    """Return a pool of `threads` sending threads under the limiter that all workers share.

    `apart`: in a process of its own, which a process without other threads may start.
    """
    learned: dict[str, Capabilities] = {}

    def remember(config: EndpointConfig, capabilities: Capabilities) -> None:
        learned[config.name] = capabilities

    def make(tell: Callable[[EndpointConfig, Capabilities], None]) -> CallPool:
        client = ChatClient(threads=threads, policy=address_policy())
        options = PoolOptions(threads=threads, on_capabilities=tell)
        return CallPool(client, LimiterFactory(connect(settings.REDIS_URL)), options)

    if apart:
        process = SendingProcess(make, remember)
        return OpenPool(targets=targets, pool=process, end=process.end, learned=learned)
    pool = make(remember)
    return OpenPool(targets=targets, pool=pool, end=pool.end, learned=learned)

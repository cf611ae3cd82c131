"""The call pool over the active endpoints, under the limiter that all workers share."""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from django.conf import settings

from judging.judges import lexical
from judging.llm.attempts import Attempt
from judging.llm.chat import ChatReply, ChatRequest
from judging.llm.client import ChatClient
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.lanes import reply_of
from judging.llm.limiter import LimiterFactory, connect
from judging.llm.pool import CallPool, PoolOptions
from judging.llm.retries import Action, RetryDecision
from judging.models import ModelEndpoint
from judging.selectors.targets import Target, address_policy


@dataclass(frozen=True, slots=True)
class Unsent:
    """A request that was taken back. `paid`: what attempts without an answer have cost, as a failed reply."""

    token: str
    paid: ChatReply | None


@dataclass(slots=True)
class OpenPool:
    """A call pool over the active endpoints, which remembers what endpoints turned out to accept."""

    targets: Mapping[str, Target]
    pool: CallPool
    client: ChatClient
    learned: dict[str, Capabilities] = field(default_factory=dict)
    sent: dict[str, tuple[Target, ChatRequest]] = field(default_factory=dict)
    paid: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)  # attempts of what was given back
    postponed: list[tuple[float, str]] = field(default_factory=list)  # monotonic time to ask again, token
    withdrawn: bool = False
    unsent: list[Unsent] = field(default_factory=list)  # given back since the last look

    def submit(self, token: str, target: Target, request: ChatRequest) -> None:
        """Ask; the reply comes out of `completed` with this token."""
        self.sent[token] = (target, request)
        paid = self.paid.get(token, ())
        self.pool.submit(token, target.config, replace(request, endpoint=target.config.name), paid=paid)

    def completed(self, timeout: float) -> list[tuple[str, ChatReply]]:
        """Return what came back, waiting up to `timeout` seconds for the first."""
        self._ask_postponed()
        done: list[tuple[str, ChatReply]] = []
        for item in self.pool.completed(timeout):
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
            tokens = [str(token) for token in self.pool.close()] + [token for _, token in self.postponed]
            self.unsent = [self._unsent(token) for token in tokens]
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

    def close(self) -> None:
        """Stop the threads and store what was learned of endpoints."""
        self.pool.close()
        self.client.close()
        for name, capabilities in self.learned.items():
            ModelEndpoint.objects.filter(name=name).update(capabilities=asdict(capabilities))


def open_pool(*, targets: Mapping[str, Target], threads: int) -> OpenPool:
    """Return a pool of `threads` sending threads under the limiter that all workers share."""
    client = ChatClient(threads=threads, policy=address_policy())
    learned: dict[str, Capabilities] = {}

    def answer(request: ChatRequest) -> str:
        return lexical.lexical_reply(request, targets[request.endpoint].config.model)

    def remember(config: EndpointConfig, capabilities: Capabilities) -> None:
        learned[config.name] = capabilities

    options = PoolOptions(threads=threads, lexical=answer, on_capabilities=remember)
    pool = CallPool(client, LimiterFactory(connect(settings.REDIS_URL)), options)
    return OpenPool(targets=targets, pool=pool, client=client, learned=learned)

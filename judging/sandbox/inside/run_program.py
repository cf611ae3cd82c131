"""Runs /src/program.py as the InfiBench grader did and reports on one line behind the token in the file argv[1].

Passed means: exec() in an empty namespace (so __name__ is "builtins") came back without an exception; SystemExit fails,
even with 0.
Libraries that the usual prelude imports are loaded on first use, and stand in empty where they are not installed.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback
import types
from collections.abc import Sequence
from typing import Any

PRELUDE_LIBRARIES = ("numpy", "pandas", "requests", "openpyxl", "xlsxwriter", "yolk")


class MissingLibrary(ImportError):
    """A library of the prelude is used but is not installed on this machine."""


class Placeholder(types.ModuleType):
    """An absent library: importing it works, using it does not."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingLibrary(f"{self.__name__} is not installed here", name=self.__name__)


class PlaceholderLoader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Placeholder(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


class PreludeFinder(importlib.abc.MetaPathFinder):
    """Loads prelude libraries on first use only: pandas alone costs half a second."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in PRELUDE_LIBRARIES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return importlib.machinery.ModuleSpec(fullname, PlaceholderLoader(), is_package=True)
        spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def main() -> None:
    token_path, process_id = sys.argv[1], os.getpid()
    report_to = os.dup(1)
    # Held here, so that what the program puts into these modules changes nothing.
    open_file, read, write, leave, own_pid, as_json = os.open, os.read, os.write, os._exit, os.getpid, json.dumps
    del sys.argv[1:]
    sys.path[0] = "/box"
    sys.meta_path.insert(0, PreludeFinder())
    passed, message = True, ""
    try:
        with open("/src/program.py", encoding="utf-8") as file:
            source = file.read()
        exec(compile(source, "/src/program.py", "exec", dont_inherit=True), {})  # noqa: S102 - what this file is for
    except BaseException as error:
        passed, message = False, describe(error)
        show(error)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the program may have closed or replaced it
            stream.flush()
    if own_pid() != process_id:
        leave(1)  # a child that the program forked comes back here too, and may not speak for it
    report = b'{"passed": true}' if passed else as_json({"passed": False, "error": message}).encode()
    token = read(open_file(token_path, os.O_RDONLY), 64).strip()  # nowhere in this process before
    write(report_to, b"\n" + token + report + b"\n")
    leave(0 if passed else 1)


def describe(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(no message: its __str__ failed)"
    return f"{type(error)} {text}"[:4000]


def show(error: BaseException) -> None:
    with contextlib.suppress(Exception):  # a broken exception must not hide the report
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        text = "".join(traceback.format_exception(type(error), error, trace, limit=-20)).encode("utf-8", "replace")
        os.write(2, text)


main()

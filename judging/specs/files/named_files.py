"""Which other files a suite or questions may name, so that they are read together with what lies beside them."""

from __future__ import annotations

import re

from judging.specs.files.bundles import UnsafePath, folder_of, join_path, normalise_path
from judging.specs.files.yaml_reading import Node, read_yaml

LONGEST_PATH = 300
_IMAGE_PATH = re.compile(rf'"([^"\\\n]{{1,{LONGEST_PATH}}}\.(?:png|jpe?g|jfif|webp|gif))"', re.IGNORECASE)


def named_files(data: bytes, path: str, top: str = "") -> list[str]:
    """Return the paths that the texts in a YAML file spell, as seen from its folder and from the suite's.

    Most are none: whoever asks looks which of them are files. A text with a dotted name may be a Python module.
    """
    node = read_yaml(data, path).value
    paths: dict[str, None] = {}
    for text in _texts(node) if node is not None else ():
        for name in (text, _module(text)):
            for folder in dict.fromkeys((folder_of(path), top)):
                try:
                    paths[join_path(folder, name)] = None
                except UnsafePath:
                    continue
    return [name for name in paths if name not in (".", path)]


def named_images(data: bytes) -> list[str]:
    """Return the paths of images that the texts in a file of JSON rows spell, as seen from its folder."""
    paths: dict[str, None] = {}
    for text in _IMAGE_PATH.findall(data.decode("utf-8", "replace")):
        try:
            paths[normalise_path(text)] = None
        except UnsafePath:
            continue
    return list(paths)


def _module(text: str) -> str:
    """Return the file that a module would be, beside the file that names it."""
    return text.rsplit(".", 1)[-1] + ".py"


def _texts(node: Node) -> list[str]:
    texts: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        waiting += [*part.items, *part.fields.values()]
        if isinstance(part.content, str) and 0 < len(part.content) <= LONGEST_PATH and "\n" not in part.content:
            texts.append(part.content)
    return texts

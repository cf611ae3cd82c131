"""The settings.json of Lunar-Bench's program, read without its keys of APIs.

Source: Lunar-Bench. One JSON object; keys that start with `_comment_` are its comments. What is returned holds no key
of an API, nor the value of any entry that is not known here, so that it can be shown and sent to a page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsite.base.types import JsonDict, Refused
from judging.specs.files.encodings import opens_too_deep

MOST_BYTES = 1024 * 1024
MOST_NAMES = 100  # models, prompt versions or data sets
MOST_TEXT = 300  # characters
SHOWN_KEY = 60  # characters of an unknown key
COMMENT = "_comment_"
SECRETS = ("WORKER_API_TOKEN", "ACCURACY_JUDGE_API_TOKEN", "INTEGRITY_JUDGE_API_TOKEN", "OPENROUTER_API_KEY")
UNUSED: Mapping[str, str] = {
    "OPENROUTER_API_BASE_URL": "the program does not use it either",
    "OPENROUTER_HTTP_REFERER": "enter it under Further headers of the endpoint",
    "OPENROUTER_X_TITLE": "enter it under Further headers of the endpoint",
    "WORKER_OUTPUT_FILE_TEMPLATE": "the program does not write this file either",
    "MAX_RETRIES": "failed calls are repeated by the rules of this site",
    "RETRY_DELAY_SECONDS": "failed calls are repeated by the rules of this site",
    "REQUEST_TIMEOUT_SECONDS": "each endpoint has its own Reply timeout",
    "MAX_CONCURRENT_ITEMS_PER_COMBO": "each endpoint has its own Concurrent calls",
}
FILES = {  # the templates of the three files' names, by what the files hold
    "FINAL_OUTPUT_FILE_TEMPLATE": "results",
    "SUMMARY_FILE_TEMPLATE": "summary",
    "SKIPPED_FILE_LOG_TEMPLATE": "skipped",
}
FILE_TEMPLATES: Mapping[str, str] = {  # as documented
    "results": "./Result/ESI_Result_{model_id}_{prompt_version}.jsonl",
    "summary": "./Result/Summary_{model_id}_{prompt_version}.json",
    "skipped": "./Result/Skipped_Log_{model_id}_{prompt_version}.txt",
}
_PLACEHOLDER = re.compile(r"\{(dataset_short_name|model_id|prompt_version)\}")
WEIGHTS = {
    "WEIGHT_ACCURACY": "accuracy",
    "WEIGHT_TRUE_INTEGRITY": "true_integrity",
    "WEIGHT_EFFICIENCY": "efficiency",
    "WEIGHT_SAFETY": "safety",
    "WEIGHT_ALIGNMENT_SIMPLE": "alignment_simple",
}


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """What is wrong with a file, and where."""

    message: str
    key: str = ""
    line: int | None = None

    def __str__(self) -> str:
        location = ", ".join(filter(None, (self.key, f"line {self.line}" if self.line else "")))
        return f"{location}: {self.message}" if location else self.message


class BadLunarSettings(Refused):
    """The file cannot be imported; every problem says what to change."""

    def __init__(self, problems: list[SettingsProblem]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class LunarSettings:
    """What a file says, without its keys of APIs."""

    values: JsonDict  # by the file's own names, checked
    unread: tuple[str, ...] = ()  # the names of its keys of APIs
    ignored: tuple[str, ...] = ()  # names that the program does not know either
    unused: tuple[str, ...] = ()  # names of `UNUSED`
    lines: Mapping[str, int] = field(default_factory=dict)  # where each known name stands

    @property
    def options(self) -> JsonDict:
        """The options of the index by the names of this site; those that the file leaves out are left out."""
        return {name: self.values[lunar_key] for lunar_key, (_, name) in OPTIONS.items() if lunar_key in self.values}

    @property
    def weights(self) -> dict[str, float]:
        """The weights that the file gives, by sub-score."""
        return {name: self.values[lunar_key] for lunar_key, name in WEIGHTS.items() if lunar_key in self.values}

    @property
    def files(self) -> dict[str, str]:
        """The templates of file names that the file gives, by what the files hold."""
        return {name: self.values[lunar_key] for lunar_key, name in FILES.items() if lunar_key in self.values}

    @property
    def missing(self) -> tuple[str, ...]:
        """The names that have their default, since the file leaves them out."""
        return tuple(name for name in (*OPTIONS, *WEIGHTS) if name not in self.values)

    def paths(self) -> dict[str, str]:
        """Return the data sets to run with their paths; empty where the file names none."""
        configs = self.values.get("DATASET_CONFIGS", {})
        return {name: configs.get(name, {}).get("path", "") for name in self.values["DATASETS_TO_RUN"]}

    def to_json(self) -> str:
        """Return a text that is read as the same settings."""
        names = dict.fromkeys((*self.unread, *self.ignored, *self.unused))
        return json.dumps({**names, **self.values}, ensure_ascii=False)


class _Wrong(ValueError):
    """A value cannot be used; the message says what it should be."""


Reader = Callable[[object], Any]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong("Write a text between quotes.")
    if len(value) > MOST_TEXT or not value.isprintable():
        raise _Wrong(f"Write one line of at most {MOST_TEXT} characters.")
    return value.strip()


def _words(value: object) -> str:
    """Return the comma-separated keywords; null is the empty list."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > MOST_TEXT * 20 or not value.isprintable():
        raise _Wrong("Write words separated by commas, in one text between quotes.")
    return value


def file_template(value: object) -> str:
    """Return the template of a file name.

    Raises:
        ValueError: it is none; the message says what to write.
    """
    text = _text(value)
    if re.search("[{}]", _PLACEHOLDER.sub("", text)) or not _base_name(text):
        raise _Wrong("Write a file name, in which {dataset_short_name}, {model_id} and {prompt_version} may stand.")
    return text


def file_name(template: str, values: Mapping[str, str]) -> str:
    """Return the name, without folders, that a template gives; signs that paths have are replaced as in Lunar-Bench."""
    safe = {
        key: value.replace("/", "__").replace(":", "_").replace("\\", "_").replace("\0", "")
        for key, value in values.items()
    }
    return _PLACEHOLDER.sub(lambda match: safe[match[1]], _base_name(template))


def _base_name(template: str) -> str:
    name = template.replace("\\", "/").rpartition("/")[2].strip()
    return "" if name in (".", "..") else name


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_NAMES:
        raise _Wrong(f'Write a list of 1 to {MOST_NAMES} texts, such as ["one", "two"].')
    return list(dict.fromkeys(_text(name) for name in value))


def _configs(value: object) -> JsonDict:
    if not isinstance(value, dict) or len(value) > MOST_NAMES:
        raise _Wrong('Write an object with a path for each data set, such as {"L1": {"path": "L1-1K.jsonl"}}.')
    configs: JsonDict = {}
    for name, config in value.items():
        path = config.get("path") if isinstance(config, dict) else None
        if not isinstance(path, str):
            raise _Wrong(f'The data set {name[:SHOWN_KEY]!r} needs a path, such as {{"path": "L1-1K.jsonl"}}.')
        configs[_text(name)] = {"path": _text(path)}
    return configs


def _number(low: float, high: float, *, whole: bool = False) -> Reader:
    kind = "whole number" if whole else "number"

    def read(value: object) -> float:
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:  # type: ignore[operator]  # a number, by the first test
            raise _Wrong(f"Write a {kind} from {low:,.0f} to {high:,.0f}, without quotes.")
        return value  # type: ignore[return-value]  # a number, as tested

    return read


OPTIONS: Mapping[str, tuple[Reader, str]] = {  # how each is read, and its name here
    "TOKEN_BUDGET_EFFICIENCY": (_number(1, 1e9, whole=True), "token_budget"),
    "P_IRRELEVANT_EFFICIENCY": (_number(0, 1), "irrelevant_share"),
    "SAFETY_SEVERE_KEYWORDS": (_words, "unsafe_keywords"),
    "ALIGNMENT_LENGTH_MISMATCH_PENALTY": (_number(0, 100), "length_penalty"),
    "ALIGNMENT_MAX_LENGTH_RATIO_VS_REF": (_number(0, 1e6), "max_length_ratio"),
}
REQUIRED: Mapping[str, Reader] = {
    "WORKER_API_URL": _text,
    "WORKER_MODEL_IDS": _names,
    "ACCURACY_JUDGE_API_URL": _text,
    "ACCURACY_JUDGE_MODEL_ID": _text,
    "INTEGRITY_JUDGE_API_URL": _text,
    "INTEGRITY_JUDGE_MODEL_ID": _text,
    "PROMPT_VERSIONS_TO_TEST": _names,
    "DATASETS_TO_RUN": _names,
}
READERS: Mapping[str, Reader] = {
    **REQUIRED,
    "DATASET_CONFIGS": _configs,
    **{name: reader for name, (reader, _) in OPTIONS.items()},
    **dict.fromkeys(WEIGHTS, _number(0, 1e6)),
    **dict.fromkeys(FILES, file_template),
}


def read_lunar_settings(data: bytes) -> LunarSettings:
    """Return what a file says.

    Raises:
        BadLunarSettings: it is no such file, or says what cannot be; with all its problems.
    """
    text = _decoded(data)
    entries = _parsed(text)
    lines = _lines(text, [name for name in (*READERS, *SECRETS, *UNUSED) if name in entries])
    problems = [
        SettingsProblem("This entry is missing. Add it as in Lunar-Bench's settings.json.", name)
        for name in REQUIRED
        if name not in entries
    ]
    values: JsonDict = {}
    for name, reader in READERS.items():
        if name not in entries:
            continue
        try:
            values[name] = reader(entries[name])
        except _Wrong as wrong:
            problems.append(SettingsProblem(str(wrong), name, lines.get(name)))
    if not problems and "DATASET_CONFIGS" in values:
        problems += [
            SettingsProblem(
                f"DATASET_CONFIGS has no data set {name!r}. Add it there, or remove it here.",
                "DATASETS_TO_RUN",
                lines.get("DATASETS_TO_RUN"),
            )
            for name in values["DATASETS_TO_RUN"]
            if name not in values["DATASET_CONFIGS"]
        ]
    if problems:
        raise BadLunarSettings(problems)
    if "DATASET_CONFIGS" in values:
        values["DATASET_CONFIGS"] = {name: values["DATASET_CONFIGS"][name] for name in values["DATASETS_TO_RUN"]}
    known_names = {*READERS, *SECRETS, *UNUSED}
    others = [name for name in entries if name not in known_names and not name.startswith(COMMENT)]
    return LunarSettings(
        values=values,
        unread=tuple(name for name in SECRETS if name in entries),
        ignored=tuple(_shown(name) for name in others[:MOST_NAMES]),
        unused=tuple(name for name in UNUSED if name in entries),
        lines=lines,
    )


def _shown(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:SHOWN_KEY])


def _decoded(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise _refusal(f"The file has more than {MOST_BYTES // 1024:,} KiB. A settings.json is a short text.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refusal("The file is not UTF-8 text. Save it as UTF-8.") from None
    if not text.strip():
        raise _refusal("The file is empty.")
    if opens_too_deep(text):
        raise _refusal("The brackets of the file are nested too deeply for a settings.json.")
    return text


def _parsed(text: str) -> JsonDict:
    repeated_names: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> JsonDict:
        names = [name for name, _ in pairs]
        repeated_names.extend(name for name in dict.fromkeys(names) if name in READERS and names.count(name) > 1)
        return dict(pairs)

    try:
        entries = json.loads(text, object_pairs_hook=unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _refusal(_json_message(text, error), line=error.lineno) from None
    except ValueError:  # an integer of thousands of digits, NaN
        raise _refusal("A number of the file is none that JSON has, or has too many digits.") from None
    if not isinstance(entries, dict):
        raise _refusal("The file is JSON, but not an object: it must start with { and end with }.")
    if repeated_names:
        raise BadLunarSettings(
            [
                SettingsProblem("This entry is there twice. Remove one of them.", name)
                for name in dict.fromkeys(repeated_names)
            ]
        )
    return entries


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _json_message(text: str, error: json.JSONDecodeError) -> str:
    line = text.split("\n")[error.lineno - 1].lstrip()
    rest = text[error.pos :].lstrip(" \t\r\n,")  # some versions of Python point at the comma itself
    if any(part.startswith(("//", "/*", "#")) for part in (line, rest)):
        return f'JSON has no comments. Remove it, or write it as an entry "{COMMENT}...": "...".'
    if rest.startswith(("}", "]")):
        return "There is a comma before a closing bracket. Remove it."
    return "The text is not JSON here. Check quotes, commas and brackets."


def _refusal(message: str, *, line: int | None = None) -> BadLunarSettings:
    return BadLunarSettings([SettingsProblem(message, line=line)])


def _lines(text: str, names: list[str]) -> dict[str, int]:
    """Return the line at which each of these names first stands as a key."""
    matches = {name: re.search(rf'"{name}"\s*:', text) for name in names}
    return {name: text.count("\n", 0, match.start()) + 1 for name, match in matches.items() if match is not None}

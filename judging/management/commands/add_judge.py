"""`add_judge`: set up a judge from options or a file, or change the one of that name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evalsite.base.command_base import BadInput, JsonCommand, form_refusal
from evalsite.base.json_types import JsonDict
from judging.forms.endpoints import JudgeForm, shown_options
from judging.judges.judge_kinds import members_from_lines
from judging.judges.registry import KINDS
from judging.management import choices
from judging.models import Judge
from judging.services.endpoints import JudgeNotValid, save_judge
from judging.services.judge_files import BadJudgeFile, JudgeFile, read_judge_file


class Command(JsonCommand):
    """Through the same form as the page."""

    help = "Create a judge, or change the one with this name. Options that are not given do not change."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", default="", help="a judge as YAML, as export_judge writes it")
        parser.add_argument("--name", default="", help="name of the judge; default: that of the file")
        parser.add_argument("--kind", choices=sorted(KINDS), help="kind of a new judge")
        parser.add_argument("--endpoint", default="", help="name of the endpoint; none for a kind that asks no model")
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of the kind; can be repeated. The members of a panel are lines of NAME or NAME = WEIGHT",
        )
        parser.add_argument("--prompt", default="", metavar="VERSION", help="a stored prompt version")

    def run(self, **options: Any) -> JsonDict:
        read = _read(options)
        judge = Judge.objects.select_related("endpoint").filter(name=options["name"]).first()
        kind = _kind(judge, options["kind"])
        entered = _entered(judge, kind, options, read)
        form = JudgeForm(entered, kind=kind, judge=judge)
        if not form.is_valid():
            raise form_refusal(form)
        try:
            saved = save_judge(judge=judge, fields=form.entered(), kind=kind, options=form.options(), actor=None)
        except JudgeNotValid as refusal:
            raise BadInput(str(refusal)) from refusal
        return {
            "id": saved.pk,
            "name": saved.name,
            "kind": saved.kind,
            "endpoint": saved.endpoint.name if saved.endpoint else None,
            "options": saved.options,
            "created": judge is None,
        }


def _read(options: JsonDict) -> JudgeFile | None:
    """Return the judge of the file, and take from it the name, kind and endpoint that are not given."""
    read = None
    if options["file"]:
        path = Path(options["file"])
        try:
            read = read_judge_file(path.read_bytes(), path.name)
        except (OSError, BadJudgeFile) as problem:
            raise BadInput(str(problem)) from None
        options["name"] = options["name"] or read.name
        options["kind"] = options["kind"] or read.kind.name
        options["endpoint"] = options["endpoint"] or read.endpoint
        if options["kind"] != read.kind.name:
            raise BadInput(f"{path.name} is a judge of the kind {read.kind.name}. (--kind)")
    if not options["name"]:
        raise BadInput("Name the judge (--name), or give its file.")
    return read


def _kind(judge: Judge | None, kind: str | None) -> str:
    if judge is None and kind is None:
        raise BadInput("A new judge needs --kind.")
    if judge is not None and kind not in (None, judge.kind):
        raise BadInput(f"{judge} is a judge of the kind {judge.kind}; choose another name.")
    return judge.kind if judge is not None else str(kind)


def _entered(judge: Judge | None, kind: str, options: JsonDict, read: JudgeFile | None) -> JsonDict:
    """Return what the page would send: what was given, else what the file, the judge or a new one has."""
    values = KINDS[kind].new_options() if judge is None else KINDS[kind].complete_options(judge.options)
    values = values if read is None else dict(read.options)
    entered = _given(options["option"])
    unknown = sorted(entered.keys() - values.keys())
    if unknown:
        existing = ", ".join(sorted(values))
        raise BadInput(f"A judge of the kind {kind} has no option {unknown[0]!r}. It has: {existing}.")
    by_name = {option.name: option for option in KINDS[kind].options}
    for name, text in entered.items():
        is_panel = by_name[name].kind == "members"
        values[name] = members_from_lines(text) if is_panel else _value(by_name[name].choices, text)
    if options["prompt"]:
        version = choices.prompt_of(options["prompt"], active=True)
        values |= {"prompt_text": version.text, **KINDS[kind].prompts.get(version.name, {})}
    endpoint = choices.endpoint_of(options["endpoint"]) if options["endpoint"] else judge.endpoint if judge else None
    source = read or judge
    names = {"name": options["name"], "description": source.description if source else ""}
    return {**names, "endpoint": endpoint.pk if endpoint else "", **shown_options(KINDS[kind], values)}


def _given(pairs: list[str]) -> dict[str, str]:
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"Write an option as NAME=VALUE, not {pair!r}.")
        values[name.strip()] = value
    return values


def _value(offered: tuple[object, ...], text: str) -> Any:
    """Return the choice that a text stands for; where there is none such, the text, which the form refuses."""
    return next((choice for choice in offered if text in (str(choice), json.dumps(choice))), text)

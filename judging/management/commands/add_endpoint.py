"""`add_endpoint`: add or change an OpenAI-compatible endpoint, and try it with one cheap call."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.forms.models import model_to_dict
from django.utils import timezone

from evalsite.base.command_base import BadInput, JsonCommand, form_refusal
from evalsite.base.json_types import JsonDict
from judging.forms.endpoints import EndpointForm
from judging.llm.endpoints import EndpointKind, KeyHeader
from judging.llm.presets import PRESETS
from judging.models import ModelEndpoint
from judging.services.endpoint_trials import try_endpoint
from judging.services.endpoints import EndpointNotValid, forget_capabilities, save_endpoint


class Command(JsonCommand):
    """Through the same form as the page."""

    help = "Add an endpoint, or change the one with this name."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--preset", default="", choices=["", *PRESETS], metavar="NAME", help=", ".join(PRESETS))
        parser.add_argument("--url", help="address including /v1; default: that of the preset")
        parser.add_argument("--model", required=True, help="the model id that the endpoint expects")
        parser.add_argument("--key-variable", help="NAME of the environment variable that contains the key")
        parser.add_argument(
            "--key-header",
            choices=list(KeyHeader),
            metavar="HEADER",
            help="how the key is sent: " + " or ".join(KeyHeader),
        )
        parser.add_argument("--query", help="follows the address of each request, such as api-version=2024-10-21")
        parser.add_argument("--headers", default="", help="JSON object of further headers; never a key")
        parser.add_argument(
            "--read-timeout", default="", help="seconds for a reply; default: 180, reasoning models 600"
        )
        parser.add_argument("--max-concurrency", type=int, help="concurrent calls of all workers; default: 50")
        parser.add_argument("--requests-per-minute", default="", help="of all workers; empty or 0: no limit")
        parser.add_argument("--tokens-per-minute", default="", help="of all workers; empty or 0: no limit")
        parser.add_argument("--reasoning", action="store_true", help="allow 10 minutes and 8,192 tokens for a reply")
        parser.add_argument(
            "--stream", action=argparse.BooleanOptionalAction, help="receive replies while they are written"
        )
        parser.add_argument("--ca-certificates", default="", metavar="FILE", help="PEM file of authorities to trust")
        parser.add_argument("--proxy", default="", help='http://host:port, or "none"; default: that of the site')
        parser.add_argument(
            "--proxy-login-variable", default="", help="NAME of the environment variable that contains user:password"
        )
        parser.add_argument("--min-output-tokens", default="", help="minimum output limit of each request")
        parser.add_argument(
            "--reuse-days", default="", help="do not reuse replies older than this many days; empty: no limit"
        )
        parser.add_argument(
            "--extra", default="", help="""JSON object added to each request: '{"reasoning_effort": "low"}'"""
        )
        parser.add_argument("--input-price", default="", help="USD per million tokens")
        parser.add_argument("--output-price", default="", help="USD per million tokens")
        parser.add_argument("--cached-price", default="", help="USD per million cached input tokens; default: as input")
        parser.add_argument(
            "--reasoning-price", default="", help="USD per million reasoning tokens that are counted apart from output"
        )
        parser.add_argument(
            "--images", choices=["tested", "yes", "no"], help="whether it sees images; default: as its test shows"
        )
        parser.add_argument(
            "--not-in-use", action="store_true", help="keep it, but do not offer it for new judges and runs"
        )
        parser.add_argument(
            "--forget", action="store_true", help="reset the known features, so that all of them are tried again"
        )
        parser.add_argument(
            "--test",
            action="store_true",
            help="send two inexpensive calls and print which features it accepts, and whether it sees images",
        )

    def run(self, **options: Any) -> JsonDict:
        endpoint = ModelEndpoint.objects.filter(name=options["name"]).first()
        if endpoint is not None and endpoint.kind != EndpointKind.OPENAI:
            raise BadInput(f"{endpoint.name} is a built-in baseline; choose another name.")
        existed = endpoint is not None
        form = EndpointForm(_entered(options), instance=ModelEndpoint.objects.filter(name=options["name"]).first())
        if not form.is_valid():
            raise form_refusal(form)
        try:
            saved = save_endpoint(endpoint=endpoint, fields=form.endpoint_fields(), actor=None)
        except EndpointNotValid as refusal:
            raise BadInput(str(refusal)) from refusal
        if options["forget"]:
            forget_capabilities(endpoint=saved, actor=None)
            saved.refresh_from_db()
        shown = model_to_dict(saved, fields=["id", "name", "base_url", "model", "key_variable", "max_concurrency"])
        trial = {"trial": asdict(try_endpoint(endpoint=saved, at=timezone.now()))} if options["test"] else {}
        return {**shown, "created": not existed, **trial}


def _file_text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8") if name else ""
    except (OSError, ValueError) as error:
        raise BadInput(f"{name} cannot be read: {error} (--ca-certificates)") from None


def _entered(options: JsonDict) -> JsonDict:
    preset = PRESETS.get(options["preset"])
    first = {"max_concurrency": 50, **(preset.first_values() if preset else {})}
    entered = {name: options[name] for name in ("key_variable", "key_header", "query", "max_concurrency", "stream")}
    entered["base_url"] = options["url"]
    return {
        **first,
        **{name: value for name, value in entered.items() if value is not None},
        "name": options["name"],
        "model": options["model"],
        "headers": options["headers"],
        "read_timeout": options["read_timeout"],
        "reasoning": options["reasoning"],
        "stated_images": {"yes": "true", "no": "false"}.get(options["images"] or "", "unknown"),
        "requests_per_minute": options["requests_per_minute"],
        "tokens_per_minute": options["tokens_per_minute"],
        "min_output_tokens": options["min_output_tokens"],
        "reuse_days": options["reuse_days"],
        "ca_certificates": _file_text(options["ca_certificates"]),
        "proxy": options["proxy"],
        "proxy_login_variable": options["proxy_login_variable"],
        "extra": options["extra"],
        "input_price": options["input_price"],
        "output_price": options["output_price"],
        "cached_price": options["cached_price"],
        "reasoning_price": options["reasoning_price"],
        "is_active": not options["not_in_use"],
    }

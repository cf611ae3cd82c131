"""`manage.py demo`: a site with something in it, for one person on one machine."""

from __future__ import annotations

import os
import time
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from evalsite.accounts.services import IssuedPassword
from evalsite.demo.content import DemoContent, load_content
from evalsite.demo.people import admit_people, role_in_demo
from evalsite.demo.work import start_work
from evalsite.serving.broker import ensure_broker
from evalsite.serving.sites import SitePlan, check_address, run_site
from judging.management.progress import progress_bar
from judging.services.baselines import ensure_baselines


class Command(BaseCommand):
    help = "Load the demo and start the whole site on 127.0.0.1; Ctrl-C or SIGTERM stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: object, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Set EVALSITE_DEMO=1, or use `make demo`.", returncode=2)
        started = time.monotonic()
        plan = SitePlan(port=options["port"])
        check_address(plan)  # a demo that runs there keeps its passwords
        os.umask(0o077)  # the database is its owner's
        call_command("migrate", verbosity=0)
        ensure_baselines()
        # What is loaded queues jobs, which wait for the workers.
        with ensure_broker(), progress_bar(shown=True) as watch:
            content = load_content(actor=None, at=now(), watch=watch)
        passwords = admit_people()
        run_site(
            plan,
            on_start=lambda: _start_work(content),
            on_ready=lambda: self._welcome(plan, passwords, time.monotonic() - started),
        )

    def _welcome(self, plan: SitePlan, passwords: list[IssuedPassword], seconds: float) -> None:
        lines = [f"The demo is ready on http://{plan.address}/ after {seconds:.0f} s (Ctrl-C stops it).", ""]
        lines += ["Sign in with one of these; the passwords are generated at every start and shown only here:", ""]
        lines += [
            f"  {role_in_demo(issued.person.username):<11} {issued.person.username:<16} {issued.password}"
            for issued in passwords
        ]
        self.stdout.write("\n".join([*lines, ""]))
        self.stdout.flush()


def _start_work(content: DemoContent) -> None:
    start_work(content=content, actor=None, at=now())

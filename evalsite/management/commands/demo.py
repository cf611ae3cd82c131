"""`manage.py demo`: a site with something in it, for one person on one machine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from evalsite.base.rows import Issued
from evalsite.demo.content import DemoContent, admit_people, load_content, role_in_demo, start_work
from evalsite.serving.broker import ensure_broker
from evalsite.serving.locations import private_folder, write_record
from evalsite.serving.supervisor import SitePlan, check_address, run_site
from judging.services.judges import ensure_baselines


class Command(BaseCommand):
    help = "Load the demo and start the whole site on 127.0.0.1; Ctrl-C or SIGTERM stops it."
    requires_system_checks: list[str] = []  # they load every page; `check` and `migrate` make them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--since", type=float, help="seconds since 1970 from which the printed seconds are counted; default: now"
        )

    def handle(self, *args: object, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Set EVALSITE_DEMO=1, or use `make demo`.", returncode=2)
        self.since = options["since"] or time.time()
        plan = SitePlan(port=options["port"])
        check_address(plan)  # a demo that runs there keeps its passwords
        os.umask(0o077)  # the database, the log and the passwords are their owner's
        private_folder(settings.DATA_DIR)
        accounts = settings.DATA_DIR / "demo-accounts.txt"
        with _log_in(settings.DATA_DIR / "demo.log") as log:
            self._run(plan, log, accounts)
        accounts.unlink(missing_ok=True)  # they are renewed at the next start
        self._say("Stopped.")

    def _run(self, plan: SitePlan, log: IO[str], accounts: Path) -> None:
        self._say("Making the tables of the database, or bringing them up to date")
        call_command("migrate", verbosity=0)
        self._say("Loading questions, responses, rubrics and people")
        ensure_baselines()
        with ensure_broker():  # what is loaded queues jobs, which wait for the workers
            content = load_content(actor=None, at=now())
        passwords = admit_people()
        self._say(f"Starting broker, workers and web server; their log is {_shown(Path(log.name))}")
        run_site(
            plan,
            on_start=lambda: _start_work(content),
            on_ready=lambda: self._welcome(plan, passwords, accounts),
            output=log,
        )

    def _say(self, text: str) -> None:
        self.stdout.write(f"{time.time() - self.since:4.0f} s  {text}")
        self.stdout.flush()

    def _welcome(self, plan: SitePlan, passwords: list[Issued[User]], accounts: Path) -> None:
        lines = [
            f"  {role_in_demo(issued.row.username):<11} {issued.row.username:<16} {issued.secret}"
            for issued in passwords
        ]
        write_record(data_dir=settings.DATA_DIR, address=plan.address, environment=os.environ)
        accounts.write_text("\n".join([*lines, ""]), encoding="utf-8")
        self._say(f"The demo is ready on http://{plan.address}/ (Ctrl-C stops it)")
        self.stdout.write(
            "\nSign in with one of these. The passwords are generated at every start and are kept in\n"
            f"{_shown(accounts)} while the demo runs:\n"
        )
        self.stdout.write("\n".join([*lines, ""]))
        self.stdout.flush()


@contextmanager
def _log_in(path: Path) -> Iterator[IO[str]]:
    """Send what this process logs into a new file while the block lasts, not to the screen; yield the file."""
    handlers = [one for one in logging.getLogger().handlers if type(one) is logging.StreamHandler]
    with path.open("w", encoding="utf-8", buffering=1) as file:
        before = [handler.setStream(file) for handler in handlers]
        try:
            yield file
        finally:
            for handler, stream in zip(handlers, before, strict=True):
                handler.setStream(stream or handler.stream)


def _shown(path: Path) -> str:
    """Return the path as seen from the current folder, where it lies in it."""
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _start_work(content: DemoContent) -> None:
    start_work(content=content, actor=None, at=now())

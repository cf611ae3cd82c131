"""Transactions that are repeated while the database is locked or away."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from judging import stop_requests

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
PATIENCE_SECONDS = 600.0
PATIENCE_WHEN_STOPPING_SECONDS = 20.0


def persistently(operation: Callable[[], T]) -> T:
    """Return what `operation` returns, doing it again while the database is locked or does not answer.

    `operation` is one transaction that may be repeated. Inside another transaction it is done once.

    Raises:
        OperationalError, InterfaceError: the database did not answer for ten minutes.
    """
    started, wait = time.monotonic(), FIRST_WAIT_SECONDS
    while True:
        try:
            return operation()
        except (OperationalError, InterfaceError) as error:
            patience = PATIENCE_WHEN_STOPPING_SECONDS if stop_requests.requested() else PATIENCE_SECONDS
            if connection.in_atomic_block or time.monotonic() - started > patience:
                raise
            logger.warning("judging.database_awaited error=%s", type(error).__name__)
            connection.close_if_unusable_or_obsolete()
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

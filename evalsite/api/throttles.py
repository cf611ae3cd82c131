"""How many requests a token may make in a minute, counted in the broker's Redis; without one nobody is held up."""

from __future__ import annotations

import time

from django.conf import settings
from redis.exceptions import RedisError

from evalsite.api.problems import RequestProblem
from judging.llm.limiter import connect

MOST_REQUESTS = 600  # in a minute, of one token, or of one person in a browser
SECONDS = 60


def check_rate(caller: str) -> None:
    """Count a request of a token or person. Raises: RequestProblem: too many were made in this minute."""
    minute, second = divmod(int(time.time()), SECONDS)
    key = f"api:requests:{caller}:{minute}"
    try:
        with connect(settings.REDIS_URL) as redis:
            count = redis.incr(key)
            redis.expire(key, 2 * SECONDS)
    except (RedisError, OSError):
        return
    if count > MOST_REQUESTS:
        words = f"More than {MOST_REQUESTS} requests in a minute. Wait until the next one."
        raise RequestProblem(429, words, retry_after=SECONDS - second)

from __future__ import annotations

import os
import signal

from rq import Queue
from rq.job import Job

from evalsite.serving.workers import SiteWorker
from judging import stopping
from tests.own_redis import OwnRedis

ASKED, NOT_ASKED = 3, 4


class StoppedAtOnce(SiteWorker):
    """Its job is asked to stop between its first breath and its knowing what that means."""

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        self.setup_work_horse_signals()
        os._exit(ASKED if stopping.requested() else NOT_ASKED)


def test_a_job_hears_a_stop_that_comes_before_it_listens(own_redis: OwnRedis) -> None:
    queue = Queue("calls", connection=own_redis.client)
    worker = StoppedAtOnce([queue], connection=own_redis.client)

    worker.fork_work_horse(Job.create(print, connection=own_redis.client), queue)

    _, status = os.waitpid(worker.horse_pid, 0)
    assert (os.WIFEXITED(status), os.WEXITSTATUS(status)) == (True, ASKED)


def test_a_stop_finds_the_job_gone(own_redis: OwnRedis) -> None:
    worker = SiteWorker([Queue("calls", connection=own_redis.client)], connection=own_redis.client)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    worker._horse_pid = child

    worker.handle_warm_shutdown_request()  # raised, and the worker died of it

"""A thread for the plain handlers of one mailbox, which run one after the other.

A plain function cannot be stopped from outside. So the thread that waits for its call does not run it: it keeps
listening, and when the call is no longer needed it leaves this thread to its function and takes another one.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable

logger = logging.getLogger("a3s_code")

Job = Callable[[], None]


class Worker:
    """Runs jobs in order. Its thread starts with the first one and ends once it was left and has nothing to do."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._current: Job | None = None
        self._started = False
        self._left = False
        self._pid = os.getpid()

    def give(self, job: Job) -> None:
        """Adds a job."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
            if self._started:
                return
            self._started = True
        # A daemon, because a function that hangs must not keep the program from ending.
        threading.Thread(target=self._work, name="a3s-code-handler", daemon=True).start()

    def runs(self, job: Job) -> bool:
        """Whether it runs this job now."""
        with self._changed:
            return self._current == job

    def leave(self) -> list[Job]:
        """Lets its thread end, and gives back the jobs that it has not begun."""
        # After a fork the thread is only in the parent, and the lock may be held for ever.
        if self._pid != os.getpid():
            return []
        with self._changed:
            self._left = True
            jobs = list(self._jobs)
            self._jobs.clear()
            self._changed.notify()
            return jobs

    def _work(self) -> None:
        while True:
            with self._changed:
                self._current = None
                self._changed.wait_for(lambda: self._jobs or self._left)
                if not self._jobs:
                    return
                job = self._current = self._jobs.popleft()
            try:
                job()
            except BaseException:
                logger.exception("a handler's thread went on after an error")
            # What the job knows must not live until the next one comes.
            del job

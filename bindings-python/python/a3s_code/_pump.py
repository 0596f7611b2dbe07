"""Mailboxes: where answers, host calls and their cancellation arrive, and who takes them out.

A blocking call takes from a mailbox of its own thread. Host tools that are coroutines run right there, plain ones on a
thread beside it, one after the other, so that the call ends with its time limit whatever they do. An event loop has one mailbox and watches its descriptor, so no thread waits for it and nothing touches a loop that
is closed. A nested blocking call uses another mailbox than the call around it. No mailbox crosses a fork.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import _native
from ._generated.errors import HandleClosed
from ._host import AsyncHostCall, BlockingHostCall, not_needed
from ._worker import Job, Worker

if TYPE_CHECKING:
    from ._runtime import Runtime

COMPLETION: Final = 1
HOST_CALL: Final = 2
HOST_CANCEL: Final = 3

BATCH: Final = 64
TURN_SECONDS: Final = 0.004
SIGNAL_CHECK_MS: Final = 100
CANCEL_SECONDS: Final = 5.0

Answer: TypeAlias = tuple[int, str, bytes]
Message: TypeAlias = tuple[int, int, int, int, str, bytes]
Discard: TypeAlias = Callable[[Answer], None]

logger = logging.getLogger("a3s_code")


def _close_native(mailbox: int, descriptor: int, pid: int) -> None:
    # After a fork the mailbox is the parent's business, and so is its end of the socket.
    if pid == os.getpid():
        _native.mailbox_close(mailbox)
        if descriptor >= 0:
            os.close(descriptor)


class _Mailbox:
    """A native mailbox that is closed with its owner."""

    def __init__(self, runtime: Runtime, wake: bool) -> None:
        self.runtime = runtime
        self.host_errors: dict[int, BaseException] = {}
        self.id, self.descriptor = runtime.open_mailbox(wake)
        finalizer = weakref.finalize(self, _close_native, self.id, self.descriptor, os.getpid())
        finalizer.atexit = False
        self._close = finalizer

    def close(self) -> None:
        """Closes it; operations that report to it are cancelled."""
        self._close()


class ThreadMailbox(_Mailbox):
    """The mailbox of one blocking call at a time."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime, wake=False)
        self.backlog: deque[Message] = deque()
        self.running: dict[int, BlockingHostCall] = {}
        self.interrupt: KeyboardInterrupt | None = None
        self._taking = threading.Lock()
        self._worker: Worker | None = None

    def close(self) -> None:
        """Closes it; operations that report to it are cancelled, a handler that still runs is left alone."""
        super().close()
        self._leave_worker()

    def run_apart(self, job: Job) -> None:
        """Runs a plain handler beside the waiting thread, after those that came before."""
        if self._worker is None:
            self._worker = Worker()
            finalizer = weakref.finalize(self, self._worker.leave)
            finalizer.atexit = False
        self._worker.give(job)

    def _leave_worker(self) -> None:
        """Leaves the thread of the handlers to the one it runs; the others go to another."""
        worker, self._worker = self._worker, None
        for job in worker.leave() if worker is not None else ():
            self.run_apart(job)

    def wait(self, op: int, discard: Discard | None) -> Answer:
        """Waits for an operation and runs the host tools it needs; Ctrl-C cancels it."""
        try:
            return self._until(op)
        except BaseException:
            _native.cancel(op)
            self._settle(op, discard)
            raise

    def _until(self, op: int) -> Answer:
        while True:
            while self.backlog:
                kind, status, identity, owner, payload, data = self.backlog.popleft()
                if kind == COMPLETION and identity == op:
                    interrupt, self.interrupt = self.interrupt, None
                    if interrupt is not None:
                        raise interrupt
                    return (status, payload, data)
                if kind == HOST_CALL:
                    BlockingHostCall(self, identity, owner, payload).run()
            self.take(SIGNAL_CHECK_MS)

    def take(self, timeout_ms: int) -> None:
        """Moves what has arrived to the backlog; cancellations act at once."""
        # A thread that the handler started may look at its signal, too.
        if not self._taking.acquire(timeout=timeout_ms / 1000):
            return
        try:
            batch = _native.mailbox_next(self.id, timeout_ms, BATCH)
        finally:
            self._taking.release()
        if batch is None:
            raise HandleClosed("the runtime of this call was closed")
        for message in batch:
            if message[0] == HOST_CANCEL:
                self._host_cancel(message[2])
            else:
                self.backlog.append(message)

    def _host_cancel(self, identity: int) -> None:
        running = self.running.get(identity)
        if running is not None:
            running.context.signal.trigger()
            if self._worker is not None and self._worker.runs(running.work):
                self._leave_worker()
            return
        for message in list(self.backlog):
            if message[0] == HOST_CALL and message[2] == identity:
                self.backlog.remove(message)
                not_needed(identity)

    def _settle(self, op: int, discard: Discard | None) -> None:
        """Lets a cancelled operation end, for a bounded time; host tools are no longer started."""
        end = time.monotonic() + CANCEL_SECONDS
        try:
            while time.monotonic() < end:
                while self.backlog:
                    kind, status, identity, _, payload, data = self.backlog.popleft()
                    if kind == COMPLETION and identity == op:
                        if discard is not None:
                            discard((status, payload, data))
                        return
                    if kind == HOST_CALL:
                        not_needed(identity)
                self.take(SIGNAL_CHECK_MS)
        except HandleClosed:
            return


class ThreadMailboxes:
    """The mailboxes of one thread: as many as calls are nested, kept for the next ones."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = weakref.ref(runtime)
        self.free: list[ThreadMailbox] = []

    def take(self, runtime: Runtime) -> ThreadMailbox:
        """A mailbox that nobody uses."""
        return self.free.pop() if self.free else ThreadMailbox(runtime)

    def give(self, mailbox: ThreadMailbox, clean: bool) -> None:
        """Takes a mailbox back; one with unfinished business is closed instead."""
        mailbox.host_errors.clear()
        mailbox.interrupt = None
        if clean and not mailbox.backlog:
            self.free.append(mailbox)
        else:
            mailbox.close()


class _Waiting:
    """One awaited operation."""

    __slots__ = ("arguments", "context", "future", "led_to", "owner")

    def __init__(
        self, future: asyncio.Future[Answer], owner: int, arguments: Mapping[str, Any]
    ) -> None:
        self.future = future
        self.owner = owner
        self.arguments = arguments
        self.led_to = 0
        self.context = contextvars.copy_context()


class LoopMailbox(_Mailbox):
    """The mailbox of one event loop."""

    def __init__(self, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(runtime, wake=True)
        self._loop = weakref.ref(loop)
        self.waiting: dict[int, _Waiting] = {}
        self.orphans: dict[int, Discard] = {}
        self.running: dict[int, AsyncHostCall] = {}
        self._inline_since: float | None = None
        loop.add_reader(self.descriptor, self._wake)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it belongs to; only valid while that runs."""
        loop = self._loop()
        if loop is None:
            raise HandleClosed("the event loop of this call is gone")
        return loop

    @property
    def dead(self) -> bool:
        """Whether nobody can drain it any more."""
        loop = self._loop()
        return loop is None or loop.is_closed()

    def close(self) -> None:
        """Closes it; operations that report to it are cancelled, what waits for them is told so."""
        loop = self._loop()
        if loop is not None and not loop.is_closed() and self._close.alive:
            loop.remove_reader(self.descriptor)
        super().close()
        waiting, self.waiting = self.waiting, {}
        if not self.dead:
            for each in waiting.values():
                if not each.future.done():
                    each.future.set_exception(HandleClosed("the runtime of this call was closed"))

    async def wait(
        self, op: int, owner: int, arguments: Mapping[str, Any], discard: Discard | None
    ) -> Answer:
        """Waits for an operation; cancelling the task cancels it."""
        future: asyncio.Future[Answer] = self.loop.create_future()
        self.waiting[op] = _Waiting(future, owner, arguments)
        try:
            return await future
        except asyncio.CancelledError:
            _native.cancel(op)
            if self.waiting.pop(op, None) is not None and discard is not None:
                self.orphans[op] = discard
            elif discard is not None and future.done() and not future.cancelled():
                discard(future.result())
            raise

    async def after_inline(self) -> None:
        """Lets the loop run when answers on the caller's thread have held it for too long."""
        now = time.perf_counter()
        if self._inline_since is None:
            self._inline_since = now
            self.loop.call_soon(self._loop_ran)
        elif now - self._inline_since > TURN_SECONDS:
            await asyncio.sleep(0)

    def _loop_ran(self) -> None:
        self._inline_since = None

    def _wake(self) -> None:
        try:
            os.read(self.descriptor, BATCH)
        except BlockingIOError:
            pass
        self._drain()

    def _drain(self) -> None:
        end = time.perf_counter() + TURN_SECONDS
        while self._close.alive:
            batch = _native.mailbox_next(self.id, 0, BATCH)
            if batch is None:
                self.close()
                return
            for message in batch:
                self._deliver(message)
            if len(batch) < BATCH:
                return
            if time.perf_counter() > end:
                self.loop.call_soon(self._drain)
                return

    def _deliver(self, message: Message) -> None:
        kind, status, identity, owner, payload, data = message
        if kind == COMPLETION:
            waiting = self.waiting.pop(identity, None)
            if waiting is not None:
                if not waiting.future.done():
                    waiting.future.set_result((status, payload, data))
            elif (discard := self.orphans.pop(identity, None)) is not None:
                discard((status, payload, data))
        elif kind == HOST_CALL:
            AsyncHostCall(self, identity, owner, payload).start()
        elif kind == HOST_CANCEL:
            running = self.running.get(identity)
            if running is not None:
                running.cancel()

    def context_of(self, owner: int, tool: str, args: Any) -> contextvars.Context | None:
        """The context variables of the call that led to a host call: of those that fit best, the oldest unused."""

        def fit(each: _Waiting) -> tuple[bool, bool, int]:
            given = each.arguments
            return (given.get("name") != tool, given.get("args") != args, each.led_to)

        candidates = [each for each in self.waiting.values() if each.owner == owner]
        if not candidates:
            return None
        best = min(candidates, key=fit)
        best.led_to += 1
        return best.context.copy()

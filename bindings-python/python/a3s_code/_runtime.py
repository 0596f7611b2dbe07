"""The runtime behind agents: opened late, closed at exit, left alone after a fork.

One runtime serves the process unless a caller opens its own. Its mailboxes belong to threads and loops. A forked
child never touches what the parent opened, not even to free it; it opens a runtime of its own when it needs one.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import threading
import time
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from . import _calls, _native, _wire
from ._generated.errors import ForkDetected, HandleClosed
from ._generated.types import SdkCapability
from ._pump import COMPLETION, LoopMailbox, ThreadMailboxes

if TYPE_CHECKING:
    from .tools import Tool

__all__ = ["Runtime"]

EXIT_MS: Final = 1000


class _ThreadState(threading.local):
    """The mailboxes of the current thread; they close when the thread ends."""

    mailboxes: ThreadMailboxes | None = None


class Runtime:
    """Threads and objects that agents live on.

    Most programs never name it: `Agent.create()` uses one runtime for the whole process. `threads` is the number of
    its threads, the number of processors up to 4 when left out; they start with the first call that waits. `debug`
    adds what tests and benchmarks need.
    """

    _shared: Runtime | None = None
    _lock = threading.Lock()
    _live: weakref.WeakSet[Runtime] = weakref.WeakSet()
    _leaked: Final[list[Any]] = []

    def __init__(self, *, threads: int | None = None, debug: bool = False) -> None:
        options: dict[str, Any] = {}
        if threads is not None:
            options["threads"] = threads
        if debug:
            options["debug"] = True
        try:
            self.handle = _native.runtime_open(json.dumps(options))
        except _native.NativeError as error:
            raise _wire.error(error.args[0]) from None
        self.tools: dict[int, Tool] = {}
        self._pid = os.getpid()
        self._closed = False
        self._threads = _ThreadState()
        self._all_threads: weakref.WeakSet[ThreadMailboxes] = weakref.WeakSet()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMailbox] = (
            weakref.WeakKeyDictionary()
        )
        self._loops_lock = threading.Lock()
        Runtime._live.add(self)
        finalizer = weakref.finalize(self, _release, self.handle, self._pid)
        finalizer.atexit = False

    @classmethod
    def shared(cls) -> Runtime:
        """The runtime of the process, opened with the first use."""
        with cls._lock:
            if cls._shared is None or cls._shared._closed:
                cls._shared = Runtime()
            return cls._shared

    def sdk_capabilities(self) -> list[SdkCapability]:
        """Lists what the product offers as a contract; does not vary with a session."""
        records = _calls.call_now(self, self.handle, "runtime.sdkCapabilities", {}, _calls.value)
        return [SdkCapability.from_wire(record) for record in records]

    def close(self, timeout: float = 1.0) -> None:
        """Closes it with all its agents and sessions, within `timeout` seconds. Closing again does nothing."""
        if self._closed or self._pid != os.getpid():
            self._closed = True
            return
        self._closed = True
        end = time.monotonic() + timeout
        mailbox = None
        try:
            mailbox, _ = _native.mailbox_open(self.handle, False)
            deadline = json.dumps({"deadlineMs": max(1, int(timeout * 1000))})
            op = _native.runtime_close(self.handle, mailbox, deadline)
            while (left := end - time.monotonic()) > 0:
                batch = _native.mailbox_next(mailbox, max(1, int(left * 1000)), 1)
                if batch is None or any(m[0] == COMPLETION and m[2] == op for m in batch):
                    break
        except _native.NativeError:
            pass
        finally:
            if mailbox is not None:
                _native.mailbox_close(mailbox)
            self._close_mailboxes()
            _native.release(self.handle)

    def _close_mailboxes(self) -> None:
        with self._loops_lock:
            loops = list(self._loops.values())
            self._loops = weakref.WeakKeyDictionary()
        for mailbox in loops:
            if mailbox.dead or not mailbox.loop.is_running() or mailbox.loop is _running_loop():
                mailbox.close()
            else:
                try:
                    mailbox.loop.call_soon_threadsafe(mailbox.close)
                except RuntimeError:
                    mailbox.close()
        for thread in list(self._all_threads):
            while thread.free:
                thread.free.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def check_process(self) -> None:
        """Refuses use in a forked child and after close."""
        if self._pid != os.getpid():
            raise ForkDetected(
                "the process was forked after this object was opened; create a new Agent in the child"
            )
        if self._closed:
            raise HandleClosed("the runtime is closed")

    def open_mailbox(self, wake: bool) -> tuple[int, int]:
        """Opens a native mailbox."""
        try:
            return _native.mailbox_open(self.handle, wake)
        except _native.NativeError as error:
            raise _wire.error(error.args[0]) from None

    def thread_mailboxes(self) -> ThreadMailboxes:
        """The mailboxes of the calling thread."""
        mailboxes = self._threads.mailboxes
        if mailboxes is None:
            mailboxes = self._threads.mailboxes = ThreadMailboxes(self)
            self._all_threads.add(mailboxes)
        return mailboxes

    def loop_mailbox(self, loop: asyncio.AbstractEventLoop) -> LoopMailbox:
        """The mailbox of a running loop; those of closed loops are closed on the way."""
        mailbox = self._loops.get(loop)
        if mailbox is not None:
            return mailbox
        with self._loops_lock:
            for other, stale in list(self._loops.items()):
                if other.is_closed():
                    del self._loops[other]
                    stale.close()
            mailbox = self._loops[loop] = LoopMailbox(self, loop)
        return mailbox


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _release(handle: int, pid: int) -> None:
    if pid == os.getpid():
        _native.release(handle)


def release_later(owner: object, handle: int) -> None:
    """Drops a native reference when its wrapper is gone."""
    finalizer = weakref.finalize(owner, _release, handle, os.getpid())
    finalizer.atexit = False


def _after_fork() -> None:
    # Never freed here: the threads that would have to end exist only in the parent.
    Runtime._leaked.append((Runtime._shared, list(Runtime._live)))
    Runtime._shared = None
    Runtime._lock = threading.Lock()
    Runtime._live = weakref.WeakSet()


def _at_exit() -> None:
    for runtime in list(Runtime._live):
        runtime.close(EXIT_MS / 1000)


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)

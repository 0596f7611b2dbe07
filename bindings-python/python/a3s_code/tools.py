"""Tools written in Python: how one is described, and what its handler is given and may return.

A handler takes `(args, ctx)` and returns text or a `ToolOutput` (or a dict with its attribute names). What it
raises makes the call fail with exit code 1 and the message in `metadata["host_error"]`. A handler that is no longer
needed (cancel, time limit, close) sees it in `ctx.signal`; an `async def` handler is cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from . import _native, _wire
from ._calls import call_awaited, call_blocking, tool_result
from ._generated.errors import InvalidArgument

if TYPE_CHECKING:
    from ._generated.types import ToolCapabilities, ToolResult
    from ._runtime import Runtime

__all__ = ["CancelSignal", "Tool", "ToolContext", "ToolOutput"]

Resource = TypeVar("Resource")
Handler = Callable[[Any, "ToolContext"], Any]

logger = logging.getLogger("a3s_code")
_references = itertools.count(1)
_POLL_SECONDS: Final = 0.02


@dataclass(kw_only=True, slots=True)
class ToolOutput:
    """What a handler returns when text alone is not enough."""

    output: str
    """The text."""
    success: bool = True
    """False when the tool failed; an error kind means failure, whatever this says."""
    metadata: Mapping[str, Any] | None = None
    """Facts about the result; whole numbers in it are within 2**53 - 1."""
    error_kind: Mapping[str, Any] | None = None
    """How it failed, tagged by `type`."""


@dataclass(kw_only=True, eq=False)
class Tool:
    """A tool written in Python.

    `name` is 1 to 64 of `A-Z a-z 0-9 _ -` (reserved names: docs/reference/options.md), `parameters` the JSON Schema of
    the arguments, which are an object, `capabilities` what a call promises (nothing when left out), `timeout_ms` the
    time limit of a call, 1 to 86,400,000 (600,000 when left out).
    A plain function runs on a thread of its own; `inline` runs it on the event loop or the thread that waits for the
    call, which nothing can interrupt there: only for what returns at once.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Handler
    capabilities: ToolCapabilities | Mapping[str, Any] | None = None
    timeout_ms: int | None = None
    inline: bool = False
    reference: int = field(default_factory=lambda: next(_references), init=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.handler):
            raise TypeError("handler must be callable")

    @property
    def is_async(self) -> bool:
        """Whether the handler is a coroutine function."""
        call = getattr(self.handler, "__call__", None)  # noqa: B004
        return inspect.iscoroutinefunction(self.handler) or inspect.iscoroutinefunction(call)

    def to_wire(self, where: str = "tool") -> dict[str, Any]:
        """The registration without the handler; `where` names it in errors."""
        from ._generated.types import ToolCapabilities

        wire: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "hostRef": self.reference,
        }
        if self.capabilities is not None:
            how = _wire.Record(lambda: ToolCapabilities)
            wire["capabilities"] = how.to_wire(self.capabilities, f"{where}.capabilities")
        if self.timeout_ms is not None:
            wire["timeoutMs"] = self.timeout_ms
        return wire


def as_tool(value: Tool | Mapping[str, Any], where: str = "tool") -> Tool:
    """A registration of its own for a tool, which may stand in many sessions, or for a mapping of its attributes."""
    if isinstance(value, Tool):
        given = {name: getattr(value, name) for name in _TOOL_FIELDS}
    elif isinstance(value, Mapping):
        _wire.check_keys(value, _TOOL_FIELDS, where)
        for name in ("name", "description", "parameters", "handler"):
            if name not in value:
                raise _wire.refused(f"{where}.{name}", "is missing")
        if not callable(value["handler"]):
            raise _wire.refused(f"{where}.handler", "must be callable")
        given = dict(value)
    else:
        raise _wire.refused(where, f"must be a Tool or a mapping, not {type(value).__name__}")
    return Tool(**given)


_TOOL_FIELDS: Final = (
    "name",
    "description",
    "parameters",
    "handler",
    "capabilities",
    "timeout_ms",
    "inline",
)


class CancelSignal:
    """Tells a handler that its call is no longer needed. Usable from any thread, and awaitable from a loop."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._poll: Callable[[int], None] | None = None

    def listen(self, poll: Callable[[int], None]) -> None:
        """Looks for itself from now on: `poll` takes what has arrived within so many milliseconds."""
        self._poll = poll

    def trigger(self) -> None:
        """Sets it."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether the call is no longer needed."""
        if not self._event.is_set() and self._poll is not None:
            self._poll(0)
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until it is set or `timeout` seconds have passed; whether it is set."""
        if self._poll is None:
            return self._event.wait(timeout)
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = 0.1 if end is None else end - time.monotonic()
            if left <= 0:
                return False
            self._poll(max(1, int(min(left, 0.1) * 1000)))
        return True

    async def wait_async(self) -> None:
        """Waits in a loop until it is set."""
        while not self.is_set():
            await asyncio.sleep(_POLL_SECONDS)


class ToolContext:
    """What a handler is given beside its arguments; valid until the handler ends."""

    def __init__(
        self,
        runtime: Runtime,
        host_call: int,
        owner: int,
        call: Mapping[str, Any],
        signal: CancelSignal,
    ) -> None:
        self._runtime = runtime
        self._host_call = host_call
        self._owner = owner
        self._owned: list[Callable[[], Any]] = []
        self.name: str = call["name"]
        """Name of the tool."""
        self.call_id: str = call["callId"]
        """Id of the call."""
        self.session_id: str = call["sessionId"]
        """Id of the session."""
        self.workspace: str = call["workspace"]
        """Root of the workspace."""
        self.deadline: float = call["deadlineMs"] / 1000
        """When the call must end, in seconds since the epoch, to be compared with `time.time()`."""
        self.signal = signal
        """Set when the call is no longer needed."""

    def progress(self, text: str) -> None:
        """Reports partial output of the call; does nothing once the call has ended."""
        if not isinstance(text, str):
            raise InvalidArgument(
                f"`text` must be text, not {type(text).__name__}", details={"argument": "text"}
            )
        _wire.utf8(text, "the progress text")
        _native.host_progress(self._host_call, text)

    def invoke_tool(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        """Calls another tool, always governed; HandleClosed once this call has ended."""
        arguments = {"name": name, "args": args}
        return call_blocking(
            self._runtime, self._host_call, "hostCall.invokeTool", arguments, tool_result
        )

    async def invoke_tool_async(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        """Calls another tool, always governed; HandleClosed once this call has ended."""
        arguments = {"name": name, "args": args}
        return await call_awaited(
            self._runtime,
            self._host_call,
            "hostCall.invokeTool",
            arguments,
            tool_result,
            owner=self._owner,
        )

    def own(self, resource: Resource) -> Resource:
        """Closes a resource when the call ends, the last one first, and returns it.

        The resource has `close()` or `aclose()`, is a context manager (entered here, its value returned), or is a
        function to call. TypeError for anything else.
        """
        for name in ("close", "aclose"):
            close = getattr(resource, name, None)
            if callable(close):
                self._owned.append(close)
                return resource
        if hasattr(resource, "__enter__") and hasattr(resource, "__exit__"):
            entered: Resource = resource.__enter__()
            leave = resource.__exit__
            self._owned.append(lambda: leave(None, None, None))
            return entered
        if callable(resource):
            self._owned.append(resource)
            return resource
        raise TypeError(f"a {type(resource).__name__} cannot be closed")

    def _end(self, finish: Callable[[Awaitable[Any]], Any]) -> None:
        """Closes what is owned; `finish` runs what has to be awaited for that."""
        while self._owned:
            try:
                result = self._owned.pop()()
                if inspect.isawaitable(result):
                    finish(result)
            except KeyboardInterrupt:
                raise
            except BaseException:
                logger.exception("a resource of the tool %r could not be closed", self.name)

    async def _end_async(self) -> None:
        """Closes what is owned, awaiting where that is needed."""
        while self._owned:
            try:
                result = self._owned.pop()()
                if inspect.isawaitable(result):
                    await result
            except KeyboardInterrupt:
                raise
            except BaseException:
                logger.exception("a resource of the tool %r could not be closed", self.name)

"""One call across the boundary: immediate, blocking or awaited, and what is made of its answer.

Each form takes a function that turns the answer (JSON text and the bytes beside it) into the result. `discard` is
told of an answer that arrives after its caller gave up, for results that hold something open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from . import _native, _wire
from ._generated import types as _types
from ._generated.errors import InvalidArgument

if TYPE_CHECKING:
    from ._pump import Answer, Discard
    from ._runtime import Runtime


class Record(Protocol):
    """A result class of the contract."""

    @classmethod
    def from_wire(cls, record: Mapping[str, Any]) -> Self:
        """Reads the record of the wire."""
        ...


Result = TypeVar("Result")
Readable = TypeVar("Readable", bound=Record)
Read = Callable[[str, bytes], Result]


def _start(
    target: int, mailbox: int, method: str, arguments: Mapping[str, Any], data: bytes
) -> int | Answer:
    json = _wire.encode(arguments)
    try:
        return _native.call(target, mailbox, method, json, data)
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"not valid JSON: a text holds a lone surrogate: {error}") from error


def call_now(
    runtime: Runtime, target: int, method: str, arguments: Mapping[str, Any], read: Read[Result]
) -> Result:
    """Calls a method that never waits."""
    runtime.check_process()
    answer = _start(target, 0, method, arguments, b"")
    if isinstance(answer, int):
        raise AssertionError(f"{method} is immediate and did not answer at once")
    status, payload, data = answer
    if status:
        raise _wire.error(payload)
    return read(payload, data)


def call_blocking(
    runtime: Runtime,
    target: int,
    method: str,
    arguments: Mapping[str, Any],
    read: Read[Result],
    *,
    data: bytes = b"",
    discard: Discard | None = None,
) -> Result:
    """Calls a method and waits on this thread; host tools run here, Ctrl-C cancels."""
    runtime.check_process()
    mailboxes = runtime.thread_mailboxes()
    mailbox = mailboxes.take(runtime)
    clean = False
    try:
        answer = _start(target, mailbox.id, method, arguments, data)
        if isinstance(answer, int):
            answer = mailbox.wait(answer, discard)
        clean = True
        status, payload, out = answer
        if status:
            raise _wire.error(payload, mailbox.host_errors)
    except InvalidArgument:
        # Refused before it left Python: nothing is under way.
        clean = True
        raise
    finally:
        mailboxes.give(mailbox, clean)
    return read(payload, out)


def call_text(runtime: Runtime, target: int, method: str, json: str) -> str:
    """Calls a method with JSON text that was not made here; for tests of the boundary."""
    runtime.check_process()
    mailboxes = runtime.thread_mailboxes()
    mailbox = mailboxes.take(runtime)
    try:
        try:
            answer = _native.call(target, mailbox.id, method, json, b"")
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"not valid JSON: {error}") from error
        if isinstance(answer, int):
            answer = mailbox.wait(answer, None)
    finally:
        mailboxes.give(mailbox, clean=False)
    status, payload, _ = answer
    if status:
        raise _wire.error(payload)
    return payload


async def call_awaited(
    runtime: Runtime,
    target: int,
    method: str,
    arguments: Mapping[str, Any],
    read: Read[Result],
    *,
    data: bytes = b"",
    discard: Discard | None = None,
    owner: int | None = None,
) -> Result:
    """Calls a method for the running loop; cancelling the task cancels it.

    `owner` is the session whose tools the call may need, where that is not the target.
    """
    runtime.check_process()
    mailbox = runtime.loop_mailbox(asyncio.get_running_loop())
    answer = _start(target, mailbox.id, method, arguments, data)
    inline = not isinstance(answer, int)
    if isinstance(answer, int):
        answer = await mailbox.wait(answer, owner or target, arguments, discard)
    status, payload, out = answer
    error = _wire.error(payload, mailbox.host_errors) if status else None
    if not mailbox.waiting:
        # What handlers raised is kept no longer than the calls that it may end.
        mailbox.host_errors.clear()
    if error is not None:
        raise error
    result = read(payload, out)
    if inline:
        await mailbox.after_inline()
    return result


def nothing(payload: str, data: bytes) -> None:
    """Reads an answer that says nothing."""


def value(payload: str, data: bytes) -> Any:
    """Reads plain JSON."""
    return _wire.decode(payload)


def text(payload: str, data: bytes) -> str:
    """Reads a text that travelled as bytes."""
    return data.decode()


def tool_result(payload: str, data: bytes) -> _types.ToolResult:
    """Reads the result of a tool call, whose output travelled as bytes."""
    return _types.ToolResult.from_wire({**_wire.decode(payload), "output": data.decode()})


def artifact(payload: str, data: bytes) -> _types.ToolArtifact | None:
    """Reads an artifact, whose content travelled as bytes."""
    record = _wire.decode(payload)
    if record is None:
        return None
    content = data.decode("utf-8", "replace")
    return _types.ToolArtifact.from_wire({**record, "content": content, "bytes": data})


def record(kind: type[Readable]) -> Read[Readable]:
    """Reads one record."""
    return lambda payload, _: kind.from_wire(_wire.decode(payload))


def records(kind: type[Readable]) -> Read[list[Readable]]:
    """Reads a list of records."""
    return lambda payload, _: [kind.from_wire(each) for each in _wire.decode(payload)]


class Crossing:
    """An object on the other side, with the three ways to call it."""

    _runtime: Runtime
    _handle: int

    def _now(
        self, method: str, arguments: Mapping[str, Any], read: Read[Result]
    ) -> Result:
        return call_now(self._runtime, self._handle, method, arguments, read)

    def _blocking(
        self, method: str, arguments: Mapping[str, Any], read: Read[Result], data: bytes = b""
    ) -> Result:
        return call_blocking(self._runtime, self._handle, method, arguments, read, data=data)

    async def _awaited(
        self, method: str, arguments: Mapping[str, Any], read: Read[Result], data: bytes = b""
    ) -> Result:
        return await call_awaited(self._runtime, self._handle, method, arguments, read, data=data)

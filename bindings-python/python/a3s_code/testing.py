"""For tests and measurements, not for production: a runtime with faults on demand, and counts of what lives.

Sessions of its agents also offer the tools `debug_noop`, `debug_wait` (waits `ms` milliseconds) and `debug_panic`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from . import _calls, _native
from ._runtime import Runtime

__all__ = ["DebugRuntime", "Echo", "debug_counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """What came back."""

    value: Any
    """The value."""
    text: str
    """The value as JSON text."""
    data: bytes
    """The bytes beside it."""


def debug_counts() -> dict[str, int]:
    """Counts the live objects of the process by kind."""
    counts: dict[str, int] = json.loads(_native.debug_counts())
    return counts


def _echoed(payload: str, data: bytes) -> Echo:
    return Echo(value=json.loads(payload), text=payload, data=data)


class DebugRuntime(Runtime):
    """A runtime opened for tests; give it to `Agent.create` as `runtime`."""

    def __init__(self, *, threads: int | None = None) -> None:
        super().__init__(threads=threads, debug=True)

    def fail(self, code: str) -> None:
        """Fails with `code`; InvalidArgument for a code that does not exist."""
        _calls.call_blocking(self, self.handle, "debug.fail", {"code": code}, _calls.nothing)

    async def fail_async(self, code: str) -> None:
        """The same as `fail`, awaitable."""
        await _calls.call_awaited(self, self.handle, "debug.fail", {"code": code}, _calls.nothing)

    def panic(self, place: Literal["entry", "task"]) -> None:
        """Panics inside the library: when entering it, or in a task of its own."""
        _calls.call_blocking(self, self.handle, "debug.panic", {"place": place}, _calls.nothing)

    def echo(self, value: Any, data: bytes = b"") -> Echo:
        """Sends a value and bytes, and returns what comes back."""
        arguments = {"value": value}
        return _calls.call_blocking(
            self, self.handle, "debug.echo", arguments, _echoed, data=data
        )

    def echo_text(self, json_text: str) -> str:
        """Sends the JSON text of a value as it stands, and returns the text that comes back."""
        return _calls.call_text(self, self.handle, "debug.echo", '{"value":' + json_text + "}")

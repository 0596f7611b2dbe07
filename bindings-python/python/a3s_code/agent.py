"""Agents: where sessions are opened. Needs no file, key or model."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from . import _native, _wire
from ._calls import call_awaited, call_blocking
from ._generated.agent import AgentMethods
from ._generated.errors import InvalidArgument, SessionConfigurationError
from ._generated.types import SdkCapability, SessionOptions
from ._runtime import Runtime, release_later
from .session import Session
from .tools import Tool, as_tool

__all__ = ["Agent"]


def _discard(answer: tuple[int, str, bytes]) -> None:
    """Lets go of what was opened for a caller that is gone."""
    status, payload, _ = answer
    if status == 0:
        _native.release(_wire.decode(payload)["handle"])


def _source(source: Any) -> dict[str, Any]:
    return {} if source is None else {"source": source}


class Agent(AgentMethods):
    """An agent; made by `Agent.create`, ended by `close` or the end of a `with` block."""

    def __init__(self, runtime: Runtime, handle: int) -> None:
        self._runtime = runtime
        self._handle = handle
        release_later(self, handle)

    @classmethod
    def create(cls, source: Any = None, *, runtime: Runtime | None = None) -> Agent:
        """Opens an agent.

        `source` is the path of an `.acl` file, inline configuration text or a mapping; nothing is needed.
        ConfigError when the configuration is wrong, Unsupported for a source that cannot be served yet.
        """
        runtime = runtime or Runtime.shared()
        return call_blocking(
            runtime,
            runtime.handle,
            "agent.create",
            _source(source),
            lambda payload, _: cls(runtime, _wire.decode(payload)["handle"]),
            discard=_discard,
        )

    @classmethod
    async def create_async(cls, source: Any = None, *, runtime: Runtime | None = None) -> Agent:
        """The same as `create`, awaitable."""
        runtime = runtime or Runtime.shared()
        return await call_awaited(
            runtime,
            runtime.handle,
            "agent.create",
            _source(source),
            lambda payload, _: cls(runtime, _wire.decode(payload)["handle"]),
            discard=_discard,
        )

    def session(
        self, path: Any, options: SessionOptions | Mapping[str, Any] | None = None
    ) -> Session:
        """Opens a session on a workspace.

        `path` is its folder. SessionConfigurationError with `details["field"]` for a wrong option, NotFound when the
        folder is missing, HandleClosed after close.
        """
        arguments, tools = self._opening(path, options)
        try:
            return call_blocking(
                self._runtime,
                self._handle,
                "agent.session",
                arguments,
                lambda payload, _: Session(self, self._runtime, _wire.decode(payload), tools),
                discard=_discard,
            )
        except BaseException:
            self._forget(tools)
            raise

    async def session_async(
        self, path: Any, options: SessionOptions | Mapping[str, Any] | None = None
    ) -> Session:
        """The same as `session`, awaitable."""
        arguments, tools = self._opening(path, options)
        try:
            return await call_awaited(
                self._runtime,
                self._handle,
                "agent.session",
                arguments,
                lambda payload, _: Session(self, self._runtime, _wire.decode(payload), tools),
                discard=_discard,
            )
        except BaseException:
            self._forget(tools)
            raise

    def _opening(
        self, path: Any, options: SessionOptions | Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], list[Tool]]:
        """The arguments of the call, and the tools whose handlers must be found from now on."""
        tools: list[Tool] = []
        arguments: dict[str, Any] = {"workspace": path if isinstance(path, str) else _folder(path)}
        if options is not None:
            try:
                arguments["options"], tools = _options(options)
            except InvalidArgument as error:
                facts = dict(error.details or {})
                facts["field"] = facts.pop("argument", "options")
                raise SessionConfigurationError(f"option {error.message}", details=facts) from error
        self._runtime.tools.update((tool.reference, tool) for tool in tools)
        return arguments, tools

    def _forget(self, tools: list[Tool]) -> None:
        for tool in tools:
            self._runtime.tools.pop(tool.reference, None)

    def sdk_capabilities(self) -> list[SdkCapability]:
        """Lists what the product offers as a contract; does not vary with a session."""
        return self._runtime.sdk_capabilities()

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close_async()


def _options(options: Any) -> tuple[dict[str, Any], list[Tool]]:
    if isinstance(options, Mapping):
        options = _wire.make(SessionOptions, options, "")
    if not isinstance(options, SessionOptions):
        raise _wire.refused(
            "options", f"must be a SessionOptions or a mapping, not {type(options).__name__}"
        )
    wire = _wire.record_to_wire(options, "")
    tools: list[Tool] = []
    if options.tools is not None:
        given = _wire.Many(_wire.PLAIN).to_wire(options.tools, "tools")
        tools = [as_tool(tool, f"tools[{at}]") for at, tool in enumerate(given)]
        wire["tools"] = [tool.to_wire(f"tools[{at}]") for at, tool in enumerate(tools)]
    return wire, tools


def _folder(path: Any) -> str:
    import os

    try:
        name = os.fspath(path)
    except TypeError as error:
        raise InvalidArgument(
            f"`path` must be text or a path, not {type(path).__name__}", details={"argument": "path"}
        ) from error
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    return str(name)

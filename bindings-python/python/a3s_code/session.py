"""Sessions: one workspace, its tools and their results.

Most methods are generated from the contract; here stand those that carry handlers or bytes, and the life of the
object: `with` and `async with` close it, closing again does nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _calls, _wire
from ._generated.errors import InvalidArgument
from ._generated.session import SessionMethods
from ._generated.types import GitOptions, ToolArtifact, ToolResult
from ._runtime import Runtime, release_later
from .tools import Tool, as_tool

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["Session"]


def _forget(tools: dict[int, Tool], own: dict[str, Tool]) -> None:
    for tool in own.values():
        tools.pop(tool.reference, None)
    own.clear()


def _git_options(
    command: str | GitOptions | Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Options of one git operation as they cross: all in one, or the command and the others beside it."""
    given: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
    if isinstance(command, str):
        return _wire.record_to_wire(GitOptions(command=command, **given), "options")
    if given:
        raise InvalidArgument(f"options are given already, so {next(iter(given))} cannot stand beside them")
    wire: dict[str, Any] = _wire.Record(lambda: GitOptions).to_wire(command, "options")
    return wire


class Session(SessionMethods):
    """A session; opened by `agent.session`, ended by `close` or the end of a `with` block."""

    def __init__(
        self, agent: Agent, runtime: Runtime, opened: Mapping[str, Any], tools: list[Tool]
    ) -> None:
        self._agent = agent
        self._runtime = runtime
        self._handle = int(opened["handle"])
        self._tools = {tool.name: tool for tool in tools}
        release_later(self, self._handle)
        finalizer = weakref.finalize(self, _forget, runtime.tools, self._tools)
        finalizer.atexit = False

    def get_artifact(self, uri: str) -> ToolArtifact | None:
        """Fetches the complete original of a cut result while it is retained, None otherwise.

        `uri` is an `a3s://tool-output/...` of this session. SessionClosed after close.
        """
        return self._blocking("session.getArtifact", {"uri": uri}, _calls.artifact)

    async def get_artifact_async(self, uri: str) -> ToolArtifact | None:
        """The same as `get_artifact`, awaitable."""
        return await self._awaited("session.getArtifact", {"uri": uri}, _calls.artifact)

    def register_tool(self, tool: Tool | Mapping[str, Any]) -> None:
        """Adds a tool written in Python; runs that started earlier do not see it.

        InvalidArgument when the name is taken, built in or malformed, or the schema is refused.
        """
        own = self._enter(tool)
        try:
            self._blocking("session.registerTool", {"tool": own.to_wire()}, _calls.nothing)
        except BaseException:
            self._runtime.tools.pop(own.reference, None)
            raise
        self._tools[own.name] = own

    async def register_tool_async(self, tool: Tool | Mapping[str, Any]) -> None:
        """The same as `register_tool`, awaitable."""
        own = self._enter(tool)
        try:
            await self._awaited("session.registerTool", {"tool": own.to_wire()}, _calls.nothing)
        except BaseException:
            self._runtime.tools.pop(own.reference, None)
            raise
        self._tools[own.name] = own

    def _enter(self, tool: Tool | Mapping[str, Any]) -> Tool:
        own = as_tool(tool)
        self._runtime.tools[own.reference] = own
        return own

    def unregister_tool(self, name: str) -> bool:
        """Removes a tool that was added; True when it was there. InvalidArgument for a built-in tool."""
        removed = super().unregister_tool(name)
        self._leave(name, removed)
        return removed

    async def unregister_tool_async(self, name: str) -> bool:
        """The same as `unregister_tool`, awaitable."""
        removed = await super().unregister_tool_async(name)
        self._leave(name, removed)
        return removed

    def _leave(self, name: str, removed: bool) -> None:
        tool = self._tools.pop(name, None) if removed else None
        if tool is not None:
            self._runtime.tools.pop(tool.reference, None)

    def git(
        self,
        command: str | GitOptions | Mapping[str, Any],
        subcommand: str | None = None,
        name: str | None = None,
        path: str | None = None,
        new_branch: bool | None = None,
        base: str | None = None,
        force: bool | None = None,
        max_count: int | None = None,
        message: str | None = None,
        include_untracked: bool | None = None,
        target: str | None = None,
        ref: str | None = None,
    ) -> ToolResult:
        """Runs one git operation on the workspace's repository. A failure is a result: look at the exit code.

        `command`: `status`, `log`, `branch`, `checkout`, `diff`, `stash`, `remote` or `worktree`; or all options,
        as GitOptions or a mapping with the names of its attributes. What the others are is said there.
        Errors: INVALID_ARGUMENT for a wrong option; SESSION_CLOSED after close.
        Cancelling: Cancels this call; the tool stops and the error is CANCELLED.
        """
        options = _git_options(
            command,
            subcommand=subcommand,
            name=name,
            path=path,
            new_branch=new_branch,
            base=base,
            force=force,
            max_count=max_count,
            message=message,
            include_untracked=include_untracked,
            target=target,
            ref=ref,
        )
        return self._blocking("session.git", {"options": options}, _calls.tool_result)

    async def git_async(
        self,
        command: str | GitOptions | Mapping[str, Any],
        subcommand: str | None = None,
        name: str | None = None,
        path: str | None = None,
        new_branch: bool | None = None,
        base: str | None = None,
        force: bool | None = None,
        max_count: int | None = None,
        message: str | None = None,
        include_untracked: bool | None = None,
        target: str | None = None,
        ref: str | None = None,
    ) -> ToolResult:
        """The same as `git`, awaitable."""
        options = _git_options(
            command,
            subcommand=subcommand,
            name=name,
            path=path,
            new_branch=new_branch,
            base=base,
            force=force,
            max_count=max_count,
            message=message,
            include_untracked=include_untracked,
            target=target,
            ref=ref,
        )
        return await self._awaited("session.git", {"options": options}, _calls.tool_result)

    def close(self) -> None:
        """Closes the session: running calls end as cancelled and everything it owns is released.

        Closing again does nothing.
        """
        super().close()
        _forget(self._runtime.tools, self._tools)

    async def close_async(self) -> None:
        """The same as `close`, awaitable."""
        await super().close_async()
        _forget(self._runtime.tools, self._tools)

    def __repr__(self) -> str:
        return f"<Session {self._handle}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close_async()

"""The Python driver: runs steps through the public API and reports what it saw. The protocol is ../DRIVER.md."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from a3s_code import A3SError, Agent, Session, Tool, ToolContext, ToolOutput, ToolResult

Object = dict[str, Any]

# Helpers whose value is not a ToolResult.
VALUE_HELPERS = {
    "readFile",
    "grep",
    "bash",
    "glob",
    "toolNames",
    "toolDefinitions",
    "getArtifact",
    "verifyCommands",
}
# Keys below these are names of the application, not of options.
OPAQUE = {"files"}


class Unsupported(Exception):
    """What the API does not have."""


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda letter: letter[1].upper(), name)


def in_python(value: Any) -> Any:
    """Options with the names of this language."""
    if isinstance(value, list):
        return [in_python(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {snake(key): item if key in OPAQUE else in_python(item) for key, item in value.items()}


def on_the_wire(value: Any) -> Any:
    """What a typed result is called on the wire."""
    if isinstance(value, list):
        return [on_the_wire(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {camel(key): on_the_wire(item) for key, item in value.items()}


def host_tool(name: str, behaviour: Object) -> Tool:
    async def handler(args: Any, ctx: ToolContext) -> str | ToolOutput:
        text: str = behaviour["output"]
        return ToolOutput(output=text, success=False) if behaviour.get("fail") else text

    return Tool(
        name=name,
        description="conformance tool",
        parameters={"type": "object"},
        handler=handler,
    )


def seen(result: ToolResult) -> Object:
    return {
        "name": result.name,
        "output": result.output,
        "exitCode": result.exit_code,
        "metadata": result.metadata,
        "errorKind": result.error_kind,
    }


class Driver:
    """One agent and its sessions, for one case after the other."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.session: Session | None = None

    def current(self) -> Session:
        if self.session is None:
            raise Unsupported("a step before any session was opened")
        return self.session

    async def interrupted(self, how: Object | None, call: Callable[[], Awaitable[Any]]) -> Any:
        """Runs a call; after a while its session is closed, or just the call cancelled, where the step says so."""
        if how is None:
            return await call()
        session = self.current()
        running = asyncio.ensure_future(call())
        closing: list[asyncio.Task[None]] = []

        def interrupt() -> None:
            if how["by"] == "close":
                closing.append(asyncio.create_task(session.close_async()))
            else:
                running.cancel()

        timer = asyncio.get_running_loop().call_later(how["afterMs"] / 1000, interrupt)
        try:
            return await running
        finally:
            timer.cancel()
            for task in closing:
                await task

    async def hello(self) -> Object:
        return {"value": {"language": "python"}}

    async def open(
        self,
        workspace: str,
        options: Object,
        hostTools: Object | None = None,
        model: list[Any] | None = None,
        store: str | None = None,
    ) -> Object:
        if model:
            raise Unsupported("model clients")
        if self.agent is None:
            self.agent = await Agent.create_async()
        tools = [host_tool(name, behaviour) for name, behaviour in (hostTools or {}).items()]
        self.session = await self.agent.session_async(
            workspace, {**in_python(options), "tools": tools}
        )
        return {"value": None}

    async def tool(self, name: str, args: Object, interrupt: Object | None = None) -> Object:
        session = self.current()
        return {"result": seen(await self.interrupted(interrupt, lambda: session.tool_async(name, args)))}

    async def governedTool(self, name: str, args: Object, interrupt: Object | None = None) -> Object:
        session = self.current()
        call = lambda: session.governed_tool_async(name, args)  # noqa: E731
        return {"result": seen(await self.interrupted(interrupt, call))}

    async def helper(
        self, name: str, args: list[Any] | None = None, interrupt: Object | None = None
    ) -> Object:
        session = self.current()
        given = list(args or [])
        if name == "readFile" and len(given) > 1:
            given[1] = in_python(given[1])
        if name == "git" and given:
            given[0] = in_python(given[0])
        if name == "verifyCommands" and len(given) > 1:
            given[1] = in_python(given[1])
        waiting = getattr(session, f"{snake(name)}_async", None)
        immediate = getattr(session, snake(name), None)
        if waiting is not None:
            value = await self.interrupted(interrupt, lambda: waiting(*given))
        elif immediate is not None:
            value = immediate(*given)
        else:
            raise Unsupported(f"helper {name}")
        if name not in VALUE_HELPERS:
            return {"result": seen(value)}
        if name == "verifyCommands":
            return {"value": on_the_wire(asdict(value))}
        if name == "toolDefinitions":
            return {"value": [asdict(definition) for definition in value]}
        if name != "getArtifact" or value is None:
            return {"value": value}
        record = {camel(key): item for key, item in asdict(value).items()}
        record["bytesBase64"] = base64.b64encode(record.pop("bytes")).decode()
        return {"value": record}

    async def close(self) -> Object:
        await self.current().close_async()
        return {"value": None}

    async def reset(self) -> Object:
        if self.agent is not None:
            await self.agent.close_async()
        self.agent = self.session = None
        return {"value": None}

    async def send(self, **_: Any) -> Object:
        raise Unsupported("send")

    async def stream(self, **_: Any) -> Object:
        raise Unsupported("stream")

    async def reopen(self, **_: Any) -> Object:
        raise Unsupported("saved sessions")

    async def modelRequests(self) -> Object:
        raise Unsupported("model clients")

    async def resume(self, **_: Any) -> Object:
        return {"value": None}


OPERATIONS = (
    "hello open tool governedTool helper close reset send stream reopen modelRequests resume".split()
)


def failure(error: BaseException) -> Object:
    if isinstance(error, Unsupported):
        return {"unsupported": str(error)}
    if not isinstance(error, A3SError):
        return {"error": {"code": f"HOST:{type(error).__name__}", "message": str(error)}}
    report = {"code": error.code, "message": error.message}
    details = error.details if isinstance(error.details, dict) else {}
    kind = (details.get("errorKind") or {}).get("type")
    if kind is not None:
        report["kind"] = kind
    return {"error": report}


async def main() -> None:
    driver = Driver()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            request = json.loads(line)
            number, operation = request.pop("id"), request.pop("op")
        except (ValueError, KeyError, AttributeError) as error:
            print(f"unreadable line: {error}", file=sys.stderr)
            continue
        try:
            if operation not in OPERATIONS:
                raise Unsupported(f"operation {operation}")
            response = await getattr(driver, operation)(**request)
        except (Exception, asyncio.CancelledError) as error:
            response = failure(error)
        text = json.dumps({"id": number, **response}, ensure_ascii=False)
        print(text, flush=True)
    await driver.reset()


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    asyncio.run(main())

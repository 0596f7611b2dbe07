"""What several tests need: workspaces, sessions that are closed, programs in a process of their own."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from a3s_code import Agent, Session, SessionOptions, Tool, ToolResult
from a3s_code.testing import DebugRuntime

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "bindings-python" / "python"
WATCHDOG_SECONDS = 40


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """A test that hangs says where, and ends."""
    faulthandler.dump_traceback_later(WATCHDOG_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def runtime() -> Iterator[DebugRuntime]:
    with DebugRuntime() as opened:
        yield opened


@pytest.fixture(scope="session")
def agent(runtime: DebugRuntime) -> Iterator[Agent]:
    with Agent.create(runtime=runtime) as opened:
        yield opened


Open = Callable[..., Session]


@pytest.fixture
def open_session(agent: Agent, tmp_path: Path) -> Iterator[Open]:
    """Opens sessions on a workspace that holds `files`, with tools and options; closes them after the test."""
    opened: list[Session] = []

    def open_one(
        files: Mapping[str, str | bytes] | None = None,
        tools: list[Tool] | None = None,
        **options: Any,
    ) -> Session:
        for name, content in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        session = agent.session(tmp_path, SessionOptions(tools=tools, **options))
        opened.append(session)
        return session

    yield open_one
    for session in opened:
        session.close()


def host_tool(name: str, handler: Callable[..., Any], **more: Any) -> Tool:
    """A tool that takes any object."""
    return Tool(
        name=name, description=f"test {name}", parameters={"type": "object"}, handler=handler, **more
    )


class Counting:
    """A handler that counts how often it ran."""

    def __init__(self) -> None:
        self.ran = 0

    def __call__(self, args: Any, ctx: Any) -> str:
        self.ran += 1
        return "ok"


def evidence(result: ToolResult) -> dict[str, Any]:
    assert result.metadata is not None
    record: dict[str, Any] = result.metadata["a3s_tool_result_evidence"]
    return record


def rows(count: int) -> str:
    """Lines `row-00000`, `row-00001`, ..."""
    return "".join(f"row-{at:05}\n" for at in range(count))


def until(check: Callable[[], bool], seconds: float = 5.0) -> None:
    """Waits until `check` holds."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "did not come true"
        time.sleep(0.005)


class Ran:
    """What a program of its own did."""

    def __init__(self, code: int, stdout: str, stderr: str, seconds: float) -> None:
        self.code, self.stdout, self.stderr, self.seconds = code, stdout, stderr, seconds

    def check(self) -> str:
        """Its output, when it ended well and complained of nothing."""
        assert (self.code, self.stderr) == (0, ""), f"{self.code}\n{self.stdout}\n{self.stderr}"
        return self.stdout


PRELUDE = """
import asyncio, os, sys, threading, time
from a3s_code import *
from a3s_code.testing import DebugRuntime, debug_counts
def opened(**options):
    global runtime, agent
    runtime = DebugRuntime()
    agent = Agent.create(runtime=runtime)
    return agent.session(sys.argv[1], SessionOptions(**options))
def tool(name, handler, **more):
    return Tool(name=name, description="d", parameters={"type": "object"}, handler=handler, **more)
def threads():
    return len(os.listdir("/proc/self/task"))
def fds():
    return len(os.listdir("/proc/self/fd"))
"""


def program(code: str, folder: Path) -> list[str]:
    """Command that runs `code` after the prelude, with a folder as its argument."""
    return [sys.executable, "-W", "error", "-c", PRELUDE + code, str(folder)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "RUST_BACKTRACE": "0"}


def run(code: str, folder: Path, seconds: float = 30.0) -> Ran:
    """Runs `code` after the prelude in a process of its own."""
    started = time.monotonic()
    done = subprocess.run(
        program(code, folder),
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(),
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

"""Awaited calls: cancellation, time limits, many loops, and a loop that keeps running."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from pathlib import Path

import pytest
from conftest import Open, run, until

from a3s_code import Agent, SessionClosed
from a3s_code.testing import debug_counts


async def test_agents_and_sessions_are_async_context_managers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    async with await Agent.create_async() as agent:
        async with await agent.session_async(tmp_path) as session:
            assert await session.read_file_async("a.txt") == "text"
            assert (await session.ls_async()).exit_code == 0
        assert session.is_closed()
        with pytest.raises(SessionClosed):
            await session.tool_async("ls", {})
    assert agent.is_closed()


async def test_cancelling_the_task_cancels_the_call(open_session: Open) -> None:
    session = open_session()
    task = asyncio.create_task(session.tool_async("debug_wait", {"ms": 60_000}))
    while not await session.active_tools_async():
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5):
        while await session.active_tools_async():
            await asyncio.sleep(0.005)


async def test_asyncio_timeout_ends_a_call(open_session: Open) -> None:
    session = open_session()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await session.tool_async("debug_wait", {"ms": 60_000})
    assert time.monotonic() - started < 5
    assert (await session.tool_async("debug_noop", {})).output == "ok"


async def test_a_task_group_ends_its_calls_when_one_fails(open_session: Open) -> None:
    session = open_session()

    async def fail() -> None:
        await session.tool_async("debug_wait", {"ms": 20})
        raise LookupError("mine")

    started = time.monotonic()
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            calls = [
                group.create_task(session.tool_async("debug_wait", {"ms": 60_000}))
                for _ in range(5)
            ]
            group.create_task(fail())
    assert [type(error) for error in caught.value.exceptions] == [LookupError]
    assert all(call.cancelled() for call in calls)
    assert time.monotonic() - started < 5


async def test_many_calls_at_once(open_session: Open) -> None:
    session = open_session()
    async with asyncio.timeout(20):
        results = await asyncio.gather(
            *(session.tool_async("debug_wait", {"ms": at % 7}) for at in range(300))
        )
    assert {result.output for result in results} == {"waited"}


async def test_closing_a_session_ends_its_running_calls(open_session: Open) -> None:
    session = open_session()
    call = asyncio.create_task(session.tool_async("debug_wait", {"ms": 60_000}))
    while not await session.active_tools_async():
        await asyncio.sleep(0.005)
    await session.close_async()
    async with asyncio.timeout(5):
        result = await call
    assert result.error_kind is not None and result.error_kind["type"] == "cancelled"


async def test_inline_answers_do_not_starve_the_loop(open_session: Open) -> None:
    session = open_session()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        await session.tool_async("debug_noop", {})
    ticking.cancel()
    assert ticks >= 10


def test_two_loops_in_two_threads(open_session: Open) -> None:
    session = open_session()
    outputs: list[str] = []

    async def work() -> None:
        for _ in range(20):
            outputs.append((await session.tool_async("debug_wait", {"ms": 1})).output)

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert outputs == ["waited"] * 40


def test_two_hundred_loops_leave_nothing_behind(open_session: Open) -> None:
    session = open_session()

    async def work() -> None:
        await session.tool_async("debug_wait", {"ms": 1})
        # Left pending when the loop ends.
        asyncio.get_running_loop().create_task(session.tool_async("debug_wait", {"ms": 60_000}))
        await asyncio.sleep(0)

    def measure() -> tuple[int, int, int]:
        gc.collect()
        # A cancelled tool has a moment to end by itself.
        until(lambda: debug_counts()["operations"] == 0)
        tasks, files = os.listdir("/proc/self/task"), os.listdir("/proc/self/fd")
        return len(tasks), len(files), debug_counts()["mailboxes"]

    for _ in range(5):
        asyncio.run(work())
    threads, files, mailboxes = measure()
    for _ in range(200):
        asyncio.run(work())
    after = measure()
    assert after[0] <= threads
    assert after[1] <= files
    assert after[2] <= mailboxes


def test_a_loop_closed_with_a_call_under_way_makes_no_noise(tmp_path: Path) -> None:
    done = run(
        """
session = opened()
async def work():
    asyncio.ensure_future(session.tool_async("debug_wait", {"ms": 200}))
    await asyncio.sleep(0.01)
for _ in range(3):
    asyncio.run(work())
time.sleep(0.4)
print(session.tool("debug_noop", {}).output)
""",
        tmp_path,
    )
    assert done.check() == "ok\n"

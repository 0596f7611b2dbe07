"""Measures the Python binding. Started by `cargo xtask bench` with a plan as its one argument; prints rows.

Times are in milliseconds; the peers in the plan come from the Rust program of the same run.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from a3s_code import Agent, Runtime, Session, ToolResult

IN_FLIGHT = 64
SAMPLES = 20_000
WAITING = {"file_path": "waits.txt"}


def show(
    row: str,
    case: str,
    unit: str,
    value: float,
    *,
    floor: float | None = None,
    target: float | None = None,
    least: bool = False,
) -> None:
    met = target is None or (value >= target if least else value <= target)
    fields = {"id": row, "case": case, "value": value, "unit": unit, "floor": floor, "target": target, "met": met}
    print(json.dumps(fields), flush=True)


def check(result: ToolResult) -> None:
    """A failed result is a failure here, so that no refusal is taken for speed."""
    if result.exit_code != 0:
        raise RuntimeError(result.output)


def median(effort: float, work: Callable[[], object]) -> float:
    end = time.perf_counter() + effort / 5
    while time.perf_counter() < end:
        work()
    samples: list[float] = []
    end = time.perf_counter() + effort
    while len(samples) < 11 or (time.perf_counter() < end and len(samples) < SAMPLES):
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e3


async def median_awaited(effort: float, work: Callable[[], Awaitable[object]]) -> float:
    end = time.perf_counter() + effort / 5
    while time.perf_counter() < end:
        await work()
    samples: list[float] = []
    end = time.perf_counter() + effort
    while len(samples) < 11 or (time.perf_counter() < end and len(samples) < SAMPLES):
        start = time.perf_counter()
        await work()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e3


def thread_rate(effort: float, session: Session) -> float:
    """Calls a second of many threads that each make one call after the other."""
    counts = [0] * IN_FLIGHT
    failures: list[BaseException] = []
    begin = threading.Barrier(IN_FLIGHT + 1)
    stop = threading.Event()

    def run(which: int) -> None:
        begin.wait()
        try:
            while not stop.is_set():
                check(session.tool("debug_noop", {}))
                counts[which] += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(which,)) for which in range(IN_FLIGHT)]
    for thread in threads:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    time.sleep(effort * 2)
    stop.set()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - start
    if failures:
        raise failures[0]
    return sum(counts) / elapsed


async def task_rate(effort: float, session: Session) -> float:
    """Calls a second of many tasks of one loop."""
    end = time.perf_counter() + effort * 2

    async def run() -> int:
        count = 0
        while time.perf_counter() < end:
            check(await session.tool_async("debug_noop", {}))
            count += 1
        return count

    start = time.perf_counter()
    counts = await asyncio.gather(*(run() for _ in range(IN_FLIGHT)))
    return sum(counts) / (time.perf_counter() - start)


def measure_blocking(plan: dict[str, Any], effort: float, session: Session) -> None:
    value = median(effort, lambda: check(session.tool("debug_noop", {})))
    show("P2a", "no-op tool, python blocking", "ms", value, floor=plan["noop"], target=plan["noop"] + 0.015)
    value = median(effort, lambda: check(session.tool("read", WAITING))) - plan["wait"]
    ping_pong = plan["pingPong"]
    show("P2b", "call that waits, python blocking, over rust", "ms", value, floor=ping_pong, target=4 * ping_pong)
    rate = thread_rate(effort, session)
    show("P2c", "64 calls in flight, python threads", "calls/s", rate, target=35_000, least=True)


async def measure_awaited(plan: dict[str, Any], effort: float, runtime: Runtime) -> None:
    async with await Agent.create_async(runtime=runtime) as agent:
        session = await agent.session_async(plan["corpus"])

        async def noop() -> None:
            check(await session.tool_async("debug_noop", {}))

        async def waiting() -> None:
            check(await session.tool_async("read", WAITING))

        value = await median_awaited(effort, noop)
        show("P2a", "no-op tool, python awaited", "ms", value, floor=plan["noop"], target=plan["noop"] + 0.02)
        value = await median_awaited(effort, waiting) - plan["wait"]
        ping_pong = plan["pingPong"]
        show("P2b", "call that waits, python awaited, over rust", "ms", value, floor=ping_pong, target=4 * ping_pong)
        rate = await task_rate(effort, session)
        show("P2c", "64 calls in flight, asyncio", "calls/s", rate, target=55_000, least=True)
        await session.close_async()


def measure_starts(plan: dict[str, Any]) -> None:
    first = (
        "import time\nfrom a3s_code import Agent\nstart = time.perf_counter()\n"
        f"with Agent.create() as agent, agent.session({plan['corpus']!r}):\n"
        "    print((time.perf_counter() - start) * 1e3)\n"
    )
    texts = {"bare": "pass", "import": "import a3s_code", "first": first}
    walls: dict[str, list[float]] = {name: [] for name in texts}
    firsts: list[float] = []
    # An installed package has its bytecode; this tree may not be allowed to keep any.
    with tempfile.TemporaryDirectory(prefix="a3s-bench-") as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        for sample in range(10 if plan["quick"] else 32):
            for name, text in texts.items():
                start = time.perf_counter()
                done = subprocess.run(
                    [sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True
                )
                elapsed = (time.perf_counter() - start) * 1e3
                # The first round fills the cache.
                if sample > 0:
                    walls[name].append(elapsed)
                    if name == "first":
                        firsts.append(float(done.stdout))
    floor = statistics.median(walls["bare"])
    value = statistics.median(walls["import"])
    show("P28", "import, python, over a bare start", "ms", value, floor=floor, target=floor + 20)
    show("P28", "first session, python", "ms", statistics.median(firsts), target=5)


def main() -> None:
    plan = json.loads(sys.argv[1])
    effort = 0.5 if plan["quick"] else 2.5
    with Runtime(debug=True) as runtime:
        with Agent.create(runtime=runtime) as agent, agent.session(plan["corpus"]) as session:
            measure_blocking(plan, effort, session)
        asyncio.run(measure_awaited(plan, effort, runtime))
    measure_starts(plan)


if __name__ == "__main__":
    main()

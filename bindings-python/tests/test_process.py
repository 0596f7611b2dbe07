"""What the binding does to its process: fork, exit, signals, threads, and what it leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import environment, program, run


def test_importing_starts_no_thread_opens_nothing_and_prints_nothing(tmp_path: Path) -> None:
    code = """
import os, sys
count = lambda: (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")))
before = count()
import a3s_code
print(count() == before)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=20,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_signal_table_is_unchanged(tmp_path: Path) -> None:
    done = run(
        """
def table():
    with open("/proc/self/status") as status:
        return [line for line in status if line.startswith(("SigCgt", "SigIgn", "SigBlk"))]
# The C library keeps a signal of its own for any program with threads.
thread = threading.Thread(target=int); thread.start(); thread.join()
before = table()
session = opened(tools=[tool("mine", lambda args, ctx: "ok")])
session.tool("debug_wait", {"ms": 5}); session.tool("mine", {})
async def work():
    await session.tool_async("debug_wait", {"ms": 5})
loop = asyncio.new_event_loop(); loop.run_until_complete(work()); loop.close()
print(table() == before)
""",
        tmp_path,
    )
    assert done.check() == "True\n"


@pytest.mark.parametrize("form", ["blocking", "awaited"])
def test_a_forked_child_is_told_and_opens_its_own(tmp_path: Path, form: str) -> None:
    done = run(
        """
session = opened()
session.tool("debug_wait", {"ms": 5})
async def warm():
    await session.tool_async("debug_wait", {"ms": 5})
asyncio.run(warm())
def in_child():
    try:
        if %r == "blocking":
            session.tool("ls", {})
        else:
            asyncio.run(session.tool_async("ls", {}))
    except ForkDetected as error:
        print(error.code, flush=True)
    try:
        session.tool_names()
    except ForkDetected as error:
        print(error.code, flush=True)
    with Agent.create() as mine, mine.session(sys.argv[1]) as own:
        print(own.tool("ls", {}).exit_code, asyncio.run(own.ls_async()).exit_code, flush=True)
child = os.fork()
if child == 0:
    in_child()
    sys.exit(0)
_, status = os.waitpid(child, 0)
print(status, session.tool("debug_wait", {"ms": 5}).output)
"""
        % form,
        tmp_path,
    )
    assert done.check() == "FORK_DETECTED\nFORK_DETECTED\n0 0\n0 waited\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import multiprocessing, sys
from a3s_code import Agent
def work(folder):
    with Agent.create() as agent, agent.session(folder) as session:
        return session.tool("ls", {}).exit_code
if __name__ == "__main__":
    assert work(sys.argv[1]) == 0
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        print(pool.map(work, [sys.argv[1]] * 4))
"""
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), method],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0, 0, 0]\n", "")


def test_it_exits_with_everything_left_open(tmp_path: Path) -> None:
    done = run(
        """
session = opened(tools=[tool("mine", lambda args, ctx: "ok")])
session.tool("mine", {})
loop = asyncio.new_event_loop()
loop.run_until_complete(session.tool_async("debug_wait", {"ms": 5}))
loop.close()
print("end")
""",
        tmp_path,
    )
    assert done.check() == "end\n"
    assert done.seconds < 10


def test_it_exits_with_a_call_running_in_another_thread(tmp_path: Path) -> None:
    done = run(
        """
session = opened()
def work():
    try:
        session.tool("debug_wait", {"ms": 60_000})
    except A3SError:
        pass
threading.Thread(target=work, daemon=True).start()
while not session.active_tools():
    time.sleep(0.005)
print("end", flush=True)
""",
        tmp_path,
    )
    assert done.check() == "end\n"
    assert done.seconds < 10


def interrupted(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program, sends SIGINT once it has printed a line."""
    with subprocess.Popen(
        program(code, folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
        return subprocess.CompletedProcess([], child.returncode, first + out, err)


def test_ctrl_c_ends_a_blocking_call(tmp_path: Path) -> None:
    done = interrupted(
        """
session = opened()
print("ready", flush=True)
started = time.monotonic()
try:
    session.tool("debug_wait", {"ms": 60_000})
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - started < 3)
print(session.tool("debug_noop", {}).output, session.active_tools())
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ready\ninterrupted True\nok []\n"


def test_ctrl_c_in_a_handler_ends_the_call(tmp_path: Path) -> None:
    done = interrupted(
        """
def hang(args, ctx):
    print("ready", flush=True)
    time.sleep(30)
    return "never"
session = opened(tools=[tool("hang", hang)])
try:
    session.tool("hang", {})
except KeyboardInterrupt:
    print("interrupted")
print(session.tool("debug_noop", {}).output)
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "ready\ninterrupted\nok\n")


def test_ctrl_c_ends_an_awaited_call(tmp_path: Path) -> None:
    done = interrupted(
        """
session = opened()
async def main():
    print("ready", flush=True)
    await session.tool_async("debug_wait", {"ms": 60_000})
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
print(session.tool("debug_noop", {}).output)
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "ready\ninterrupted\nok\n")


def test_other_threads_run_while_a_call_blocks(tmp_path: Path) -> None:
    done = run(
        """
session = opened()
count = 0
stop = False
def work():
    global count
    while not stop:
        count += 1
        time.sleep(0.001)
thread = threading.Thread(target=work)
thread.start()
before = count
session.tool("debug_wait", {"ms": 300})
print(count - before > 50)
stop = True
thread.join()
""",
        tmp_path,
    )
    assert done.check() == "True\n"


def test_objects_may_be_closed_and_dropped_in_any_order(tmp_path: Path) -> None:
    done = run(
        """
import gc, itertools
session = opened()
session.close(); session.close()
agent.close(); agent.close()
runtime.close(); runtime.close()
try:
    session.tool("ls", {})
except (HandleClosed, SessionClosed):
    print("closed")
for order in itertools.permutations(range(3)):
    runtime = DebugRuntime()
    mine = Agent.create(runtime=runtime)
    own = mine.session(sys.argv[1], SessionOptions(tools=[tool("t", lambda args, ctx: "ok")]))
    assert own.tool("t", {}).output == "ok"
    held = [runtime, mine, own]
    del runtime, mine, own
    for at in order:
        held[at] = None
        gc.collect()
runtime = agent = session = None
gc.collect()
counts = debug_counts()
print(counts["agents"], counts["sessions"], counts["operations"], counts["hostCalls"])
""",
        tmp_path,
    )
    assert done.check() == "closed\n0 0 0 0\n"


def test_closing_a_runtime_ends_its_calls(tmp_path: Path) -> None:
    done = run(
        """
session = opened()
seen = []
def work():
    try:
        seen.append(session.tool("debug_wait", {"ms": 60_000}).error_kind["type"])
    except A3SError as error:
        seen.append(error.code)
thread = threading.Thread(target=work)
thread.start()
while not session.active_tools():
    time.sleep(0.005)
started = time.monotonic()
runtime.close()
thread.join(5)
print(len(seen), time.monotonic() - started < 3)
""",
        tmp_path,
    )
    assert done.check() == "1 True\n"


def test_ten_thousand_calls_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text\n")
    done = run(
        """
import gc, json
session = opened(tools=[tool("mine", lambda args, ctx: "ok"), tool("fails", lambda args, ctx: 1 / 0)])
calls = [
    lambda: session.tool("debug_noop", {"text": "x" * 200}),
    lambda: session.tool("mine", {}),
    lambda: session.read_file("a.txt"),
    lambda: session.tool("read", {"file_path": "missing"}),
    lambda: session.tool("fails", {}),
]
async def awaited(count):
    for at in range(count):
        await session.tool_async(("debug_noop", "mine", "fails")[at % 3], {})
def some(count):
    for at in range(count // 2):
        calls[at % len(calls)]()
    asyncio.run(awaited(count // 2))
def measure():
    gc.collect()
    with open("/proc/self/status") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return {"threads": threads(), "fds": fds(), "counts": debug_counts(), "rss": rss}
some(1_000)
before = measure()
some(10_000)
print(json.dumps([before, measure()]))
""",
        tmp_path,
        60,
    )
    before, after = json.loads(done.check())
    assert after["counts"] == before["counts"]
    assert after["threads"] <= before["threads"]
    assert after["fds"] == before["fds"]
    assert after["rss"] - before["rss"] < 5 * 1024

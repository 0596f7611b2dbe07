"""Tools written in Python: every way a handler can behave, for blocking and for awaited calls."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from conftest import Counting, Open, host_tool, until

from a3s_code import (
    Agent,
    HandleClosed,
    InvalidArgument,
    Session,
    SessionClosed,
    Tool,
    ToolContext,
    ToolOutput,
    ToolResult,
    Unsupported,
)
from a3s_code.testing import debug_counts

Call = Callable[[Session, str, dict[str, Any]], ToolResult]


def blocking(session: Session, name: str, args: dict[str, Any]) -> ToolResult:
    return session.tool(name, args)


def awaited(session: Session, name: str, args: dict[str, Any]) -> ToolResult:
    return asyncio.run(asyncio.wait_for(session.tool_async(name, args), 20))


@pytest.fixture(params=[blocking, awaited], ids=["blocking", "awaited"])
def call(request: pytest.FixtureRequest) -> Call:
    form: Call = request.param
    return form


def kind(result: ToolResult) -> str | None:
    return None if result.error_kind is None else result.error_kind["type"]


def host_error(result: ToolResult) -> str:
    assert result.exit_code == 1 and result.metadata is not None
    text: str = result.metadata["host_error"]
    return text


def test_handlers_may_be_plain_or_async_and_return_text_or_facts(
    open_session: Open, call: Call
) -> None:
    async def coroutine(args: Any, ctx: ToolContext) -> str:
        await asyncio.sleep(0)
        return f"async {args['n']}"

    class Callable_:
        async def __call__(self, args: Any, ctx: ToolContext) -> str:
            return "object"

    session = open_session(
        tools=[
            host_tool("plain", lambda args, ctx: f"plain {args['n']}"),
            host_tool("inline", lambda args, ctx: f"inline {args['n']}", inline=True),
            host_tool("coroutine", coroutine),
            host_tool("object", Callable_()),
            host_tool("late", lambda args, ctx: coroutine(args, ctx)),
            host_tool("facts", lambda args, ctx: {"output": "f", "metadata": {"a_b": [1]}}),
            host_tool(
                "failed",
                lambda args, ctx: ToolOutput(
                    output="none", success=False, error_kind={"type": "not_found", "path": "x"}
                ),
            ),
        ]
    )
    assert call(session, "plain", {"n": 1}).output == "plain 1"
    assert call(session, "inline", {"n": 2}).output == "inline 2"
    assert call(session, "coroutine", {"n": 3}).output == "async 3"
    assert call(session, "object", {}).output == "object"
    assert call(session, "late", {"n": 4}).output == "async 4"
    facts = call(session, "facts", {})
    assert facts.metadata is not None and facts.metadata["a_b"] == [1]
    failed = call(session, "failed", {})
    assert failed.exit_code != 0 and failed.output == "none"
    assert failed.error_kind == {"type": "not_found", "path": "x"}


def test_a_mapping_describes_a_tool_too(open_session: Open) -> None:
    session = open_session()
    described = {"name": "m", "description": "d", "parameters": {"type": "object"}}
    session.register_tool({**described, "handler": lambda args, ctx: "ok"})
    assert session.tool("m", {}).output == "ok"
    with pytest.raises(InvalidArgument):
        session.register_tool({**described, "handler": lambda args, ctx: "twice"})
    assert session.tool("m", {}).output == "ok"
    with pytest.raises(InvalidArgument):
        session.register_tool({**described, "name": "read", "handler": lambda args, ctx: "x"})
    handler = Counting()
    for wrong, argument in [
        ({**described, "name": "n", "handler": "text"}, "tool.handler"),
        ({"name": "n"}, "tool.description"),
        ({**described, "name": "n", "handler": handler, "timout_ms": 5}, "tool.timout_ms"),
        (None, "tool"),
    ]:
        odd: Any = wrong
        with pytest.raises(InvalidArgument) as caught:
            session.register_tool(odd)
        assert caught.value.details["argument"] == argument
    with pytest.raises(InvalidArgument, match="timeout_ms"):
        session.register_tool({**described, "name": "n", "handler": handler, "timout_ms": 5})
    with pytest.raises(TypeError):
        Tool(name="n", description="d", parameters={}, handler="text")  # type: ignore[arg-type]


def test_what_a_handler_raises_is_a_failed_result(open_session: Open, call: Call) -> None:
    def plain(args: Any, ctx: ToolContext) -> str:
        raise ValueError("raised at once")

    async def later(args: Any, ctx: ToolContext) -> str:
        await asyncio.sleep(0)
        raise KeyError("raised later")

    async def cancelled(args: Any, ctx: ToolContext) -> str:
        raise asyncio.CancelledError

    session = open_session(
        tools=[host_tool("plain", plain), host_tool("later", later), host_tool("cut", cancelled)]
    )
    assert "raised at once" in host_error(call(session, "plain", {}))
    assert "raised later" in host_error(call(session, "later", {}))
    assert "CancelledError" in host_error(call(session, "cut", {}))


def test_an_exception_that_cannot_be_printed_is_answered_too(open_session: Open, call: Call) -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even this")

    def plain(args: Any, ctx: ToolContext) -> str:
        raise Unprintable

    async def later(args: Any, ctx: ToolContext) -> str:
        raise Unprintable

    session = open_session(tools=[host_tool("plain", plain), host_tool("later", later)])
    for name in ("plain", "later"):
        assert "Unprintable" in host_error(call(session, name, {}))


def test_an_answer_that_is_none_is_a_failed_result(open_session: Open, call: Call) -> None:
    answers: list[Any] = [
        None,
        7,
        b"bytes",
        {"output": 1},
        {"outptu": "x"},
        {"output": "x", "metadata": {"n": float("nan")}},
        {"output": "x", "error_kind": {"type": "no_such_kind"}},
        "cut \ud83d",
    ]
    session = open_session(tools=[host_tool("odd", lambda args, ctx: answers[args["at"]])])
    for at in range(len(answers)):
        assert host_error(call(session, "odd", {"at": at}))


def test_arguments_are_checked_before_the_handler_runs(open_session: Open, call: Call) -> None:
    handler = Counting()
    typed = Tool(
        name="typed",
        description="d",
        parameters={
            "type": "object",
            "properties": {"rows": {"type": "integer"}},
            "required": ["rows"],
        },
        handler=handler,
    )
    session = open_session(tools=[typed])
    assert kind(call(session, "typed", {"rows": "many"})) == "invalid_argument"
    assert kind(call(session, "typed", {})) == "invalid_argument"
    assert handler.ran == 0
    assert call(session, "typed", {"rows": 1}).output == "ok"


def test_a_plain_handler_that_hangs_sees_the_signal_at_its_limit(
    open_session: Open, call: Call
) -> None:
    seen: list[bool] = []

    def hang(args: Any, ctx: ToolContext) -> str:
        assert ctx.deadline - time.time() < 1
        seen.append(ctx.signal.wait(10))
        return "late"

    session = open_session(tools=[host_tool("hang", hang, timeout_ms=100)])
    started = time.monotonic()
    assert kind(call(session, "hang", {})) == "timeout"
    assert time.monotonic() - started < 5
    until(lambda: seen == [True])
    until(lambda: debug_counts()["hostCalls"] == 0)


@pytest.mark.parametrize("inline", [True, False])
def test_an_answer_because_of_the_signal_ends_the_wait(
    open_session: Open, call: Call, inline: bool
) -> None:
    async def coroutine(args: Any, ctx: ToolContext) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "late"
        return "never"

    def plain(args: Any, ctx: ToolContext) -> str:
        ctx.signal.wait(10)
        return "late"

    tools = [
        host_tool("coroutine", coroutine, timeout_ms=100),
        host_tool("plain", plain, timeout_ms=100, inline=inline and call is blocking),
    ]
    session = open_session(tools=tools)
    for name in ("coroutine", "plain"):
        started = time.monotonic()
        assert kind(call(session, name, {})) == "timeout"
        # A handler that answers nothing holds its call for another half second.
        assert time.monotonic() - started < 0.45
    until(lambda: debug_counts()["hostCalls"] == 0)


def test_a_plain_handler_that_heeds_nothing_is_left_behind(open_session: Open) -> None:
    release = threading.Event()
    runs = Counting()

    def stuck(args: Any, ctx: ToolContext) -> str:
        release.wait(20)
        return "late"

    session = open_session(
        tools=[host_tool("stuck", stuck, timeout_ms=100), host_tool("next", runs)]
    )
    try:
        started = time.monotonic()
        assert kind(session.tool("stuck", {})) == "timeout"
        assert time.monotonic() - started < 5
        assert session.tool("next", {}).output == "ok" and runs.ran == 1
    finally:
        release.set()
    assert session.tool("next", {}).output == "ok"


def test_close_ends_a_blocking_call_whose_handler_is_busy(open_session: Open) -> None:
    release, running = threading.Event(), threading.Event()

    def stuck(args: Any, ctx: ToolContext) -> str:
        running.set()
        release.wait(20)
        return "late"

    session = open_session(tools=[host_tool("stuck", stuck)])
    ended: list[Any] = []

    def work() -> None:
        try:
            ended.append(kind(session.tool("stuck", {})))
        except SessionClosed as error:
            ended.append(error.code)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert running.wait(10)
        started = time.monotonic()
        session.close()
        thread.join(10)
        assert time.monotonic() - started < 5 and ended in (["cancelled"], ["SESSION_CLOSED"])
    finally:
        release.set()


def test_plain_handlers_of_one_blocking_call_run_one_after_the_other(open_session: Open) -> None:
    busy = threading.Lock()

    def alone(args: Any, ctx: ToolContext) -> str:
        assert busy.acquire(blocking=False), "two at once"
        try:
            time.sleep(0.01)
        finally:
            busy.release()
        return "ok"

    parallel = {"read_only": True, "idempotent": True, "max_parallelism": 16}
    session = open_session(tools=[host_tool("alone", alone, capabilities=parallel)])
    calls = [{"tool": "alone", "args": {"n": n}} for n in range(6)]
    result = session.tool("batch", {"invocations": calls})
    assert result.exit_code == 0, result.output


class Odd(BaseException):
    """An error that is no Exception."""


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, Odd, StopIteration, StopAsyncIteration])
@pytest.mark.parametrize("inline", [True, False])
def test_what_ends_no_program_ends_only_the_call(
    open_session: Open, call: Call, error: type[BaseException], inline: bool
) -> None:
    def plain(args: Any, ctx: ToolContext) -> str:
        ctx.own(release)
        raise error("odd")

    async def coroutine(args: Any, ctx: ToolContext) -> str:
        ctx.own(release)
        await asyncio.sleep(0)
        raise error("odd")

    released: list[bool] = []

    def release() -> None:
        released.append(True)
        raise SystemExit

    session = open_session(
        tools=[host_tool("plain", plain, inline=inline), host_tool("coroutine", coroutine)]
    )
    for name in ("plain", "coroutine"):
        started = time.monotonic()
        assert error.__name__ in host_error(call(session, name, {}))
        assert time.monotonic() - started < 5
    assert released == [True, True]
    assert call(session, "debug_noop", {}).output == "ok"


def test_keyboard_interrupt_of_a_handler_reaches_the_program(open_session: Open, call: Call) -> None:
    def plain(args: Any, ctx: ToolContext) -> str:
        raise KeyboardInterrupt

    async def coroutine(args: Any, ctx: ToolContext) -> str:
        raise KeyboardInterrupt

    session = open_session(
        tools=[
            host_tool("plain", plain),
            host_tool("inline", plain, inline=True),
            host_tool("coroutine", coroutine),
        ]
    )
    for name in ("plain", "inline", "coroutine"):
        with pytest.raises(KeyboardInterrupt):
            call(session, name, {})
    assert call(session, "debug_noop", {}).output == "ok"


def test_an_error_kind_makes_the_call_fail(open_session: Open, call: Call) -> None:
    answer = {"output": "x", "success": True, "error_kind": {"type": "not_found", "path": "x"}}
    session = open_session(tools=[host_tool("odd", lambda args, ctx: answer)])
    result = call(session, "odd", {})
    assert result.exit_code == 1 and kind(result) == "not_found"


def test_an_answer_with_a_key_nobody_knows_is_refused_by_name(
    open_session: Open, call: Call
) -> None:
    session = open_session(tools=[host_tool("typo", lambda args, ctx: {"output": "", "metdata": {}})])
    error = host_error(call(session, "typo", {}))
    for name in ("metdata", "output", "success", "metadata", "error_kind"):
        assert f"`{name}`" in error


def test_integers_of_metadata_are_bounded(open_session: Open, call: Call) -> None:
    numbers = [2**53 - 1, 1 - 2**53, -0.0, 0.5, 1e300]
    session = open_session(
        tools=[
            host_tool("fits", lambda args, ctx: {"output": "", "metadata": {"numbers": numbers}}),
            host_tool(
                "large",
                lambda args, ctx: {"output": "", "metadata": {"deep": [{"n": int(args["n"])}]}},
            ),
        ]
    )
    fits = call(session, "fits", {})
    assert fits.metadata is not None
    assert repr(fits.metadata["numbers"]) == repr([2**53 - 1, 1 - 2**53, 0, 0.5, 1e300])
    for n in (2**53, -(2**53), 2**63, 2**64, -(2**64), 2**70):
        error = host_error(call(session, "large", {"n": str(n)}))
        assert "metadata.deep[0].n" in error and "9007199254740991" in error


def test_an_async_handler_that_hangs_is_cancelled_at_its_limit(
    open_session: Open, call: Call
) -> None:
    seen: list[str] = []

    async def hang(args: Any, ctx: ToolContext) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "never"

    session = open_session(tools=[host_tool("hang", hang, timeout_ms=100)])
    assert kind(call(session, "hang", {})) == "timeout"
    until(lambda: seen == ["cancelled"])
    until(lambda: debug_counts()["hostCalls"] == 0)


async def test_cancelling_an_awaited_call_cancels_its_handler(open_session: Open) -> None:
    started: asyncio.Future[ToolContext] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()

    async def hang(args: Any, ctx: ToolContext) -> str:
        started.set_result(ctx)
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "never"

    session = open_session(tools=[host_tool("hang", hang)])
    task = asyncio.create_task(session.tool_async("hang", {}))
    ctx = await asyncio.wait_for(started, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ended.wait(), 10)
    assert ctx.signal.is_set()
    with pytest.raises(HandleClosed):
        await ctx.invoke_tool_async("ls", {})
    ctx.progress("late, and harmless")


async def test_cancelling_sets_the_signal_of_a_plain_handler(open_session: Open) -> None:
    loop = asyncio.get_running_loop()
    started = asyncio.Event()
    ended: asyncio.Future[bool] = loop.create_future()

    def hang(args: Any, ctx: ToolContext) -> str:
        loop.call_soon_threadsafe(started.set)
        seen = ctx.signal.wait(10)
        loop.call_soon_threadsafe(ended.set_result, seen)
        return "late"

    session = open_session(tools=[host_tool("hang", hang)])
    task = asyncio.create_task(session.tool_async("hang", {}))
    await asyncio.wait_for(started.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.wait_for(ended, 10) is True


async def test_a_plain_handler_leaves_the_loop_free(open_session: Open) -> None:
    def slow(args: Any, ctx: ToolContext) -> str:
        time.sleep(0.2)
        return "ok"

    session = open_session(tools=[host_tool("slow", slow)])
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    assert (await session.tool_async("slow", {})).output == "ok"
    ticking.cancel()
    assert ticks >= 5


def test_progress_is_taken_while_the_call_runs(open_session: Open, call: Call) -> None:
    def steps(args: Any, ctx: ToolContext) -> str:
        ctx.progress("one")
        ctx.progress("two")
        with pytest.raises(InvalidArgument):
            ctx.progress("\ud800")
        with pytest.raises(InvalidArgument):
            ctx.progress(5)  # type: ignore[arg-type]
        return "three"

    session = open_session(tools=[host_tool("steps", steps)])
    assert call(session, "steps", {}).output == "three"


def test_the_context_names_the_call(open_session: Open, call: Call) -> None:
    def who(args: Any, ctx: ToolContext) -> str:
        return json.dumps([ctx.workspace, ctx.session_id, ctx.name, bool(ctx.call_id)])

    session = open_session(tools=[host_tool("who", who)])
    told = json.loads(call(session, "who", {}).output)
    assert told == [session.workspace, session.session_id, "who", True]


def test_owned_resources_are_closed_the_latest_first(open_session: Open, call: Call) -> None:
    order: list[str] = []

    class Closes:
        def close(self) -> None:
            order.append("close")

    class Awaits:
        async def aclose(self) -> None:
            order.append("aclose")

    class Manages:
        def __enter__(self) -> str:
            return "entered"

        def __exit__(self, *error: object) -> None:
            order.append("exit")

    def own(args: Any, ctx: ToolContext) -> str:
        ctx.own(lambda: order.append("function"))
        ctx.own(Closes())
        ctx.own(Awaits())
        manager: Any = Manages()
        assert ctx.own(manager) == "entered"
        with pytest.raises(TypeError):
            ctx.own(3)
        if args.get("fail"):
            raise ValueError("no")
        return "ok"

    async def own_async(args: Any, ctx: ToolContext) -> str:
        return own(args, ctx)

    session = open_session(tools=[host_tool("own", own), host_tool("own_async", own_async)])
    for name in ("own", "own_async"):
        for fail in (False, True):
            order.clear()
            assert call(session, name, {"fail": fail}).exit_code == int(fail)
            assert order == ["exit", "aclose", "close", "function"]


def test_a_nested_call_is_governed_whatever_the_outer_call_was(
    open_session: Open, call: Call
) -> None:
    forbidden = Counting()

    def outer(args: Any, ctx: ToolContext) -> str:
        inner = ctx.invoke_tool(args["name"], args["args"])
        return json.dumps({"output": inner.output, "kind": kind(inner)})

    async def outer_async(args: Any, ctx: ToolContext) -> str:
        inner = await ctx.invoke_tool_async(args["name"], args["args"])
        return json.dumps({"output": inner.output, "kind": kind(inner)})

    session = open_session(
        {"a.txt": "inside"},
        [
            host_tool("forbidden", forbidden),
            host_tool("outer", outer),
            host_tool("outer_async", outer_async),
        ],
        permission_policy={"deny": ["forbidden"], "default_decision": "allow"},
    )
    for name in ("outer", "outer_async"):
        read = {"name": "read", "args": {"file_path": "a.txt"}}
        allowed = json.loads(call(session, name, read).output)
        assert allowed["kind"] is None and "inside" in allowed["output"]
        refused = json.loads(call(session, name, {"name": "forbidden", "args": {}}).output)
        assert refused["kind"] == "permission_denied"
    assert forbidden.ran == 0
    assert call(session, "forbidden", {}).output == "ok"


def test_a_handler_may_call_its_own_session_and_another(
    agent: Agent, open_session: Open, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/b.txt").write_text("other")

    def both(args: Any, ctx: ToolContext) -> str:
        return ", ".join(
            [session.read_file("a.txt"), other.read_file("b.txt"), session.tool("plain", {}).output]
        )

    async def both_async(args: Any, ctx: ToolContext) -> str:
        own, foreign, plain = await asyncio.gather(
            session.read_file_async("a.txt"),
            other.read_file_async("b.txt"),
            session.tool_async("plain", {}),
        )
        return f"{own}, {foreign}, {plain.output}"

    session = open_session(
        {"a.txt": "own"},
        [
            host_tool("both", both),
            host_tool("both_async", both_async),
            host_tool("plain", lambda args, ctx: "plain"),
        ],
    )
    with agent.session(tmp_path / "b") as other:
        for name in ("both", "both_async"):
            assert call(session, name, {}).output == "own, other, plain"


def test_a_handler_may_close_its_own_session(open_session: Open, call: Call) -> None:
    session: Session

    async def close_async(args: Any, ctx: ToolContext) -> str:
        await session.close_async()
        return "closed"

    def close(args: Any, ctx: ToolContext) -> str:
        session.close()
        return "closed"

    for handler in (close, close_async):
        session = open_session(tools=[host_tool("end", handler)])
        try:
            result = call(session, "end", {})
        except SessionClosed:
            pass
        else:
            assert result.exit_code != 0 or result.output == "closed"
        assert session.is_closed()


def test_a_coroutine_cannot_run_where_its_thread_runs_a_loop(open_session: Open) -> None:
    async def coroutine(args: Any, ctx: ToolContext) -> str:
        return "never"

    session = open_session(tools=[host_tool("coroutine", coroutine)])

    async def main() -> None:
        assert session.tool("debug_noop", {}).output == "ok"
        with pytest.raises(Unsupported, match="_async"):
            session.tool("coroutine", {})

    asyncio.run(main())
    assert session.tool("coroutine", {}).output == "never"


def test_eight_threads_call_tools_at_once(open_session: Open) -> None:
    session = open_session({"a.txt": "text"})

    async def double(args: Any, ctx: ToolContext) -> str:
        await asyncio.sleep(0.001)
        return f"{threading.get_ident()} {2 * args['n']}"

    session.register_tool(host_tool("double", double))
    wrong: list[str] = []

    def work(number: int) -> None:
        for at in range(20):
            n = number * 100 + at
            told = session.tool("double", {"n": n}).output
            if told != f"{threading.get_ident()} {2 * n}" or session.read_file("a.txt") != "text":
                wrong.append(told)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == [] and not any(thread.is_alive() for thread in threads)


name: ContextVar[str] = ContextVar("name", default="nobody")


@pytest.mark.parametrize("inline", [True, False])
async def test_handlers_see_the_context_variables_of_their_call(
    open_session: Open, inline: bool
) -> None:
    async def coroutine(args: Any, ctx: ToolContext) -> str:
        await asyncio.sleep(0.001)
        return name.get()

    session = open_session(
        tools=[
            host_tool("coroutine", coroutine),
            host_tool("plain", lambda args, ctx: name.get(), inline=inline),
        ]
    )

    async def one(tool: str, own: str, args: dict[str, Any]) -> str:
        name.set(own)
        return (await session.tool_async(tool, args)).output

    async def many(*calls: Awaitable[str]) -> list[str]:
        return list(await asyncio.gather(*calls))

    for tool in ("coroutine", "plain"):
        names = ["a", "b", "c"]
        assert await many(*(one(tool, own, {"n": own}) for own in names)) == names
        assert sorted(await many(*(one(tool, own, {}) for own in names))) == names


def test_context_variables_of_a_blocking_call(open_session: Open) -> None:
    async def coroutine(args: Any, ctx: ToolContext) -> str:
        return name.get()

    session = open_session(tools=[host_tool("who", coroutine)])
    token = name.set("me")
    assert session.tool("who", {}).output == "me"
    name.reset(token)
    assert session.tool("who", {}).output == "nobody"

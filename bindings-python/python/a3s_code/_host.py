"""Running host tools: one object for each call that the runtime makes into Python.

Whatever a handler does, its call is answered exactly once: with its result, or with the message of what it raised.
Nothing a handler raises reaches the mailbox that delivered the call, except KeyboardInterrupt, which ends the program.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _native, _wire
from ._error import A3SError
from ._generated.errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from ._pump import LoopMailbox, ThreadMailbox
    from .tools import CancelSignal, Tool, ToolContext

logger = logging.getLogger("a3s_code")

HostErrors: TypeAlias = dict[int, BaseException]

_OUTPUT_KEYS = frozenset({"output", "success", "metadata", "error_kind"})
_INVALID = 2
_POLL_SECONDS = 0.02


def _reply(host_call: int, value: Any) -> None:
    """Answers a host call with what its handler returned."""
    from .tools import ToolOutput

    record: dict[str, Any] = {}
    if isinstance(value, ToolOutput):
        value = {name: getattr(value, name) for name in _OUTPUT_KEYS}
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        unknown = sorted(str(key) for key in value if key not in _OUTPUT_KEYS)
        if unknown:
            known = ", ".join(f"`{key}`" for key in sorted(_OUTPUT_KEYS))
            raise InvalidArgument(
                f"a handler's result has an unknown key `{unknown[0]}`; known are {known}",
                details={"argument": unknown[0]},
            )
        text = value.get("output", "")
        if not isinstance(text, str):
            raise InvalidArgument(f"`output` must be text, not {type(text).__name__}")
        if value.get("success") is False:
            record["success"] = False
        if value.get("metadata") is not None:
            record["metadata"] = value["metadata"]
        if value.get("error_kind") is not None:
            record["errorKind"] = value["error_kind"]
    else:
        raise InvalidArgument(
            f"a handler must return text, a ToolOutput or a dict, not {type(value).__name__}"
        )
    data = _wire.utf8(text, "the output")
    if _native.host_reply(host_call, True, _wire.encode(record), data) == _INVALID:
        raise InvalidArgument("the handler's result has a wrong form or is too large")


def _reply_error(errors: HostErrors, host_call: int, error: BaseException) -> None:
    """Answers a host call with what its handler raised, which is kept for the error it may lead to."""
    errors[host_call] = error
    record = _wire.encode({"hostError": _message_of(error)})
    _native.host_reply(host_call, True, record, b"")


def not_needed(host_call: int) -> None:
    """Answers a host call whose handler is not started, because nobody needs it any more."""
    _native.host_reply(host_call, True, _wire.encode({"hostError": "the call was cancelled"}), b"")


def _message_of(error: BaseException) -> str:
    """Says what an exception is; one that cannot be printed must be answered for all the same."""
    name = type(error).__name__
    try:
        text = str(error)
        message = text if isinstance(error, A3SError) else f"{name}: {text}"
        return str(message).encode("utf-8", "replace").decode()
    except BaseException:
        return f"{name}, which cannot be printed"


def _answer(errors: HostErrors, host_call: int, value: Any) -> None:
    try:
        _reply(host_call, value)
    except BaseException as error:
        _reply_error(errors, host_call, error)


class _HostCall:
    """What both ways of running a handler share."""

    tool: Tool | None
    context: ToolContext

    def __init__(
        self,
        mailbox: ThreadMailbox | LoopMailbox,
        identity: int,
        owner: int,
        payload: str,
        signal: CancelSignal,
    ) -> None:
        from .tools import ToolContext

        call = _wire.decode(payload)
        runtime = mailbox.runtime
        self.errors = mailbox.host_errors
        self.identity = identity
        self.args = call["args"]
        self.tool = runtime.tools.get(call["hostRef"])
        self.owner = owner
        self.context = ToolContext(runtime, identity, owner, call, signal)

    def gone(self) -> None:
        """Answers a call whose handler was removed meanwhile."""
        error = Unsupported(f"the tool {self.context.name!r} was removed")
        _reply_error(self.errors, self.identity, error)


class BlockingHostCall(_HostCall):
    """A host tool that a blocking call needs: it runs on the thread of that call, or beside it when it is plain."""

    def __init__(self, mailbox: ThreadMailbox, identity: int, owner: int, payload: str) -> None:
        from .tools import CancelSignal

        super().__init__(mailbox, identity, owner, payload, CancelSignal())
        self.mailbox = mailbox
        self._variables = contextvars.copy_context()

    def run(self) -> None:
        """Runs the handler to its end and answers, or has that done."""
        if self.tool is None:
            self.gone()
            return
        self.mailbox.running[self.identity] = self
        if not self.tool.is_async and not self.tool.inline:
            self.mailbox.run_apart(self.work)
            return
        # Nobody else listens meanwhile.
        self.context.signal.listen(self.mailbox.take)
        try:
            self._run(self.tool)
        finally:
            self.mailbox.running.pop(self.identity, None)

    def work(self) -> None:
        """Runs a plain handler on the thread beside, with the context variables of the call."""
        assert self.tool is not None
        try:
            if self.context.signal.is_set():
                not_needed(self.identity)
            else:
                self._variables.run(self._run, self.tool)
        except KeyboardInterrupt:
            pass  # The thread that waits raises it.
        finally:
            self.mailbox.running.pop(self.identity, None)

    def _run(self, tool: Tool) -> None:
        try:
            value = self._on_a_loop(tool) if tool.is_async else tool.handler(self.args, self.context)
            if inspect.isawaitable(value):
                value = self._await(value)
        except BaseException as error:
            self._end()
            if isinstance(error, KeyboardInterrupt) and not self.context.signal.is_set():
                # Ends the program as it would anywhere else: raised by the thread that waits.
                self.mailbox.interrupt = error
            _reply_error(self.errors, self.identity, error)
            if isinstance(error, (KeyboardInterrupt, _NoLoopHere)):
                raise
        else:
            self._end()
            _answer(self.errors, self.identity, value)

    def _end(self) -> None:
        self.context._end(self._await)

    def _on_a_loop(self, tool: Tool) -> Any:
        _refuse_inside_a_loop(self.context.name)
        return self._await(tool.handler(self.args, self.context))

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        """Runs an awaitable on a loop of its own, cancelled with the call."""
        try:
            _refuse_inside_a_loop(self.context.name)
        except _NoLoopHere:
            if inspect.iscoroutine(awaitable):
                awaitable.close()
            raise

        async def main() -> Any:
            loop = asyncio.get_running_loop()
            task = asyncio.current_task()
            assert task is not None
            watch: asyncio.TimerHandle | None = None

            def look() -> None:
                nonlocal watch
                if self.context.signal.is_set():
                    task.cancel()
                else:
                    watch = loop.call_later(_POLL_SECONDS, look)

            look()
            try:
                return await awaitable
            finally:
                if watch is not None:
                    watch.cancel()
                await self.context._end_async()

        with asyncio.Runner() as runner:
            return runner.run(main(), context=contextvars.copy_context())


class _NoLoopHere(Unsupported):
    """A coroutine that cannot be run, because its thread already runs a loop."""


_NoLoopHere.__name__ = Unsupported.__name__
_NoLoopHere.__qualname__ = Unsupported.__qualname__


def _refuse_inside_a_loop(tool: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise _NoLoopHere(
        f"the handler of {tool!r} is a coroutine and this thread already runs an event loop: "
        "use the `_async` form of the call"
    )


class AsyncHostCall(_HostCall):
    """A host tool that runs for an event loop: as a task of it, or on its executor."""

    def __init__(self, mailbox: LoopMailbox, identity: int, owner: int, payload: str) -> None:
        from .tools import CancelSignal

        super().__init__(mailbox, identity, owner, payload, CancelSignal())
        self.mailbox = mailbox
        self._task: asyncio.Task[None] | None = None
        self._on_executor = False

    def start(self) -> None:
        """Starts the handler with the context variables of the call that led here."""
        if self.tool is None:
            self.gone()
            return
        context = self.mailbox.context_of(self.owner, self.context.name, self.args)
        # The mailbox keeps the task: a loop alone would only know it weakly.
        self.mailbox.running[self.identity] = self
        self._task = self.mailbox.loop.create_task(self._run(self.tool), context=context)
        self._task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Tells the handler that nobody waits for it any more."""
        self.context.signal.trigger()
        # A function on the executor cannot be stopped from outside; it ends by itself.
        if self._task is not None and not self._on_executor:
            self._task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        """Answers for a task that was cancelled before its first step."""
        if not task.cancelled():
            # Only KeyboardInterrupt ends one, and the loop has raised that already.
            task.exception()
        if self.mailbox.running.pop(self.identity, None) is not None:
            not_needed(self.identity)

    async def _run(self, tool: Tool) -> None:
        try:
            value = await self._value(tool)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                # Only the runtime cancels this task, or a loop that ends.
                self.context.signal.trigger()
            if isinstance(error, GeneratorExit) and asyncio.current_task() is not self._task:
                # The loop is gone and this coroutine is thrown away: nothing can be awaited any more.
                not_needed(self.identity)
                raise
            if not isinstance(error, KeyboardInterrupt):
                await self.context._end_async()
            _reply_error(self.errors, self.identity, error)
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            await self.context._end_async()
            _answer(self.errors, self.identity, value)
        finally:
            self.mailbox.running.pop(self.identity, None)

    async def _value(self, tool: Tool) -> Any:
        if tool.is_async:
            return await tool.handler(self.args, self.context)
        if tool.inline:
            value = tool.handler(self.args, self.context)
        else:
            self._on_executor = True
            run = contextvars.copy_context().run
            loop = asyncio.get_running_loop()
            plain = _Outcome(tool.handler, self.args, self.context)
            await loop.run_in_executor(None, run, plain)
            self._on_executor = False
            value = plain.result()
        return await value if inspect.isawaitable(value) else value


class _Outcome:
    """What a plain handler gives on the executor. A future takes no StopIteration, so none carries what is raised."""

    def __init__(self, handler: Callable[[Any, ToolContext], Any], args: Any, context: ToolContext) -> None:
        self._call = (handler, args, context)
        self._value: Any = None
        self._error: BaseException | None = None

    def __call__(self) -> None:
        handler, args, context = self._call
        try:
            self._value = handler(args, context)
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        """What it returned, or raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._value

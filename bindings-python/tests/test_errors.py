"""Errors by their code, faults inside the library, and what may cross the boundary."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Counting, Open, host_tool

from a3s_code import (
    A3SError,
    Agent,
    HandleClosed,
    InvalidArgument,
    Panic,
    SessionConfigurationError,
    SessionOptions,
    Timeout,
    errors,
)
from a3s_code.testing import DebugRuntime

VECTORS = json.loads((REPOSITORY / "tests/conformance/json/vectors.json").read_text())


@pytest.mark.parametrize("code", sorted(errors.BY_CODE))
def test_each_code_raises_its_class(runtime: DebugRuntime, code: str) -> None:
    with pytest.raises(A3SError) as caught:
        runtime.fail(code)
    assert type(caught.value) is errors.BY_CODE[code]
    assert caught.value.code == code
    assert caught.value.retryable is type(caught.value).retryable
    assert str(caught.value) == caught.value.message != ""


async def test_an_awaited_call_raises_the_same_class(runtime: DebugRuntime) -> None:
    with pytest.raises(errors.QueueFull):
        await runtime.fail_async("QUEUE_FULL")


def test_timeout_is_what_python_calls_a_timeout() -> None:
    assert issubclass(Timeout, TimeoutError)
    assert not any(issubclass(kind, LookupError) for kind in errors.BY_CODE.values())


def test_errors_survive_pickling(runtime: DebugRuntime) -> None:
    with pytest.raises(A3SError) as caught:
        runtime.fail("SESSION_BUSY")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert (again.code, again.message, again.retryable) == (
        caught.value.code,
        caught.value.message,
        caught.value.retryable,
    )


@pytest.mark.parametrize("place", ["entry", "task"])
def test_a_fault_inside_is_an_error_and_a_hundred_calls_work_after_it(
    agent: Agent, runtime: DebugRuntime, open_session: Open, place: Any
) -> None:
    with pytest.raises(Panic):
        runtime.panic(place)
    session = open_session()
    with pytest.raises(Panic):
        session.tool("debug_panic", {})
    for _ in range(100):
        assert session.tool("debug_noop", {}).output == "ok"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"].replace(" ", "-"))
def test_golden_vectors(runtime: DebugRuntime, vector: dict[str, Any]) -> None:
    if not vector["accepted"]:
        with pytest.raises(InvalidArgument):
            runtime.echo_text(vector["json"])
        return
    text = runtime.echo_text(vector["json"])
    # Texts tell true from 1 and the signs of zero apart, which `==` of Python does not.
    assert spelled(json.loads(text)) == spelled(json.loads(vector["json"], parse_int=whole))


def spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def whole(text: str) -> int | float:
    # JSON has one kind of number: a negative zero keeps its sign.
    return -0.0 if text == "-0" else int(text)


def test_there_are_vectors_of_both_kinds() -> None:
    assert {vector["accepted"] for vector in VECTORS} == {True, False}


def test_values_and_bytes_come_back_as_they_went(runtime: DebugRuntime) -> None:
    value: dict[str, Any] = {"text": "grüße 👋 \0", "list": [1, -1.5, None, True, []], "deep": {"a b": {}}}
    value["big"] = 2**53 - 1
    back = runtime.echo(value, bytes(range(256)))
    assert back.value == value
    assert back.data == bytes(range(256))
    assert runtime.echo((1, 2)).value == [1, 2]


def test_what_json_does_not_have_is_refused_before_anything_runs(open_session: Open) -> None:
    handler = Counting()
    session = open_session(tools=[host_tool("mine", handler)])
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    deeper: Any = 1
    for _ in range(200_000):
        deeper = [deeper]
    wrong: list[Any] = [
        {"n": float("nan")},
        {"n": float("-inf")},
        {"n": 2**64},
        {"n": 10**400},
        {"s": "cut \ud83d"},
        {"\ud800": 1},
        {"f": object()},
        {"b": b"bytes"},
        {"s": {1, 2}},
        cycle,
        {"deep": deep},
        {"deep": deeper},
    ]
    for args in wrong:
        with pytest.raises(InvalidArgument):
            session.tool("mine", args)
    refused = session.tool("mine", [1])  # type: ignore[arg-type]
    assert refused.error_kind is not None and refused.error_kind["type"] == "invalid_argument"
    with pytest.raises(InvalidArgument):
        session.tool("cut \ud83d", {})
    with pytest.raises(InvalidArgument):
        session.glob(3)  # type: ignore[arg-type]
    assert handler.ran == 0
    assert session.tool("mine", {}).output == "ok"


def test_a_message_that_is_too_large_is_refused(runtime: DebugRuntime) -> None:
    with pytest.raises(InvalidArgument):
        runtime.echo("x" * (64 * 1024 * 1024 + 1))
    assert runtime.echo("x" * 1_000_000).value == "x" * 1_000_000


@pytest.mark.parametrize(
    ("options", "field", "suggestion"),
    [
        ({"sesion_id": "x"}, "sesion_id", "session_id"),
        ({"sessionId": "x"}, "sessionId", "session_id"),
        ({"queue_limits": {"max_actve": 1}}, "queue_limits.max_actve", "max_active"),
        ({"permission_policy": {"denny": []}}, "permission_policy.denny", "deny"),
        (
            {"workspace_backend": {"type": "memory", "fles": {}}},
            "workspace_backend.fles",
            "files",
        ),
        ({"workspace_backend": {"type": "disk"}}, "workspace_backend.type", None),
        ({"sandbox": {"mde": "auto"}}, "sandbox.mde", "mode"),
        ({"queue_limits": 5}, "queue_limits", None),
        ({"hidden_tools": 5}, "hidden_tools", None),
        ({"tools": [{"nme": "x"}]}, "tools[0].nme", "name"),
        ({"tools": 5}, "tools", None),
        (5, "options", None),
    ],
)
def test_a_wrong_option_is_named_with_the_nearest_right_one(
    agent: Agent, tmp_path: Path, options: Any, field: str, suggestion: str | None
) -> None:
    with pytest.raises(SessionConfigurationError) as caught:
        agent.session(tmp_path, options)
    assert caught.value.details["field"] == field
    assert caught.value.details.get("suggestion") == suggestion
    assert f"`{field}`" in str(caught.value) and (suggestion or "") in str(caught.value)


def test_wrong_arguments_are_named(agent: Agent, open_session: Open) -> None:
    odd: Any = agent
    for path in (None, 5, object()):
        with pytest.raises(InvalidArgument) as caught:
            odd.session(path)
        assert caught.value.details["argument"] == "path"
    session: Any = open_session({"a.txt": "x"})
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: session.read_file(None), "path"),
        (lambda: session.read_file("a.txt", {"ofset": 1}), "options.ofset"),
        (lambda: session.read_file("a.txt", 5), "options"),
        (lambda: session.tool(None, {}), "name"),
        (lambda: session.grep(5), "pattern"),
    ]
    for call, argument in calls:
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert caught.value.details["argument"] == argument


def test_keywords_of_methods_stay_type_errors(agent: Agent, open_session: Open) -> None:
    session: Any = open_session()
    with pytest.raises(TypeError):
        session.tool("debug_noop", arguments={})
    with pytest.raises(TypeError):
        SessionOptions(sesion_id="x")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "field", "text"),
    [
        ({"session_id": "../x"}, "sessionId", "1 to 128"),
        ({"artifact_store_limits": {"max_bytes": 2**53}}, "artifactStoreLimits.maxBytes", "2**53-1"),
        ({"artifact_store_limits": {"max_bytes": 2**70}}, "artifactStoreLimits.maxBytes", "2**53-1"),
        ({"queue_limits": {"max_active": "x"}}, "queueLimits.maxActive", "1 to 1024"),
        ({"queue_limits": {"max_active": []}}, "queueLimits.maxActive", "not a list"),
    ],
)
def test_a_wrong_value_of_an_option_is_named_with_its_bound(
    agent: Agent, tmp_path: Path, options: Any, field: str, text: str
) -> None:
    with pytest.raises(SessionConfigurationError) as caught:
        agent.session(tmp_path, options)
    assert caught.value.details["field"] == field
    assert text.replace("2**53-1", str(2**53 - 1)) in str(caught.value)


def test_a_closed_agent_lists_no_sessions(runtime: DebugRuntime) -> None:
    agent = Agent.create(runtime=runtime)
    assert agent.list_sessions() == []
    agent.close()
    with pytest.raises(HandleClosed):
        agent.list_sessions()


def test_evidence_is_typed(open_session: Open) -> None:
    result = open_session({"a.txt": "text"}).tool("read", {"file_path": "a.txt"})
    assert result.evidence.loss_mode == "none"
    assert result.evidence.projected_bytes == len(result.output.encode())
    assert result.metadata is not None
    assert result.evidence.repeat_key == result.metadata["a3s_tool_result_evidence"]["repeat_key"]

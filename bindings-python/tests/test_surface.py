"""What a session says about itself, and what options it takes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from conftest import Open, host_tool, until

import a3s_code
from a3s_code import (
    Agent,
    ArtifactStoreLimits,
    HandleClosed,
    InvalidArgument,
    NotFound,
    PermissionPolicy,
    SessionClosed,
    SessionConfigurationError,
    SessionOptions,
)
from a3s_code._generated.types import ReadFileOptions


# claims: SURF-02
def test_definitions_are_one_a_tool_with_the_names_of_tool_names(open_session: Open) -> None:
    session = open_session(tools=[host_tool("mine", lambda args, ctx: "ok")])
    names = session.tool_names()
    definitions = session.tool_definitions()
    assert sorted(each.name for each in definitions) == sorted(names)
    assert len(set(names)) == len(names)
    assert {"ls", "mine", "read", "search"} <= set(names)
    for each in definitions:
        assert each.description and each.parameters["type"] == "object"
    assert session.presented_tool_definitions() == definitions
    assert session.unregister_tool("mine") is True
    assert session.unregister_tool("mine") is False
    assert "mine" not in session.tool_names()
    assert len(session.tool_definitions()) == len(definitions) - 1


# claims: SURF-19
def test_active_tools_lists_a_call_while_it_runs_and_no_longer(open_session: Open) -> None:
    started, go = threading.Event(), threading.Event()

    def wait(args: object, ctx: object) -> str:
        started.set()
        assert go.wait(10)
        return "done"

    session = open_session(tools=[host_tool("wait_here", wait)])
    assert session.active_tools() == []
    call = threading.Thread(target=lambda: session.tool("wait_here", {}))
    call.start()
    assert started.wait(10)
    (active,) = session.active_tools()
    assert active.name == "wait_here" and active.id
    go.set()
    call.join(10)
    until(lambda: session.active_tools() == [])


def test_properties_and_immediate_methods(agent: Agent, tmp_path: Path) -> None:
    session = agent.session(tmp_path, {"session_id": "known"})
    assert (session.session_id, session.workspace) == ("known", str(tmp_path.resolve()))
    assert session.is_closed() is False and agent.is_closed() is False
    assert "known" in agent.list_sessions()
    assert agent.close_session("known") is True
    assert agent.close_session("known") is False
    assert session.is_closed() is True
    assert "read" not in repr(session)


def test_capabilities_are_a_contract_of_the_product(agent: Agent) -> None:
    capabilities = agent.sdk_capabilities()
    assert capabilities and all(each.id and each.description for each in capabilities)


def test_a_closed_session_and_agent_say_so(tmp_path: Path, open_session: Open) -> None:
    session = open_session()
    session.close()
    session.close()
    with pytest.raises(SessionClosed):
        session.tool("ls", {})
    with pytest.raises(SessionClosed):
        session.tool_names()
    agent = Agent.create()
    with agent, agent.session(tmp_path) as inner:
        assert inner.tool("ls", {}).exit_code == 0
    assert inner.is_closed() and agent.is_closed()
    agent.close()
    with pytest.raises(HandleClosed):
        agent.session(tmp_path)


def test_options_refuse_unknown_names(agent: Agent, tmp_path: Path) -> None:
    options = SessionOptions()
    with pytest.raises(AttributeError):
        options.tool_result_transform_polcy = None  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        SessionOptions(nonsense=1)  # type: ignore[call-arg]
    for options_ in ({"nonsense": 1}, {"permission_policy": {"nonsense": 1}}):
        with pytest.raises(SessionConfigurationError, match="nonsense"):
            agent.session(tmp_path, options_)


def test_options_take_objects_and_mappings(agent: Agent, tmp_path: Path) -> None:
    objects = SessionOptions(
        permission_policy=PermissionPolicy(deny=["ls"], default_decision="allow"),
        artifact_store_limits=ArtifactStoreLimits(max_artifacts=2, max_bytes=1_000_000),
    )
    mappings = {
        "permission_policy": {"deny": ["ls"], "default_decision": "allow"},
        "artifact_store_limits": {"max_artifacts": 2, "max_bytes": 1_000_000},
    }
    for options in (objects, mappings):
        with agent.session(tmp_path, options) as session:
            refused = session.governed_tool("ls", {})
            assert refused.error_kind is not None
            assert refused.error_kind["type"] == "permission_denied"
            assert session.tool("ls", {}).exit_code == 0


def test_wrong_values_are_refused_with_their_field(agent: Agent, tmp_path: Path) -> None:
    for options, field in (
        ({"permission_policy": 3}, "permission_policy"),
        ({"permission_policy": {"deny": "ls"}}, "permission_policy.deny"),
    ):
        with pytest.raises(SessionConfigurationError) as caught:
            agent.session(tmp_path, options)
        assert caught.value.details == {"field": field}
    with pytest.raises(SessionConfigurationError):
        agent.session(tmp_path, {"tool_result_transform_policy": {"head_bytes": 200_000}})


def test_a_missing_folder_and_a_missing_file_are_not_found(agent: Agent, open_session: Open) -> None:
    with pytest.raises(NotFound):
        agent.session("/no/such/folder/anywhere")
    session = open_session({"a.txt": "a"})
    with pytest.raises(NotFound) as caught:
        session.read_file("missing.txt")
    assert caught.value.code == "NOT_FOUND"
    with pytest.raises(InvalidArgument):
        session.grep("(unclosed")
    assert session.read_file("a.txt", ReadFileOptions(limit=1)) == "a"


def test_everything_public_is_documented_and_there() -> None:
    for name in a3s_code.__all__:
        assert hasattr(a3s_code, name), name
    for kind in (a3s_code.Agent, a3s_code.Session, a3s_code.Runtime, a3s_code.Tool):
        for name in dir(kind):
            member = getattr(kind, name)
            if not name.startswith("_") and callable(member):
                assert member.__doc__, f"{kind.__name__}.{name}"


def test_blocking_and_awaitable_forms_stand_side_by_side() -> None:
    immediate = {
        "is_closed",
        "presented_tool_definitions",
        "record_verification_reports",
        "sdk_capabilities",
        "session_id",
        "tool_definitions",
        "tool_names",
        "verification_presets",
        "verification_reports",
        "verification_summary",
        "verification_summary_text",
        "workspace",
    }
    for kind in (a3s_code.Agent, a3s_code.Session):
        names = {name for name in dir(kind) if not name.startswith("_")}
        for name in names - immediate:
            if not name.endswith("_async"):
                assert f"{name}_async" in names, name

"""Results, their evidence, how they are shortened, and the first tools."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Open, evidence, host_tool, rows

from a3s_code import Agent, SessionConfigurationError, SessionOptions, ToolResultTransformPolicy


def sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


# claims: RES-01, RES-02, RES-03
def test_a_result_has_name_output_exit_code_and_metadata_as_value_and_as_text(
    open_session: Open,
) -> None:
    session = open_session({"a.txt": "hello\n"})
    good = session.tool("read", {"file_path": "a.txt"})
    assert (good.name, good.exit_code, good.error_kind) == ("read", 0, None)
    assert isinstance(good.output, str)
    assert isinstance(good.metadata_json, str)
    assert json.loads(good.metadata_json) == good.metadata
    assert good.trust == "workspace_data"

    bad = session.tool("read", {"file_path": "missing.txt"})
    assert bad.name == "read"
    assert isinstance(bad.exit_code, int) and bad.exit_code != 0
    assert bad.error_kind is not None and bad.error_kind["type"] == "not_found"
    with pytest.raises(AttributeError):
        bad.exit_code = 0  # type: ignore[misc]


# claims: CTR-01
def test_read_without_arguments_is_an_invalid_argument_without_a_side_effect(
    open_session: Open,
) -> None:
    session = open_session({"a.txt": "x"})
    result = session.tool("read", {})
    assert result.exit_code != 0
    assert result.error_kind is not None and result.error_kind["type"] == "invalid_argument"
    assert session.glob("**") == ["a.txt"]


# claims: EVID-01
def test_every_result_has_evidence_of_a_success_and_of_a_failure(open_session: Open) -> None:
    session = open_session({"a.txt": "hello\n"})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read", {"file_path": "a.txt"}),
        ("read", {"file_path": "missing"}),
        ("read", {}),
        ("no_such_tool", {}),
    ]
    codes = []
    for name, args in calls:
        result = session.tool(name, args)
        codes.append(result.exit_code)
        assert evidence(result)["schema"] == "a3s.code.tool-result-evidence.v1"
    assert codes[0] == 0 and 0 not in codes[1:]


# claims: EVID-03, EVID-05, EVID-10
def test_figures_and_digests_are_those_of_the_text(open_session: Open) -> None:
    texts = iter(["grüße\n", "grüße\n", "grüßE\n"])
    session = open_session(tools=[host_tool("say", lambda args, ctx: next(texts))])
    first, second, third = (session.tool("say", {}) for _ in range(3))
    size = len("grüße\n".encode())
    assert first.output == "grüße\n"
    record = evidence(first)
    assert (record["original_bytes"], record["projected_bytes"]) == (size, size)
    assert record["content_ref"] == f"inline:sha256:{sha256(first.output)}"
    assert evidence(second)["repeat_key"] == record["repeat_key"]
    assert evidence(third)["repeat_key"] != record["repeat_key"]


# claims: EVID-03, EVID-11, PROJ-01
def test_a_cut_result_keeps_its_first_100_kib_and_its_whole_original(open_session: Open) -> None:
    original = rows(20_000)
    session = open_session(tools=[host_tool("emit", lambda args, ctx: original)])
    result = session.tool("emit", {})
    assert result.output.startswith(original[:101_000])
    assert original[102_390:102_430] not in result.output
    record = evidence(result)
    assert record["original_bytes"] == len(original)
    assert record["projected_bytes"] == len(result.output.encode())
    uri = record["content_ref"]
    assert uri.startswith("a3s://tool-output/")
    artifact = session.get_artifact(uri)
    assert artifact is not None
    assert artifact.bytes == original.encode()
    assert artifact.content == original
    assert (artifact.tool_name, artifact.artifact_uri) == ("emit", uri)
    assert f"sha256:{sha256(artifact.bytes)}" == record["content_digest"]
    assert session.get_artifact("a3s://tool-output/none") is None


# claims: PROJ-02
def test_without_a_policy_repeated_lines_and_long_lists_come_back_unchanged(
    open_session: Open,
) -> None:
    texts = ["same line\n" * 5_000, json.dumps(list(range(5_000)))]
    session = open_session(tools=[host_tool("emit", lambda args, ctx: texts[args["at"]])])
    for at, text in enumerate(texts):
        assert session.tool("emit", {"at": at}).output == text


# claims: PROJ-16
def test_a_bound_outside_1_to_100_kib_is_refused_when_the_session_is_built(
    agent: Agent, tmp_path: Path
) -> None:
    policy = ToolResultTransformPolicy.context_efficient()
    for wrong in (0, 102_401):
        policy.max_output_bytes = wrong
        with pytest.raises(SessionConfigurationError) as caught:
            agent.session(tmp_path, SessionOptions(tool_result_transform_policy=policy))
        assert caught.value.code == "SESSION_CONFIGURATION_ERROR"
    policy.max_output_bytes = 102_400
    agent.session(tmp_path, SessionOptions(tool_result_transform_policy=policy)).close()


# claims: PROJ-14
def test_the_documented_python_block_builds_a_context_efficient_session(
    agent: Agent, tmp_path: Path
) -> None:
    lines = (REPOSITORY / "tests/spec/seed-tools.txt").read_text().split("\n")
    first = lines.index("from a3s_code import SessionOptions, ToolResultTransformPolicy")
    last = next(at for at in range(first, len(lines)) if lines[at].startswith("session = agent"))
    block = "\n".join(lines[first : last + 1])
    assert block.count('"/repo"') == 1
    names: dict[str, Any] = {"agent": agent}
    exec(block.replace('"/repo"', repr(str(tmp_path))), names)
    session, options = names["session"], names["options"]
    assert options.tool_result_transform_policy == ToolResultTransformPolicy.context_efficient()
    original = rows(20_000)
    texts = {
        "long": original,
        "repeated": "start\n" + "same\n" * 50 + "end\n",
        "list": json.dumps([f"item {at}" for at in range(20_000)]),
    }
    session.register_tool(host_tool("emit", lambda args, ctx: texts[args["what"]]))
    with session:
        cut = session.tool("emit", {"what": "long"})
        assert "row-00000" in cut.output and "row-19999" in cut.output
        assert len(cut.output.encode()) <= 102_400
        assert evidence(cut)["loss_mode"] == "head_tail"
        folded = session.tool("emit", {"what": "repeated"})
        assert folded.output.count("same\n") < 3
        assert evidence(folded)["loss_mode"] == "deterministic_transform"
        sampled = session.tool("emit", {"what": "list"})
        assert evidence(sampled)["loss_mode"] == "deterministic_transform"


def test_policies_have_the_documented_values() -> None:
    assert ToolResultTransformPolicy() == ToolResultTransformPolicy.conservative()
    efficient = ToolResultTransformPolicy.context_efficient()
    assert (efficient.max_output_bytes, efficient.head_bytes, efficient.tail_bytes) == (
        102_400,
        65_536,
        32_768,
    )
    assert (efficient.fold_repeated_lines, efficient.repeated_line_threshold) == (True, 3)
    assert efficient.structured_sample_items == 32
    assert efficient.schema == "a3s.code.tool-result-transform-policy.v1"


def numbered(count: int) -> str:
    return "".join(f"line {at}\n" for at in range(count))


# claims: READ-01, READ-03, READ-04
def test_several_files_come_in_the_order_asked_with_a_missing_one_in_its_place(
    open_session: Open,
) -> None:
    session = open_session(
        {"src/lib.rs": numbered(400) + "LIB_END\n", "src/config.rs": numbered(200), "s.txt": "tiny\n"}
    )
    documented = [
        {"path": "src/lib.rs"},
        {"path": "src/config.rs", "offset": 40, "limit": 80},
    ]
    both = session.tool("read", {"files": documented, "max_output_bytes": 65_536})
    assert both.exit_code == 0
    assert "LIB_END" in both.output and "line 40" in both.output.split("LIB_END")[1]
    assert "line 120" not in both.output.split("LIB_END")[1]
    mixed = session.tool(
        "read",
        {"files": [{"path": name} for name in ("src/lib.rs", "missing.txt", "s.txt")]},
    )
    places = [mixed.output.find(text) for text in ("LIB_END", "missing.txt", "tiny")]
    assert -1 not in places and places == sorted(places)


# claims: READ-05, READ-06
def test_the_continuation_gives_every_line_exactly_once(open_session: Open) -> None:
    session = open_session({"a.txt": "".join(f"A{at:05}\n" for at in range(900)), "b.txt": "B\n"})
    files: list[dict[str, Any]] = [{"path": "a.txt"}, {"path": "b.txt"}]
    seen = ""
    rounds = 0
    while True:
        result = session.tool("read", {"files": files, "max_output_bytes": 4_096})
        assert result.metadata is not None
        seen += result.output
        rounds += 1
        batch = result.metadata["batch"]
        if batch.get("truncated") is not True:
            break
        files = batch["continuation"]
        assert rounds < 20
    assert rounds > 1
    for at in range(900):
        assert seen.count(f"A{at:05}") == 1
    small = session.tool("read", {"files": [{"path": "b.txt"}]})
    assert small.metadata is not None and small.metadata["batch"].get("truncated") is not True


# claims: READ-08
def test_the_offset_of_a_cut_read_gives_the_rest_without_gap_or_overlap(open_session: Open) -> None:
    session = open_session({"long.txt": "".join(f"L{at:06}\n" for at in range(30_000))})
    seen = ""
    offset: int | None = 0
    rounds = 0
    while offset is not None:
        result = session.tool("read", {"file_path": "long.txt", "offset": offset})
        assert result.metadata is not None
        seen += result.output
        offset = result.metadata["range"].get("next_offset")
        rounds += 1
        assert rounds < 100
    assert rounds > 1
    for at in range(0, 30_000, 7):
        assert seen.count(f"L{at:06}") == 1


# claims: CTR-07
def test_a_long_folder_is_listed_to_its_end_by_cursor(open_session: Open) -> None:
    session = open_session({f"d/f{at:04}.txt": "" for at in range(600)})
    seen: list[str] = []
    args: dict[str, Any] = {"path": "d"}
    for _ in range(50):
        result = session.tool("ls", args)
        assert result.metadata is not None
        seen += re.findall(r"f\d{4}\.txt", result.output)
        cursor = result.metadata["page"].get("next_cursor")
        if cursor is None:
            break
        args = {"path": "d", "cursor": cursor}
    assert args.get("cursor") is not None
    assert sorted(seen) == [f"f{at:04}.txt" for at in range(600)]


# claims: SRCH-02, SRCH-09, SRCH-20
def test_search_is_the_one_search_tool_and_takes_expressions_and_patterns(
    open_session: Open,
) -> None:
    session = open_session({"src/a.rs": "fn alpha() {}\nfn beta() {}\n", "b.txt": "fn gamma\n"})
    assert "search" in session.tool_names()
    assert not {"grep", "glob", "bm25", "semantic", "vector_search"} & set(session.tool_names())
    hits = session.tool("search", {"mode": "grep", "query": r"fn (alpha|beta)\("})
    assert "fn alpha() {}" in hits.output and "gamma" not in hits.output
    paths = session.tool("search", {"mode": "glob", "query": "**/*.rs"})
    assert "src/a.rs" in paths.output and "b.txt" not in paths.output


# claims: DIRECT-02, DIRECT-03, DIRECT-05, DIRECT-07
def test_helpers_give_paths_one_text_of_hits_and_one_text(open_session: Open) -> None:
    session = open_session(
        {
            "README.md": "hello\nworld\n",
            "src/a.rs": "struct PermissionPolicy;\n",
            "src/deep/b.rs": "use PermissionPolicy;\nfn b() {}\n",
        }
    )
    assert session.glob("src/**/*.rs") == ["src/a.rs", "src/deep/b.rs"]
    assert session.grep("PermissionPolicy").splitlines() == [
        "src/a.rs:1:struct PermissionPolicy;",
        "src/deep/b.rs:1:use PermissionPolicy;",
    ]
    assert session.read_file("README.md") == "hello\nworld\n"
    assert session.read_file("README.md", {"offset": 1, "limit": 1}).strip() == "world"
    assert session.ls().name == "ls"


def test_the_examples_are_programs_of_the_language() -> None:
    for example in (REPOSITORY / "examples/python").glob("*.py"):
        ast.parse(example.read_text())

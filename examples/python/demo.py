"""The demo program: what an application does first, without a model. One JSON object a line; see ../DEMO.md."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from a3s_code import (
    Agent,
    Session,
    SessionOptions,
    Tool,
    ToolContext,
    ToolResult,
    ToolResultTransformPolicy,
)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def evidence(result: ToolResult) -> dict[str, Any]:
    assert result.metadata is not None
    record: dict[str, Any] = result.metadata["a3s_tool_result_evidence"]
    return record


def show(step: str, value: Any, text: str | None = None) -> None:
    line = {"step": step, "value": value}
    if text is not None:
        line["show"] = text
    print(json.dumps(line, ensure_ascii=False))


def count_rows(args: Mapping[str, Any], ctx: ToolContext) -> str:
    return "".join(f"L{row:06}\n" for row in range(1, args["rows"] + 1))


def direct(session: Session) -> None:
    files = session.glob("src/**/*.rs")
    hits = session.grep("PermissionPolicy")
    status = session.git("status")
    output = session.bash("git log -1").encode()
    raw = session.tool("read", {"file_path": "README.md"})
    schemas = session.tool_definitions()
    lines = sum(1 for line in hits.split("\n") if line)
    value = {
        "files": len(files),
        "hitLines": lines,
        "status": status.exit_code,
        "statusDigest": evidence(status)["content_digest"],
        "outputBytes": len(output),
        "outputSha256": sha256(output),
        "read": raw.exit_code,
        "readDigest": evidence(raw)["content_digest"],
        "schemas": len(schemas),
    }
    show("direct", value, f"{len(files)} {lines} {len(output)} {len(schemas)}")


def searched(session: Session, file: str) -> None:
    query = {"mode": "bm25", "query": "workspace permission policy", "limit": 8, "context": 2}
    ranked = session.tool("search", query)
    places = [hit["path"] for hit in (ranked.metadata or {}).get("results", [])]
    show("bm25", {"exitCode": ranked.exit_code, "paths": places}, f"{len(places)} places")

    reads = [{"tool": "read", "args": {"file_path": path}} for path in (file, "no-such-file")]
    batch = session.tool("batch", {"invocations": reads})
    facts = batch.metadata or {}
    value = {
        "exitCode": batch.exit_code,
        "status": facts.get("status"),
        "failed": facts.get("failed_indices"),
    }
    show("batch", value, f"{value['status']}, exit {batch.exit_code}")


def edited(agent: Agent, folder: str) -> None:
    before = "port = 1\nport = 2\n"
    edit = {"file_path": "notes.txt", "old_string": "port", "new_string": "gate", "replace_all": True}
    with agent.session(folder) as notes:
        notes.write_file("notes.txt", before)
        dry = notes.tool("edit", {**edit, "dry_run": True})
        counted = (dry.metadata or {})["replacement_count"]
        untouched = notes.read_file("notes.txt") == before
        applied = notes.tool("edit", {**edit, "expected_replacements": counted})
        value = {
            "counted": counted,
            "untouched": untouched,
            "exitCode": applied.exit_code,
            "text": notes.read_file("notes.txt"),
        }
    show("edit", value, f"{counted} counted, exit {applied.exit_code}")


def main(path: str) -> None:
    options = SessionOptions()
    options.tool_result_transform_policy = ToolResultTransformPolicy.context_efficient()
    with Agent.create() as agent:
        session = agent.session(path, options)

        names = session.tool_names()
        show("tools", names, f"{len(names)} tools")

        paths = session.glob("*")
        file = paths[0]
        show("glob", paths, f"{len(paths)} paths, first {file}")

        read = session.tool("read", {"file_path": file})
        size, digest = evidence(read)["original_bytes"], evidence(read)["content_digest"]
        value = {"file": file, "exitCode": read.exit_code, "bytes": size, "digest": digest}
        show("read", value, f"{size} bytes, {digest[:19]}")

        text = session.read_file(file).encode()
        show("readFile", {"bytes": len(text), "sha256": sha256(text)}, f"{len(text)} bytes")

        listing = session.ls()
        value = {"exitCode": listing.exit_code, "digest": evidence(listing)["content_digest"]}
        show("ls", value, f"exit {listing.exit_code}")

        hits = session.grep("TODO|fn ")
        lines = sum(1 for line in hits.split("\n") if line)
        show("grep", {"lines": lines, "sha256": sha256(hits.encode())}, f"{lines} lines")

        session.register_tool(
            Tool(
                name="count_rows",
                description="Returns numbered lines.",
                parameters={
                    "type": "object",
                    "properties": {"rows": {"type": "integer"}},
                    "required": ["rows"],
                },
                handler=count_rows,
            )
        )
        custom = session.tool("count_rows", {"rows": 20000})
        record = evidence(custom)
        value = {
            "exitCode": custom.exit_code,
            "originalBytes": record["original_bytes"],
            "projectedBytes": record["projected_bytes"],
            "lossMode": record["loss_mode"],
            "digest": record["content_digest"],
        }
        sizes = f"{record['original_bytes']} to {record['projected_bytes']} bytes"
        show("custom", value, f"{sizes}, {record['loss_mode']}")

        artifact = session.get_artifact(record["content_ref"])
        assert artifact is not None
        original = artifact.bytes
        matches = f"sha256:{sha256(original)}" == record["content_digest"]
        value = {"bytes": len(original), "sha256": sha256(original), "matches": matches}
        show("artifact", value, f"{len(original)} bytes, {'matches' if matches else 'DIFFERS'}")

        governed = session.governed_tool("read", {"file_path": file})
        show("governed", {"exitCode": governed.exit_code}, f"exit {governed.exit_code}")

        direct(session)
        searched(session, file)
        with tempfile.TemporaryDirectory(prefix="a3s-demo-") as folder:
            edited(agent, folder)

        session.close()
        show("close", session.is_closed())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: demo.py PATH")
    main(sys.argv[1])

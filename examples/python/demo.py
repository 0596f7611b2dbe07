"""The demo program: what an application does first, without a model. One JSON object a line; see ../DEMO.md."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from a3s_code import Agent, SessionOptions, Tool, ToolContext, ToolResult, ToolResultTransformPolicy


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

        session.close()
        show("close", session.is_closed())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: demo.py PATH")
    main(sys.argv[1])

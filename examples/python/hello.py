"""The sixty-second example: open a workspace, look around, read, search. Needs no model, no key, no network."""

import sys

from a3s_code import Agent

with Agent.create() as agent, agent.session(sys.argv[1] if len(sys.argv) > 1 else ".") as session:
    files = session.glob("**/*.{rs,ts,py,go}")
    hits = session.grep("TODO|fn main")
    print(f"{len(files)} source files, {len(hits.splitlines())} hits")

    result = session.tool("read", {"file_path": files[0] if files else "README.md", "limit": 20})
    print(result.output if result.exit_code == 0 else result.error_kind)
    if result.metadata is not None:
        print(result.metadata["a3s_tool_result_evidence"]["content_digest"])

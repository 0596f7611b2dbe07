import sys

from a3s_code import Agent, SessionOptions, Tool


def rows(args, ctx):
    return "".join(f"row {n}\n" for n in range(20000))


tool = Tool(name="rows", description="Says many lines.", parameters={"type": "object"}, handler=rows)
with Agent.create() as agent:
    session = agent.session(sys.argv[1] if len(sys.argv) > 1 else ".", SessionOptions(tools=[tool]))

    first = session.read_file("README.md", {"limit": 1})
    print(first.strip(), len(session.glob("**/*.rs")))

    result = session.tool("rows", {})  # bounded, and accounted for
    evidence = result.metadata["a3s_tool_result_evidence"]
    original = session.get_artifact(evidence["content_ref"])
    print(evidence["loss_mode"], len(original.bytes))

    as_model = session.governed_tool("rows", {})  # governed: nobody allowed it
    print(as_model.error_kind["type"])

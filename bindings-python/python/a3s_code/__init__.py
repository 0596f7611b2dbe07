"""A3S Code: an embeddable coding-agent runtime.

    from a3s_code import Agent

    with Agent.create() as agent, agent.session(".") as session:
        print(session.tool("ls", {}).output)

Every method that can wait exists twice: `name` blocks, `name_async` is awaitable.
"""

from . import errors
from ._error import A3SError
from ._generated.errors import *  # noqa: F403
from ._generated.errors import __all__ as _errors
from ._generated.events import EVENT_TYPES, AgentEvent, UnknownEvent, event_from_wire
from ._generated.types import *  # noqa: F403
from ._generated.types import __all__ as _types
from ._native import build_info
from ._runtime import Runtime
from .agent import Agent
from .session import Session
from .tools import CancelSignal, Tool, ToolContext, ToolOutput

__version__ = "0.1.0"

__all__ = [
    "A3SError",
    "Agent",
    "AgentEvent",
    "CancelSignal",
    "EVENT_TYPES",
    "Runtime",
    "Session",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "UnknownEvent",
    "build_info",
    "errors",
    "event_from_wire",
    *_errors,
    *_types,
]

"""Errors of the library.

Everything the library raises derives from `A3SError` and carries a stable `code`; there is one class for each
code. A tool that fails is not an error: its result has an exit code.
"""

from ._error import A3SError
from ._generated.errors import *  # noqa: F403
from ._generated.errors import BY_CODE
from ._generated.errors import __all__ as _generated

__all__ = ["A3SError", "BY_CODE", *_generated]

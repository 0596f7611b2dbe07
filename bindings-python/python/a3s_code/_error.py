"""The base of every exception of the library; the classes by code are generated around it."""
from __future__ import annotations

from typing import Any

__all__ = ["A3SError"]


class A3SError(Exception):
    """What the library refused or could not do.

    `code` is the stable code, `retryable` whether trying again unchanged can succeed, `retry_after_ms` how long to
    wait before (or None), `details` facts for programs such as `field`, `argument` or `errorKind` (or None), and
    `causes` the messages of the causes, outermost first. An exception of your own code that led to it is `__cause__`.
    """

    code: str = "INTERNAL_ERROR"
    retryable: bool = False
    retry_after_ms: int | None = None
    details: Any = None
    causes: tuple[str, ...] = ()

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
        details: Any = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if retryable is not None:
            self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.details = details
        self.causes = causes

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, code={self.code!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "code": self.code,
            "retryable": self.retryable,
            "retry_after_ms": self.retry_after_ms,
            "details": self.details,
            "causes": self.causes,
        }
        return (type(self), (self.message,), state)

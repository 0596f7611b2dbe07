"""What crosses the boundary: JSON text both ways, options by their wire names, errors by their class.

Arguments of tools, `metadata` and `error_kind` are opaque and never re-keyed. Whatever cannot be said in JSON
without loss (NaN, lone surrogates, cycles, foreign objects) is refused before it leaves Python.
"""

from __future__ import annotations

import base64
import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ._generated import errors as _errors
from ._error import A3SError

_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def encode(value: Any) -> str:
    """JSON text of a value; InvalidArgument for what JSON cannot say."""
    try:
        return _encode(value)
    except (TypeError, ValueError) as error:
        raise _errors.InvalidArgument(f"not valid JSON: {error}") from error
    except RecursionError as error:
        raise _errors.InvalidArgument("not valid JSON: nested too deeply") from error


def decode(text: str) -> Any:
    """Value of the JSON text that the bridge gave."""
    return _decode(text)


def utf8(text: str, what: str) -> bytes:
    """The bytes of a text; InvalidArgument for what is none or holds a lone surrogate."""
    if not isinstance(text, str):
        raise _errors.InvalidArgument(f"{what} must be a str, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _errors.InvalidArgument(f"{what} is not valid text: {error}") from error


def error(text: str, host_errors: Mapping[int, BaseException] = MappingProxyType({})) -> A3SError:
    """The exception for an error that crossed the boundary, caused by what a handler raised if that led to it."""
    payload = decode(text)
    code: str = payload["code"]
    kind: type[A3SError] = _errors.BY_CODE.get(code, A3SError)
    made = kind(
        payload["message"],
        code=code,
        retryable=payload.get("retryable", False),
        retry_after_ms=payload.get("retryAfterMs"),
        details=payload.get("details"),
        causes=tuple(payload.get("cause", ())),
    )
    if host_errors and (identity := str(payload.get("hostErrorId", ""))).isdecimal():
        made.__cause__ = host_errors.get(int(identity))
    return made


def refused(where: str, what: str, **facts: Any) -> A3SError:
    """An InvalidArgument that names where it is; options of a session become SessionConfigurationError on their way."""
    return _errors.InvalidArgument(f"`{where}` {what}", details={"argument": where, **facts})


def check_keys(given: Mapping[Any, Any], known: Iterable[str], where: str) -> None:
    """Refuses a mapping with a key nobody knows, and names the nearest one that is known."""
    names = list(known)
    for key in given:
        if key not in names:
            place = f"{where}.{key}" if where else str(key)
            near = difflib.get_close_matches(str(key), names, 1)
            hint = f"did you mean `{near[0]}`" if near else f"known are {', '.join(sorted(names))}"
            facts = {"suggestion": near[0]} if near else {}
            raise refused(place, f"is not known; {hint}", **facts)


def make(kind: Any, given: Mapping[Any, Any], where: str) -> Any:
    """An option object of a mapping with its attribute names."""
    fields = dataclasses.fields(kind)
    check_keys(given, [each.name for each in fields], where)
    missing = [
        each.name
        for each in fields
        if each.default is dataclasses.MISSING
        and each.default_factory is dataclasses.MISSING
        and each.name not in given
    ]
    if missing:
        raise refused(f"{where}.{missing[0]}" if where else missing[0], "is missing")
    return kind(**given)


class Plain:
    """How a field crosses that is sent as it is."""

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        return value


class Many:
    """How a list crosses."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
            raise refused(where, f"must be a list, not {type(value).__name__}")
        item = self.item
        return [item.to_wire(each, f"{where}[{index}]") for index, each in enumerate(value)]


class ByName:
    """How a map from text crosses."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        if not isinstance(value, Mapping):
            raise refused(where, f"must be a mapping, not {type(value).__name__}")
        item = self.item
        return {key: item.to_wire(each, f"{where}.{key}") for key, each in value.items()}


class Record:
    """How an option class crosses: an instance of it, or a mapping with its attribute names."""

    def __init__(self, load: Any) -> None:
        self.load = load

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        kind = self.load()
        if isinstance(value, Mapping):
            value = make(kind, value, where)
        if not isinstance(value, kind):
            raise refused(where, f"must be a {kind.__name__} or a mapping, not {type(value).__name__}")
        return record_to_wire(value, where)


class Tagged:
    """How one of several option classes crosses, told apart by `type`."""

    def __init__(self, load: Any) -> None:
        self.load = load

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        kinds: dict[str, Any] = self.load()
        if isinstance(value, Mapping):
            given = dict(value)
            kind = kinds.get(str(given.pop("type", None)))
            if kind is None:
                raise refused(f"{where}.type", f"must be one of {', '.join(kinds)}")
            value = make(kind, given, where)
        for tag, kind in kinds.items():
            if isinstance(value, kind):
                return {"type": tag, **record_to_wire(value, where)}
        raise refused(where, f"cannot be a {type(value).__name__}")


class Forms:
    """How a value without a tag crosses: a plain one as it is, a mapping by its attribute names."""

    def __init__(self, names: Mapping[str, str], of_bytes: str | None = None) -> None:
        self.names = names
        self.of_bytes = of_bytes

    def to_wire(self, value: Any, where: str) -> Any:
        """The value for the wire; `where` names it in errors."""
        if self.of_bytes is not None and isinstance(value, (bytes, bytearray, memoryview)):
            return {self.of_bytes: base64.b64encode(value).decode("ascii")}
        if not isinstance(value, Mapping):
            return value
        check_keys(value, self.names, where)
        return {self.names[name]: each for name, each in value.items()}


def record_to_wire(value: Any, where: str) -> dict[str, Any]:
    """Fields of an option object by their wire names; what is None is left out."""
    wire: dict[str, Any] = {}
    for name, (key, how) in value.WIRE.items():
        each = getattr(value, name)
        if each is not None:
            wire[key] = how.to_wire(each, f"{where}.{name}" if where else name)
    return wire


PLAIN = Plain()

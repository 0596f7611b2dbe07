"""Changing files and running commands, blocking and awaited."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Open, until

from a3s_code import Cancelled, InvalidArgument, Session, Timeout, ToolResult

PROMPT = 5.0
"""How soon a cancelled or closed command must have ended, in seconds."""

FAMILY = "sleep 60 & echo $! >> pids; echo $$ >> pids; wait"
"""Starts a process of the background, says who they are, and waits."""


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not collected yet does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text[text.rindex(")") + 2] != "Z"


def pids(root: Path) -> list[int]:
    """The processes of FAMILY, as far as they have said who they are."""
    path = root / "pids"
    text = path.read_text() if path.exists() else ""
    return [int(line) for line in text.split("\n")[:-1]]


def kind(result: ToolResult) -> str | None:
    return None if result.error_kind is None else str(result.error_kind["type"])


def test_the_helpers_that_write_have_changed_the_file(open_session: Open, tmp_path: Path) -> None:
    session = open_session()
    file = tmp_path / "d/f.txt"
    written = session.write_file("d/f.txt", "one\ntwo\none\n")
    assert (written.name, written.exit_code) == ("write", 0)
    assert file.read_bytes() == b"one\ntwo\none\n"
    assert session.edit_file("d/f.txt", "one", "1").exit_code != 0
    assert file.read_bytes() == b"one\ntwo\none\n"
    edited = session.edit_file("d/f.txt", "two", "2")
    assert (edited.name, edited.exit_code) == ("edit", 0)
    assert session.edit_file("d/f.txt", "one", "1", replace_all=True).exit_code == 0
    assert file.read_bytes() == b"1\n2\n1\n"
    patched = session.patch_file("d/f.txt", "@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 1\n")
    assert (patched.name, patched.exit_code) == ("patch", 0)
    assert file.read_bytes() == b"1\nzwei\n1\n"


async def test_the_awaitable_forms_do_the_same(open_session: Open, tmp_path: Path) -> None:
    session = open_session()
    assert (await session.write_file_async("f", "one\none\n")).exit_code == 0
    assert (await session.edit_file_async("f", "one", "1", True)).exit_code == 0
    assert (await session.patch_file_async("f", "@@ -1,2 +1,2 @@\n-1\n+2\n 1\n")).exit_code == 0
    assert (tmp_path / "f").read_bytes() == b"2\n1\n"
    assert await session.bash_async("cat f") == "2\n1\n"


# claims: EDIT-01, EDIT-03
def test_a_dry_run_touches_nothing_and_its_count_is_what_the_edit_expects(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session({"p.txt": "port = 1\nport = 2\n"})
    before = (tmp_path / "p.txt").stat()
    edit = {"file_path": "p.txt", "old_string": "port", "new_string": "gate", "replace_all": True}
    dry = session.tool("edit", {**edit, "dry_run": True})
    assert dry.metadata is not None
    assert (dry.metadata["before"], dry.metadata["after"]) == (
        "port = 1\nport = 2\n",
        "gate = 1\ngate = 2\n",
    )
    after = (tmp_path / "p.txt").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    count = dry.metadata["replacement_count"]
    wrong = session.tool("edit", {**edit, "expected_replacements": count + 1})
    assert wrong.exit_code != 0
    assert session.read_file("p.txt") == "port = 1\nport = 2\n"
    assert session.tool("edit", {**edit, "expected_replacements": count}).exit_code == 0
    assert session.read_file("p.txt") == "gate = 1\ngate = 2\n"


def test_any_text_is_written_exactly(open_session: Open, tmp_path: Path) -> None:
    session = open_session()
    for text in ("grüße 🐟 \0 \r\n" * 800_000, ""):
        assert session.write_file("f", text).exit_code == 0
        assert (tmp_path / "f").read_bytes() == text.encode()


def test_what_is_no_text_is_refused_before_a_file_is_touched(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session({"f": "kept"})
    wrong: list[Any] = [None, 7, b"x", "a\ud800"]
    for content in wrong:
        with pytest.raises(InvalidArgument):
            session.write_file("f", content)
        with pytest.raises(InvalidArgument):
            session.patch_file("f", content)
    assert (tmp_path / "f").read_bytes() == b"kept"
    assert kind(session.write_file("../f", "x")) == "invalid_argument"


# claims: DIRECT-04
def test_bash_gives_the_output_and_states_a_status_that_is_not_0(open_session: Open) -> None:
    session = open_session()
    assert session.bash("printf 'plain\\n'; echo wrong >&2") == "plain\nwrong\n"
    first, last = session.bash("echo some-text; exit 37").splitlines()
    assert first == "some-text" and "37" in last


# claims: DIRECT-04
def test_bash_raises_what_keeps_a_command_from_ending(open_session: Open) -> None:
    session = open_session(tool_timeout_ms=300)
    with pytest.raises(Timeout) as caught:
        session.bash("sleep 60")
    assert isinstance(caught.value.details, dict)
    assert caught.value.details["errorKind"]["type"] == "timeout"
    with pytest.raises(InvalidArgument):
        session.bash("echo \0")


# claims: DIRECT-07
def test_commands_and_paths_are_those_of_the_workspace(open_session: Open) -> None:
    session = open_session({"d/f.txt": "here\n"})
    assert session.bash("pwd") == f"{session.workspace}\n"
    assert session.bash("cat d/f.txt") == "here\n"
    assert session.read_file("d/f.txt") == "here\n"


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Makes a call in a thread; what it gave or raised is in the list once the thread has ended."""
    given: list[Any] = []

    def run() -> None:
        try:
            given.append(call())
        except Exception as error:
            given.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, given


# claims: ORIG-35
def test_closing_the_session_ends_a_running_command_promptly(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session()
    thread, given = in_thread(lambda: session.tool("bash", {"command": FAMILY}))
    until(lambda: len(pids(tmp_path)) == 2)
    started = time.monotonic()
    session.close()
    thread.join(PROMPT)
    assert time.monotonic() - started < PROMPT
    (result,) = given
    assert kind(result) == "cancelled"
    assert [pid for pid in pids(tmp_path) if runs(pid)] == []


# claims: ORIG-35
async def test_closing_the_session_ends_an_awaited_helper(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session()
    call = asyncio.create_task(session.bash_async(FAMILY))
    await family(tmp_path)
    await session.close_async()
    async with asyncio.timeout(PROMPT):
        with pytest.raises(Cancelled):
            await call


async def family(root: Path) -> list[int]:
    """The processes of FAMILY, once they have said who they are."""
    async with asyncio.timeout(PROMPT):
        while len(found := pids(root)) < 2:
            await asyncio.sleep(0.005)
    return found


async def ended(found: list[int]) -> None:
    async with asyncio.timeout(PROMPT):
        while any(runs(pid) for pid in found):
            await asyncio.sleep(0.005)


# claims: CTR-16
async def test_cancelling_the_task_ends_the_command_with_everything_it_started(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session()
    call = asyncio.create_task(session.bash_async(FAMILY))
    found = await family(tmp_path)
    assert all(runs(pid) for pid in found)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await ended(found)
    assert await session.bash_async("echo on") == "on\n"


async def test_a_time_limit_of_the_loop_ends_the_command(
    open_session: Open, tmp_path: Path
) -> None:
    session = open_session()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await session.tool_async("bash", {"command": FAMILY})
    await ended(await family(tmp_path))


def by_timeout(session: Session, command: str) -> ToolResult:
    result = session.tool("bash", {"command": command, "timeout": 1000})
    assert kind(result) == "timeout"
    return result


# claims: CTR-15
def test_a_timeout_ends_what_the_command_started_in_the_background(
    open_session: Open, tmp_path: Path
) -> None:
    by_timeout(open_session(), FAMILY)
    found = pids(tmp_path)
    assert len(found) == 2 and not any(runs(pid) for pid in found)


# claims: CTR-13
def test_a_command_that_closes_its_pipes_is_ended_at_its_deadline(open_session: Open) -> None:
    started = time.monotonic()
    by_timeout(open_session(), "exec >&- 2>&-; sleep 60")
    assert time.monotonic() - started < 1 + PROMPT

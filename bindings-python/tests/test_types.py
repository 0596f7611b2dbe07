"""The package is typed, and its private stubs say what the native module has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import PACKAGE, environment


def mypy(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    more = {**environment(), "MYPYPATH": str(PACKAGE)}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=more, timeout=39, check=False
    )


def test_the_stubs_of_the_native_module_are_true(tmp_path: Path) -> None:
    done = mypy("mypy.stubtest", "a3s_code._native", folder=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_program_that_misuses_the_package_does_not_check(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        """
from a3s_code import Agent, PermissionPolicy, SessionOptions

options = SessionOptions(permission_policy=PermissionPolicy(default_decision="alow"))
options.no_such_option = 1
with Agent.create() as agent, agent.session(".", options) as session:
    names: list[str] = session.tool_names()
    code: str = session.tool("ls", {}).exit_code
"""
    )
    done = mypy("mypy", "--strict", "program.py", folder=tmp_path)
    found = [line.rsplit("[", 1)[1] for line in done.stdout.splitlines() if ": error: " in line]
    assert found == ["arg-type]", "attr-defined]", "assignment]"], done.stdout

"""The settings of a ``process`` agent, checked, and the command line of one run made from them."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from agui_host.runtimes.context.request import RunRequest
from agui_host.runtimes.kinds.kind import BadSettings
from agui_host.security.own_secrets import belongs_to_host

MB = 1024 * 1024
PLACEHOLDER = re.compile(r"\{(text|session_id|thread_id|run_id)\}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ALWAYS = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
OUTPUTS = ("auto", "text", "claude", "codex")
CHOICES = {
    "stdin": ("input", "text", "none"),
    "output": OUTPUTS,
    "directory": ("run", "thread"),
    "steering": ("none", "json", "claude"),
}
MOST = 2**53
MAX_ARGUMENT = 128 * 1024 - 1
"""The longest argument that Linux accepts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a command and its descendants, in seconds, bytes or counts; all above 0.

    ``cpu_seconds``, ``memory_bytes`` (resident) and ``processes`` apply to all of them together and
    are checked four times a second; ``cpu_seconds``, ``file_bytes``, ``open_files`` and
    ``address_space_bytes`` (0: no limit; runtimes such as Node reserve more than they use) are also
    the kernel's limits of each. ``output_bytes`` covers stdout and stderr, ``line_bytes`` one line.
    ``grace_seconds`` is the time between TERM and KILL.
    """

    cpu_seconds: int = 600
    memory_bytes: int = 2048 * MB
    address_space_bytes: int = 0
    processes: int = 256
    file_bytes: int = 1024 * MB
    open_files: int = 1024
    output_bytes: int = 64 * MB
    line_bytes: int = 10 * MB
    grace_seconds: float = 2.0

    @classmethod
    def of(cls, members: Any) -> "Limits":
        """Checked; raises BadSettings."""
        members = _mapping("limits", members)
        for item in fields(cls):
            value, none = members.get(item.name, 1), item.name == "address_space_bytes"
            fine = (int, float) if item.name == "grace_seconds" else (int,)
            if type(value) not in fine or not (0 < value < MOST or (none and value == 0)):
                raise BadSettings(f"limits.{item.name} must be a number above 0")
        _known("limits", members, {item.name for item in fields(cls)})
        return cls(**members)

    def for_guard(self) -> dict[str, Any]:
        """The limits in the guard's form."""
        limits: dict[str, Any] = {
            "cpu": self.cpu_seconds,
            "memory": self.memory_bytes,
            "processes": self.processes,
            "file": self.file_bytes,
            "open_files": self.open_files,
            "grace": self.grace_seconds,
        }
        if self.address_space_bytes:
            limits["address_space"] = self.address_space_bytes
        return limits


@dataclass(frozen=True, slots=True)
class Command:
    """The command: argument lists (no shell reads them), environment, input, output, limits."""

    argv: list[str]
    resume_argv: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    env_from_host: list[str] = field(default_factory=list)
    stdin: str = "input"
    output: str = "auto"
    directory: str = "run"
    step_marker: str = ""
    continue_text: str = "Continue from where you left off."
    steering: str = "none"
    unconfined: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, members: Any) -> "Command":
        """The settings of an Agent row, checked; raises BadSettings."""
        members = dict(_mapping("settings", members))
        _known("settings", members, {item.name for item in fields(cls)})
        limits = Limits.of(members.pop("limits", {}))
        for name, allowed in CHOICES.items():
            if members.get(name, allowed[0]) not in allowed:
                raise BadSettings(f"{name} must be one of {', '.join(allowed)}")
        for name in ("argv", "resume_argv"):
            _check_argv(name, members.get(name, []))
        marker = members.get("step_marker", "")
        if not isinstance(marker, str) or not marker.isprintable():
            raise BadSettings("step_marker must be printable text: the beginning of a line")
        proceed = members.get("continue_text", "x")
        if not isinstance(proceed, str) or not proceed or "\0" in proceed:
            raise BadSettings("continue_text must be text without NUL")
        if type(members.get("unconfined", False)) is not bool:
            raise BadSettings("unconfined must be true or false")
        if not members.get("argv"):
            raise BadSettings("argv must name a command and its arguments")
        if "{session_id}" in " ".join(members["argv"]):
            raise BadSettings("{session_id} belongs in resume_argv: a new thread has no session")
        if members.get("resume_argv") and members.get("directory") != "thread":
            raise BadSettings('resume_argv needs "directory": "thread"')
        _check_env(members.get("env", {}), members.get("env_from_host", []))
        return cls(**members, limits=limits)

    def arguments(
        self, run: RunRequest, session_id: str | None, text: str | None = None
    ) -> list[str]:
        """The argument list of one run. Raises BadSettings if its text cannot be an argument.

        ``text`` takes the place of the client's.
        """
        values = {
            "text": run.text if text is None else text,
            "session_id": session_id or "",
            "thread_id": run.thread_id,
            "run_id": run.run_id,
        }
        template = self.resume_argv if session_id and self.resume_argv else self.argv
        # One pass: the client's text is not searched for placeholders.
        made = [
            PLACEHOLDER.sub(lambda match: values[match[1]], part).encode(errors="replace")
            for part in template
        ]
        if any(b"\0" in part or len(part) > MAX_ARGUMENT for part in made):
            raise BadSettings("The message is too long for a command line, or contains NUL.")
        return [part.decode() for part in made]

    def environment(self, home: str, temporary: str) -> dict[str, str]:
        """Only allowed variables: a few harmless ones, those named, those set."""
        names = (*ALWAYS, *self.env_from_host)
        inherited = {name: os.environ[name] for name in names if name in os.environ}
        return {"PATH": os.defpath, **inherited, "HOME": home, "TMPDIR": temporary, **self.env}

    def secrets(self) -> list[str]:
        """Values of the environment that must not be repeated in messages, longest first."""
        host = (os.environ.get(name, "") for name in self.env_from_host)
        return sorted({v for v in (*self.env.values(), *host) if len(v) >= 8}, key=len)[::-1]


def is_there(program: str, env: Mapping[str, str], work: str) -> bool:
    """Whether ``program`` is on ``env``'s PATH, or at its path relative to ``work``."""
    if "/" in program:
        program = os.path.join(work, program)
    return shutil.which(program, path=env["PATH"]) is not None


def _check_argv(name: str, argv: Any) -> None:
    if not isinstance(argv, list) or not all(isinstance(part, str) for part in argv):
        raise BadSettings(f"{name} must be a list of strings: no shell reads it")
    if any("\0" in part for part in argv):
        raise BadSettings(f"{name} must not contain NUL")
    if argv and PLACEHOLDER.search(argv[0]):
        raise BadSettings(f"{name} must begin with a command, not with a client's text")
    for number, part in enumerate(argv):
        # Otherwise a client who writes "--dangerous" adds an option.
        if PLACEHOLDER.match(part) and "--" not in argv[:number] and part != "{session_id}":
            raise BadSettings(f'{name}: put "--" somewhere before {part}, or write --option={part}')


def _check_env(env: Any, names: Any) -> None:
    env = _mapping("env", env)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadSettings("env_from_host must be a list of names")
    for name in (*env, *names):
        if not VARIABLE.fullmatch(name):
            raise BadSettings(f"{name!r} is not the name of an environment variable")
    for value in env.values():
        if not isinstance(value, str) or "\0" in value:
            raise BadSettings("the values of env must be strings")
    for name in names:
        if belongs_to_host(name):
            raise BadSettings(f"{name} belongs to the host and is not passed on")


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise BadSettings(f"{name} must be an object")
    return value


def _known(name: str, members: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(members.keys() - known):
        raise BadSettings(
            f"{name}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        )

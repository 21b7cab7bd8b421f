"""The settings of a ``process`` agent, checked, and the command line of one run made from them."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from agui_project.own_secrets import belongs_to_host
from runtimes.context.request import RunRequest

MB = 1024 * 1024
PLACEHOLDER = re.compile(r"\{(text|session_id|thread_id|run_id)\}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ALWAYS = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
OUTPUTS = ("auto", "text", "claude", "codex")
CHOICES = {"stdin": ("input", "text", "none"), "output": OUTPUTS, "directory": ("run", "thread")}
MOST = 2**53
MAX_ARGUMENT = 128 * 1024 - 1
"""Linux takes no longer one."""


class BadSettings(ValueError):
    """The settings of a process agent do not say what to run; the message says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command and its descendants may use. Seconds, bytes, counts; all above 0.

    ``cpu_seconds``, ``memory_bytes`` (resident) and ``processes`` hold for all of them together
    and are looked at four times a second; ``cpu_seconds``, ``file_bytes``, ``open_files`` and
    ``address_space_bytes`` (0: no limit; runtimes such as Node reserve more than they use) are
    also the kernel's limits of each. ``output_bytes`` is stdout and stderr, ``line_bytes`` one
    line. ``grace_seconds`` is between TERM and KILL.
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
    def of(cls, given: Any) -> "Limits":
        """Checked; raises BadSettings."""
        given = _mapping("limits", given)
        for item in fields(cls):
            value, none = given.get(item.name, 1), item.name == "address_space_bytes"
            fine = (int, float) if item.name == "grace_seconds" else (int,)
            if type(value) not in fine or not (0 < value < MOST or (none and value == 0)):
                raise BadSettings(f"limits.{item.name} must be a number above 0")
        _known("limits", given, {item.name for item in fields(cls)})
        return cls(**given)

    def for_guard(self) -> dict[str, Any]:
        """What the guard wants to know."""
        wanted: dict[str, Any] = {
            "cpu": self.cpu_seconds,
            "memory": self.memory_bytes,
            "processes": self.processes,
            "file": self.file_bytes,
            "open_files": self.open_files,
            "grace": self.grace_seconds,
        }
        if self.address_space_bytes:
            wanted["address_space"] = self.address_space_bytes
        return wanted


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: argument lists (no shell reads them), environment, input, output, limits."""

    argv: list[str]
    resume_argv: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    env_from_host: list[str] = field(default_factory=list)
    stdin: str = "input"
    output: str = "auto"
    directory: str = "run"
    step_marker: str = ""
    unconfined: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, given: Any) -> "Command":
        """The settings of an Agent row, checked; raises BadSettings."""
        given = dict(_mapping("settings", given))
        _known("settings", given, {item.name for item in fields(cls)})
        limits = Limits.of(given.pop("limits", {}))
        for name, allowed in CHOICES.items():
            if given.get(name, allowed[0]) not in allowed:
                raise BadSettings(f"{name} must be one of {', '.join(allowed)}")
        for name in ("argv", "resume_argv"):
            _check_argv(name, given.get(name, []))
        marker = given.get("step_marker", "")
        if not isinstance(marker, str) or not marker.isprintable():
            raise BadSettings("step_marker must be a printable text: the beginning of a line")
        if type(given.get("unconfined", False)) is not bool:
            raise BadSettings("unconfined must be true or false")
        if not given.get("argv"):
            raise BadSettings("argv must name a command and its arguments")
        if "{session_id}" in " ".join(given["argv"]):
            raise BadSettings("{session_id} belongs into resume_argv: a new thread has none")
        if given.get("resume_argv") and given.get("directory") != "thread":
            raise BadSettings('resume_argv needs "directory": "thread"')
        _check_env(given.get("env", {}), given.get("env_from_host", []))
        return cls(**given, limits=limits)

    def arguments(self, run: RunRequest, session_id: str | None) -> list[str]:
        """The argument list of one run. Raises BadSettings where its text cannot be an argument."""
        values = {
            "text": run.text,
            "session_id": session_id or "",
            "thread_id": run.thread_id,
            "run_id": run.run_id,
        }
        template = self.resume_argv if session_id and self.resume_argv else self.argv
        # One pass: what a client says is not searched for placeholders.
        made = [
            PLACEHOLDER.sub(lambda found: values[found[1]], part).encode(errors="replace")
            for part in template
        ]
        if any(b"\0" in part or len(part) > MAX_ARGUMENT for part in made):
            raise BadSettings("The message is too long, or not text, for a command line.")
        return [part.decode() for part in made]

    def environment(self, home: str, temporary: str) -> dict[str, str]:
        """Only what is allowed: a few harmless ones, those named, those given."""
        names = (*ALWAYS, *self.env_from_host)
        found = {name: os.environ[name] for name in names if name in os.environ}
        return {"PATH": os.defpath, **found, "HOME": home, "TMPDIR": temporary, **self.env}

    def secrets(self) -> list[str]:
        """Values of the environment that must not be repeated to anybody, longest first."""
        host = (os.environ.get(name, "") for name in self.env_from_host)
        return sorted({v for v in (*self.env.values(), *host) if len(v) >= 8}, key=len)[::-1]


def is_there(program: str, env: Mapping[str, str], work: str) -> bool:
    """Whether ``program`` is on ``env``'s PATH, or where its path leads from ``work`` on."""
    if "/" in program:
        program = os.path.join(work, program)
    return shutil.which(program, path=env["PATH"]) is not None


def _check_argv(name: str, argv: Any) -> None:
    if not isinstance(argv, list) or not all(isinstance(part, str) for part in argv):
        raise BadSettings(f"{name} must be a list of texts: no shell reads it")
    if any("\0" in part for part in argv):
        raise BadSettings(f"{name} must not hold NUL")
    if argv and PLACEHOLDER.search(argv[0]):
        raise BadSettings(f"{name} must begin with a command, not with what a client says")
    for number, part in enumerate(argv):
        # Else a client who writes "--dangerous" has added an option.
        if PLACEHOLDER.match(part) and "--" not in argv[:number] and part != "{session_id}":
            raise BadSettings(f'{name}: put "--" somewhere before {part}, or write --option={part}')


def _check_env(env: Any, names: Any) -> None:
    env = _mapping("env", env)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadSettings("env_from_host must be a list of names")
    for name in (*env, *names):
        if not VARIABLE.fullmatch(name):
            raise BadSettings(f"{name!r} is no name of an environment variable")
    for value in env.values():
        if not isinstance(value, str) or "\0" in value:
            raise BadSettings("the values of env must be texts")
    for name in names:
        if belongs_to_host(name):
            raise BadSettings(f"{name} is the host's own and is not handed on")


def _mapping(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise BadSettings(f"{name} must be an object")
    return given


def _known(name: str, given: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(given.keys() - known):
        raise BadSettings(
            f"{name}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        )

"""systemctl, systemd-run and apt-get of a machine without systemd, for units as ours are.

A unit's program gets its account, its directory and its environment, and tells by its socket that
it works; what confines it (ProtectSystem and the like) is left out.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

UNITS, RUNNING, LOGS = Path("/etc/systemd/system"), Path("/run/units"), Path("/var/log/units")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STARTS = 120.0
OTHERS: dict[tuple[str, str], list[str]] = {
    ("restart", "postgresql"): ["pg_ctlcluster", "15", "main", "restart"],
    ("reload", "nginx"): ["nginx", "-s", "reload"],
}


def environment_of(path: str) -> dict[str, str]:
    """A file of variables, as systemd reads it."""
    pairs = re.findall(r"^([A-Z_]+)=(.*)$", Path(path).read_text(), re.MULTILINE)
    return {name: value.strip('"') for name, value in pairs}


def as_account(user: str, command: list[str]) -> list[str]:
    return ["setpriv", "--reuid", user, "--regid", user, "--init-groups", *command]


def start(*names: str) -> None:
    """Start units of ours together, those that end before the others, and wait for all."""
    LOGS.mkdir(exist_ok=True)
    RUNNING.mkdir(exist_ok=True)
    sockets = [signals for name in names if (signals := _start(name))]
    for signals in sockets:
        with signals:
            while b"READY=1" not in signals.recv(4096):
                pass


def _start(name: str) -> socket.socket | None:
    """The socket by which the unit tells that it works; none if it has done its work."""
    template, at, instance = name.partition("@")
    text = (UNITS / f"{template}{at}.service").read_text().replace("%i", instance)
    unit = dict(re.findall(r"^([A-Z]\w+)=(.*)$", text, re.MULTILINE))
    state = Path("/var/lib") / unit["StateDirectory"]
    state.mkdir(exist_ok=True)
    subprocess.run(["chown", f"{unit['User']}:{unit['Group']}", state], check=True)
    variable, _, value = unit["Environment"].partition("=")
    env = {"PATH": PATH, variable: value, **environment_of(unit["EnvironmentFile"])}
    command = as_account(unit["User"], shlex.split(unit["ExecStart"]))
    with (LOGS / name).open("ab") as log:
        if unit["Type"] == "oneshot":
            subprocess.run(command, env=env, cwd=state, stdout=log, stderr=log, check=True)
            return None
        signals = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = RUNNING / f"{name}.{time.monotonic_ns()}"
        signals.bind(str(address))
        address.chmod(0o777)
        signals.settimeout(STARTS)
        process = subprocess.Popen(
            command, env={**env, "NOTIFY_SOCKET": str(address)}, cwd=state,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        (RUNNING / f"{name}.pid").write_text(str(process.pid))
        return signals


def stop(name: str) -> None:
    """End a unit of ours, if it runs."""
    path = RUNNING / f"{name}.pid"
    if path.exists():
        pid = int(path.read_text())
        os.kill(pid, signal.SIGTERM)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
        path.unlink()


def systemctl(verb: str, *arguments: str) -> None:
    """The verbs that docs/deploy.md uses."""
    names = [word for word in arguments if word != "--now"]
    others = [other for name in names if (other := OTHERS.get((verb, name)))]
    for command in others:
        subprocess.run(command, check=True)
    if not others:
        for name in names if verb == "restart" else ():
            stop(name)
        start(*names)


def systemd_run(*arguments: str) -> None:
    """A command of an account, with files of variables and single ones."""
    words, user, env = list(arguments), "root", {"PATH": PATH}
    while words[0].startswith("-"):
        option = words.pop(0)
        if option == "--uid":
            user = words.pop(0)
        elif option == "-p":
            kind, _, value = words.pop(0).partition("=")
            env |= (
                environment_of(value) if kind == "EnvironmentFile" else dict([value.split("=", 1)])
            )
    sys.exit(subprocess.run(as_account(user, words), env=env, cwd="/", check=False).returncode)


def apt_get(*arguments: str) -> None:
    """The packages are there; Debian starts their services."""
    subprocess.run(["pg_ctlcluster", "15", "main", "start"], check=True)
    for command in (["redis-server", "--daemonize", "yes", "--save", ""], ["nginx"]):
        subprocess.run(command, cwd="/var/lib/redis", stdout=subprocess.DEVNULL, check=True)


PROGRAMS: dict[str, Callable[..., None]] = {
    "systemctl": systemctl, "systemd-run": systemd_run, "apt-get": apt_get,
}  # fmt: skip

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])

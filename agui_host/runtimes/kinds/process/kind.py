"""How the host treats agents of the ``process`` kind, apart from running them."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings as host

from agui_host.runtimes.kinds.kind import BadSettings, Kind
from agui_host.runtimes.kinds.process import worktree
from agui_host.runtimes.kinds.process.command import Command, is_there
from agui_host.runtimes.kinds.process.confine import Means, means

UNCONFINED = (
    "this host cannot confine a command (it has neither a working bwrap nor a worker that is root "
    "and a data directory that others may pass through): install bubblewrap, or say --unconfined "
    '("unconfined": true in the settings) to let it do all that the worker\'s account may'
)


def _check_host(settings: Any) -> None:
    if not Command.of(settings).unconfined and means(host.AGUI_DATA_DIR) is Means.NONE:
        raise BadSettings(UNCONFINED)


def _check_input(body: Mapping[str, Any]) -> None:
    worktree.requested(body["forwardedProps"])


def _warnings(settings: Any) -> Iterator[str]:
    command = Command.of(settings)
    env = command.environment("", "")
    for argv in filter(None, (command.argv, command.resume_argv)):
        # A path relative to the run's own directory can only be checked there.
        own = "/" in argv[0] and not argv[0].startswith("/")
        if not own and not is_there(argv[0], env, ""):
            yield (
                f"the program {argv[0]!r} is not on the PATH here, or is not "
                "executable; a worker without it ends this agent's runs with process_exit"
            )
            return


def _tidy(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    # A directory of the run alone, which is deleted with it: the thread is new.
    others = {name: value for name, value in settings.items() if name != "resume_argv"}
    return others | {"directory": "run"}


PROCESS = Kind(
    "process",
    continues=True,
    check_settings=Command.of,
    check_host=_check_host,
    check_input=_check_input,
    flags={"unconfined": "allow the command to do everything that the worker's account can"},
    warnings=_warnings,
    tidy=_tidy,
)

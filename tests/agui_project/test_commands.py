"""``agui-host`` lists every command of this project, and no other."""

from django.core.management import get_commands, load_command_class

from agui_project import cli

OURS = {"agui_client", "agui_host", "agui_project", "events", "runs"}
OF_DJANGO = {"check"}


def test_each_command_of_our_packages_is_listed() -> None:
    ours = {name for name, package in get_commands().items() if str(package).split(".")[0] in OURS}
    assert {"apply", "run_worker", "supervise"} <= ours, "the walk finds too little"
    listed = {cli.command(name) for name in cli.COMMANDS}
    assert listed - OF_DJANGO == ours


def test_each_line_of_the_help_begins_with_its_purpose() -> None:
    usage = cli.usage()
    for name, purpose in cli.COMMANDS.items():
        package = get_commands()[cli.command(name)]
        assert load_command_class(str(package), cli.command(name)).help
        assert f"  {name} " in usage
        assert purpose[0].islower(), name
        assert not purpose.endswith("."), name

"""Modules of others with the names of our packages, and variables that look like our settings."""

from django.conf import settings

from agui_host.doctor.findings import Fault, check
from agui_project import foreign_modules


@check("modules")
def modules() -> str | list[Fault]:
    """Whether imports of the host's packages, and of others' modules, reach the named modules."""
    faults = []
    for line in (*foreign_modules.hiding(), *foreign_modules.hidden()):
        text, _, remedy = line.partition(": ")
        faults.append(Fault(f"{text[:1].upper()}{text[1:]}.", f"{remedy.capitalize()}."))
    return faults or "no foreign module has a name of ours"


@check("settings")
def misspelt() -> str | list[Fault]:
    """Whether each variable that begins as ours do is read. Invalid values end the start."""
    return [
        Fault(f"{name} is not a setting.", f"Did you mean {likely}? See docs/settings.md.")
        for name, likely in settings.AGUI_MISSPELT.items()
    ] or "all are valid"

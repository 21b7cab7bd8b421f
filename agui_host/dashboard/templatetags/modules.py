"""The JavaScript modules of a page: which ones a module imports, so that a page can name them all.

A browser finds an import only when it has read the module before it; four deep, that takes longer
than reading all of them.
"""

import re
from functools import cache
from pathlib import Path, PurePosixPath

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from agui_host.protocol.errors import HostError

register = template.Library()

IMPORT = re.compile(r"""(?<=from ")(\.{1,2}/[\w./-]+)(?=")""")


@cache
def imported(entry: str) -> tuple[str, ...]:
    """A static module's imports, and theirs: each once, the nearest first."""
    modules = [entry]
    for module in modules:
        folder = PurePosixPath(module).parent
        for name in IMPORT.findall(text(module)):
            path = str(joined(folder, name))
            if path not in modules:
                modules.append(path)
    return tuple(modules[1:])


def joined(folder: PurePosixPath, relative: str) -> PurePosixPath:
    """Where a relative import of a module in ``folder`` leads."""
    for part in PurePosixPath(relative).parts:
        folder = folder.parent if part == ".." else folder / part
    return folder


def text(name: str) -> str:
    """A static file."""
    path = finders.find(name)
    if not isinstance(path, str):
        raise HostError(f"{name} is missing from this installation.")
    return Path(path).read_text()


@register.simple_tag
def modules_of(entry: str) -> SafeString:
    """Links that let the browser read all modules behind ``js/entry`` at once."""
    links = ((static(name),) for name in imported(f"js/{entry}"))
    return format_html_join("", '<link rel="modulepreload" href="{}">', links)

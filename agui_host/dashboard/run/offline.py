"""The page of a run as one file: it contains styles, modules and data, and fetches nothing.

A browser resolves no relative import inside of a ``data:`` module, so each module is imported by a
bare name, which the page's import map leads to its text. The file's own policy allows exactly these
scripts and no connection; an agent's text is in it as JSON without ``<``.
"""

import hashlib
import re
from base64 import b64encode
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from django.template.loader import render_to_string

from agui_host.backends.postgres import clock
from agui_host.dashboard.templatetags.modules import IMPORT, joined, text
from agui_host.protocol.strict_json import dumps
from runs.models import Run, Status

ENTRY = "js/offline-page.mjs"
STYLES = ("css/host.css", "css/questions.css", "css/inspect.css")
MARK = "<!-- log -->"
BETWEEN = b'</script>\n<script type="application/x-ndjson" id="outline-lines">\n'


class Assets(NamedTuple):
    """The same in every file; the policy names the hashes of the other parts."""

    style: str
    imports: str
    entry: str
    policy: str


def opening(run: Run) -> bytes:
    """The page up to its log, whose lines follow, then ``BETWEEN``, the outline, and ``END``."""
    context = {
        "run": run,
        "assets": _assets(),
        "failed": run.status == Status.FAILED,
        "exported_at": clock.now(),
        "outline": {"url": "#outline-lines", "opens_timeline": True},
    }
    return render_to_string("runs/offline.html", context).partition(MARK)[0].encode()


END = b"</script>\n</body>\n</html>\n"


def quoted(lines: bytes) -> bytes:
    """Lines of JSON that end no script element: ``<`` occurs in strings only."""
    return lines.replace(b"<", b"\\u003c")


@cache
def _assets() -> Assets:
    style = "\n".join(text(name) for name in STYLES)
    modules: dict[str, str] = {}
    _collect(PurePosixPath(ENTRY), modules)
    entry = modules.pop(ENTRY)
    urls = {
        name: f"data:text/javascript;base64,{b64encode(module.encode()).decode()}"
        for name, module in modules.items()
    }
    imports = dumps({"imports": urls})
    scripts = " ".join(map(_hash, (imports, entry)))
    policy = (
        f"default-src 'none'; script-src data: {scripts}; style-src {_hash(style)}; img-src data:"
    )
    return Assets(style, imports, entry, policy)


def _collect(path: PurePosixPath, modules: dict[str, str]) -> None:
    """Add a module and all that it imports, by their paths below ``static/``."""

    def bare(match: re.Match[str]) -> str:
        target = joined(path.parent, match[1])
        if str(target) not in modules:
            _collect(target, modules)
        return str(target)

    modules[str(path)] = ""  # modules can import each other
    modules[str(path)] = IMPORT.sub(bare, text(str(path)))


def _hash(part: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"

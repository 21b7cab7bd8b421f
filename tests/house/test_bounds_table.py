"""A new agent, middleware or dialect has its lines in the table of hostile input."""

import pkgutil

from agui_host import dialects
from agui_host.runtimes import registry
from agui_host.runtimes.kinds.process.lines import DIALECTS
from agui_host.runtimes.middleware.table import MIDDLEWARE
from tests.bounds.agents import OTHERS
from tests.bounds.cases import CASES

HELP = "add its cases to tests/bounds"


def test_everything_is_in_the_table() -> None:
    subjects = {case.subject for case in CASES.values()}
    agents = {
        slug
        for slug, entry in registry.all().items()
        if entry.origin.startswith("agui_host.runtimes.builtin.") and slug not in OTHERS
    }
    assert agents
    assert agents <= subjects, HELP
    assert set(MIDDLEWARE) <= subjects, HELP
    assert {f"lines {name}" for name in DIALECTS} <= subjects, HELP
    folders = {module.name for module in pkgutil.iter_modules(dialects.__path__) if module.ispkg}
    assert folders
    assert folders <= subjects, HELP

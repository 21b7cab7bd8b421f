"""The available context providers: a new one is a file beside ``wisdom.py`` and a line here."""

from collections.abc import Mapping

from agui_host.runtimes.providers.base import Provider
from agui_host.runtimes.providers.documents import DocumentsProvider
from agui_host.runtimes.providers.profile import ProfileProvider
from agui_host.runtimes.providers.wisdom import WisdomProvider

PROVIDERS: Mapping[str, type[Provider]] = {
    "documents": DocumentsProvider,
    "profile": ProfileProvider,
    "wisdom": WisdomProvider,
}

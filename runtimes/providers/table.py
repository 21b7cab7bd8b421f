"""The available context providers: a new one is a file beside ``wisdom.py`` and a line here."""

from collections.abc import Mapping

from runtimes.providers.base import Provider
from runtimes.providers.documents import DocumentsProvider
from runtimes.providers.profile import ProfileProvider
from runtimes.providers.wisdom import WisdomProvider

PROVIDERS: Mapping[str, type[Provider]] = {
    "documents": DocumentsProvider,
    "profile": ProfileProvider,
    "wisdom": WisdomProvider,
}

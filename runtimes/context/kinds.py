"""The context providers there are: a new one is a file beside ``wisdom.py`` and a line here."""

from collections.abc import Mapping

from runtimes.context.base import Provider
from runtimes.context.documents import DocumentsProvider
from runtimes.context.profile import ProfileProvider
from runtimes.context.wisdom import WisdomProvider

PROVIDERS: Mapping[str, type[Provider]] = {
    "documents": DocumentsProvider,
    "profile": ProfileProvider,
    "wisdom": WisdomProvider,
}

"""The context providers: built-in ones (a file and a line here) and plug-ins."""

from agui_host.runtimes.plugins import added
from agui_host.runtimes.providers.base import Provider
from agui_host.runtimes.providers.documents import DocumentsProvider
from agui_host.runtimes.providers.http import HttpProvider
from agui_host.runtimes.providers.mcp import McpProvider
from agui_host.runtimes.providers.profile import ProfileProvider
from agui_host.runtimes.providers.wisdom import WisdomProvider

BUILT_IN: dict[str, type[Provider]] = {
    "documents": DocumentsProvider,
    "http": HttpProvider,
    "mcp": McpProvider,
    "profile": ProfileProvider,
    "wisdom": WisdomProvider,
}
PROVIDERS = added(BUILT_IN, "agui_host.providers", Provider)

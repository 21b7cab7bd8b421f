"""The host itself: its data, keys, addresses, and the agents that it brings along."""

from urllib.parse import urlsplit

from agui_host import folders
from agui_host.embedded import embedded
from agui_project import validators
from agui_project.environment import Environment

BASE_DIR = folders.FILES
env = Environment()

DEBUG: bool = env.flag("DEBUG", default=False)
env.text("XDG_DATA_HOME", rule=validators.folder)
AGUI_DATA_DIR = folders.data_dir()
env.text("AGUI_DATA_DIR", default=str(AGUI_DATA_DIR), rule=validators.folder)
signing_key = None if DEBUG else validators.signing_key
SECRET_KEY: str = env.text("SECRET_KEY", rule=signing_key, secret=True)
SECRET_KEY_FALLBACKS: list[str] = env.entries(
    "SECRET_KEY_FALLBACKS", default=[], rule=signing_key, secret=True
)
if not SECRET_KEY and not env.problems:
    SECRET_KEY = env.note(lambda: embedded.secret_key(AGUI_DATA_DIR), default="")
PORT: int = env.number("PORT", default=8000, most=65_535)
AGUI_PUBLIC_URL: str = env.text("AGUI_PUBLIC_URL", rule=validators.origin)
AGUI_PUBLIC_URL = AGUI_PUBLIC_URL.rstrip("/")
# The host's address without it: links in mails lead there, whatever Host a request names.
AGUI_LOCAL_URL = f"http://127.0.0.1:{PORT}"
# A host with a public name answers to that name, not to those of every machine.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ALLOWED_HOSTS: list[str] = env.entries(
    "AGUI_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"], rule=validators.host_name
)
if AGUI_PUBLIC_URL:
    ALLOWED_HOSTS = [name for name in ALLOWED_HOSTS if name not in LOOPBACK]
ALLOWED_HOSTS += [name] if (name := urlsplit(AGUI_PUBLIC_URL).hostname) else []
AGUI_ALLOWED_ORIGINS: list[str] = env.entries(
    "AGUI_ALLOWED_ORIGINS", default=[], rule=validators.allowed_origin
)
AGUI_SECRETS_KEYS: list[str] = env.entries(
    "AGUI_SECRETS_KEYS", default=[], rule=validators.sealing_key, secret=True
)
AGUI_OUTBOUND_ALLOW: list[str] = env.entries(
    "AGUI_OUTBOUND_ALLOW", default=[], rule=validators.outbound
)
CSRF_TRUSTED_ORIGINS = [origin for origin in AGUI_ALLOWED_ORIGINS if "://" in origin]
AGUI_TRUSTED_PROXIES: int = env.number("AGUI_TRUSTED_PROXIES", default=0, most=100)
AGUI_DEMO_API_KEY: str = env.text("AGUI_DEMO_API_KEY", rule=validators.api_key, secret=True)

AGUI_COMMIT: str = env.text("AGUI_COMMIT", rule=validators.commit)
AGUI_AGENT_MODULES: list[str] = env.entries(
    "AGUI_AGENT_MODULES", default=[], rule=validators.module
)
AGUI_AGENTS_FOR: list[str] = env.entries("AGUI_AGENTS_FOR", default=[], rule=validators.team_or_all)
"""The teams that get agents in code; empty: new teams, and teams that have one already."""
AGUI_SCRIPTED_AGENT: bool = env.flag("AGUI_SCRIPTED_AGENT", default=False)
AGUI_PROCESS_KEEP: bool = env.flag("AGUI_PROCESS_KEEP", default=False)
LLM_BASE_URL: str = env.text("AGUI_LLM_BASE_URL", rule=validators.http_url)
LLM_API_KEY: str = env.text("AGUI_LLM_API_KEY", secret=True)
LLM_MODEL: str = env.text("AGUI_LLM_MODEL", rule=validators.needs_extra("llm", "pydantic_ai"))

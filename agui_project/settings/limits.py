"""How much, how long and how often: requests, runs, streams, teams, files, webhooks, schedules."""

from agui_host import prices
from agui_project import validators
from agui_project.settings.host import AGUI_DATA_DIR, env

AGUI_DB_THREADS: int = env.number("AGUI_DB_THREADS", default=8, least=1, most=1_000)
AGUI_DATABASE_DEADLINE: float = env.seconds("AGUI_DATABASE_DEADLINE", default=15.0)
AGUI_MAX_BODY_BYTES: int = env.number("AGUI_MAX_BODY_BYTES", default=5_000_000, least=1)
AGUI_REQUEST_SLOTS: int = env.number(
    "AGUI_REQUEST_SLOTS", default=AGUI_DB_THREADS, least=1, most=1_000
)
AGUI_START_SLOTS: int = env.number(
    "AGUI_START_SLOTS", default=max(4, AGUI_REQUEST_SLOTS // 4), least=1, most=1_000
)
AGUI_START_REST: int = env.number("AGUI_START_REST", default=3, most=1_000)
AGUI_REQUEST_WAIT: float = env.seconds("AGUI_REQUEST_WAIT", default=10.0, least=0.01)
AGUI_BODY_TIMEOUT: float = env.seconds("AGUI_BODY_TIMEOUT", default=30.0, least=1)
AGUI_BODIES_MAX_BYTES: int = env.number("AGUI_BODIES_MAX_BYTES", default=100_000_000, least=1)
AGUI_MAX_EVENT_BYTES: int = env.number(
    "AGUI_MAX_EVENT_BYTES", default=10 * 1024 * 1024, least=1_000
)
AGUI_MAX_STATE_BYTES: int = env.number(
    "AGUI_MAX_STATE_BYTES", default=10 * 1024 * 1024, least=1_000
)
AGUI_MAX_TEXT_BYTES: int = env.number("AGUI_MAX_TEXT_BYTES", default=100 * 1024 * 1024, least=1_000)
AGUI_DOCUMENT_MAX_BYTES: int = env.number("AGUI_DOCUMENT_MAX_BYTES", default=1_000_000)
AGUI_DOCUMENTS_MAX: int = env.number("AGUI_DOCUMENTS_MAX", default=500)
AGUI_WISDOM_MAX: int = env.number("AGUI_WISDOM_MAX", default=100)
AGUI_BUDGETS_MAX: int = env.number("AGUI_BUDGETS_MAX", default=200, least=1)
AGUI_ALERTS_MAX: int = env.number("AGUI_ALERTS_MAX", default=50, least=1)
AGUI_CONTEXT_MAX_CHARS: int = env.number("AGUI_CONTEXT_MAX_CHARS", default=32_000)
AGUI_CONTEXT_TIMEOUT: float = env.seconds("AGUI_CONTEXT_TIMEOUT", default=10.0, least=0.01)
AGUI_RUN_TIMEOUT: float = env.seconds("AGUI_RUN_TIMEOUT", default=3600.0, least=0.01)
AGUI_WORKER_CONCURRENCY: int = env.number(
    "AGUI_WORKER_CONCURRENCY", default=200, least=1, most=100_000
)
AGUI_WORKER_QUEUES: list[str] = env.parsed(
    "AGUI_WORKER_QUEUES", validators.queues, default=["default"]
)
AGUI_WORKER_GRACE: float = env.seconds("AGUI_WORKER_GRACE", default=AGUI_RUN_TIMEOUT)
AGUI_CANCEL_GRACE: float = env.seconds("AGUI_CANCEL_GRACE", default=5.0)
AGUI_HEARTBEAT: float = env.seconds("AGUI_HEARTBEAT", default=3.0, least=0.01)
AGUI_WORKER_LOST_AFTER: float = env.seconds("AGUI_WORKER_LOST_AFTER", default=20.0, least=0.01)
AGUI_INGEST_LEASE: float = env.seconds(
    "AGUI_INGEST_LEASE", default=AGUI_WORKER_LOST_AFTER, least=0.01
)
AGUI_REAP_EVERY: float = env.seconds("AGUI_REAP_EVERY", default=10.0, least=0.01)
AGUI_LIVENESS_SECONDS: float = env.seconds("AGUI_LIVENESS_SECONDS", default=15.0)
AGUI_LOOP_BLOCK_WARN: float = env.seconds("AGUI_LOOP_BLOCK_WARN", default=5.0, least=0.01)
AGUI_LOOP_BLOCK_LIMIT: float = env.seconds("AGUI_LOOP_BLOCK_LIMIT", default=60.0, least=0.01)
AGUI_KEY_CACHE_SECONDS: float = env.seconds("AGUI_KEY_CACHE_SECONDS", default=1.0, most=2)
AGUI_END_USER_SECONDS: int = env.number("AGUI_END_USER_SECONDS", default=3600, least=60)
AGUI_END_USER_RUNS_PER_MINUTE: int = env.number("AGUI_END_USER_RUNS_PER_MINUTE", default=60)
AGUI_END_USER_STREAMS: int = env.number("AGUI_END_USER_STREAMS", default=20)
AGUI_SSE_HEARTBEAT: float = env.seconds("AGUI_SSE_HEARTBEAT", default=15.0, least=0.01)
AGUI_STALL_TIMEOUT: float = env.seconds("AGUI_STALL_TIMEOUT", default=120.0, least=0.01)
AGUI_METRICS_KEY: str = env.text("AGUI_METRICS_KEY", rule=validators.api_key, secret=True)
AGUI_METRICS_ADDRESS: str = env.text("AGUI_METRICS_ADDRESS", rule=validators.address)
AGUI_HUB_TICK: float = env.seconds("AGUI_HUB_TICK", default=0.5, least=0.01)

# Alpine's dialect, under that document's names (docs/protocol.md#alpines-dialect).
ALPINE_AG_UI_ENABLED: bool = env.flag("ALPINE_AG_UI_ENABLED", default=True)
ALPINE_AG_UI_BUFFER_SIZE: int = env.number("ALPINE_AG_UI_BUFFER_SIZE", default=1000, least=1)
ALPINE_AG_UI_VALIDATE_EVENTS: bool = env.flag("ALPINE_AG_UI_VALIDATE_EVENTS", default=True)
ALPINE_AG_UI_STREAM_TIMEOUT: float = env.duration("ALPINE_AG_UI_STREAM_TIMEOUT", default="30s")

# Who makes titles, tags and follow-ups for user interfaces (docs/howto-open-webui.md).
AGUI_CHAT_TASKS: str = env.text("AGUI_CHAT_TASKS")

# Limits for teams without their own (agui_host/teams/limits.py); 0 is no limit.
AGUI_LIMIT_CONCURRENT_RUNS: int = env.number("AGUI_LIMIT_CONCURRENT_RUNS", default=500)
AGUI_LIMIT_QUEUED_RUNS: int = env.number("AGUI_LIMIT_QUEUED_RUNS", default=10_000)
AGUI_LIMIT_RUNS_PER_MINUTE: int = env.number("AGUI_LIMIT_RUNS_PER_MINUTE", default=3_000)
AGUI_LIMIT_EVENTS_PER_SECOND: int = env.number("AGUI_LIMIT_EVENTS_PER_SECOND", default=10_000)
AGUI_LIMIT_EVENT_BYTES: int = env.number("AGUI_LIMIT_EVENT_BYTES", default=10 * 1024 * 1024)
AGUI_LIMIT_RUN_SECONDS: int = env.number("AGUI_LIMIT_RUN_SECONDS", default=86_400, most=10**9)
AGUI_LIMIT_OPEN_STREAMS: int = env.number("AGUI_LIMIT_OPEN_STREAMS", default=2_000)
AGUI_LINK_STREAMS: int = env.number("AGUI_LINK_STREAMS", default=500)
AGUI_LINK_STREAMS_PER_ADDRESS: int = env.number("AGUI_LINK_STREAMS_PER_ADDRESS", default=20)
AGUI_LIMIT_STORED_BYTES: int = env.number("AGUI_LIMIT_STORED_BYTES", default=100_000_000_000)
AGUI_LIMIT_RETENTION_DAYS: int = env.number("AGUI_LIMIT_RETENTION_DAYS", default=0, most=100_000)

# Dollars for a million tokens of a model, for teams without a price of their own
# (agui_host/prices.py).
AGUI_PRICES: list[str] = env.entries("AGUI_PRICES", default=[], rule=prices.check)

# Days after which the log of an ended run moves to the file store; 0 is never
# (docs/howto-retention.md#sealed-logs).
AGUI_SEAL_AFTER_DAYS: int = env.number("AGUI_SEAL_AFTER_DAYS", default=0, most=100_000)

# Uploaded files (docs/howto-files.md).
AGUI_FILES: str = env.text("AGUI_FILES", default=f"{AGUI_DATA_DIR}/files", rule=validators.store)
AGUI_FILE_MAX_BYTES: int = env.number("AGUI_FILE_MAX_BYTES", default=50_000_000, least=1)
AGUI_FILE_TYPES: list[str] = env.entries("AGUI_FILE_TYPES", default=["*/*"], rule=validators.media)
AGUI_FILES_MAX: int = env.number("AGUI_FILES_MAX", default=10_000)
AGUI_FILES_MAX_BYTES: int = env.number("AGUI_FILES_MAX_BYTES", default=10_000_000_000)
AGUI_FILE_UNUSED_HOURS: int = env.number("AGUI_FILE_UNUSED_HOURS", default=24, least=1, most=10**6)
AGUI_UPLOAD_TIMEOUT: float = env.seconds("AGUI_UPLOAD_TIMEOUT", default=600.0, least=1, most=86_400)

# Calls to the teams' webhooks (docs/howto-webhooks.md).
AGUI_WEBHOOKS_MAX: int = env.number("AGUI_WEBHOOKS_MAX", default=20)
AGUI_WEBHOOK_CONCURRENCY: int = env.number(
    "AGUI_WEBHOOK_CONCURRENCY", default=64, least=1, most=10_000
)
AGUI_WEBHOOK_TEAM_CONCURRENCY: int = env.number(
    "AGUI_WEBHOOK_TEAM_CONCURRENCY", default=8, least=1, most=10_000
)
AGUI_WEBHOOK_TIMEOUT: float = env.seconds("AGUI_WEBHOOK_TIMEOUT", default=10.0, least=0.01)
AGUI_WEBHOOK_RETRIES: list[float] = env.parsed(
    "AGUI_WEBHOOK_RETRIES",
    validators.pauses,
    default=validators.pauses("5s,20s,90s,15m,1h,3h,6h,12h,12h"),
)
AGUI_WEBHOOK_BACKLOG: int = env.number("AGUI_WEBHOOK_BACKLOG", default=10_000, least=1)
AGUI_WEBHOOK_RETENTION_DAYS: int = env.number(
    "AGUI_WEBHOOK_RETENTION_DAYS", default=30, least=1, most=100_000
)

# The teams' schedules (docs/howto-schedules.md).
AGUI_SCHEDULES_MAX: int = env.number("AGUI_SCHEDULES_MAX", default=100)
AGUI_SCHEDULE_SHORTEST: float = env.seconds("AGUI_SCHEDULE_SHORTEST", default=60.0, least=60.0)

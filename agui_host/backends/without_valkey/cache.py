"""Django's cache in an unlogged table, for what all web processes count together."""

import json
import time
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

from agui_host.backends.without_valkey.tables import session
from agui_host.protocol.strict_json import dumps

LIVE = "(until is null or until > clock_timestamp())"
GET = f"select value from agui_counter where key = %(key)s and {LIVE}"  # noqa: S608
SET = """
insert into agui_counter (key, value, until)
values (%(key)s, %(value)s, clock_timestamp() + make_interval(secs => %(seconds)s))
    on conflict (key) do update set value = excluded.value, until = excluded.until
"""
ADD = f"{SET} where not (agui_counter.until is null or agui_counter.until > clock_timestamp())"
ADD = f"{ADD} returning 1"
INCR = f"""
update agui_counter set value = (value::bigint + %(delta)s)::text
 where key = %(key)s and {LIVE} returning value
"""  # noqa: S608
DELETE = f"""
with gone as (delete from agui_counter where key = %(key)s returning until)
select 1 from gone where {LIVE}
"""  # noqa: S608
SWEEP = "delete from agui_counter where until < clock_timestamp()"
SWEEP_EVERY = 60.0


class PostgresCache(BaseCache):
    """The methods that this host uses, each of them one statement."""

    def __init__(self, _: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._sweep_at = time.monotonic() + SWEEP_EVERY

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Store the value if there is none; whether there was none."""
        return bool(self._rows(ADD, key, version, **self._stored(value, timeout)))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The value, or ``default``."""
        rows = self._rows(GET, key, version)
        return json.loads(rows[0][0]) if rows else default

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        """Store the value."""
        self._rows(SET, key, version, **self._stored(value, timeout))
        if time.monotonic() > self._sweep_at:
            self._sweep_at = time.monotonic() + SWEEP_EVERY
            session.rows(SWEEP, {})

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Add to a number. Raises ValueError if there is none."""
        rows = self._rows(INCR, key, version, delta=delta)
        if not rows:
            raise ValueError(f"Key {key!r} not found")
        return int(rows[0][0])

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget the value; whether there was one."""
        return bool(self._rows(DELETE, key, version))

    def has_key(self, key: Any, version: int | None = None) -> bool:
        """Whether there is a value."""
        return bool(self._rows(GET, key, version))

    def clear(self) -> None:
        """Forget all values."""
        session.rows("delete from agui_counter", {})

    def _stored(self, value: Any, timeout: Any) -> dict[str, Any]:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return {"value": dumps(value), "seconds": seconds}

    def _rows(self, statement: str, key: Any, version: int | None, **values: Any) -> list[Any]:
        return session.rows(statement, {"key": self.make_and_validate_key(key, version), **values})

"""Which deliveries a worker tries next: teams take turns, and each has a share of the calls.

The statement reads the oldest due deliveries of each team, by an index: a delivery that is not due,
or waits for another team, costs nothing. After a backlog that may not be tried (of a disabled or a
failing webhook) it also looks at some webhooks one by one, at others with each claim.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from runs.models import WebhookDelivery

PER_WEBHOOK = 4
"""Calls to one webhook at a time; one at a time while it fails."""
CHAIN = 8
"""Deliveries that a call to a webhook that works can try one after another."""
OLDEST = 100
"""Due deliveries of a team that a claim looks at, and webhooks of one with more than that."""
FIRST = UUID(int=0)
RESERVED = 4
"""A team that has calls under way leaves this fraction of all calls to teams that have none."""
FAILING = 2
"""All failing webhooks together have this fraction of the calls: each can be a silent one."""

# The teams that anything waits for, one step of the index each, then the oldest of each. A row
# without an id names the last webhook that was looked at.
DUE = """
with recursive waiting (team) as (
    (select team_id from runs_webhookdelivery where status = 'pending' order by team_id limit 1)
    union all
    select (select d.team_id from runs_webhookdelivery d
             where d.status = 'pending' and d.team_id > waiting.team order by d.team_id limit 1)
      from waiting where waiting.team is not null)
select due.id, due.webhook, waiting.team, coalesce(hook.failing, false)
  from waiting
  join teams_team team on team.id = waiting.team and team.archived_at is null
  cross join lateral (
      with recursive oldest as materialized (
          select d.id, d.webhook_id as webhook, d.due_at from runs_webhookdelivery d
           where d.team_id = waiting.team and d.status = 'pending' and d.due_at <= now()
           order by d.due_at limit %(oldest)s),
      start (after) as (
          select * from (values (%(first)s::uuid), (%(after)s)) both_ends
           where (select count(*) from oldest) = %(oldest)s group by 1),
      seen (after, webhook, number) as (
          select after, after, 0 from start
          union all
          select after, (select d.webhook_id from runs_webhookdelivery d
                          where d.team_id = waiting.team and d.status = 'pending'
                            and d.webhook_id > seen.webhook
                          order by d.webhook_id limit 1), number + 1
            from seen where webhook is not null and number < %(oldest)s)
      select * from oldest
      union
      select each.* from (select distinct webhook from seen where webhook is not null) hook
        cross join lateral (
            select d.id, d.webhook_id, d.due_at from runs_webhookdelivery d
             where d.team_id = waiting.team and d.webhook_id = hook.webhook
               and d.status = 'pending' and d.due_at <= now()
             order by d.due_at limit %(per_webhook)s) each
      union all
      select null, webhook, null from seen
       where after = %(after)s and number = %(oldest)s and webhook is not null) due
  left join lateral (
      select h.enabled, h.failing_since is not null as failing
        from runs_webhook h where h.id = due.webhook offset 0) hook on due.id is not null
 where due.id is null or hook.enabled
 order by due.due_at
"""


class Due(NamedTuple):
    """A delivery that can be tried now."""

    id: UUID
    webhook: UUID
    team: UUID
    failing: bool = False


class Choice:
    """A worker's memory between its claims: who was called when, and where it looked."""

    def __init__(self) -> None:
        self._after = FIRST
        self._served: dict[UUID, int] = {}
        self._clock = count(1)

    def next(self, busy: Sequence[WebhookDelivery]) -> list[list[UUID]]:
        """The calls to begin in addition to those in ``busy``, as far as there is room.

        A call is a list of deliveries of one webhook, to be tried one after another.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                DUE,
                {
                    "oldest": OLDEST,
                    "per_webhook": PER_WEBHOOK,
                    "first": FIRST,
                    "after": self._after,
                },
            )
            rows = cursor.fetchall()
        self._after = min((row[1] for row in rows if row[0] is None), default=FIRST)
        free = settings.AGUI_WEBHOOK_CONCURRENCY - len(busy)
        due = [Due(*row) for row in rows if row[0] is not None]
        return chained(due, self.choose(due, busy, free))

    def choose(self, due: Iterable[Due], busy: Sequence[WebhookDelivery], free: int) -> list[UUID]:
        """At most ``free`` of ``due``: those of the teams with the fewest calls first.

        Of two teams with as many, the less recently called one comes first.
        """
        lines: dict[UUID, deque[Due]] = {}
        for each in due:
            lines.setdefault(each.team, deque()).append(each)
        self._served = {team: self._served[team] for team in lines if team in self._served}
        teams = Counter(row.team_id for row in busy)
        room = _Room(busy)
        turns = [(teams[team], self._served.get(team, 0), at) for at, team in enumerate(lines)]
        heapify(turns)
        names, choices = list(lines), list[UUID]()
        while turns and free > 0:
            calls, _, at = heappop(turns)
            team = names[at]
            if calls >= settings.AGUI_WEBHOOK_TEAM_CONCURRENCY or not _may_have(calls, free):
                continue
            if (delivery := room.first(lines[team])) is None:
                continue
            choices.append(delivery.id)
            free -= 1
            self._served[team] = next(self._clock)
            heappush(turns, (calls + 1, self._served[team], at))
        return choices


def chained(due: Iterable[Due], first: Sequence[UUID]) -> list[list[UUID]]:
    """The calls that begin with these deliveries, and go on with others of their webhooks.

    A failing webhook gets one at a time.
    """
    begun = set(first)
    chains = {each.id: [each.id] for each in due if each.id in begun}
    open_chains: dict[UUID, deque[list[UUID]]] = {}
    for each in due:
        lanes = open_chains.setdefault(each.webhook, deque())
        if each.id in begun:
            lanes.append(chains[each.id])
        elif lanes and not each.failing:
            lanes[0].append(each.id)
            lanes.rotate(-1)
            if len(lanes[-1]) == CHAIN:
                lanes.pop()
    return [chains[name] for name in first]


class _Room:
    """How many calls webhooks can have in addition to those under way."""

    def __init__(self, busy: Sequence[WebhookDelivery]) -> None:
        self._held = Counter(row.webhook_id for row in busy)
        failing = sum(row.webhook.failing_since is not None for row in busy)
        self._for_failing = max(1, settings.AGUI_WEBHOOK_CONCURRENCY // FAILING) - failing

    def first(self, line: deque[Due]) -> Due | None:
        """Take the first delivery of the line whose webhook has room."""
        while line:
            each = line.popleft()
            if each.failing and self._for_failing <= 0:
                continue
            if self._held[each.webhook] < (1 if each.failing else PER_WEBHOOK):
                self._held[each.webhook] += 1
                self._for_failing -= each.failing
                return each
        return None


def _may_have(calls: int, free: int) -> bool:
    return not calls or free > settings.AGUI_WEBHOOK_CONCURRENCY // RESERVED

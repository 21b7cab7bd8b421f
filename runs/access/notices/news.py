"""New mentions and shares, each taken by one worker only, to notify people's browsers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from agui_host.teams.models import Team
from runs.access import access
from runs.access.notices import push, shares
from runs.models import Grant, Mention, PushSubscription

MOST = 50
"""Mentions, and shares, that a worker takes at a time."""
RECENT = "5 minutes"
SHOWN = 160
"""Characters of a comment in a message."""
TAKE_MENTIONS = f"""
update runs_mention set noticed_at = now() where id in (
    select m.id from runs_mention m
     where m.noticed_at is null and m.created_at > now() - interval '{RECENT}'
       and m.team_id <> all (%s::uuid[])
       and exists (select from runs_pushsubscription s
                    where s.team_id = m.team_id and s.user_id = m.user_id)
     order by m.created_at limit {MOST} for no key update skip locked)
returning id
"""  # noqa: S608  constants of this module
TAKE_GRANTS = f"""
update runs_grant set noticed_at = now() where id in (
    select g.id from runs_grant g
     where g.noticed_at is null and g.token_hash is null
       and g.created_at > now() - interval '{RECENT}'
       and coalesce(g.through_id, g.to_team_id) <> all (%s::uuid[])
       and exists (select from runs_pushsubscription s
                    where s.team_id = coalesce(g.through_id, g.to_team_id))
     order by g.created_at limit {MOST} for no key update skip locked)
returning id
"""  # noqa: S608  constants of this module


@dataclass(frozen=True, slots=True)
class News:
    """A mention or a share, in the team of its receivers; ``content`` is the text for them."""

    team: Team
    people: frozenset[int]
    content: dict[str, str]
    run: UUID | None = None
    """The run that a receiver has to see; None for a share, which is checked when it is taken."""


def take(busy: Sequence[UUID] = ()) -> list[News]:
    """New mentions and shares of teams that are not ``busy``.

    A worker that dies after this has told nobody: a notice is sent at most once.
    """
    mentioned, shared = _taken(TAKE_MENTIONS, busy), _taken(TAKE_GRANTS, busy)
    if not mentioned and not shared:  # Nearly always: Django would make two queries for nothing.
        return []
    mentions = Mention.objects.already_found().filter(pk__in=mentioned)
    grants = Grant.objects.already_found().filter(pk__in=shared)
    related = ("team", "through", "to_team")
    return [
        *map(_of_mention, mentions.select_related("team", "comment").order_by("pk")),
        *(
            news
            for grant in grants.select_related(*related).order_by("pk")
            if (news := _of_grant(grant)) is not None
        ),
    ]


def for_browsers(news: Sequence[News]) -> list[tuple[PushSubscription, dict[str, str]]]:
    """What each browser of one team shows of these."""
    browsers = push.browsers(news[0].team)
    return [
        (row, entry.content)
        for entry in news
        for row in browsers
        if row.user_id in entry.people and _may_see(entry, row)
    ]


def _taken(statement: str, busy: Sequence[UUID]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(busy)])
        return [row[0] for row in cursor.fetchall()]


def _of_mention(mention: Mention) -> News:
    comment = mention.comment
    text = " ".join(comment.text[: 4 * SHOWN].split())
    return News(
        mention.team,
        frozenset({mention.user_id}),
        {
            "title": f"{comment.author.partition(':')[2]} mentioned you",
            "body": text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…",
            "tag": str(comment.pk),
            "url": f"/runs/{comment.run_id}/",
        },
        comment.run_id,
    )


def _of_grant(grant: Grant) -> News | None:
    team = shares.receiving(grant)
    if team is None or not grant.is_live() or shares.follows_another(grant):
        return None
    content = {"title": "Shared with you", "body": shares.words(grant), "tag": str(grant.pk)}
    return News(team, frozenset(shares.people(grant)), {**content, "url": shares.path(grant)})


def _may_see(news: News, row: PushSubscription) -> bool:
    principal = push.reader(news.team, row)
    if principal is None or not principal.can("view"):
        return False
    return news.run is None or bool(access.readable(principal, [news.run]))

"""Comments with mentions, thumbs and shares of the seeded runs, by a person called Sue."""

import json
from datetime import timedelta

from agui_host.backends.postgres import clock
from agui_host.protocol.part_kinds import TEXT, answer_of
from agui_host.teams.models import Membership, Team
from events import journal
from runs.models import Comment, Feedback, Grant, Mention, Run, Thread, Thumb
from runs.seed.nasty import HEBREW, MARKDOWN, WIDE

AUTHOR, WRITER = "user:sue", "user:seed"
MOST_MEMBERS = 5


def say(team: Team, runs: list[Run]) -> None:
    """Comment on the runs, rate them, and share the first and last of them with each member."""
    rows = Membership.objects.for_team(team).filter(user__is_active=True)
    people = [row.user for row in rows.select_related("user").order_by("pk")[:MOST_MEMBERS]]
    for number, run in enumerate(runs):
        text = (MARKDOWN, f"{HEBREW} {WIDE}", "Looks right.")[number % 3]
        comment = Comment.objects.create(
            team=team,
            run=run,
            text=" ".join([*(f"@{user.get_username()}" for user in people[:1]), text]),
            author=AUTHOR,
            writer=WRITER,
        )
        Mention.objects.bulk_create(
            Mention(team=team, comment=comment, user=user) for user in people[:1]
        )
        thumb = (Thumb.UP, Thumb.DOWN)[number % 2]
        Feedback.objects.create(
            team=team, run=run, author=AUTHOR, writer=WRITER, thumb=thumb, message_id=_answer(run)
        )
    for user in people:
        _share(team, user.pk, run=runs[0])
        _share(team, user.pk, thread=runs[-1].thread)


def _answer(run: Run) -> str:
    """The id of a message that the agent wrote in the run; empty without any."""
    run.journal.refresh_from_db(fields=["head"])
    events = map(json.loads, journal.of_types(run.pk, {TEXT.start}, run.journal.head))
    return next(filter(None, map(answer_of, events)), "")


def _share(team: Team, user: int, run: Run | None = None, thread: Thread | None = None) -> None:
    Grant.objects.create(
        team=team,
        run=run,
        thread=thread,
        to_user_id=user,
        through=team,
        name=WIDE[:120],
        created_by=AUTHOR,
        creator=WRITER,
        expires_at=clock.now() + timedelta(days=7),
    )

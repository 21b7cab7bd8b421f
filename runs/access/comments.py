"""What people say about a run, through the API or a link, and to a run while it is active."""

import json
import re
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet

from agui_host.backends import work
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.fold.outline_row import LONGEST_ID
from agui_host.protocol.part_kinds import TEXT, answer_of
from agui_host.teams import audit
from agui_host.teams.actors import Actor, actor
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from agui_host.teams.offboarding import Ended, Leaving
from events import journal
from runs.access import access
from runs.access.notices import mentions
from runs.lifecycle.steering import messages
from runs.models import ENDED, Comment, Feedback, Mention, Run, RunMessage, Thumb

NAMED = re.compile(r"(?<![\w.@+-])@([\w.@+-]{1,150})")
MOST_MENTIONS = 20
COST_OF_MESSAGE = 1000
"""Units of work: a message to a run costs a commit, and a query of each worker."""


def listed(principal: Principal, run_id: UUID) -> QuerySet[Comment]:
    """A run's comments, oldest first; a link shows them only to visitors who may write one."""
    run = access.find(principal, run_id, "comment" if principal.kind == "link" else "view")
    return run.comments.prefetch_related("mentions__user").order_by("pk")


def write(principal: Principal, run_id: UUID, text: str, seq: int | None) -> Comment:
    """Comment on a run, or on its event ``seq``; ``@login`` mentions a member of the team.

    ``not_reached`` of the result are the members it names who may not see the run.
    Raises NotFound, Forbidden, Invalid.
    """
    run = access.find(principal, run_id, "comment")
    if seq is not None and not 1 <= seq <= run.journal.head:
        raise Invalid("seq is not an event of this run.", details={"path": "seq"})
    with transaction.atomic():
        comment = Comment.objects.create(
            team=run.team,
            run=run,
            seq=seq,
            text=text,
            author=author(principal).label,
            writer=principal.actor_id,
        )
        people, comment.not_reached = _named(principal, run, comment)
        Mention.objects.bulk_create(
            Mention(team=run.team, comment=comment, user=user) for user in people
        )
        mentions.tell(comment, people)
        audit.record(author(principal), run.team, "comment.written", str(run.pk))
    return comment


def delete(principal: Principal, run_id: UUID, comment_id: UUID) -> None:
    """Delete one's own comment, or as owner or admin anybody's. Raises NotFound, Forbidden."""
    run = access.find(principal, run_id)
    comment = Comment.objects.for_team(run.team).filter(run=run, pk=comment_id).first()
    if comment is None:
        raise NotFound("There is no such comment.")
    own_team = run.team_id == principal.team.pk and principal.kind != "link"
    if comment.writer != principal.actor_id and not (own_team and principal.can("manage_members")):
        raise Forbidden("This comment belongs to someone else.")
    with transaction.atomic():
        comment.delete()
        audit.record(author(principal), run.team, "comment.deleted", str(run.pk))


def rate(
    principal: Principal, run_id: UUID, thumb: Thumb, text: str = "", message_id: str = ""
) -> Feedback:
    """Rate an answer of a run, or the run; a second rating replaces the first.

    Raises NotFound, Forbidden, LimitReached; Invalid if the agent wrote no such message.
    """
    run = access.find(principal, run_id, "comment")
    if message_id and not _is_answer(run, message_id):
        raise Invalid("The agent wrote no such message.", details={"path": "message_id"})
    values = {"author": author(principal).label, "thumb": thumb, "text": text}
    feedback, _ = Feedback.objects.update_or_create(
        team=run.team,
        run=run,
        writer=principal.actor_id,
        message_id=message_id,
        defaults=values,
    )
    return feedback


def _is_answer(run: Run, message_id: str) -> bool:
    """Whether it can be rated; the log is searched for it, so the team pays for its length."""
    if len(message_id) > LONGEST_ID:
        return False
    refuse_work(run.team_id)
    work.charge(run.team_id, "parse", run.journal.head)
    events = map(json.loads, journal.of_types(run.pk, {TEXT.start}, run.journal.head))
    return any(answer_of(event) == message_id for event in events)


def unrate(principal: Principal, run_id: UUID, message_id: str = "") -> None:
    """Take one's own rating back, of an answer or the run; without one, nothing happens."""
    run = access.find(principal, run_id, "comment")
    own = Feedback.objects.for_team(run.team).filter(run=run, writer=principal.actor_id)
    own.filter(message_id=message_id).delete()


def ratings(principal: Principal, run_id: UUID) -> QuerySet[Feedback]:
    """People's ratings of a run and of the answers in it."""
    return access.find(principal, run_id).feedback.order_by("pk")


def say(principal: Principal, run_id: UUID, message_id: str, content: str) -> int:
    """Send a message to an active run, with the rights of a start; the message's number.

    Raises NotFound, Forbidden, LimitReached, and as ``messages.send``.
    """
    run = access.find(principal, run_id, "run")
    if not access.sees_thread(principal, run):
        raise Forbidden("You can see only a part of this thread, so you cannot continue it.")
    refuse_work(run.team_id)
    work.charge(run.team_id, "parse", COST_OF_MESSAGE + work.of_json(content))
    return messages.send(run, message_id, content, actor(principal))


def withdraw(leaving: Leaving) -> Ended:
    """Keep agents from reading the unread messages of a leaver, or of a revoked key."""
    messages.withdraw(leaving.team, leaving.actors)
    return Ended()


def may_say(principal: Principal, run: Run) -> bool:
    """Whether a page offers a form for messages to this run."""
    is_open = run.status not in ENDED and access.sees_thread(principal, run)
    return is_open and access.may(principal, "run", run)


def heard(run: Run) -> dict[str, int | None]:
    """``unread``, how many messages to a run its agent has not read, and the newest that it has.

    ``seq`` is that message's number and ``at`` the event; the caller has found the run.
    """
    was_read = Q(seen_seq__isnull=False)
    return run.messages.aggregate(
        unread=Count("pk", filter=~was_read & Q(withdrawn_at=None)),
        seq=Max("seq", filter=was_read),
        at=Max("seen_seq"),
    )


def messages_to(principal: Principal, run_id: UUID) -> QuerySet[RunMessage]:
    """The messages that were sent to a run, in the order of their numbers."""
    return access.find(principal, run_id).messages.order_by("seq")


def author(principal: Principal) -> Actor:
    """The author of a comment: with a link, the signed-in person."""
    if principal.kind == "link" and principal.user_id is not None:
        return audit.of_user(User.objects.get(pk=principal.user_id))
    return actor(principal)


def _named(principal: Principal, run: Run, comment: Comment) -> tuple[list[User], list[str]]:
    """The members that a comment reaches, and the names of people who may not see the run.

    Other teams' people do not learn its members.
    """
    names = {name.rstrip(".-") for name in NAMED.findall(comment.text)[:MOST_MENTIONS]}
    if not names or principal.kind == "link" or principal.team.pk != comment.team_id:
        return [], []
    return mentions.members(comment.team, run, names)

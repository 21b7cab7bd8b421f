"""The erasure of a person (Art. 17 GDPR): their own data goes, teams' records lose the name."""

from allauth.account.models import EmailAddress
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from agui_host.backends.postgres import scope
from agui_host.errors import Conflict
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.accounts import sessions
from agui_host.teams.actors import user_id
from agui_host.teams.models import Invitation, Membership, Team
from agui_host.teams.tenancy import operator_code
from runs.access.people import columns
from runs.lifecycle.deletion import erasure
from runs.models import Budget, BudgetScope, Comment, Feedback, Notice, SavedView, Snooze, Thread
from runs.models.thread import Visibility


class OwnsAlone(Conflict):
    """This person is the only owner of a team: make another member its owner first."""

    code = "owns_alone"


def erase(user: User, by: str) -> str:
    """Erase the person, in one transaction; the pseudonym that the teams' records have now.

    Private threads are erased with their runs. Raises OwnsAlone, LegalHold, ThreadBusy.
    """
    pseudonym = f"user:erased-{user.pk}"
    with operator_code("a person's erasure"), scope.everywhere(), transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        label, actors = audit.of_user(user).label, columns.actors_of(user)
        memberships = Membership.objects.of_one_person().filter(user=user).select_related("team")
        teams = [row.team for row in memberships]
        names = _names(user)
        _leave(user, by)
        _erase_own(user, label, actors, by)
        for model in columns.models():
            for name in columns.labels(model):
                model._default_manager.filter(**{name: label}).update(**{name: pseudonym})
        with connection.cursor() as cursor:
            cursor.execute(
                "select agui_forget_person(%s, %s, %s, %s)",
                [user_id(user.pk), label, pseudonym, names],
            )
        _of_admin(user).update(object_repr=pseudonym)
        for team in teams:
            audit.record(by, team, "person.erased", pseudonym)
        user.delete()
    return pseudonym


def _leave(user: User, by: str) -> None:
    """End all of the person's access, in each team."""
    sessions.end_others(user, None)
    for row in Membership.objects.of_one_person().filter(user=user).select_related("team", "user"):
        Team.objects.select_for_update(no_key=True).get(pk=row.team_id)
        try:
            members.require_other_owner(row, row.role)
        except members.LastOwner:
            raise OwnsAlone(details={"team": row.team.slug}) from None
        role = row.role
        row.delete()
        audit.record(by, row.team, "member.removed", user.get_username(), role=role)
        members.left(row.team, user, by)


def _erase_own(user: User, label: str, actors: list[str], by: str) -> None:
    """Erase what only the person uses; mentions and push addresses go with the account."""
    private = Thread.objects.of_one_person().filter(
        creator__in=actors, visibility=Visibility.PRIVATE
    )
    for thread in private.order_by("pk"):
        erasure.erase_thread(by, thread)
    Comment.objects.of_one_person().filter(writer__in=actors).delete()
    Feedback.objects.of_one_person().filter(writer__in=actors).delete()
    SavedView.objects.of_one_person().filter(creator__in=actors, shared=False).delete()
    Snooze.objects.of_one_person().filter(sleeper__in=actors).delete()
    about = Q(of=user.get_username()) | Q(key__in=actors)
    Budget.objects.of_one_person().filter(about, scope=BudgetScope.PERSON).delete()
    named = Q(data__scope=BudgetScope.PERSON, data__of=user.get_username())
    Notice.objects.of_one_person().filter(named | Q(data__started_by=label)).delete()
    emails = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    lower = [email.lower() for email in emails]
    Invitation.objects.of_one_person().filter(email__in=lower).delete()


def _names(user: User) -> list[str]:
    """Login, label and addresses of the person, in lower case, for the audit log's details."""
    emails = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    names = {user.get_username(), audit.of_user(user).label, user.email, *emails}
    return sorted(name.lower() for name in names if name)


def _of_admin(user: User) -> QuerySet[LogEntry]:
    """Lines of Django's admin about the person; lines by the person go with the account."""
    kind = ContentType.objects.get_for_model(User)
    rows: QuerySet[LogEntry] = LogEntry.objects.filter(content_type=kind, object_id=str(user.pk))
    return rows

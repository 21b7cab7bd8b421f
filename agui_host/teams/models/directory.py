"""Domains and groups of a team at its identity provider, and the users it sends by SCIM."""

import uuid6
from django.conf import settings
from django.db import models
from django.db.models.functions import Lower, Now

from agui_host.teams.models.team import Role
from agui_host.teams.tenancy import TeamOwned


class TeamDomain(TeamOwned):
    """A mail domain of a team: its people join with ``role`` when they sign in by the provider.

    Only operators make one, since it says who may speak for the people of the domain.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    domain = models.CharField(max_length=253)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "domain"], name="team_domain_once"),
            models.CheckConstraint(
                condition=models.Q(domain=Lower("domain")), name="team_domain_lower"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="team_domain_role_known"
            ),
        ]
        indexes = [models.Index(fields=["domain"], name="team_domain_by_name")]

    def __str__(self) -> str:
        return f"{self.domain} of {self.team}"


class GroupRule(TeamOwned):
    """The role that people of a provider's group have in a team.

    A rule of the team's owner is for people of the team's domains; one of the operator
    (``for_everyone``) is for all whom the provider signs in.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    group = models.CharField(max_length=255)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    for_everyone = models.BooleanField(default=False, editable=False)
    created_by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "group"], name="group_rule_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="group_rule_role_known"
            ),
        ]
        indexes = [models.Index(fields=["group"], name="group_rule_by_group")]

    def __str__(self) -> str:
        return f"{self.group} in {self.team}"


class ScimUser(TeamOwned):
    """A person whom a directory provisions into a team; ``active``: they are in the team.

    ``made_account``: their account was made for this. ``closed_account``: it was closed with their
    deactivation, so that their reactivation opens it. A deleted row is kept for that alone.
    """

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    user_name = models.CharField(max_length=254)
    external_id = models.CharField(max_length=255, blank=True)
    display_name = models.CharField(max_length=200, blank=True)
    active = models.BooleanField(default=True)
    made_account = models.BooleanField(default=False)
    closed_account = models.BooleanField(default=False)
    deleted = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="scim_user_once"),
            models.UniqueConstraint("team", Lower("user_name"), name="scim_user_name_once"),
        ]

    def __str__(self) -> str:
        return self.user_name


class ScimGroup(TeamOwned):
    """A group that a directory provisions; a ``GroupRule`` of its name gives its people a role."""

    id = models.UUIDField(primary_key=True, default=uuid6.uuid7, editable=False)
    display_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint("team", Lower("display_name"), name="scim_group_name_once")
        ]

    def __str__(self) -> str:
        return self.display_name


class ScimGroupMember(TeamOwned):
    """A person in such a group."""

    group = models.ForeignKey(ScimGroup, on_delete=models.CASCADE, related_name="members")
    person = models.ForeignKey(ScimUser, on_delete=models.CASCADE, related_name="groups")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["group", "person"], name="scim_group_member_once")
        ]

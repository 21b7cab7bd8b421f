import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid6
from django.conf import settings
from django.db import migrations, models

import agui_host.security.secrets
import agui_host.teams.models.team


class Migration(migrations.Migration):
    replaces = [
        # A database has these names as well: earlier migrations replaced them.
        ("teams", "0001_initial"),
        ("teams", "0002_audit"),
        ("teams", "0003_key_scopes"),
        ("teams", "0004_limits"),
        ("teams", "0005_retention"),
        ("teams", "0006_invitations"),
        ("teams", "0007_stream_tickets"),
        ("teams", "0008_leaving"),
        ("teams", "0009_invitation_pace"),
        ("teams", "0001_tables"),
        ("teams", "0002_sql"),
        ("teams", "0003_socket_tickets"),
        ("teams", "0004_scope"),
        ("teams", "0005_operator_keys"),
        ("teams", "0002_end_users"),
        ("teams", "0003_directory"),
    ]
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        # Django makes all models again for each later migration: so other apps' come first.
        ("account", "0009_emailaddress_unique_primary_email"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("mfa", "0003_authenticator_type_uniq"),
        ("socialaccount", "0006_alter_socialaccount_extra_data"),
        ("usersessions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="OperatorKey",
            fields=[
                ("prefix", models.CharField(editable=False, max_length=8, unique=True)),
                ("hashed_key", models.CharField(editable=False, max_length=150)),
                ("created", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "name",
                    models.CharField(
                        default=None,
                        help_text="A free-form name for the API key. Need not be unique. 50 characters max.",
                        max_length=50,
                    ),
                ),
                (
                    "revoked",
                    models.BooleanField(
                        blank=True,
                        default=False,
                        help_text="If the API key is revoked, clients cannot use it anymore. (This cannot be undone.)",
                    ),
                ),
                (
                    "expiry_date",
                    models.DateTimeField(
                        blank=True,
                        help_text="Once API key expires, clients cannot use it anymore.",
                        null=True,
                        verbose_name="Expires",
                    ),
                ),
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "verbose_name": "operator key",
                "verbose_name_plural": "operator keys",
                "ordering": ("-created",),
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slug", models.SlugField(max_length=64, unique=True)),
                ("name", models.CharField(max_length=120)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "legal_hold",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="While set, nothing of this team is purged or erased.",
                    ),
                ),
                (
                    "key_days",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="The longest lifetime of a new key, in days; empty: no limit.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "second_factor",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Members without a second factor cannot open this team.",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("key_days", None), ("key_days__gte", 1), _connector="OR"
                        ),
                        name="team_key_days_positive",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("prefix", models.CharField(editable=False, max_length=8, unique=True)),
                ("hashed_key", models.CharField(editable=False, max_length=150)),
                ("created", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "name",
                    models.CharField(
                        default=None,
                        help_text="A free-form name for the API key. Need not be unique. 50 characters max.",
                        max_length=50,
                    ),
                ),
                (
                    "revoked",
                    models.BooleanField(
                        blank=True,
                        default=False,
                        help_text="If the API key is revoked, clients cannot use it anymore. (This cannot be undone.)",
                    ),
                ),
                (
                    "expiry_date",
                    models.DateTimeField(
                        blank=True,
                        help_text="Once API key expires, clients cannot use it anymore.",
                        null=True,
                        verbose_name="Expires",
                    ),
                ),
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("member", "Member"),
                            ("viewer", "Viewer"),
                        ],
                        default="member",
                        max_length=10,
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("read", "Read"),
                                ("run", "Run"),
                                ("ingest", "Ingest"),
                                ("admin", "Admin"),
                                ("scim", "Scim"),
                            ],
                            max_length=10,
                        ),
                        default=agui_host.teams.models.team.every_scope,
                        size=None,
                    ),
                ),
                (
                    "agents",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64),
                        blank=True,
                        help_text="Slugs of the agents that this key may use; empty: all of them.",
                        null=True,
                        size=None,
                    ),
                ),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "last_used_from",
                    models.GenericIPAddressField(blank=True, editable=False, null=True),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "made_with",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="minted",
                        to="teams.apikey",
                    ),
                ),
                (
                    "replaces",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="replaced_by",
                        to="teams.apikey",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                ("end_user_realm", models.UUIDField(editable=False, null=True)),
                (
                    "end_user_secret",
                    agui_host.security.secrets.SealedField(
                        blank=True, db_default="", default="", editable=False
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "ordering": ("-created",),
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "member", "viewer"])),
                        name="api_key_role_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("agents", None), ("agents__len__gt", 0), _connector="OR"
                        ),
                        name="api_key_agents_not_empty",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scopes__contained_by", ["read", "run", "ingest", "admin", "scim"]),
                            ("scopes__len__gt", 0),
                        ),
                        name="api_key_scopes_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("who", models.CharField(max_length=200)),
                ("actor", models.CharField(blank=True, db_default="", default="", max_length=60)),
                ("action", models.CharField(max_length=40)),
                ("target", models.TextField(blank=True)),
                ("details", models.TextField(default="{}")),
                ("address", models.CharField(blank=True, max_length=45)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["team", "-id"], name="audit_team_newest"),
                    models.Index(fields=["team", "action", "-id"], name="audit_team_action_newest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("member", "Member"),
                            ("viewer", "Viewer"),
                        ],
                        default="member",
                        max_length=10,
                    ),
                ),
                ("token_hash", models.CharField(editable=False, max_length=64, unique=True)),
                ("invited_by", models.CharField(editable=False, max_length=200)),
                (
                    "inviter",
                    models.CharField(
                        blank=True, db_default="", default="", editable=False, max_length=60
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(editable=False, null=True)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "accepted_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["email", "-created_at"], name="invitation_newest_of_email"
                    ),
                    models.Index(fields=["created_at"], name="invitation_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("accepted_at", None), ("revoked_at", None)),
                        fields=("team", "email"),
                        name="invitation_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "member", "viewer"])),
                        name="invitation_role_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("accepted_at", None), ("revoked_at", None), _connector="OR"
                        ),
                        name="invitation_one_end",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("email", django.db.models.functions.text.Lower("email"))
                        ),
                        name="invitation_email_lower",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("member", "Member"),
                            ("viewer", "Viewer"),
                        ],
                        default="member",
                        max_length=10,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("people", "by people"),
                            ("sign_in", "by sign-in service"),
                            ("scim", "by SCIM"),
                        ],
                        db_default="people",
                        default="people",
                        editable=False,
                        max_length=10,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "user"), name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "member", "viewer"])),
                        name="membership_role_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TeamLimits",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="limits",
                        serialize=False,
                        to="teams.team",
                    ),
                ),
                ("concurrent_runs", models.PositiveIntegerField(blank=True, null=True)),
                ("queued_runs", models.PositiveIntegerField(blank=True, null=True)),
                ("runs_per_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("events_per_second", models.PositiveIntegerField(blank=True, null=True)),
                ("event_bytes", models.PositiveIntegerField(blank=True, null=True)),
                ("run_seconds", models.PositiveIntegerField(blank=True, null=True)),
                ("open_streams", models.PositiveIntegerField(blank=True, null=True)),
                ("stored_bytes", models.PositiveBigIntegerField(blank=True, null=True)),
                ("retention_days", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "team limits",
            },
        ),
        migrations.CreateModel(
            name="StreamTicket",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("run", models.UUIDField(null=True)),
                ("thread", models.UUIDField(null=True)),
                ("session_key", models.CharField(blank=True, max_length=40)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("opened_at", models.DateTimeField(null=True)),
                ("opened_run", models.UUIDField(null=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.apikey",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                ("end_user", models.TextField(db_default="", default="")),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="ticket_oldest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("run", None), ("thread", None), _connector="OR"),
                        name="ticket_for_one_thing_at_most",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("user", None), ("api_key", None), _connector="XOR"),
                        name="ticket_of_somebody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("opened_run", None), ("opened_at__isnull", False), _connector="OR"
                        ),
                        name="ticket_opened_before_its_run",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("group", models.CharField(max_length=255)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("member", "Member"),
                            ("viewer", "Viewer"),
                        ],
                        default="member",
                        max_length=10,
                    ),
                ),
                ("for_everyone", models.BooleanField(default=False, editable=False)),
                ("created_by", models.CharField(editable=False, max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["group"], name="group_rule_by_group")],
                "constraints": [
                    models.UniqueConstraint(fields=("team", "group"), name="group_rule_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "member", "viewer"])),
                        name="group_rule_role_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScimGroup",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("display_name", models.CharField(max_length=255)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("team"),
                        django.db.models.functions.text.Lower("display_name"),
                        name="scim_group_name_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScimUser",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("user_name", models.CharField(max_length=254)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("display_name", models.CharField(blank=True, max_length=200)),
                ("active", models.BooleanField(default=True)),
                ("made_account", models.BooleanField(default=False)),
                ("closed_account", models.BooleanField(default=False)),
                ("deleted", models.BooleanField(default=False)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "user"), name="scim_user_once"),
                    models.UniqueConstraint(
                        models.F("team"),
                        django.db.models.functions.text.Lower("user_name"),
                        name="scim_user_name_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScimGroupMember",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to="teams.scimgroup",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="groups",
                        to="teams.scimuser",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("group", "person"), name="scim_group_member_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TeamDomain",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("domain", models.CharField(max_length=253)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("admin", "Admin"),
                            ("member", "Member"),
                            ("viewer", "Viewer"),
                        ],
                        default="member",
                        max_length=10,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["domain"], name="team_domain_by_name")],
                "constraints": [
                    models.UniqueConstraint(fields=("team", "domain"), name="team_domain_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("domain", django.db.models.functions.text.Lower("domain"))
                        ),
                        name="team_domain_lower",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "admin", "member", "viewer"])),
                        name="team_domain_role_known",
                    ),
                ],
            },
        ),
    ]

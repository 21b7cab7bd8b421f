import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid6
from django.db import migrations, models

import agui_host.runtimes.columns
import agui_host.security.secrets


class Migration(migrations.Migration):
    replaces = [
        # A database has these names as well: earlier migrations replaced them.
        ("runtimes", "0001_initial"),
        ("runtimes", "0002_agent_policy"),
        ("runtimes", "0003_agent_middleware"),
        ("runtimes", "0004_agent_secrets"),
        ("runtimes", "0005_knowledge"),
        ("runtimes", "0006_repeatable"),
        ("runtimes", "0001_tables"),
        ("runtimes", "0002_agent_is_tool"),
        ("runtimes", "0003_agent_queue"),
        ("runtimes", "0004_provided_agents"),
        ("runtimes", "0005_file_directory"),
        ("runtimes", "0006_agent_raw"),
        ("runtimes", "0007_on_busy_chat"),
        ("runtimes", "0008_heals_history"),
        ("runtimes", "0009_questions"),
        ("runtimes", "0010_recovery"),
        ("runtimes", "0011_on_code_change"),
        ("runtimes", "0002_agent_versions"),
        ("runtimes", "0003_state_schema"),
        ("runtimes", "0004_declared_recovery"),
        ("runtimes", "0005_recovery_of_a_choice"),
    ]
    initial = True

    dependencies = [
        ("teams", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slug", models.SlugField(max_length=64)),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True)),
                (
                    "kind",
                    models.CharField(
                        default="python", help_text="The kind of agent.", max_length=20
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        blank=True,
                        help_text="What is run: a registered agent's slug, an address or a command.",
                        max_length=500,
                    ),
                ),
                ("settings", models.JSONField(blank=True, default=dict)),
                (
                    "middleware",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text='Middleware that its events pass, in order: [{"name": "log"}, …].',
                        validators=[agui_host.runtimes.columns.check_middleware],
                    ),
                ),
                (
                    "context_providers",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text='What a run begins with, in order: [{"name": "wisdom"}, …].',
                        validators=[agui_host.runtimes.columns.check_context_providers],
                    ),
                ),
                (
                    "secrets",
                    agui_host.security.secrets.SealedField(
                        blank=True,
                        default="",
                        editable=False,
                        help_text="Stored sealed and never shown: JSON with the headers of a remote agent.",
                    ),
                ),
                (
                    "on_busy",
                    models.CharField(
                        choices=[
                            ("reject", "Reject"),
                            ("enqueue", "Enqueue"),
                            ("cancel_running", "Cancel Running"),
                        ],
                        default="reject",
                        max_length=20,
                    ),
                ),
                (
                    "on_busy_chat",
                    models.CharField(
                        choices=[
                            ("reject", "Reject"),
                            ("enqueue", "Enqueue"),
                            ("cancel_running", "Cancel Running"),
                        ],
                        db_default="cancel_running",
                        default="cancel_running",
                        help_text="The same for a chat's new message, while the runs of its sender have not ended.",
                        max_length=20,
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        choices=[("repair", "Repair"), ("fail", "Fail")],
                        default="repair",
                        help_text="When an event breaks a rule of AG-UI: repair it if possible, or fail the run.",
                        max_length=6,
                    ),
                ),
                (
                    "raw",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Store what a framework reports besides its answer: rawEvent, and RAW events.",
                    ),
                ),
                (
                    "timeout_seconds",
                    models.FloatField(
                        blank=True,
                        help_text="Empty: the host's setting applies.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0.1)],
                    ),
                ),
                (
                    "repeatable",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="A run whose worker is lost or stopped may be started again from its beginning.",
                    ),
                ),
                (
                    "recovery",
                    models.CharField(
                        blank=True,
                        choices=[("end", "End"), ("continue", "Continue")],
                        db_default="",
                        default="",
                        help_text="A run whose worker is lost or stopped ends, or another worker continues it. Empty: as a remote agent declares; other agents' runs end.",
                        max_length=8,
                    ),
                ),
                (
                    "recovery_attempts",
                    models.PositiveSmallIntegerField(
                        db_default=5,
                        default=5,
                        help_text="A run that is continued may lose its worker so often, then it ends.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(20),
                        ],
                    ),
                ),
                (
                    "recovery_pause",
                    models.FloatField(
                        db_default=1.0,
                        default=1.0,
                        help_text="Seconds before a run that has lost two workers continues; then twice as long.",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                (
                    "on_code_change",
                    models.CharField(
                        choices=[("continue", "Continue"), ("end", "End")],
                        db_default="continue",
                        default="continue",
                        help_text="A run whose agent's code has changed since its last effect continues or ends.",
                        max_length=8,
                    ),
                ),
                (
                    "heals_history",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Calls and results in the thread are mended before the agent is given them.",
                    ),
                ),
                (
                    "questions",
                    models.JSONField(
                        blank=True,
                        db_default=["on_interrupt"],
                        default=agui_host.runtimes.columns.default_rules,
                        help_text="What counts as a question, in addition to interrupts: on_interrupt, adk, agno.",
                        validators=[agui_host.runtimes.columns.check_questions],
                    ),
                ),
                (
                    "queue",
                    models.CharField(
                        db_default="default",
                        default="default",
                        help_text="Which workers execute its runs: those that serve this queue.",
                        max_length=32,
                        validators=[
                            django.core.validators.RegexValidator("^[a-z0-9][a-z0-9_-]{0,31}\\Z")
                        ],
                    ),
                ),
                (
                    "is_tool",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Clients of MCP may call it as a tool.",
                    ),
                ),
                ("is_default", models.BooleanField(default=False)),
                ("enabled", models.BooleanField(default=True)),
                ("provided", models.JSONField(editable=False, null=True)),
                ("withdrawn", models.BooleanField(db_default=False, default=False, editable=False)),
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
                (
                    "code",
                    models.CharField(db_default="", default="", editable=False, max_length=16),
                ),
                (
                    "version",
                    models.CharField(db_default="", default="", editable=False, max_length=16),
                ),
                (
                    "on_bad_state",
                    models.CharField(
                        choices=[("ignore", "Ignore"), ("note", "Note"), ("refuse", "Refuse")],
                        db_default="ignore",
                        default="ignore",
                        help_text="When a state does not match the schema: nothing, a finding, or also a refusal.",
                        max_length=6,
                    ),
                ),
                (
                    "state_schema",
                    models.JSONField(
                        blank=True,
                        help_text="A JSON Schema of the state; empty: the one of the agent's code.",
                        null=True,
                    ),
                ),
                (
                    "declared_recovery",
                    models.CharField(
                        blank=True,
                        choices=[("end", "End"), ("continue", "Continue")],
                        db_default="",
                        default="",
                        editable=False,
                        help_text="A remote agent's declaration with its last run.",
                        max_length=8,
                    ),
                ),
            ],
            options={
                "ordering": ["slug"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("team", "slug"), name="agent_slug_once_per_team"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("team",),
                        name="agent_one_default",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("on_busy__in", ["reject", "enqueue", "cancel_running"])
                        ),
                        name="agent_on_busy_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("on_busy_chat__in", ["reject", "enqueue", "cancel_running"])
                        ),
                        name="agent_on_busy_chat_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("queue__regex", "^[a-z0-9][a-z0-9_-]{0,31}$")),
                        name="agent_queue_named",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("policy__in", ["repair", "fail"])),
                        name="agent_policy_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("on_code_change__in", ["continue", "end"])),
                        name="agent_on_code_change_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("timeout_seconds", None), ("timeout_seconds__gt", 0), _connector="OR"
                        ),
                        name="agent_timeout_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("on_bad_state__in", ["ignore", "note", "refuse"])),
                        name="agent_on_bad_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("recovery__in", ["", "end", "continue"])),
                        name="agent_recovery_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "media_type",
                    models.CharField(
                        choices=[
                            ("text/plain", "Plain"),
                            ("text/markdown", "Markdown"),
                            ("text/csv", "Csv"),
                        ],
                        default="text/markdown",
                        max_length=20,
                    ),
                ),
                ("text", models.TextField()),
                ("size", models.PositiveIntegerField(editable=False)),
                ("uploaded_by", models.CharField(editable=False, max_length=200)),
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
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["team", "-id"], name="document_team_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("media_type__in", ["text/plain", "text/markdown", "text/csv"])
                        ),
                        name="document_media_type_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FileDirectory",
            fields=[
                (
                    "id",
                    models.CharField(
                        default="files",
                        editable=False,
                        max_length=8,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("mark", models.UUIDField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", "files")), name="file_directory_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "membership",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="profile",
                        serialize=False,
                        to="teams.membership",
                    ),
                ),
                ("about", models.TextField(blank=True, max_length=4000)),
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
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Wisdom",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid6.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("text", models.TextField(max_length=4000)),
                ("written_by", models.CharField(editable=False, max_length=200)),
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
                "verbose_name_plural": "wisdom",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["team", "-id"], name="wisdom_team_newest")],
            },
        ),
        migrations.CreateModel(
            name="DocumentChunk",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("heading", models.CharField(blank=True, max_length=500)),
                ("text", models.TextField()),
                (
                    "search",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.contrib.postgres.search.CombinedSearchVector(
                            django.contrib.postgres.search.SearchVector(
                                "heading", config="english", weight="A"
                            ),
                            "||",
                            django.contrib.postgres.search.SearchVector(
                                "text", config="english", weight="C"
                            ),
                            django.contrib.postgres.search.SearchConfig("english"),
                        ),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="chunks",
                        to="runtimes.document",
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
                    django.contrib.postgres.indexes.GinIndex(fields=["search"], name="chunk_search")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("document", "position"), name="chunk_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(max_length=16)),
                ("first_seen_at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="runtimes.agent",
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
                    models.Index(fields=["agent", "-id"], name="agent_version_newest"),
                    models.Index(fields=["team", "version"], name="agent_version_of_team"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "version"), name="agent_version_once")
                ],
            },
        ),
    ]

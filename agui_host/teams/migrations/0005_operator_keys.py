import uuid6
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0004_scope"),
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
    ]

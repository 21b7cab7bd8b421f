"""What a run was asked and answered, for lists; a worker reads those of stored runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0035_usage"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="answered",
            field=models.CharField(editable=False, max_length=200, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="asked",
            field=models.CharField(editable=False, max_length=200, null=True),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    models.Q(
                        ("asked", None),
                        models.Q(
                            ("answered", None),
                            ("status__in", ("succeeded", "interrupted", "cancelled", "failed")),
                        ),
                        _connector="OR",
                    ),
                    ("purged_at", None),
                ),
                fields=["-journal"],
                name="run_faceless",
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0004_provided_agents"),
    ]

    operations = [
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
    ]

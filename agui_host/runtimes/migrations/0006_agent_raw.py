from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtimes", "0005_file_directory"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="raw",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Store what a framework reports besides its answer: "
                "rawEvent, and RAW events.",
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0012_figures_of_calls"),
        ("teams", "0003_directory"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="feedback",
            name="feedback_once_per_person",
        ),
        migrations.AddField(
            model_name="feedback",
            name="message_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=300),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.UniqueConstraint(
                condition=models.Q(("writer", ""), _negated=True),
                fields=("run", "writer", "message_id"),
                name="feedback_once_per_answer",
            ),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["team", "thumb", "-run"], name="feedback_newest"),
        ),
    ]

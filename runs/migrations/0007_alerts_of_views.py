from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_learned_reserve")]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="query",
            field=models.CharField(blank=True, db_default="", default="", max_length=2000),
        ),
        migrations.AlterField(
            model_name="alert",
            name="measure",
            field=models.CharField(
                choices=[
                    ("failed_runs", "Failed runs"),
                    ("failure_rate", "Failed runs in percent"),
                    ("p95_duration", "Seconds that 95 % of runs take at most"),
                    ("cost", "Cost in US dollars"),
                    ("waiting_questions", "Questions that wait"),
                    ("runs", "Runs"),
                    ("double_calls", "Tool calls made twice"),
                ],
                max_length=17,
            ),
        ),
    ]

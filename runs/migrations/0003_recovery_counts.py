from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_failures_by_code")]

    operations = [
        migrations.AddField(
            model_name="recovery",
            name="counts",
            field=models.BooleanField(db_default=True, default=True),
        ),
    ]

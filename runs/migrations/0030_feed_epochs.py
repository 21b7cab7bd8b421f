from django.db import migrations, models


class Migration(migrations.Migration):
    """The epoch in which an entry got its position: null for those from before."""

    dependencies = [("runs", "0029_counters_without_valkey")]
    operations = [
        migrations.AddField(
            model_name="feedentry", name="epoch", field=models.BigIntegerField(null=True)
        )
    ]

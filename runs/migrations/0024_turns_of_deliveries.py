from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0023_scope")]
    operations = [
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                fields=["team", "due_at"],
                condition=models.Q(status="pending"),
                name="delivery_due_of_team",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                fields=["team", "webhook", "due_at"],
                condition=models.Q(status="pending"),
                name="delivery_due_of_webhook",
            ),
        ),
        migrations.RemoveIndex(model_name="webhookdelivery", name="delivery_pending"),
    ]

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_scraped_workers")]

    operations = [
        migrations.AlterField(
            model_name="budget",
            name="reserve",
            field=models.DecimalField(decimal_places=6, max_digits=24, null=True),
        ),
        migrations.AddField(
            model_name="budget",
            name="largest",
            field=models.DecimalField(db_default=0, decimal_places=6, default=0, max_digits=24),
        ),
        migrations.AddField(
            model_name="budget",
            name="calls",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="budgetedrun",
            name="waits",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="budgetedrun",
            name="asked_at",
            field=models.DateTimeField(db_default=Now(), editable=False),
        ),
    ]

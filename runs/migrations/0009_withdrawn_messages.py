from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0008_news"),
    ]

    operations = [
        migrations.AddField(
            model_name="runmessage",
            name="withdrawn_at",
            field=models.DateTimeField(null=True),
        ),
    ]

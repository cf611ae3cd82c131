"""Queues have forms that their owners write, and annotations say what was asked when they were given."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0024_owners")]

    operations = [
        migrations.AddField("queue", "form", models.JSONField(blank=True, default=dict)),
        migrations.AddField("annotation", "asked_hash", models.CharField(blank=True, max_length=64)),
    ]

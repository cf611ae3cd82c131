"""A worker also checks uploads; each launch has a number, and what is in work can be cancelled."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0006_rubric_item_digests")]
    operations = [
        migrations.RemoveField(model_name="upload", name="progress"),
        migrations.AddField(model_name="upload", name="launches", field=models.PositiveIntegerField(default=0)),
        migrations.AlterField(
            model_name="upload",
            name="status",
            field=models.CharField(
                choices=[
                    ("checking", "Being checked"),
                    ("checked", "Ready to confirm"),
                    ("refused", "Has errors"),
                    ("running", "Importing"),
                    ("done", "Imported"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
    ]

"""Lets runs have tags and be archived."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0021_judge_without_endpoint")]

    operations = [
        migrations.AddField(model_name="run", name="archived_at", field=models.DateTimeField(null=True)),
        migrations.CreateModel(
            name="RunTag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tags",
                        to="judging.run",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["name", "run"], name="run_tag_name")],
                "constraints": [models.UniqueConstraint(fields=("run", "name"), name="run_tag_once")],
            },
        ),
    ]

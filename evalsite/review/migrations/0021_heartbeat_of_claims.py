from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("review", "0020_referrals_by_arm"),
    ]

    operations = [
        migrations.RenameField("assignment", "beat_at", "heartbeat_at"),
    ]

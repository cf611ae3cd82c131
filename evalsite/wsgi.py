"""WSGI entry for gunicorn and other servers."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from django.core.wsgi import get_wsgi_application

from evalsite.serving.middleware import with_lengths

# A thread that waited for the database has to get the interpreter back before it can go on. At Python's 5 ms it stands
# behind every page that is being rendered, once per statement, and holds its locks in the database all the while.
TURN_SECONDS = 0.0005

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

sys.setswitchinterval(TURN_SECONDS)
application = with_lengths(get_wsgi_application())
import_module("evalsite.urls")  # every page, before a server forks its processes

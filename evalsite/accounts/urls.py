"""Addresses of this app."""

from __future__ import annotations

from django.urls import path

from evalsite.accounts import views
from evalsite.accounts.actions import people
from evalsite.base.actions.pages import button_page, form_page

app_name = "accounts"
urlpatterns = [
    path("people/", views.person_list, name="person-list"),
    path(
        "people/new/",
        form_page(people.create, "accounts/person_create.html", answer=views.person_created),
        name="person-create",
    ),
    path(
        "people/<int:key>/",
        form_page(people.change, "accounts/person_update.html", answer=views.person_changed),
        name="person-update",
    ),
    path(
        "people/<int:key>/password/",
        button_page(people.new_password, answer=views.password_issued),
        name="person-password",
    ),
    path(
        "people/<int:key>/test-mail/",
        button_page(people.test_mail, back="accounts:person-update"),
        name="person-test-mail",
    ),
    path(
        "people/<int:key>/data/",
        button_page(people.export, answer=views.person_exported),
        name="person-export",
    ),
    path(
        "people/<int:key>/erase/",
        form_page(people.erase, "accounts/person_erase.html", answer=views.person_changed),
        name="person-erase",
    ),
    path("audit/", views.audit_list, name="audit-list"),
    path("audit/export.csv", views.audit_export, name="audit-export"),
    path("preferences/", views.preferences, name="preferences"),
    path("preferences/sessions/end/", views.session_end, name="session-end"),
]

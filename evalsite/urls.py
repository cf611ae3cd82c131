"""Addresses of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as sessions
from django.urls import include, path

from evalsite import views

urlpatterns = [
    path("", views.home, name="home"),
    path("running/", views.home_running, name="home-running"),
    path("demo/", views.demo_load, name="demo-load"),
    path("healthz", views.healthz, name="healthz"),
    path("health/", views.site_health, name="site-health"),
    path("help/", views.help_page, name="help"),
    path("help/<slug:slug>/", views.help_topic, name="help-topic"),
    path("login/", sessions.LoginView.as_view(), name="login"),
    path("logout/", sessions.LogoutView.as_view(), name="logout"),
    path("password/", sessions.PasswordChangeView.as_view(), name="password_change"),
    path("password/done/", sessions.PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("", include("evalsite.accounts.urls")),
    path("", include("judging.urls")),
    path("debates/", include("debate.urls")),
    path("review/", include("evalsite.review.urls")),
    path("reports/", include("evalsite.reports.urls")),
    path("admin/", admin.site.urls),
    path("rq/", include("django_rq.urls")),
]

"""Addresses of the site."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import views as sessions
from django.urls import URLPattern, URLResolver, include, path

from evalsite import actions, views
from evalsite.accounts import views as accounts
from evalsite.base.actions.pages import button_page, page_of_button
from evalsite.base.rows import DEBATES, REPORTS, REVIEW
from evalsite.health import metrics

sign_on: list[URLPattern | URLResolver] = []
if settings.OIDC_URL:
    from allauth.socialaccount.providers.openid_connect.views import callback, login

    key = {"provider_id": settings.OIDC_KEY}
    sign_on = [
        path("sign-on/", login, key, name="openid_connect_login"),
        path("sign-on/callback/", callback, key, name="openid_connect_callback"),
    ]
elif settings.SAML_METADATA_URL:
    sign_on = [path("sign-on/", include("allauth.socialaccount.providers.saml.urls"))]
urlpatterns = [
    path("", views.home, name="home"),
    path("running/", views.home_running, name="home-running"),
    path("demo/", views.demo_load, name="demo-load"),
    path("livez", views.livez, name="livez"),
    path("readyz", views.readyz, name="readyz"),
    path("healthz", views.healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("health/", views.site_health, name="site-health"),
    path("jobs/", views.job_list, name="job-list"),
    path("jobs/<str:queue>/<str:job>/requeue/", button_page(actions.requeue, back="job-list"), name="job-requeue"),
    path("jobs/<str:queue>/<str:job>/delete/", button_page(actions.discard, back="job-list"), name="job-delete"),
    path("search/", views.site_search, name="search"),
    path("acts/<str:noun>/<int:key>/<str:verb>/", page_of_button, name="act"),
    path("help/", views.help_page, name="help"),
    path("help/<slug:slug>/", views.help_topic, name="help-topic"),
    path("login/", accounts.SignInView.as_view(), name="login"),
    path("setup/", accounts.site_setup, name="site-setup"),
    path("first-steps/", views.first_steps, name="first-steps"),
    path("invitation/<str:token>/", accounts.invitation_accept, name="invitation-accept"),
    path("login/second-factor/", accounts.second_step, name="second-factor"),
    path("login/passkey/", accounts.passkey_sign_in, name="passkey-sign-in"),
    *sign_on,
    path("logout/", sessions.LogoutView.as_view(), name="logout"),
    path("password/", accounts.OwnPasswordView.as_view(), name="password_change"),
    path("password/forgotten/", accounts.password_forgotten, name="password-forgotten"),
    path(
        "password/reset/<str:uidb64>/<str:token>/",
        accounts.ResetPasswordView.as_view(),
        name="password_reset_confirm",
    ),
    path("password/done/", sessions.PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("", include("evalsite.accounts.urls")),
    path("", include("evalsite.api.urls")),
    path("", include("judging.urls")),
    path(DEBATES, include("debate.urls")),
    path(REVIEW, include("evalsite.review.urls")),
    path(REPORTS, include("evalsite.reports.urls")),
]
handler400 = views.bad_request

"""Settings of the site. Everything that varies is an `EVALSITE_*` variable; see evalsite/help/settings.md."""

from __future__ import annotations

import gc
import secrets
from importlib.util import find_spec
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from evalsite import env
from evalsite.serving import locations

# Each process loads a million objects that stay, and a job makes 100,000 rows: at Python's 700, 10 and 10 half of the
# processor time would go into walks through them.
gc.set_threshold(200_000, 50, 100)

BASE_DIR = Path(__file__).resolve().parent.parent
# As an installed app it would be loaded by every command; only the page of the API's documentation needs its files.
NINJA = Path(str(find_spec("ninja").origin)).parent  # type: ignore[union-attr]  # a dependency

DEBUG = env.flag(
    "EVALSITE_DEBUG", False, "Show the debug pages of Django. Never use it on a site that others can reach."
)
DEMO = env.flag(
    "EVALSITE_DEMO", False, "Demo mode: a secret is generated at start, and the site listens on 127.0.0.1 only."
)
DATA_DIR = env.folder(
    "EVALSITE_DATA_DIR",
    BASE_DIR / "var",
    "Folder for the SQLite database and the embedded broker.",
    shown_default="var/ in the checkout",
)

# --- secrets and hosts
SECRET_KEY = env.secret("EVALSITE_SECRET_KEY", "Long random text used to sign sessions. Required outside demo mode.")
if not SECRET_KEY:
    if not (DEMO or DEBUG):
        raise ImproperlyConfigured(
            "EVALSITE_SECRET_KEY is not set. Give the site its own secret, for example the output of "
            "`python3 -c 'import secrets; print(secrets.token_urlsafe(50))'`, or use `make demo` to try the site."
        )
    SECRET_KEY = locations.kept_secret(DATA_DIR, "secret-key", make=lambda: secrets.token_urlsafe(50))
ALLOWED_HOSTS = env.words(
    "EVALSITE_ALLOWED_HOSTS", ("127.0.0.1", "localhost"), "Host names of the site, separated by commas."
)
CSRF_TRUSTED_ORIGINS = env.words(
    "EVALSITE_TRUSTED_ORIGINS", (), "Origins such as https://evals.example.org if a proxy terminates TLS."
)
HTTPS = env.flag(
    "EVALSITE_HTTPS", False, "The site is reached by HTTPS (directly or by a proxy): secure cookies, HSTS."
)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(live|ready|health)z$"]  # probes speak to the web server itself
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
TRUSTED_PROXIES = env.networks(
    "EVALSITE_TRUSTED_PROXIES",
    "Addresses or networks of proxies in front of the site, separated by commas: only their"
    " X-Forwarded-For headers are trusted.",
)
if HTTPS:  # a browser takes such cookies from this very host only, never from a neighbour below the same domain
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# --- applications
INSTALLED_APPS = [
    "evalsite.apps.SiteConfig",
    "evalsite.apps.BaseConfig",
    "evalsite.accounts.apps.AccountsConfig",
    "evalsite.serving.apps.ServingConfig",
    "judging.apps.JudgingConfig",
    "debate.apps.DebateConfig",
    "evalsite.review.apps.ReviewConfig",
    "evalsite.reports.apps.ReportsConfig",
    "evalsite.apps.DemoConfig",
    "evalsite.api.apps.ApiConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "django_htmx",
    "django_rq",
    "csp",
    "axes",
]
MIDDLEWARE = [
    "evalsite.serving.middleware.RequestIdMiddleware",
    "evalsite.health.PageCountMiddleware",
    "evalsite.serving.middleware.ProxyMiddleware",
    "evalsite.serving.middleware.PageHeadersMiddleware",
    "evalsite.api.problems.ProblemMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "evalsite.serving.middleware.WholeBodyMiddleware",
    "evalsite.serving.middleware.TextMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "evalsite.accounts.sessions.SessionRenewalMiddleware",
    "evalsite.accounts.sessions.SignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
FORM_RENDERER = "evalsite.base.form_fields.SiteFormRenderer"
ROOT_URLCONF = "evalsite.urls"
WSGI_APPLICATION = "evalsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", NINJA / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evalsite.navigation.shell",
            ],
            "libraries": {"ui": "evalsite.base.template_tags"},
        },
    },
]

# --- database
DATABASES = {
    "default": env.database(
        "EVALSITE_DATABASE_URL",
        DATA_DIR / "evalsite.sqlite3",
        "postgres://user:password@host:5432/name, or sqlite:////absolute/path.sqlite3.",
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- broker and queues
EXTERNAL_REDIS_URL = env.redis_url(
    "EVALSITE_REDIS_URL", "redis://host:6379/0 of a Redis or Valkey server. Unset: the site runs a private broker."
)
REDIS_URL = EXTERNAL_REDIS_URL or locations.broker_url(DATA_DIR)
_QUEUE = {"URL": REDIS_URL, "SERIALIZER": "rq.serializers.JSONSerializer", "DEFAULT_TIMEOUT": 24 * 3600}
RQ_QUEUES = {
    "default": _QUEUE,  # short jobs: routing, reports, imports
    "calls": _QUEUE,  # long jobs that work through a run
}
RQ = {"WORKER_CLASS": "evalsite.serving.workers.SiteWorker", "COMMIT_MODE": "on_db_commit"}
CALL_THREADS = env.integer(
    "EVALSITE_CALL_THREADS", 50, "Highest number of calls to models that one worker has in flight.", low=1, high=1000
)
STOP_SECONDS = env.integer(
    "EVALSITE_STOP_SECONDS",
    180,
    "How long a worker that is asked to stop waits for its calls in flight, which are paid for.",
    low=0,
    high=3600,
)
TRIAL_BUDGET = env.integer(
    "EVALSITE_TRIAL_BUDGET",
    5,
    "Highest cost in US dollars of one person's trials of judges on single responses within 24 hours.",
    low=0,
    high=10_000,
)
CA_BUNDLE = env.file(
    "EVALSITE_CA_BUNDLE",
    "File with trusted certificates (PEM) for calls to models, instead of the default ones.",
)
PROXY = env.proxy_url(
    "EVALSITE_PROXY",
    "Forward proxy for calls to models at public addresses, http://user:password@host:port. Names are "
    "resolved here, and the proxy must allow CONNECT to addresses; private ones are called directly.",
)
KEY_VARIABLES = env.words(
    "EVALSITE_KEY_VARIABLES",
    (),
    "The only environment variables that endpoints may name as their keys, separated by commas; MODEL_* stands for all "
    "that begin so. Unset: every name that ends in _KEY or _TOKEN and does not look like a secret of another service.",
)
ALLOW_PRIVATE_ENDPOINTS = env.flag(
    "EVALSITE_ALLOW_PRIVATE_ENDPOINTS",
    True,
    "Whether model endpoints on this machine or a private network may be added.",
)

# --- people
ADMIN_PASSWORD = env.secret(
    "EVALSITE_ADMIN_PASSWORD", "Password of the first admin, in place of a generated one: `create_admin`, `init_site`."
)
INIT_ADMIN = env.text(
    "EVALSITE_INIT_ADMIN", "", "User name of the admin that `init_site` makes where there is no account yet."
)
INIT_EMAIL = env.text("EVALSITE_INIT_EMAIL", "", "Mail address of that admin.")
INIT_ORGANISATION = env.text(
    "EVALSITE_INIT_ORGANISATION", "", "Name of the organisation on the sign-in page and in letters, where none is set."
)
ROLES = ("viewer", "annotator", "researcher", "admin")  # of evalsite.accounts.roles, which needs these settings
OIDC_URL = env.provider_url(
    "EVALSITE_OIDC_URL",
    "Address of an OpenID Connect provider for single sign-on, without /.well-known/.... Unset: no single sign-on.",
)
OIDC_CLIENT_ID = env.text("EVALSITE_OIDC_CLIENT_ID", "", "What the provider calls this site.")
OIDC_CLIENT_SECRET = env.secret("EVALSITE_OIDC_CLIENT_SECRET", "The secret that the provider gave to this site.")
OIDC_NAME = env.text("EVALSITE_OIDC_NAME", "single sign-on", "Name of the provider on the sign-in page.")
OIDC_GROUPS_CLAIM = env.text(
    "EVALSITE_OIDC_GROUPS_CLAIM", "groups", "Claim in which the provider names a person's groups."
)
OIDC_ROLES = env.pairs(
    "EVALSITE_OIDC_ROLES",
    ROLES,
    "Roles that groups of the provider give, such as staff=researcher,it=admin, read at each sign-in: the highest "
    "holds, and who has none is refused. Unset: admins give the roles.",
)
OIDC_DOMAINS = env.words(
    "EVALSITE_OIDC_DOMAINS",
    (),
    "Mail domains, separated by commas: their verified addresses open the accounts that are here already.",
)
OIDC_NEW_PEOPLE = env.flag(
    "EVALSITE_OIDC_NEW_PEOPLE",
    False,
    "Whether somebody without an account gets one at the first sign-in; needs EVALSITE_OIDC_ROLES.",
)
SAML_METADATA_URL = env.provider_url(
    "EVALSITE_SAML_METADATA_URL",
    "Address of the metadata of a SAML 2.0 provider, in place of EVALSITE_OIDC_URL; needs the extra `saml`. "
    "EVALSITE_OIDC_NAME, _ROLES, _DOMAINS and _NEW_PEOPLE hold for it too.",
)
SAML_ENTITY_ID = env.text("EVALSITE_SAML_ENTITY_ID", "", "What that provider calls itself in its metadata.")
SAML_ATTRIBUTES = env.pairs(
    "EVALSITE_SAML_ATTRIBUTES",
    ("uid", "username", "email", "first_name", "last_name", "groups"),
    "What its attributes are here, such as persistentId=uid,mail=email,memberOf=groups. One is uid, which stays "
    "the same for a person.",
)
PASSWORDS = env.flag("EVALSITE_PASSWORDS", True, "Whether people may sign in with a password. 0 needs single sign-on.")
if OIDC_URL and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("EVALSITE_OIDC_CLIENT_ID is not set; EVALSITE_OIDC_URL needs it.")
if OIDC_NEW_PEOPLE and not OIDC_ROLES:
    raise ImproperlyConfigured("EVALSITE_OIDC_ROLES is not set; EVALSITE_OIDC_NEW_PEOPLE needs it.")
if not (PASSWORDS or OIDC_URL or SAML_METADATA_URL):
    raise ImproperlyConfigured("EVALSITE_OIDC_URL is not set; without passwords nobody could sign in.")
if SAML_METADATA_URL and (OIDC_URL or not SAML_ENTITY_ID or "uid" not in SAML_ATTRIBUTES.values()):
    raise ImproperlyConfigured(
        "EVALSITE_SAML_METADATA_URL needs EVALSITE_SAML_ENTITY_ID and an attribute that is uid in "
        "EVALSITE_SAML_ATTRIBUTES, and stands in place of EVALSITE_OIDC_URL."
    )
if SAML_METADATA_URL and find_spec("onelogin") is None:
    raise ImproperlyConfigured("EVALSITE_SAML_METADATA_URL needs the extra saml: pip install 'django-allauth[saml]'.")
if OIDC_URL or SAML_METADATA_URL:
    INSTALLED_APPS += ["allauth", "allauth.account", "allauth.socialaccount"]
    INSTALLED_APPS += [f"allauth.socialaccount.providers.{'openid_connect' if OIDC_URL else 'saml'}"]
    MIDDLEWARE.insert(-1, "allauth.account.middleware.AccountMiddleware")
    ACCOUNT_ADAPTER = "evalsite.accounts.sign_on.AccountAdapter"
    ACCOUNT_EMAIL_VERIFICATION = "none"  # the provider says which addresses are verified
    SOCIALACCOUNT_ADAPTER = "evalsite.accounts.sign_on.SignOnAdapter"
    SOCIALACCOUNT_LOGIN_ON_GET = True  # the content security policy forbids forms that lead to another site
    OIDC_KEY = OIDC_URL.partition("://")[2]  # so that a person of one provider is nobody of the next
    OIDC_APP: dict[str, object] = {
        "provider_id": OIDC_KEY,
        "name": OIDC_NAME,
        "client_id": OIDC_CLIENT_ID,
        "secret": OIDC_CLIENT_SECRET,
    }
    OIDC_APP |= {"settings": {"server_url": OIDC_URL, "oauth_pkce_enabled": True}}
    SAML_APP: dict[str, object] = {"provider_id": SAML_ENTITY_ID, "name": OIDC_NAME, "client_id": "provider"}
    SAML_APP["settings"] = {
        "idp": {"entity_id": SAML_ENTITY_ID, "metadata_url": SAML_METADATA_URL},
        "attribute_mapping": {"uid": [name for name, what in SAML_ATTRIBUTES.items() if what == "uid"]},
        "advanced": {"want_assertion_signed": True, "reject_idp_initiated_sso": True},
    }
    SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [OIDC_APP]}} if OIDC_URL else {"saml": {"APPS": [SAML_APP]}}
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "evalsite.accounts.backends.PeopleBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_RESET_TIMEOUT = 3600  # seconds
AXES_HANDLER = "evalsite.accounts.backends.SignInHandler"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # who keeps knocking would keep the owner out for ever
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "registration/locked_out.html"
SESSION_DAYS = env.integer(
    "EVALSITE_SESSION_DAYS", 14, "Days without activity after which a person has to sign in again.", low=1, high=365
)
IDLE_MINUTES = env.integer(
    "EVALSITE_IDLE_MINUTES",
    0,
    "Minutes without activity after which a person has to sign in again, in place of days; 0: EVALSITE_SESSION_DAYS.",
    low=0,
    high=1440,
)
SESSION_LONGEST_HOURS = env.integer(
    "EVALSITE_SESSION_LONGEST_HOURS",
    720,  # 30 days, as NIST SP 800-63B allows at its first level; its second asks for 12 hours
    "Hours after which a person has to sign in again, however much they use the site.",
    low=1,
    high=8760,
)
SESSION_COOKIE_AGE = IDLE_MINUTES * 60 or SESSION_DAYS * 24 * 3600

# --- age limits
KEEP_CALL_TEXTS_DAYS = env.integer(
    "EVALSITE_KEEP_CALL_TEXTS_DAYS",
    0,
    "Days after which workers remove texts of calls that no result rests on; 0: never.",
    low=0,
    high=36500,
)
KEEP_UPLOADS_DAYS = env.integer(
    "EVALSITE_KEEP_UPLOADS_DAYS",
    0,
    "Days after which workers remove bytes and previews of uploads; what was imported stays. 0: never.",
    low=0,
    high=36500,
)
KEEP_NOTICES_DAYS = env.integer(
    "EVALSITE_KEEP_NOTICES_DAYS",
    0,
    "Days after which workers remove notices, read or not; 0: never.",
    low=0,
    high=36500,
)

# --- review
REVIEW_CONFIDENCE_THRESHOLD = env.fraction(
    "EVALSITE_REVIEW_CONFIDENCE", 0.7, "Verdicts with a lower measured confidence are sent to review."
)
REVIEW_AUDIT_SHARE = env.fraction(
    "EVALSITE_REVIEW_AUDIT_SHARE",
    0.05,
    "Share of the cases of a run or debate set drawn for the random audit. 0: none.",
)
REVIEW_AUDIT_MINIMUM = env.integer(
    "EVALSITE_REVIEW_AUDIT_MINIMUM",
    30,
    "Smallest number of cases drawn for the random audit if the share is above 0.",
    low=0,
    high=100_000,
)
REVIEW_LEASE_SECONDS = env.integer(
    "EVALSITE_REVIEW_LEASE_SECONDS",
    120,
    "How long an item stays claimed after the last heartbeat of the annotator's page.",
    low=10,
    high=3600,
)
REVIEW_IDLE_MINUTES = env.integer(
    "EVALSITE_REVIEW_IDLE_MINUTES",
    20,
    "How long an item stays claimed without activity on its open page.",
    low=1,
    high=1440,
)

# --- limits on uploads
UPLOAD_MEGABYTES = env.integer("EVALSITE_UPLOAD_MEGABYTES", 1024, "Largest upload in MiB.", low=1, high=2048)
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 2**20  # of a form without its files
DATA_UPLOAD_MAX_NUMBER_FILES = 20_000

# --- pages
LANGUAGE_CODE = "en-gb"
TIME_ZONE = env.text("EVALSITE_TIME_ZONE", "UTC", "Time zone of the site, such as Europe/Vienna.")
USE_I18N = False
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = None  # served from where they lie; there is no collecting step to forget
STATICFILES_DIRS = [BASE_DIR / "static", NINJA / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 60 if DEMO or DEBUG else 3600
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    },
}

# --- mail and logs
EMAIL_HOST = env.text("EVALSITE_EMAIL_HOST", "", "Mail server for notifications. Unset: no mail is sent.")
EMAIL_PORT = env.integer("EVALSITE_EMAIL_PORT", 25, "Port of the mail server.", low=1, high=65535)
EMAIL_HOST_USER = env.text("EVALSITE_EMAIL_USER", "", "User name at the mail server. Unset: no login.")
EMAIL_HOST_PASSWORD = env.secret("EVALSITE_EMAIL_PASSWORD", "Password at the mail server.")
_MAIL_SECURITY = env.choice(
    "EVALSITE_EMAIL_SECURITY",
    "none",
    ("none", "starttls", "tls"),
    "How mail is encrypted on its way to the mail server: none, starttls (usually port 587) or tls (usually 465).",
)
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL_SECURITY == "starttls", _MAIL_SECURITY == "tls"
EMAIL_TIMEOUT = 20  # seconds; a server that does not answer holds up no worker
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'dummy'}.EmailBackend"
SITE_URL = env.text(
    "EVALSITE_SITE_URL",
    f"http{'s' if HTTPS else ''}://{ALLOWED_HOSTS[0]}",
    "Address of the site in letters, invitations and webhooks, such as https://evals.example.org.",
    shown_default="made of the first of EVALSITE_ALLOWED_HOSTS",
).rstrip("/")
DEFAULT_FROM_EMAIL = env.text("EVALSITE_EMAIL_FROM", "evalsite@localhost", "Sender of the site's mail.")
LOG_LEVEL = env.choice(
    "EVALSITE_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"), "DEBUG, INFO, WARNING or ERROR."
)
METRICS_TOKEN = env.secret(
    "EVALSITE_METRICS_TOKEN", "What Prometheus names as its bearer token to read /metrics. Unset: no such page."
)
LOG_FORMAT = env.choice(
    "EVALSITE_LOG_FORMAT", "text", ("text", "json"), "text for people, or json: one object a line for programs."
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "evalsite.base.log_lines.TextLines", "format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "evalsite.base.log_lines.JsonLines"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "rq": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "fido2": {"level": "WARNING"},
    },
}
# Whether HSTS holds for the other names of the domain (W005) and in the lists of browsers (W021) is up to its owner.
# That SQLite ignores what an index holds beside its columns (W040) is known where the index is declared.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021", "models.W040"]
SILENCED_SYSTEM_CHECKS += [] if HTTPS else ["security.W004", "security.W008", "security.W012", "security.W016"]

"""Benchmarks and their cases, systems, judges and endpoints, responses, and the uploads that brought them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from evalsite.base.rows import Owned, page_at
from evalsite.base.types import choices_of
from judging.llm.endpoints import EndpointKind, KeyHeader
from judging.stored_content import ShownContent, shown_content


def picture_url(digest: str) -> str:
    """Return where the image with a hash is served."""
    return page_at(Picture.PAGE, digest)


class Picture(models.Model):
    """An image as it is shown and sent; `digest` is the SHA-256 of the file that was uploaded."""

    PAGE = "pictures/<slug:digest>/"

    digest = models.CharField(max_length=64, primary_key=True)
    media_type = models.CharField(max_length=20)  # image/png or image/jpeg
    data = models.BinaryField()  # encoded again: one frame, upright, without metadata
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest[:12]

    def get_absolute_url(self) -> str:
        return picture_url(self.digest)


EMPTY_LIST = models.Value([], models.JSONField())  # of columns that statements of our own leave out


class Benchmark(models.Model):
    """A named set of questions with a history of suites."""

    PAGE = "benchmarks/<slug:slug>/"

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.slug)


class Prompt(models.Model):
    """What systems are shown for one case. Cases that differ only in grading share it, and so its responses."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="prompts")
    key = models.CharField(max_length=200)
    content_hash = models.CharField(max_length=64)  # of all that follows; judging.stored_content
    text = models.TextField()  # of a conversation, its turns as text
    context = models.TextField(blank=True)
    context_role = models.CharField(max_length=20, blank=True)  # reference | supplementary | ""
    images = models.JSONField(default=list, db_default=EMPTY_LIST)  # judging.specs.types.ImageSpec of each `Picture`
    messages = models.JSONField(default=list, db_default=EMPTY_LIST)  # a conversation; judging.specs.turns
    is_numbered = models.BooleanField(default=False, db_default=False)  # its file has no ids: the key was counted here

    class Meta:
        constraints = [models.UniqueConstraint(fields=["benchmark", "key", "content_hash"], name="prompt_once")]

    def __str__(self) -> str:
        return self.key

    @property
    def content(self) -> ShownContent:
        """What pages show of it."""
        return shown_content(self.text, self.images, self.messages, picture_url)


class Case(models.Model):
    """One immutable revision of a case: its prompt and how a response is graded."""

    PAGE = "cases/<int:case_id>/"

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="cases")
    key = models.CharField(max_length=200)  # the prompt's, repeated for ordering and filters
    content_hash = models.CharField(max_length=64)
    reference = models.TextField(blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    question_type = models.CharField(max_length=100, blank=True)
    lang = models.CharField(max_length=40, blank=True)
    full_score = models.FloatField(null=True)
    null_score = models.FloatField(null=True)
    grading = models.JSONField(default=dict)
    handlers = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    source_path = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["prompt", "content_hash"], name="case_revision_once")]
        indexes = [models.Index(fields=["key"], name="case_key")]

    def __str__(self) -> str:
        return self.key

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class Suite(models.Model):
    """An immutable, ordered selection of cases and how their scores add up."""

    PAGE = "suites/<int:suite_id>/"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="suites")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    label = models.CharField(max_length=100, blank=True)  # the version its author gave it
    content_hash = models.CharField(max_length=64)
    attempt_reduce_mode = models.CharField(max_length=30, default="avg")
    full_score = models.FloatField(default=1.0)
    null_score = models.FloatField(default=0.0)
    metadata = models.JSONField(default=dict)
    cases = models.ManyToManyField(Case, through="SuiteCase", related_name="suites")
    case_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "number"], name="suite_number_once"),
            models.UniqueConstraint(fields=["benchmark", "content_hash"], name="suite_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.number}"

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)

    def points(self, full: float | None, null: float | None) -> tuple[float, float]:
        """Return what a case is worth and what it counts without a response: its own, else those of the suite."""
        return self.full_score if full is None else full, self.null_score if null is None else null


class SuiteCase(models.Model):
    """A case's place and weight in a suite."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="links")
    case = models.ForeignKey(Case, on_delete=models.PROTECT, related_name="links")
    position = models.PositiveIntegerField()
    weight = models.FloatField(default=1.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["suite", "case"], name="suite_case_once"),
            models.UniqueConstraint(fields=["suite", "position"], name="suite_position_once"),
        ]

    def __str__(self) -> str:
        return f"{self.position}. {self.case_id}"


SHAPE_WORDS = {
    "levels": "criteria in levels",
    "criteria": "table of criteria",
    "checklist": "checklist",
    "assertions": "assertions",
    "nested": "nested criteria",
    "scaleeval": "criteria for comparisons",
}


class Rubric(models.Model):
    """One immutable version of a rubric."""

    PAGE = "rubrics/<int:rubric_id>/"

    slug = models.SlugField(max_length=80)
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    benchmark = models.ForeignKey(Benchmark, null=True, on_delete=models.CASCADE, related_name="rubrics")
    content_hash = models.CharField(max_length=64)
    shape = models.CharField(max_length=20)  # levels | criteria | checklist | assertions | nested | scaleeval
    scope = models.CharField(max_length=20)  # benchmark | item
    options = models.JSONField(default=dict)
    benchmark_aggregate = models.JSONField(default=dict)
    licence = models.CharField(max_length=200, blank=True)
    source_name = models.CharField(max_length=300, blank=True)
    item_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["slug", "version"], name="rubric_version_once"),
            models.UniqueConstraint(fields=["slug", "content_hash"], name="rubric_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)

    @property
    def shape_words(self) -> str:
        """The shape of its file, for pages; a file may name a shape of its own."""
        return SHAPE_WORDS.get(self.shape, self.shape.replace("_", " "))


class RubricItem(models.Model):
    """The tree of nodes that applies to one case, or to the whole benchmark where `case_key` is empty.

    The tree is kept whole, as read by `judging.grading.rubric_tree`: it is written once, always read as a whole, and a
    workbook of 100,000 rows imports as 100,000 rows instead of half a million.
    """

    rubric = models.ForeignKey(Rubric, on_delete=models.CASCADE, related_name="items")
    case_key = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)  # SHA-256 of key and tree: two versions are compared without their trees
    tree = models.JSONField()
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=100, blank=True)  # "Sheet1!A14"

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rubric", "case_key"], name="rubric_item_once")]

    def __str__(self) -> str:
        return self.case_key or "whole benchmark"


class ModelEndpoint(models.Model):
    """Where a model is reached. The key itself stays in the environment; only its variable's name is stored."""

    PAGE = "endpoints/<int:endpoint_id>/"

    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=20, choices=choices_of(EndpointKind), default=EndpointKind.OPENAI)
    base_url = models.URLField(max_length=300, blank=True)
    model = models.CharField(max_length=200)  # model id; for a lexical endpoint the lens
    preset = models.CharField(max_length=20, blank=True)  # a name in judging.llm.endpoints
    key_variable = models.CharField(max_length=100, blank=True)
    key_header = models.CharField(max_length=20, choices=choices_of(KeyHeader), default=KeyHeader.BEARER)
    query = models.CharField(max_length=200, blank=True)  # behind the address, such as api-version=2024-10-21
    headers = models.JSONField(default=dict, blank=True)  # further headers of each request, by name
    read_timeout = models.PositiveIntegerField(null=True, blank=True)  # seconds; None: judging.llm.endpoints says
    stream = models.BooleanField(default=False)  # replies are asked for as a stream
    ca_certificates = models.TextField(blank=True)  # PEM, trusted instead of the site's; empty: those
    proxy = models.CharField(max_length=200, blank=True)  # http://host:port, "none", or empty for the site's
    proxy_login_variable = models.CharField(max_length=100, blank=True)  # holds user:password
    reasoning = models.BooleanField(default=False)
    extra = models.JSONField(default=dict, blank=True)  # further fields of each request, such as reasoning_effort
    min_output_tokens = models.PositiveIntegerField(null=True, blank=True)  # None: judging.llm.endpoints says
    reuse_days = models.PositiveIntegerField(null=True, blank=True)  # older replies are not reused; None: for ever
    max_concurrency = models.PositiveIntegerField(default=50)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)  # of all workers; None: no limit
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True)
    input_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)  # USD per million tokens
    output_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    cached_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)  # None: as input
    reasoning_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)  # None: as output
    capabilities = models.JSONField(default=dict, blank=True)  # what a 400 taught us: {"seed": false, ...}
    stated_images = models.BooleanField(null=True, blank=True)  # whether it sees, as an admin says; None: as tested
    last_test = models.JSONField(default=dict, blank=True)  # judging.services.endpoints.EndpointTrial
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind=EndpointKind.LEXICAL) | ~models.Q(base_url=""), name="endpoint_has_url"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def failed_test(self) -> str:
        """Why the last test failed; empty where it worked or there was none."""
        return str(self.last_test.get("problem", ""))

    @property
    def sees_images(self) -> bool:
        """Whether images are sent to it: what an admin says, else what its test showed."""
        return self.capabilities.get("images") is True if self.stated_images is None else self.stated_images

    @property
    def offered_as(self) -> str:
        """The name, with a warning, for lists to choose from."""
        return f"{self.name} (its last test failed)" if self.failed_test else self.name

    @property
    def is_baseline(self) -> bool:
        return self.kind == EndpointKind.LEXICAL

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class Judge(Owned):
    """A judge kind with its options, on an endpoint if it asks a model. What a run uses is frozen in its evaluator."""

    PAGE = "judges/<int:judge_id>/"

    name = models.CharField(max_length=120, unique=True)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=40)  # a name in judging.judges.registry
    endpoint = models.ForeignKey(ModelEndpoint, null=True, on_delete=models.PROTECT, related_name="judges")
    options = models.JSONField(default=dict, blank=True)
    is_active = models.BooleanField(default=True)  # False: retired, offered for nothing new
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name

    @property
    def asked_endpoint(self) -> ModelEndpoint:
        """The endpoint of a judge whose kind asks a model."""
        assert self.endpoint is not None
        return self.endpoint

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class System(models.Model):
    """A model with its prompt version. One with an endpoint is asked here; responses of others are imported."""

    PAGE = "systems/<int:system_id>/"

    name = models.CharField(max_length=120, unique=True)
    model = models.CharField(max_length=120, blank=True)
    prompt_version = models.CharField(max_length=60, blank=True)
    asking_key = models.CharField(max_length=64, blank=True)  # of its endpoint and how it is asked; empty: imported
    endpoint = models.ForeignKey(ModelEndpoint, null=True, on_delete=models.PROTECT, related_name="systems")
    asking = models.JSONField(default=dict)  # judging.judges.answer_prompts.ResponseSettings; empty: imported
    is_active = models.BooleanField(default=True)  # False: retired, asked by no new run
    description = models.TextField(blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def is_asked_here(self) -> bool:
        """Whether runs can ask it."""
        return self.endpoint_id is not None and bool(self.asking)

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class Response(models.Model):
    """The nth response of a system to a prompt. A changed text is a new row; the old one is superseded, never lost."""

    PAGE = "responses/<int:response_id>/"

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="responses")
    system = models.ForeignKey(System, on_delete=models.PROTECT, related_name="responses")
    attempt = models.PositiveIntegerField(default=0)
    text = models.TextField(blank=True)  # of several turns, these as text
    text_hash = models.CharField(max_length=64)  # with images and messages, where there are any
    images = models.JSONField(default=list, db_default=EMPTY_LIST)  # as those of a prompt
    messages = models.JSONField(default=list, db_default=EMPTY_LIST)
    completion_tokens = models.PositiveIntegerField(null=True)
    # of a response that was given here; imported ones have none of these
    call = models.ForeignKey("judging.Call", null=True, on_delete=models.SET_NULL, related_name="responses")
    stop_reason = models.CharField(max_length=40, blank=True, default="", db_default="")  # as the provider said it
    seconds = models.FloatField(null=True)  # until the reply was there
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=300, blank=True)
    imported_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["prompt", "system", "attempt"],
                condition=models.Q(superseded_at__isnull=True),
                name="response_current_once",
            )
        ]
        indexes = [
            models.Index(fields=["system", "prompt", "attempt"], name="response_by_system"),
            # a system's current responses, to be counted and turned over without their texts
            models.Index(
                fields=["system", "id"],
                include=["prompt"],
                condition=models.Q(superseded_at__isnull=True),
                name="response_of_system",
            ),
            # most have no images, so that this is small; counts of those that have read nothing else
            models.Index(fields=["prompt", "system"], condition=~models.Q(images=[]), name="response_with_images"),
        ]

    def __str__(self) -> str:
        return f"response {self.pk}"

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)

    @property
    def content(self) -> ShownContent:
        """What pages show of it."""
        return shown_content(self.text, self.images, self.messages, picture_url)


class PromptVersion(models.Model):
    """One edited text. `name` is the shipped file that it replaces, or "worker" for one that asks for responses."""

    PAGE = "prompts/<slug:name>/"

    name = models.CharField(max_length=60)
    label = models.CharField(max_length=60)
    text = models.TextField()
    is_active = models.BooleanField(default=True)  # False: retired, offered for nothing new
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "label"], name="prompt_label_once"),
            models.UniqueConstraint(fields=["name", "sha256"], name="prompt_text_once"),
        ]

    def __str__(self) -> str:
        return self.label

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.name)


class ImportStatus(models.TextChoices):
    """An upload is checked first and stored only when its owner confirms."""

    CHECKING = "checking", "Being checked"
    CHECKED = "checked", "Ready to confirm"
    REFUSED = "refused", "Has errors"
    RUNNING = "running", "Importing"
    DONE = "done", "Imported"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    UNDONE = "undone", "Undone"


IN_WORK = (ImportStatus.CHECKING, ImportStatus.RUNNING)


class Upload(models.Model):
    """One upload with its dry-run findings."""

    PAGE = "imports/<int:upload_id>/"

    kind = models.CharField(max_length=40)  # judging.specs.upload_kinds.UploadKind
    file_name = models.CharField(max_length=300)
    bytes_name = models.CharField(max_length=300)  # of its `UploadPart`s, until it is imported
    byte_count = models.PositiveBigIntegerField()
    content_hash = models.CharField(max_length=64)
    options = models.JSONField(default=dict)  # benchmark name, system name, ...
    status = models.CharField(max_length=20, choices=ImportStatus)
    preview = models.JSONField(default=dict)
    problems = models.JSONField(default=list)
    result = models.JSONField(default=dict)
    launches = models.PositiveIntegerField(default=0)  # a worker stops when another launch follows its own
    benchmark = models.ForeignKey(Benchmark, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="upload_created")]

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_in_work(self) -> bool:
        return self.status in IN_WORK

    @property
    def can_be_confirmed(self) -> bool:
        """Whether a check found it good, and it is not stored or being stored."""
        return bool(self.preview) and self.status in (
            ImportStatus.CHECKED,
            ImportStatus.FAILED,
            ImportStatus.CANCELLED,
        )

    def get_absolute_url(self) -> str:
        return page_at(self.PAGE, self.pk)


class UploadPart(models.Model):
    """A part of the bytes of an upload. What is uploaded to one machine is checked and stored by workers on others."""

    name = models.CharField(max_length=300)  # of the whole
    number = models.PositiveIntegerField()
    data = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "number"], name="upload_part_once")]

    def __str__(self) -> str:
        return f"{self.name} part {self.number}"


class ImportBatch(models.Model):
    """The rows of one import before one short transaction takes them all into use. No page shows them."""

    touched_at = models.DateTimeField(db_default=Now())  # when rows were last added; long ago: its process died

    class Meta:
        indexes = [models.Index(fields=["touched_at"], name="import_batch_touched")]

    def __str__(self) -> str:
        return f"batch {self.pk}"


class BatchCase(models.Model):
    """A case to be taken into use: its prompt, its revision, and its place in the suite."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    position = models.PositiveIntegerField()
    weight = models.FloatField()
    case = models.ForeignKey(Case, null=True, on_delete=models.CASCADE)  # stored before; the fields below are empty
    key = models.CharField(max_length=200)
    prompt_hash = models.CharField(max_length=64)
    text = models.TextField()
    context = models.TextField(blank=True)
    context_role = models.CharField(max_length=20, blank=True)
    images = models.JSONField(default=list)
    messages = models.JSONField(default=list)
    is_numbered = models.BooleanField(default=False)
    content_hash = models.CharField(max_length=64)
    reference = models.TextField(blank=True)
    scenario = models.CharField(max_length=100, blank=True)
    question_type = models.CharField(max_length=100, blank=True)
    lang = models.CharField(max_length=40, blank=True)
    full_score = models.FloatField(null=True)
    null_score = models.FloatField(null=True)
    grading = models.JSONField(default=dict)
    handlers = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict)
    source_path = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.key


class BatchResponse(models.Model):
    """A response to be taken into use, or the new details of a stored one."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    amends = models.ForeignKey(Response, null=True, on_delete=models.CASCADE, related_name="+")
    case_key = models.CharField(max_length=200)
    prompt_hash = models.CharField(max_length=64)
    system = models.CharField(max_length=120)
    attempt = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64)
    images = models.JSONField(default=list)
    messages = models.JSONField(default=list)
    completion_tokens = models.PositiveIntegerField(null=True)
    stop_reason = models.CharField(max_length=40, blank=True, default="", db_default="")
    seconds = models.FloatField(null=True)
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.system}: {self.case_key}"


class BatchPicture(models.Model):
    """An image to be taken into use."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64)
    media_type = models.CharField(max_length=20)
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.digest[:12]


class BatchRubricItem(models.Model):
    """A tree of a rubric to be taken into use."""

    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE)
    rubric_hash = models.CharField(max_length=64)
    case_key = models.CharField(max_length=200, blank=True)
    position = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    tree = models.JSONField()
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return self.case_key or "whole benchmark"

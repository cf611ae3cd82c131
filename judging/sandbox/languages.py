"""The languages of unit tests, one declaration each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from judging.sandbox import endings
from judging.sandbox.endings import Ending

NODE_FOLDERS = "/usr/local/lib/node_modules:/usr/lib/node_modules:/usr/share/nodejs"
R_LIBRARIES = "/usr/lib/R/library /usr/lib/R/site-library /usr/local/lib/R/site-library"


@dataclass(frozen=True, slots=True)
class Library:
    """Something suites' programs use beside the bare language.

    A failed program that needs a library this machine lacks counts as not run, not as failed.
    """

    name: str
    mention: str  # regular expression over the program
    version: str  # shell; prints the version where it is installed, and nothing elsewhere
    install: str


@dataclass(frozen=True, slots=True)
class Language:
    """How to run one language's programs inside the sandbox."""

    name: str
    file: str  # below /src
    script: str  # shell; the working folder is /box, empty and writable; {ending} and {main} as the ending has them
    tools: tuple[str, ...]  # commands that must exist
    version: str  # shell command whose first number with a dot is the version
    install: str  # how to get it
    timeout_seconds: float = 10.0  # compile and run, as InfiBench had it
    aliases: tuple[str, ...] = ()
    main: str = ""  # {main} where the program keeps its own entry point
    memory_mib: int = 512
    scratch_mib: int = 64
    readable: tuple[str, ...] = ()  # glob patterns below /etc
    environment: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()  # files of judging/sandbox/inside to lay beside the program
    libraries: tuple[Library, ...] = ()
    ending: Ending | None = None  # None: the harness inside says it


def _python_library(name: str, mention: str, package: str) -> Library:
    # Not by importing it, which takes seconds for some.
    version = (
        f'import importlib.metadata as m, importlib.util as u; u.find_spec("{name}") and '
        f'print(next((found.version for found in m.distributions(name="{name}")), "installed"))'
    )
    return Library(name, mention, f"python3 -c '{version}'", f"Debian package {package}")


def _r_library(name: str, package: str) -> Library:
    mention = rf"\b(?:library|require)\(['\"]?{name}\b|\b{name}::"
    files = " ".join(f"{folder}/{name}/DESCRIPTION" for folder in R_LIBRARIES.split())
    return Library(name, mention, f"cat {files} | sed -n 's/^Version: *//p' | head -1", f"Debian package {package}")


PYTHON = Language(
    "python",
    "program.py",
    "exec python3 -s -B /src/run_program.py {token}",
    ("python3",),
    "python3 --version",
    "Debian package python3",
    aliases=("py", "python3"),
    inside=("run_program.py",),
    libraries=(
        _python_library("numpy", r"\b(?:numpy|np)\s*\.|from\s+numpy", "python3-numpy"),
        _python_library("pandas", r"\b(?:pandas|pd)\s*\.|from\s+pandas", "python3-pandas"),
        _python_library("requests", r"\brequests\s*\.|from\s+requests", "python3-requests"),
        _python_library("openpyxl", r"\bopenpyxl\s*\.|from\s+openpyxl|_excel\(", "python3-openpyxl"),
        _python_library("xlsxwriter", r"\bxlsxwriter\s*[.'\"]|from\s+xlsxwriter", "python3-xlsxwriter"),
        _python_library("pytz", r"import\s+pytz|from\s+pytz", "python3-tz"),
        _python_library("torch", r"import\s+torch|from\s+torch", "python3-torch"),
    ),
)
JAVASCRIPT = Language(
    "javascript",
    "test.js",
    "exec node /src/test.js",
    ("node",),
    "node --version",
    "Debian package nodejs",
    aliases=("js", "node"),
    environment={"NODE_PATH": NODE_FOLDERS},
    libraries=(
        Library(
            "jsdom",
            r"require\(['\"]jsdom|from\s+['\"]jsdom",
            "node -p 'require(\"jsdom/package.json\").version'",
            "npm package jsdom@17, installed below /usr",
        ),
    ),
    ending=endings.JAVASCRIPT,
)
TYPESCRIPT = Language(
    "typescript",
    "test.ts",
    "tsc /src/test.ts --outfile /box/test.js; exec node /box/test.js",  # type errors do not fail it: tsc still emits
    ("tsc", "node"),
    "tsc --version",
    "npm package typescript@4.7, installed below /usr, or Debian package node-typescript",
    timeout_seconds=20.0,
    aliases=("ts",),
    environment={"NODE_PATH": NODE_FOLDERS},
    ending=endings.TYPESCRIPT,
)
JAVA = Language(
    "java",
    "Main.java",
    "javac -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 -J-XX:-UsePerfData -encoding UTF-8 -d /box"
    " /src/Main.java{ending}"
    " && exec java -XX:+UseSerialGC -XX:-UsePerfData -XX:ActiveProcessorCount=2 -Xmx384m -cp /box {main}",
    ("javac", "java"),
    "javac -version",
    "Debian package default-jdk-headless",
    memory_mib=768,
    readable=("/etc/java-*",),
    main="Main",
    ending=endings.JAVA,
)
CPP = Language(
    "c++",
    "main.cpp",
    "g++ /src/main.cpp{ending} -o /box/main && exec /box/main",
    ("g++",),
    "g++ -dumpfullversion",
    "Debian package g++",
    timeout_seconds=60.0,
    aliases=("cpp", "c/c++", "c++/c", "cpp/c", "c/cpp"),
    memory_mib=1024,
    libraries=(
        Library(
            "boost",
            r"\bboost/",
            "sed -n 's/^#define BOOST_LIB_VERSION \"\\(.*\\)\"/\\1/p' /usr/include/boost/version.hpp",
            "Debian package libboost-dev",
        ),
    ),
    ending=endings.CPP,
)
C = Language(
    "c",
    "main.c",
    "gcc /src/main.c{ending} -o /box/main -lm && exec /box/main",
    ("gcc",),
    "gcc -dumpfullversion",
    "Debian package gcc",
    timeout_seconds=60.0,
    memory_mib=1024,
    ending=endings.C,
)
CSHARP = Language(
    "c#",
    "main.cs",
    "mcs -out:/box/main.exe /src/main.cs{ending} && exec mono /box/main.exe",
    ("mcs", "mono"),
    "mcs --version",
    "Debian packages mono-mcs and mono-runtime",
    timeout_seconds=20.0,
    aliases=("c-sharp", "csharp", "cs"),
    readable=("/etc/mono",),
    environment={"MONO_DISABLE_SHARED_AREA": "1"},
    ending=endings.CSHARP,
)
R = Language(
    "r",
    "main.r",
    "exec Rscript /src/main.r",
    ("Rscript",),
    "Rscript --version",
    "Debian package r-base-core",
    timeout_seconds=20.0,
    memory_mib=1024,
    readable=("/etc/R",),
    environment={"R_PROFILE_USER": "/src/profile.R"},
    inside=("profile.R",),
    libraries=(
        _r_library("dplyr", "r-cran-dplyr"),
        _r_library("stringr", "r-cran-stringr"),
        _r_library("data.table", "r-cran-data.table"),
        _r_library("tidyverse", "r-cran-tidyverse"),
    ),
    ending=endings.R,
)
GO = Language(
    "go",
    "main.go",
    "go build -o /box/main /src/main.go{ending} && exec /box/main",
    ("go",),
    "go version",
    "Debian package golang-go",
    timeout_seconds=20.0,
    aliases=("golang",),
    memory_mib=1024,
    scratch_mib=256,
    environment={
        "GOCACHE": "/tmp/go",  # noqa: S108 - inside
        "GOPATH": "/box/go",
        "GO111MODULE": "off",
        "GOMAXPROCS": "2",
        "CGO_ENABLED": "0",
    },
    ending=endings.GO,
)
RUST = Language(
    "rust",
    "main.rs",
    "rustc -o /box/main /src/main.rs && exec /box/main",
    ("rustc",),
    "rustc --version",
    "Debian package rustc",
    timeout_seconds=60.0,
    aliases=("rs",),
    memory_mib=1024,
    ending=endings.RUST,
)
RUBY = Language(
    "ruby",
    "main.rb",
    "exec ruby /src/main.rb",
    ("ruby",),
    "ruby --version",
    "Debian package ruby",
    aliases=("rb",),
    ending=endings.RUBY,
)
PHP = Language(
    "php",
    "main.php",
    "exec php -d display_errors=stderr /src/main.php",
    ("php",),
    "php --version",
    "Debian package php-cli",
    readable=("/etc/php",),
    ending=endings.PHP,
)
BASH = Language(
    "bash",
    "main.sh",
    "exec bash /src/main.sh",
    ("bash",),
    "bash --version",
    "Debian package bash",
    aliases=("sh", "shell"),
    ending=endings.BASH,
)
SQL = Language(
    "sql",
    "main.sql",
    "exec sqlite3 -batch -bail /box/main.db < /src/main.sql",
    ("sqlite3",),
    "sqlite3 --version",
    "Debian package sqlite3",
    aliases=("sqlite", "sqlite3"),
    ending=endings.SQL,
)

LANGUAGES = (PYTHON, JAVASCRIPT, TYPESCRIPT, JAVA, CPP, CSHARP, R, GO, C, RUST, RUBY, PHP, BASH, SQL)
_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}


def find_language(name: str) -> Language | None:
    """Return the declaration behind a name or alias in any case, or None."""
    return _BY_NAME.get(name.strip().lower())

"""Programs that leave before their tests have finished fail; honest ones that end in any usual way pass."""

from __future__ import annotations

import re

import pytest

from judging.sandbox import endings
from judging.sandbox.endings import Token, new_token
from judging.sandbox.runner import NO_END, SandboxRunner, available_languages, sandbox_status
from tests.judging.sandbox.programs import SandboxProgram

JAVA_TEST = """\
public class Main {
  public static void main(String[] a) { if (Answer.f() != 2) throw new RuntimeException(); }
}
"""
TOKEN = Token("0123", 9, "tag")

# name: (language, response, test). The response leaves with success before the test has run.
EARLY = {
    "c constructor": (
        "c",
        "#include <stdlib.h>\n__attribute__((constructor)) static void leave(void) { exit(0); }\n"
        "int f(void) { return 1; }",
        "#include <assert.h>\nint main(void) { assert(f() == 2); return 0; }",
    ),
    "c function": (
        "c",
        "#include <unistd.h>\nint f(void) { _exit(0); }",
        "#include <assert.h>\nint main(void) { assert(f() == 2); return 0; }",
    ),
    "c++ static object": (
        "c++",
        "#include <cstdlib>\nstruct Leave { Leave() { std::exit(0); } } leave;\nint f() { return 1; }",
        "#include <cassert>\nint main() { assert(f() == 2); }",
    ),
    "java static block": (
        "java",
        "class Answer { static { System.exit(0); } static int f() { return 1; } }",
        JAVA_TEST,
    ),
    "java halt": (
        "java",
        "class Answer { static int f() { Runtime.getRuntime().halt(0); return 1; } }",
        JAVA_TEST,
    ),
    "c# static constructor": (
        "c#",
        "class Answer { static Answer() { System.Environment.Exit(0); } public static int F() { return 1; } }",
        "class M { static void Main() { if (Answer.F() != 2) throw new System.Exception(); } }",
    ),
    "go init": (
        "go",
        'package main\nimport "os"\nfunc init() { os.Exit(0) }\nfunc f() int { return 1 }',
        'func main() { if f() != 2 { panic("no") } }',
    ),
    "rust function": (
        "rust",
        "fn f() -> i32 { std::process::exit(0) }",
        "fn main() { assert_eq!(f(), 2); }",
    ),
    "ruby __END__": ("ruby", "def f; 1; end\n__END__", "raise 'no' unless f == 2"),
    "ruby exit!": ("ruby", "def f; exit!(0); end", "raise 'no' unless f == 2"),
    "javascript later": (
        "javascript",
        "function f() { return 1 }\n(async () => { await null; process.exit(0) })()",
        "setTimeout(() => { if (f() !== 2) throw new Error('no') }, 20)",
    ),
    "typescript later": (
        "typescript",
        "declare var process: any;\nfunction f() { return 1 }\nPromise.resolve().then(() => process.exit(0))",
        "setTimeout(() => { if (f() !== 2) throw new Error('no') }, 20)",
    ),
    "php closed": ("php", "function f() { return 1; }\n?>", "if (f() !== 2) throw new Exception();"),
    "python frames": (
        "python",
        "import os, sys\nframe = sys._getframe(1)\n"
        "found = [v for v in frame.f_locals.values() if isinstance(v, str) and len(v) == 32]\n"
        "found += [w for w in open('/proc/self/cmdline').read().split('\\0') if len(w) == 32]\n"
        "for word in found: os.write(1, ('\\n' + word + '{\"passed\": true}\\n').encode())\nos._exit(0)",
        "assert False",
    ),
    "python patched": (
        "python",
        "import json, os\njson.dumps = lambda *a, **k: '{\"passed\": true}'\n"
        "leave = os._exit\nos._exit = lambda code: leave(0)",
        "assert False",
    ),
}
# name: (language, response, test). All is well, and the test ends in its own way.
HONEST = {
    "c returns": (
        "c",
        "int f(void) { return 2; }",
        "#include <assert.h>\nint main(void) { assert(f() == 2); return 0; }",
    ),
    "c exits": (
        "c",
        "int f(void) { return 2; }",
        "#include <stdlib.h>\nint main(void) { if (f() == 2) exit(EXIT_SUCCESS); return 1; }",
    ),
    "c++ with macros": (
        "c++",
        "#include <cstdlib>\n#define int long long\nint f() { return 2; }",
        "signed main() { if (f() == 2) exit(0); return 1; }",
    ),
    "java hidden main": (
        "java",
        "class Answer { static int f() { return 2; } }",
        "class Main { public static void main(String[] a) throws Exception {"
        " if (Answer.f() == 2) System.exit(0);\nthrow new Exception(); } }",
    ),
    "c# with words": (
        "c#",
        "class Answer { public static int F() { return 2; } }",
        "class M { static int Main(string[] words) { return Answer.F() == 2 ? 0 : 1; } }",
    ),
    "go": (
        "go",
        'package main\nimport "os"\nfunc f() int { return 2 }',
        "func main() { if f() == 2 { os.Exit(0) }; os.Exit(1) }",
    ),
    "rust result": (
        "rust",
        "fn f() -> i32 { 2 }",
        "fn main() -> Result<(), String> { if f() == 2 { Ok(()) } else { Err(String::new()) } }",
    ),
    "rust exits": ("rust", "fn f() -> i32 { 2 }", "fn main() { if f() == 2 { std::process::exit(0); } panic!(); }"),
    "ruby data": ("ruby", "def f; 2; end", "raise 'no' unless f == 2 && DATA.read == \"x\\n\"\n__END__\nx\n"),
    "javascript later": (
        "javascript",
        "async function f() { return 2 }",
        "f().then(n => { if (n !== 2) throw new Error('no'); process.exit(0) })",
    ),
    "javascript quiet": ("javascript", "console.log = () => {}", "require('assert').equal(1, 1)"),
    "javascript module": ("javascript", "const f = () => 2", "import('assert').then(a => a.equal(f(), 2))"),
    "typescript": ("typescript", "function f(): number { return 2 }", "if (f() !== 2) { throw new Error('no') }"),
    "php ends in html": (
        "php",
        "<?php function f() { return 2; }",
        "if (f() !== 2) throw new Exception(); ?>\n<p>done</p>",
    ),
    "bash exits": ("bash", "f() { echo 2; }", "[ $(f) = 2 ] || exit 1\nexit 0"),
    "r quits": ("r", "f <- function() 2", "stopifnot(f() == 2)\nquit('no')"),
    "sql": ("sql", "CREATE TABLE t (a); INSERT INTO t VALUES (2);", "SELECT a FROM t;\n.quit"),
}


@pytest.fixture
def runner() -> SandboxRunner:
    if not (status := sandbox_status()):
        pytest.skip(status.reason)
    return SandboxRunner()


def _program(language: str, response: str, test: str) -> SandboxProgram:
    if (status := available_languages()[language]).version is None:
        pytest.skip(status.reason)
    return SandboxProgram(language, f"{response}\n{test}", test_text=test)


@pytest.mark.parametrize("name", EARLY)
def test_run_fails_a_response_that_leaves_before_its_test(runner: SandboxRunner, name: str) -> None:
    program = _program(*EARLY[name])

    outcome = runner.run(program)

    assert (outcome.passed, outcome.not_run_reason) == (False, ""), outcome
    if not name.startswith(("python patched", "php")):
        assert outcome.result_text == NO_END


@pytest.mark.parametrize("name", HONEST)
def test_run_passes_a_test_that_ends_in_its_own_way(runner: SandboxRunner, name: str) -> None:
    outcome = runner.run(_program(*HONEST[name]))

    assert (outcome.passed, outcome.stderr) == (True, ""), outcome
    assert not re.search(r"[0-9a-f]{32}", outcome.stdout)


def test_added_to_puts_the_statement_before_a_closing_exit_of_the_test() -> None:
    source = endings.BASH.added_to("exit 0\ntrue\nexit 0\n", "true\nexit 0\n", TOKEN)

    assert source == "exit 0\ntrue\n(exit $?) && command cat /proc/self/fd/9\nexit 0\n"


def test_added_to_takes_only_the_last_line_for_the_test_where_it_is_not_known() -> None:
    source = endings.TYPESCRIPT.added_to("process.exit(0)\nrun()", "", TOKEN)

    assert source.startswith("process.exit(0)\nrun()\n;process.once(")


def test_added_to_renames_the_last_entry_point_only() -> None:
    source = endings.GO.added_to("/*\nfunc main() {}\n*/\nfunc main() {}\n", "func main() {}\n", TOKEN)

    assert source == "/*\nfunc main() {}\n*/\nfunc evalsiteMaintag() {}\n"


def test_new_token_is_another_each_time_and_readable_from_its_start() -> None:
    with new_token() as first, new_token() as second, open(first.descriptor, closefd=False) as file:
        assert file.read() == f"{first.text}\n"
        assert (first.text != second.text, first.tag != second.tag, len(first.text)) == (True, True, 32)

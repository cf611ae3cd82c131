"""How a program of each language says that it reached its end, which an early `exit(0)` does not.

At its end a program prints what it finds in a file that only this run has: the token. It stands in no source, argument
or variable before that. In the texts below {token} is the path of that file and {tag} a name that no response can know.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Token:
    """What one program has to print at its end, and the open file it finds that in."""

    text: str
    descriptor: int
    tag: str

    @property
    def path(self) -> str:
        """The file as a path inside the sandbox, which inherits the descriptor under its number."""
        return f"/proc/self/fd/{self.descriptor}"

    def fill(self, template: str) -> str:
        """Return the template with this token's path, descriptor and tag."""
        values = {"{token}": self.path, "{descriptor}": str(self.descriptor), "{tag}": self.tag}
        return re.sub("|".join(values), lambda match: values[match[0]], template)


@contextmanager
def new_token() -> Iterator[Token]:
    """Yield a token whose file exists in memory only, as long as the block lasts."""
    text = secrets.token_hex(16)
    descriptor = os.memfd_create("evalsite")
    try:
        os.write(descriptor, f"{text}\n".encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield Token(text, descriptor, secrets.token_hex(6))
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Ending:
    """What is added to a program so that it prints the token when it has run to its end.

    Scripts get a statement behind their last line. Compiled programs get a file beside them with the real entry point,
    which calls theirs and prints the token when that returns. An exit with success that the test itself asks for
    counts as an end, too.
    """

    statement: str = ""  # put on a line of its own after the program
    last_exit: str = r"(?!)"  # a closing line that the statement must stand before
    resumed: tuple[str, str] = (r"(?!)", "")  # where the test ends like this, the statement needs this before it
    data_from: str = r"(?!)"  # a line of the test behind which nothing is program any more
    exits: tuple[str, str] = (r"(?!)", "")  # an exit with success in the test, and what says so first
    entry: tuple[str, str] = (r"(?!)", "")  # the program's entry point, and its name beside the real one
    beside: Mapping[str, str] = field(default_factory=dict)  # file -> text
    build: str = ""  # {ending} of the language's script
    main: str = ""  # {main} of the language's script

    def added_to(self, source: str, test: str, token: Token) -> str:
        """Return the program with its ending; `test` is what closes `source` and did not come from the response.

        Where that is not known, only the last line counts as test.
        """
        if not test or not source.endswith(test):
            test = source.rstrip().rpartition("\n")[2] + source[len(source.rstrip()) :]
        head = source[: len(source) - len(test)]
        test = re.sub(self.exits[0], lambda _: token.fill(self.exits[1]), test)
        source = _last_replaced(self.entry, head + test, token)
        if not self.statement:
            return source
        statement = token.fill(self.statement)
        if re.search(self.resumed[0], test):
            statement = self.resumed[1] + statement
        data = [*re.finditer(self.data_from, test)]
        if data:
            position = len(source) - len(test) + data[-1].start()
            return f"{source[:position]}{statement}\n{source[position:]}"
        before, _, last = source.rstrip().rpartition("\n")
        if re.fullmatch(self.last_exit, last.strip()):
            return f"{before}{statement}\n{last}\n"
        return f"{source}{statement}\n"

    def files(self, token: Token) -> dict[str, str]:
        """Return the files to lay beside the program."""
        return {name: token.fill(text) for name, text in self.beside.items()}


def _last_replaced(change: tuple[str, str], text: str, token: Token) -> str:
    matches = [*re.finditer(change[0], text)]
    if not matches:
        return text
    start, end = matches[-1].span()
    return text[:start] + token.fill(change[1]) + text[end:]


_NODE_PRINTS = 'var f=require("fs");f.writeSync(1,f.readFileSync("{token}"))'
# The event loop runs dry before this is called; after process.exit() it is not called at all.
_NODE_EXITS = (
    r"process\.exit\(\s*0?\s*\)",
    f"(function(){{{_NODE_PRINTS};process.exit(0)}})()",
)
JAVASCRIPT = Ending(
    '\n;process.once("beforeExit",function(){(typeof require==="undefined"?import("fs"):Promise.resolve(require("fs")))'
    '.then(function(f){f.writeSync(1,f.readFileSync("{token}"))})});',
    exits=_NODE_EXITS,
)
TYPESCRIPT = Ending(f'\n;process.once("beforeExit",function(){{{_NODE_PRINTS}}});', exits=_NODE_EXITS)
RUBY = Ending(
    '\nSTDOUT.flush; STDOUT.syswrite(File.read("{token}"))',
    last_exit=r"exit(?:\(\s*(?:0|true)?\s*\)|\s+0)?",
    data_from=r"(?m)^__END__$",
)
PHP = Ending(
    '\necho file_get_contents("php://fd/{descriptor}");',
    last_exit=r"(?:exit|die)(?:\(\s*0?\s*\))?;",
    resumed=(r"\?>(?![\s\S]*<\?)", "\n<?php "),
)
BASH = Ending("\n(exit $?) && command cat {token}", last_exit=r"exit(?:\s+0)?")
SQL = Ending("\n;SELECT CAST(readfile('{token}') AS TEXT);", last_exit=r"\.(?:quit|exit)(?:\s+0)?")
R = Ending('\nbase::cat(base::readLines("{token}"), "\\n")', last_exit=r"(?:q|quit)\(.*\)")

_C_END = """\
#include <fcntl.h>
#include <unistd.h>
{extern}int __real_main(int, char **, char **);
void evalsite_{tag}(void) {
  char text[64];
  int file = open("{token}", O_RDONLY);
  long length = read(file, text, sizeof text);
  while (length > 0) length -= write(1, text, length);
}
{extern}int __wrap_main(int count, char **words, char **variables) {
  int code = __real_main(count, words, variables);
  if ((code & 255) == 0) evalsite_{tag}();
  return code;
}
"""
_C_EXITS = (
    r"\bexit\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)",
    "({ extern void evalsite_{tag}(void); evalsite_{tag}(); exit(0); })",
)
C = Ending(
    exits=_C_EXITS,
    beside={"end.c": _C_END.replace("{extern}", "extern ")},
    build=" -Wl,--wrap=main /src/end.c",
)
CPP = Ending(
    exits=_C_EXITS,
    beside={"end.cpp": _C_END.replace("{extern}", 'extern "C" ')},
    build=" -Wl,--wrap=main /src/end.cpp",
)
JAVA = Ending(
    exits=(r"\bSystem\.exit\(\s*0\s*\)\s*;", "{ Evalsite_{tag}.end(); System.exit(0); }"),
    beside={
        "End.java": """\
class Evalsite_{tag} {
  static void end() {
    try {
      System.out.flush();
      byte[] text = java.nio.file.Files.readAllBytes(java.nio.file.Paths.get("{token}"));
      new java.io.FileOutputStream(java.io.FileDescriptor.out).write(text);
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }
  public static void main(String[] words) throws Throwable {
    Main.main(words);
    end();
  }
}
"""
    },
    build=" /src/End.java",
    main="Evalsite_{tag}",
)
CSHARP = Ending(
    exits=(r"\bEnvironment\.Exit\(\s*0\s*\)\s*;", "{ Evalsite_{tag}.End(); System.Environment.Exit(0); }"),
    beside={
        "end.cs": """\
static class Evalsite_{tag} {
  public static void End() {
    System.Console.Out.Flush();
    byte[] text = System.IO.File.ReadAllBytes("{token}");
    System.Console.OpenStandardOutput().Write(text, 0, text.Length);
  }
  static System.Reflection.MethodInfo Entry() {
    var kinds = System.Reflection.BindingFlags.Static | System.Reflection.BindingFlags.Public
      | System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.DeclaredOnly;
    foreach (var type in typeof(Evalsite_{tag}).Assembly.GetTypes()) {
      var entry = type == typeof(Evalsite_{tag}) ? null : type.GetMethod("Main", kinds);
      if (entry != null) return entry;
    }
    throw new System.MissingMethodException("The program has no Main.");
  }
  static int Main(string[] words) {
    try {
      var entry = Entry();
      var given = entry.GetParameters().Length == 0 ? new object[0] : new object[] { words };
      object result = entry.Invoke(null, given);
      var task = result as System.Threading.Tasks.Task;
      if (task != null) task.Wait();
      int code = result is int ? (int)result : 0;
      if ((code & 255) == 0) End();
      return code;
    } catch (System.Reflection.TargetInvocationException error) {
      System.Console.Error.WriteLine("\\nUnhandled Exception:\\n" + error.InnerException);
      return 1;
    }
  }
}
"""
    },
    build=" /src/end.cs -main:Evalsite_{tag}",
)
GO = Ending(
    exits=(r"\bos\.Exit\(\s*0\s*\)", "func() { evalsite{tag}(); os.Exit(0) }()"),
    entry=(r"(?m)^func\s+main\s*\(\s*\)", "func evalsiteMain{tag}()"),
    beside={
        "end.go": """\
package main

import "os"

func evalsite{tag}() {
	text, err := os.ReadFile("{token}")
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(text)
}

func main() {
	evalsiteMain{tag}()
	evalsite{tag}()
}
"""
    },
    build=" /src/end.go",
)
RUST = Ending(
    """
fn evalsite_{tag}() {
    use std::io::Write;
    let text = std::fs::read("{token}").unwrap();
    std::io::stdout().write_all(&text).unwrap();
    std::io::stdout().flush().unwrap();
}
fn main() -> impl std::process::Termination {
    let ended = evalsite_main_{tag}();
    evalsite_{tag}();
    ended
}""",
    exits=(r"\b(?:std::)?process::exit\(\s*0\s*\)", "{ crate::evalsite_{tag}(); std::process::exit(0) }"),
    entry=(r"\bfn\s+main\s*\(\s*\)", "fn evalsite_main_{tag}()"),
)

"""Completion in the real shells: names chosen by other people are offered as data, and never evaluated."""
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time

import pytest

from harness import BIN, until

# Each of these would create a file "called" in the shell's directory if the shell evaluated it.
HOSTILE = [
    "$(touch called)", "`touch called`", "${IFS}$(touch${IFS}called)", "a;touch called", "a|touch called", "a&touch called",
    "'$(touch called)'", '"$(touch called)"', "a' 'b", 'a" "b', "two words", "  edges", "*", "?", "[a-z]", "{a,b}", "~root",
    "a:b", "a=b", "a@b", "!!", "#x", "back\\slash", "%s%n", "$HOME", "(touch called)", "<(touch called)", "été", "e\u0301",
    "\N{FAMILY}", "Plain",
]
# These are not offered, as their display differs from what is typed, or as they look like an option.
UNFIT = ["-rf", "--help", "\u202egpj.exe", "zero\u200bwidth"]
# The names of the attachments of one task.
ATTACHED = ["two words.txt", "$(touch called).txt", "it's; touch called.txt", "`touch called`", "plain.txt"]


@pytest.fixture
def desk(laptop, server):
    for number, name in enumerate(HOSTILE + UNFIT):
        laptop.write(f"{name}/Task {number}.md", "")
    # A title is only a description, and can contain anything.
    laptop.write("$(touch called) `touch called`.md", "")
    laptop.start()
    laptop.login(server, create=True)
    until(lambda: len(laptop.list()) == len(HOSTILE + UNFIT) + 1, laptop.daemon.tail)
    (laptop.home / "shell").mkdir()
    (laptop.home / "files").mkdir()
    for name in ATTACHED:
        (laptop.home / "files" / name).write_text("x")
    laptop.ferry("attach", f"Plain/Task {HOSTILE.index('Plain')}.md", *(laptop.home / "files" / name for name in ATTACHED),
                 "--no-wait", cwd=laptop.tasks)
    return laptop


def task(machine):
    """The id of the task with attachments, as it is offered."""
    return next(found["id"] for found in machine.list().values() if found.get("list") == "Plain")[:6]


def environment(machine, **more):
    return {**os.environ, **machine.environment, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "xterm",
            "INPUTRC": "/dev/null", "PS1": "ready> ", **more}


def run(machine, *arguments):
    result = subprocess.run(arguments, cwd=machine.home / "shell", env=environment(machine), capture_output=True, timeout=60)
    assert not list((machine.home / "shell").iterdir()), "a name was evaluated"
    assert result.returncode == 0, result
    return result.stdout.decode()


def offered(machine):
    """Returns the names that completion may offer: each list that can be typed, by its name in the tasks directory."""
    return sorted(["Inbox", *HOSTILE])


def test_bash_offers_every_name_quoted_and_evaluates_none(desk):
    script = r"""
    source <(ferry completion bash)
    for typed; do
        COMP_WORDS=(ferry move x "$typed") COMP_CWORD=3
        _ferry
        ((${#COMPREPLY[@]} == 0)) || printf '%s\0' "${COMPREPLY[@]}"
        printf '\1'
    done
    """
    def complete(*words):
        parts = run(desk, "bash", "--norc", "-c", script, "bash", *words)
        return [[reply for reply in part.split("\0") if reply] for part in parts.split("\1")[:-1]]

    (replies,) = complete("")
    # The inserted text means exactly the name, after a shell has parsed it.
    assert sorted(shlex.split(" ".join(replies))) == offered(desk)
    read = run(desk, "bash", "-c", "set -- " + " ".join(replies) + "; printf '%s\\0' \"$@\"")
    assert sorted(read.split("\0")[:-1]) == offered(desk)
    # An inserted word is completed again, and so is its beginning.
    assert all(reply in found for reply, found in zip(replies, complete(*replies)))
    assert all(reply in found for reply, found in zip(replies, complete(*[reply[:2] for reply in replies])))
    assert complete("Pl", '"Pl', "'$(t", "$(touch") == [["Plain"], ["Plain"], ["$(touch called)"], ["\\$\\(touch\\ called\\)"]]
    # The shell would evaluate it within double quotes.
    assert complete('"$(') == [[]]


def test_bash_completes_by_position_and_shows_titles_only_in_lists(desk):
    script = r"""
    source <(ferry completion bash)
    COMP_TYPE=$1; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _ferry
    printf '%s\n' "${COMPREPLY[@]}"
    """
    def complete(*words, kind=9):
        lines = run(desk, "bash", "--norc", "-c", script, "bash", str(kind), "ferry", *words).splitlines()
        return [line for line in lines if line]

    identifiers = complete("move", "")
    assert len(identifiers) == len(desk.list()) and all(word.isalnum() for word in identifiers)
    titled = complete("move", "", kind=63)
    assert len(titled) == len(identifiers) and any("($(touch called) `touch called`)" in line for line in titled)
    assert "Plain" in complete("add", "--list", "Pl") and "Plain" in complete("add", "--list", "=", "Pl")
    for command in ("get", "cat", "open", "detach"):
        attached = complete(command, task(desk), "")
        assert sorted(shlex.split(" ".join(attached))) == sorted(ATTACHED), command
    # The task may be named otherwise, and options may stand between.
    assert complete("get", f'"Plain/Task {HOSTILE.index("Plain")}"', "--json", "pl") == []
    assert complete("cat", f"Task\\ {HOSTILE.index('Plain')}", "--verbose", "pl") == ["plain.txt"]
    assert complete("get", "$(touch called)", "") == [] and complete("get", "`touch called`", "") == []
    assert "plain.txt  (1 B, here)" in complete("get", task(desk), "", kind=63)
    assert complete("undone", "") == [] and complete("deletes", "approve", "") == []
    desk.ferry("done", task(desk))
    assert len(complete("undone", "")) == 1
    desk.ferry("undone", complete("undone", "")[0])
    assert "--list" in complete("add", "--li") and complete("transfers", "pau") == ["pause"]
    assert complete("completion", "z") == ["zsh"] and "move" in complete("mo")


class Typed:
    """An interactive shell on its own terminal."""

    def __init__(self, machine, *arguments, **more):
        self.process, self.machine = None, machine
        child, self.terminal = pty.fork()
        if child == 0:
            os.chdir(machine.home / "shell")
            os.execvpe(arguments[0], arguments, environment(machine, **more))
        self.child, self.seen = child, b""

    def read(self, word, timeout=30):
        """Reads until the shell has shown the word since the last call, and returns what it has shown."""
        deadline = time.monotonic() + timeout
        while word.encode() not in self.seen:
            assert time.monotonic() < deadline, f"no {word!r} in {self.seen!r}"
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.seen += os.read(self.terminal, 65536)
        shown, self.seen = self.seen, b""
        return shown.decode(errors="replace")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def typed(desk, shell, setup):
    """Completes a name on a terminal like a user, and runs the resulting command."""
    shell.read("ready> ")
    shell.type(setup + "; print() { printf '<%s>' \"$@\" end; }; echo loa''ded\n")
    shell.read("loaded")
    shell.type("print move; ferry move x \t\t")
    # The last list, or one close to it.
    shell.read("Plain")
    shell.type("\x15" "ferry() { if [ \"$1\" = completion ]; then command ferry \"$@\"; else print \"$@\"; fi; }; echo rea''dy\n")
    shell.read("ready")
    for beginning, name in [("\\$\\(to", "$(touch called)"), ("Pl", "Plain"), ("two", "two words"), ("\\`", "`touch called`"),
                            ("été", "été"), ("back", "back\\slash"), ("\\~", "~root"), ("\\?", "?")]:
        shell.type(f"ferry move x {beginning}\t\n")
        assert f"<move><x><{name}><end>" in shell.read("<end>")
    shell.type(f"ferry get {task(desk)} two\t\n")
    assert f"<get><{task(desk)}><two words.txt><end>" in shell.read("<end>")
    shell.type(f"ferry get {task(desk)} \\$\t\n")
    assert f"<get><{task(desk)}><$(touch called).txt><end>" in shell.read("<end>")
    shell.type("ls | wc -l; echo do''ne\n")
    shell.read("done")
    assert not list((desk.home / "shell").iterdir()), "a name was evaluated"


def test_bash_on_a_terminal(desk):
    shell = Typed(desk, "bash", "--norc", "--noprofile", "-i")
    typed(desk, shell, "source <(ferry completion bash); bind 'set page-completions off'; bind 'set completion-query-items 0'")
    shell.close()


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_on_a_terminal(desk):
    shell = Typed(desk, "zsh", "-f", "-i", ZDOTDIR=str(desk.home))
    typed(desk, shell, "LISTMAX=10000; source <(ferry completion zsh)")
    # PATH is still set: zsh ties `path` to it.
    shell.type("ferry move x \t\x15 command -v ls; echo do''ne\n")
    assert "/ls" in shell.read("done")
    shell.close()


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_every_name_and_evaluates_none(desk):
    def complete(line):
        lines = run(desk, "fish", "--no-config", "-c", "ferry completion fish | source; complete -C $argv[1]", line).splitlines()
        return [candidate.split("\t") for candidate in lines]

    names = [candidate[0] for candidate in complete("ferry move x ")]
    assert sorted(names) == offered(desk)
    titled = complete("ferry move ")
    assert len(titled) == len(desk.list()) and "$(touch called) `touch called`" in [words[1] for words in titled]
    assert sorted(words[0] for words in complete(f"ferry get {task(desk)} ")) == sorted(ATTACHED)
    assert complete(f"ferry get --json 'Task {HOSTILE.index('Plain')}' pl")[0] == ["plain.txt", "1 B, here"]
    assert complete("ferry get '$(touch called)' ") in ([], [[""]])
    assert complete("ferry add --list Pl")[0][0] == "Plain" and complete("ferry transfers pau")[0][0] == "pause"
    assert any(words[0] == "--list" for words in complete("ferry add --li"))
    assert [words[0] for words in complete("ferry completion z")] == ["zsh"]


def declared(help_text):
    """The commands and the options that a help text shows."""
    options = set(re.findall(r"^(?:  -\w, |      )(--[\w-]+)", help_text, re.M))
    groups = re.split(r"\n\n(?=[A-Z][\w ]*:\n)", help_text)[1:]
    commands = {word for group in groups if not group.startswith(("Options", "Arguments"))
                for word in re.findall(r"^  (\w[\w-]*)  ", group, re.M)}
    return commands, options


def every_command(machine):
    """Each command's words with its subcommands and options, as its help says."""
    found, left = {}, [()]
    while left:
        words = left.pop()
        commands, options = declared(machine.ferry(*words, "--help"))
        found[words] = (commands, options)
        left += [(*words, command) for command in commands]
    return found


def test_every_command_and_option_is_offered_in_each_shell(laptop):
    (laptop.home / "shell").mkdir()
    commands = every_command(laptop)
    assert len(commands) > 60 and ("transfers", "pause") in commands
    lines = ["ferry " + " ".join([*words, ""]) for words in commands]
    script = r"""
    source <(ferry completion bash)
    for typed; do
        read -ra COMP_WORDS <<<"$typed"
        for word in '' --; do
            COMP_WORDS+=("$word") COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _ferry
            printf '%s ' "${COMPREPLY[@]}"
            unset 'COMP_WORDS[-1]'
        done
        echo
    done
    """
    offers = {"bash": run(laptop, "bash", "--norc", "-c", script, "bash", *lines).splitlines()}
    if shutil.which("fish"):
        script = r"""
        ferry completion fish | source
        for line in $argv
            for candidate in (complete -C $line) (complete -C "$line--")
                echo -n (string split -f 1 \t -- $candidate)' '
            end
            echo
        end
        """
        offers["fish"] = run(laptop, "fish", "--no-config", "-c", script, *lines).splitlines()
    for shell, told in offers.items():
        assert len(told) == len(commands), shell
        for (words, (subcommands, options)), offered_words in zip(commands.items(), told):
            missing = (subcommands | options) - set(offered_words.split())
            assert not missing, f"{shell} does not offer {missing} after {words}: {offered_words}"

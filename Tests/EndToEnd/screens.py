"""Screens of `ferry` as a terminal emulator shows them, compared with those that are kept in Screens/.

FERRY_SCREENS=record records them again; look at each before it is committed.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from harness import BIN, until

SCREENS = Path(__file__).parent / "Screens"
END = "<ended "


class Screen:
    """A terminal of tmux's with a machine's `ferry` in it."""

    def __init__(self, machine, columns, command, rows=40, **environment):
        self.machine, self.columns = machine, columns
        home = machine.home / "tmux"
        home.mkdir(exist_ok=True)
        self.socket = home / f"{columns}-{len(list(home.iterdir()))}"
        path = f"{BIN.resolve()}:{os.environ['PATH']}"
        settings = {**machine.environment, "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "", **environment}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"{command}; printf '{END}%s>' $?; exec sleep 600", environment={**os.environ, **settings})

    def tmux(self, *arguments, environment=None):
        return subprocess.run(["tmux", "-u", "-S", str(self.socket), *arguments], env=environment, check=True, text=True,
                              capture_output=True, cwd=self.machine.home).stdout

    def lines(self):
        """The rows of the screen, without spaces at their ends and empty rows below."""
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def until(self, text, timeout=20):
        """Waits until the text is on the screen, and returns its rows above the end's mark."""
        until(lambda: text in "\n".join(self.lines()), lambda: "\n".join([f"no {text!r} in", *self.lines()]), timeout, 0.02)
        lines = self.lines()
        if text == END:
            lines[-1] = lines[-1].replace(END, "exit status ").rstrip(">")
        return [line.rstrip() for line in lines]

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        self.tmux("kill-server")
        self.socket.unlink(missing_ok=True)


class Masks:
    """Replaces what differs from run to run by text of the same width."""

    def __init__(self, root, *machines):
        self.ids = set()
        for machine in machines:
            self.learn(machine)
        self.rules = [
            (re.escape(str(root)), lambda found: "/tmp/ferry-" + "x" * (len(found[0]) - 11)),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-28T12:00:00Z"),
            (r"(?<=\^\[\[2m)\w{4}(?=\^)", "iiii"),
            (r"(kept until )\d{4}-\d\d-\d\d", r"\g<1>2026-12-28"),
            (r"(127\.0\.0\.1|localhost):(\d+)", lambda found: f"{found[1]}:" + "7" * len(found[2])),
            (r"\b\d+(\.\d)? (ms|s|min)\b(?! for)", "1 s"),
            (r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])", lambda found: re.sub(r"\d", "0", found[0])),
        ]

    def learn(self, machine):
        """Remembers every identifier that the machine's daemon tells."""
        for document in (["list", "--all"], ["trash"], ["conflicts"], ["transfers"], ["devices"], ["deletes"], ["lists"], ["whoami"]):
            told = machine.ferry(*document, "--json", check=False).stdout
            self.ids.update(re.findall(r'"(?:id|userId|handle|taskId|replica)":"([0-9A-Za-z-]{8,})"', told))

    def __call__(self, line):
        for pattern, replacement in self.rules:
            line = re.sub(pattern, replacement, line)
        for identifier in self.ids:
            for length in range(len(identifier), 3, -1):
                line = re.sub(rf"(?<![0-9A-Za-z]){re.escape(identifier[:length])}(?![0-9A-Za-z-])", "i" * length, line)
        return line


def check(name, lines, masks):
    """Compares the rows with those that are kept under the name."""
    told = "".join(masks(line).rstrip() + "\n" for line in lines)
    path = SCREENS / f"{name}.txt"
    if os.environ.get("FERRY_SCREENS") == "record":
        SCREENS.mkdir(exist_ok=True)
        path.write_text(told)
    kept = path.read_text() if path.exists() else ""
    assert told == kept, f"{name} is now\n{told}and was\n{kept}"


def available():
    return shutil.which("tmux") is not None

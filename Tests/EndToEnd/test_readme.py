"""Types the first session of the README on the terminals of two machines."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from harness import BIN, PASSWORD, Machine, until

README = Path(__file__).parents[2] / "README.md"
# Commands that change nothing are repeated until the other machine's change has arrived.
LOOKING = ("ferry list", "ferry show", "ferry trash", "tail", "ls", "cat")


def session():
    """Returns the commands of the section as (machine, command, expected lines)."""
    section = README.read_text().partition("## A first session")[2].partition("\n## ")[0]
    typed = []
    for line in (line[4:] for line in section.splitlines() if not line.strip() or line.startswith("    ")):
        prompt = re.match(r"(laptop|desk|)\$ (.*)", line)
        if prompt:
            typed.append((prompt[1], prompt[2], []))
        elif typed:
            typed[-1][2].append(line)
    return [(machine, command, "\n".join(lines).strip("\n")) for machine, command, lines in typed]


def pattern(expected):
    """Replaces the parts that differ between runs: ids, times, the address of the server."""
    text = re.escape(expected)
    for shape in (r"[A-Za-z0-9]{28}", r"[A-Za-z0-9]{20}"):
        text = re.sub(rf"\b{shape}\b", lambda _: shape, text)
    text = re.sub(r"\b(3xrj|Eg6E)(\w{4})?\b", lambda id: r"\w{%d}" % len(id[0]), text)
    text = re.sub(r"\d{4}\\-\d\d\\-\d\d(T\d\d:\d\d:\d\dZ)?", lambda date: r"\d{4}-\d\d-\d\d" + (r"T\d\d:\d\d:\d\dZ" if date[1] else ""), text)
    # A change may not have reached the server when its task is printed.
    text = re.sub(r"(?m)^(.*📎1)$", r"\1(  ↑ pending)?", text)
    return re.sub(r"127\\.0\\.0\\.1:74\d\d", lambda _: r"127\.0\.0\.1:\d+", text)


def type_on(machine, command, answers=""):
    """Runs a command in the tasks directory on a terminal of 100 columns, and returns the screen at the end."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environment = {**os.environ, **machine.environment, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=machine.tasks, env=environment, stdin=terminal, stdout=terminal, stderr=terminal,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(terminal)
    printed, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([main], [], [], 1)[0]:
            try:
                part = os.read(main, 65536)
            except OSError:
                break  # The last program on the terminal has ended.
            printed += part
            if answers and printed.rstrip().endswith(b":"):
                os.write(main, answers.encode())
                printed = b""
    # The end of the terminal would end a program that is about to exit.
    status = process.wait(10)
    os.close(main)
    assert status == 0, (command, printed)
    return screen_of(printed.decode()).strip("\n")


def screen_of(printed):
    """Returns what a terminal shows after it got a text whose control codes move the cursor or erase."""
    rows, row, column = [[]], 0, 0
    for number, code, character in re.findall(r"\x1b\[(\d*)([AGJK])|(?:\x1b\[[\d;]*m)?([^\x1b])", printed):
        if character == "\n":
            row, column = row + 1, 0
            rows += [[]] * (row == len(rows))
        elif character == "\r":
            column = 0
        elif character:
            rows[row] = rows[row][:column] + [" "] * (column - len(rows[row])) + [character] + rows[row][column + 1:]
            column += 1
        elif code == "A":
            row = max(0, row - int(number or 1))
        elif code == "G":
            column = int(number or 1) - 1
        else:
            rows[row] = rows[row][:column]
            rows = rows[:row + 1] if code == "J" else rows
    return "\n".join("".join(cells).rstrip() for cells in rows)


def test_the_first_session_runs_as_written(root, server, laptop):
    desk = Machine(root, "desk")
    machines = {"laptop": laptop, "desk": desk}
    address = f"127.0.0.1:{server.url.rpartition(':')[2]}"
    (laptop.home / "receipt.csv").write_bytes(b"milk;2.40\n" * 5939)
    (server_line, daemon_line), typed = session()[:2], session()[2:]
    assert server_line[1] == "ferry-server run --data ./ferry-data" and daemon_line[1] == "ferryd run"
    try:
        for machine in machines.values():
            machine.start()
        for name, command, expected in typed:
            machine = machines[name]
            real = command.replace("127.0.0.1:7441", address)
            answers = f"{PASSWORD}\n" if command.startswith("ferry login") else ""

            def seen():
                screen = type_on(machine, real, answers)
                return screen, re.fullmatch(pattern(expected), screen)

            if command.startswith(LOOKING):
                until(lambda: seen()[1], lambda: f"{name}$ {command}\n{expected}\n--- is\n{seen()[0]}", timeout=30, step=0.1)
            else:
                # What the command changed may reach the server before or after this machine shows it.
                screen = type_on(machine, real, answers).removesuffix("  ↑ pending")
                assert re.fullmatch(pattern(expected), screen), f"{name}$ {command}\n{expected}\n--- is\n{screen}"
    finally:
        desk.stop()

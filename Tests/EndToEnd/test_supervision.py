"""The notifications that systemd receives, and the socket that it passes."""
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from harness import BIN, Program, until


class Notifications:
    """The receiving end of sd_notify(3)."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            self.lines += self.socket.recv(65536).decode().splitlines()


def test_systemd_receives_ready_status_watchdog_and_stopping(root, server, laptop):
    told = Notifications(root / "notify")
    laptop.daemon.environment |= {"NOTIFY_SOCKET": str(told.path), "WATCHDOG_USEC": "500000"}
    laptop.start()
    until(lambda: "READY=1" in told.lines, lambda: told.lines)
    until(lambda: any(line.startswith("STATUS=needs-sign-in") for line in told.lines), lambda: told.lines)
    laptop.login(server, create=True)
    laptop.write("A.md", "")
    laptop.sync()
    until(lambda: "STATUS=running: 1 task, all synced" in told.lines, lambda: told.lines)
    beats = told.lines.count("WATCHDOG=1")
    until(lambda: told.lines.count("WATCHDOG=1") >= beats + 3, lambda: told.lines, timeout=5)
    server.stop()
    until(lambda: any(line.startswith("STATUS=offline") for line in told.lines), lambda: told.lines)
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "RELOADING=1" in told.lines and told.lines.count("READY=1") == 2, lambda: told.lines)
    assert laptop.stop() == 0
    until(lambda: "STOPPING=1" in told.lines, lambda: told.lines)


def test_a_socket_that_systemd_passes_is_served(root, laptop):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(root / "activated.sock"))
    listener.listen()
    # exec keeps the process id, which LISTEN_PID must contain.
    code = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True);"
            "os.environ |= {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': '1', 'LISTEN_FDNAMES': 'control'};"
            "os.execv(sys.argv[2], sys.argv[2:])")
    log = root / "activated.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            ["python3", "-c", code, str(listener.fileno()), str(BIN / "ferryd"), "--tasks", str(laptop.tasks), "--state",
             str(laptop.state), "--socket", str(laptop.socket)],
            pass_fds=[listener.fileno()], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        until(lambda: "ready " in log.read_text(), log.read_text)
        assert log.read_text().splitlines()[0] == f"ready {root / 'activated.sock'}"
        laptop.socket = root / "activated.sock"
        laptop.environment["FERRY_SOCKET"] = str(laptop.socket)
        assert laptop.status()["state"] == "needs-sign-in"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    # systemd removes the socket.
    assert (root / "activated.sock").exists()
    listener.close()


def test_closed_standard_descriptors_are_never_given_to_files_or_sockets(root, laptop):
    laptop.start()
    programs = [
        Program("ferry", ["status", "--watch"], root / "watch.log", laptop.environment),
        Program("ferryd", ["run", "--tasks", root / "Tasks", "--state", root / "state", "--socket", root / "other.sock"],
                root / "other.log", laptop.environment),
        Program("ferry-server", ["run", "--data", root / "data", "--documents", "127.0.0.1:0", "--http", "127.0.0.1:0"],
                root / "server.log"),
    ]
    (root / "Tasks").mkdir()
    for program in programs:
        # `status --watch` ends as soon as it cannot print, so it keeps its standard output.
        closed = {0: "<&-", 1: ">&-", 2: "2>&-"} if program.name != "ferry" else {0: "<&-", 2: "2>&-"}
        program.start(wait=False, prefix=("sh", "-c", f'exec "$0" "$@" {" ".join(closed.values())}'))
        descriptors = Path(f"/proc/{program.process.pid}/fd")
        # The runtime's own descriptor, one of a file or one of a socket exists as soon as there are four.
        until(lambda: (descriptors / "3").exists() and os.readlink(descriptors.parent / "exe").endswith(program.name),
              lambda: f"{program.name} to open a descriptor: {list(descriptors.iterdir())}")
        assert {os.readlink(descriptors / str(number)) for number in closed} == {"/dev/null"}, program.name
        program.kill()


BLOCKING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_programs_end_at_a_signal_that_their_parent_blocked(root, server, laptop):
    """libdispatch blocks all signals in its worker threads, and the programs that they start inherit that."""
    server.stop()
    watch = Program("ferry", ["status", "--watch"], root / "watch.log", laptop.environment, ready="")
    for program in [server, laptop.daemon, watch]:
        program.start(prefix=(sys.executable, "-c", BLOCKING))
    for program in [watch, laptop.daemon, server]:
        program.stop()

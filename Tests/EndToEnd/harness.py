"""Drives Ferry's own programs for tests: a server and machines, each with its own home directory, on loopback.

FERRY_BIN names the directory with the three programs.
"""
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(os.environ.get("FERRY_BIN", "."))
PASSWORD = "correct horse battery"


class Timeout(AssertionError):
    pass


def until(condition, what, timeout=20.0, step=0.005):
    """Polls until the condition is true, and returns its value. After the timeout, fails with `what` was expected."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout(f"waited {timeout} s for {what() if callable(what) else what}")
        time.sleep(step)


# Below the ports that the kernel gives to connections; each process of a run side by side has its own thousand.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
CANDIDATES = itertools.islice(itertools.cycle(range(20_000 + WORKER * 1000, 21_000 + WORKER * 1000)), os.getpid() % 1000, None)


def free_ports(count):
    """Returns ports of loopback that are unused at the moment, all of them different."""
    ports = []
    while len(ports) < count:
        port = next(CANDIDATES)
        with socket.socket() as probe:
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
    return ports


def built_library(root, name):
    """Builds one of the C sources in this directory as a library to be preloaded."""
    library = root / f"{name}.so"
    source = Path(__file__).parent / f"{name}.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


class Clock:
    """The clock of the programs that run with `environment`. It can be set while they run."""

    def __init__(self, library, file):
        self.file = file
        self.set(0)
        self.environment = {"LD_PRELOAD": str(library), "FERRY_CLOCK": str(file)}

    def set(self, seconds):
        """Sets the clock to this number of seconds ahead of the true one."""
        with open(self.file, "r+b" if self.file.exists() else "wb") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))


def run_daemon(*arguments, **environment):
    """Runs `ferryd` until it ends, and returns the result: for runs that end at once."""
    return subprocess.run([str(BIN / "ferryd"), *map(str, arguments)], capture_output=True, text=True, timeout=30,
                          env={**os.environ, **environment}, stdin=subprocess.DEVNULL)


class Program:
    """A program in the background, with its log, its pid and its exit status."""

    def __init__(self, name, arguments, log, environment=None, ready="ready "):
        self.name, self.arguments, self.log, self.environment, self.ready_word = name, arguments, log, environment, ready
        self.process = None

    def start(self, wait=True, prefix=()):
        offset = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                [*prefix, str(BIN / self.name), *map(str, self.arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={**os.environ, **(self.environment or {})}, start_new_session=True)
        if not wait:
            return None

        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
            for line in self.log.read_bytes()[offset:].decode(errors="replace").splitlines():
                if line.startswith(self.ready_word):
                    return line
            return None

        return until(ready, lambda: f"{self.name} to be ready; its log:\n{self.tail()}", timeout=60)

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.running:
            self.process.send_signal(number)

    def kill(self):
        """Sends kill -9, and waits for the end."""
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait()

    def stop(self, timeout=15):
        """Sends SIGTERM, and returns the exit status."""
        if not self.process:
            return None
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            threads = self.threads()
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {timeout} s:\n{self.tail()}\n{threads}") from None

    def threads(self):
        """Describes each thread: its state and place in the kernel, and its stack if a debugger is installed."""
        told = []
        for thread in sorted(Path(f"/proc/{self.process.pid}/task").glob("*")):
            try:
                words = [(thread / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
                state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue  # The thread has ended since it was listed.
            told.append(f"thread {thread.name} {state} {' '.join(words)}")
        if shutil.which("gdb"):
            try:
                told.append(subprocess.run(
                    ["gdb", "-p", str(self.process.pid), "-batch", "-ex", "thread apply all backtrace 25"], capture_output=True,
                    text=True, timeout=60).stdout)
            except subprocess.TimeoutExpired:
                told.append("the debugger did not come back")
        return "\n".join(told)

    def tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


class Server(Program):
    """A `ferry-server` on free ports of loopback. The ports stay the same after a restart."""

    def __init__(self, root, *options):
        self.data = root / "server"
        super().__init__("ferry-server", [], root / "server.log")
        self.options = list(options)
        self.documents = self.url = None

    def start(self, wait=True, prefix=()):
        documents = self.documents or "127.0.0.1:0"
        http = self.url.split("//", 1)[1] if self.url else "127.0.0.1:0"
        self.arguments = ["run", "--data", self.data, "--documents", documents, "--http", http, *self.options]
        line = super().start(wait, prefix)
        if line:
            words = line.split()
            self.url, self.documents = words[1], words[3]
        return line


class Machine:
    """One of the user's machines: a home directory, a tasks directory, `ferryd` and `ferry`."""

    def __init__(self, root, name, *options):
        self.name = name
        self.home = root / name
        self.tasks = self.home / "Tasks"
        self.state = self.home / "state"
        self.run_dir = self.home / "run"
        for directory in (self.tasks, self.run_dir):
            directory.mkdir(parents=True, exist_ok=True)
        self.run_dir.chmod(0o700)
        self.socket = self.run_dir / "ferryd.sock"
        self.environment = {
            "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.run_dir), "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "FERRY_SOCKET": str(self.socket), "NO_COLOR": "1"}
        self.daemon = Program(
            "ferryd", ["run", "--tasks", self.tasks, "--state", self.state, "--socket", self.socket, "--device-name", name, *options],
            self.home / "ferryd.log", self.environment)

    def start(self, **options):
        return self.daemon.start(**options)

    def stop(self):
        return self.daemon.stop()

    def login(self, server, email="me@example.org", create=False):
        return self.ferry("login", server.url, "--email", email, "--password-stdin", *(["--create"] if create else []),
                          input=PASSWORD)

    def ferry(self, *arguments, input=None, check=True, timeout=60, cwd=None):
        """Runs `ferry` and returns its standard output; with check=False the whole result."""
        try:
            result = subprocess.run([str(BIN / "ferry"), *map(str, arguments)], input=input, text=True, capture_output=True,
                                    env={**os.environ, **self.environment}, timeout=timeout, cwd=cwd)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name}: ferry {' '.join(map(str, arguments))} did not come back within {timeout} s:\n"
                                 f"{self.daemon.tail()}\n{self.daemon.threads()}") from None
        if not check:
            return result
        assert result.returncode == 0, (
            f"{self.name}: ferry {' '.join(map(str, arguments))} ended with {result.returncode}: {result.stderr}{result.stdout}"
            f"\n{self.daemon.tail()}")
        return result.stdout

    def json(self, *arguments, **options):
        return json.loads(self.ferry(*arguments, "--json", **options))

    def list(self, *arguments):
        """Returns all tasks by title."""
        return {task["title"]: task for task in self.json("list", "--all", *arguments)["tasks"]}

    def status(self):
        return self.json("status")

    def sync(self, timeout=30):
        return self.ferry("sync", "--wait", "--timeout", timeout)

    def read(self, name):
        try:
            return (self.tasks / name).read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name, text):
        path = self.tasks / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def files(self):
        """Returns the bytes of each file of the user by path."""
        files = {}
        for path in sorted(self.tasks.rglob("*")):
            try:
                if path.is_file() and ".ferry" not in path.relative_to(self.tasks).parts:
                    files[str(path.relative_to(self.tasks))] = path.read_bytes()
            except OSError:
                continue  # The file has gone since it was listed.
        return files


def agree(*machines, timeout=30):
    """Waits until all machines have the same files and the same list, and nothing is pending."""

    def same():
        first, *others = [machine.files() for machine in machines]
        return all(first == other for other in others)

    def difference():
        first, *others = [machine.files() for machine in machines]
        told = []
        for machine, other in zip(machines[1:], others):
            for name in sorted(first.keys() | other.keys()):
                if first.get(name) != other.get(name):
                    told.append(f"{name}: {machines[0].name} {first.get(name)!r:.200} / {machine.name} {other.get(name)!r:.200}")
        logs = "\n".join(f"--- {machine.name}\n{machine.daemon.tail(15)}" for machine in machines)
        return "the same files:\n" + "\n".join(told[:20]) + "\n" + logs

    for machine in machines:
        machine.sync()
    until(same, difference, timeout=timeout, step=0.05)
    lists = [sorted((t["title"], t.get("list", ""), t.get("completed", False)) for t in machine.list().values())
             for machine in machines]
    assert all(tasks == lists[0] for tasks in lists), "the files agree but the lists do not"

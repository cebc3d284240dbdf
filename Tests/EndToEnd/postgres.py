"""A private PostgreSQL server on a Unix socket, for the tests of `ferry-server --database`."""
import os
import shutil
import signal
import subprocess
from pathlib import Path

from harness import until


class Postgres:
    """A cluster in a directory. It survives `kill`, after which `start` recovers it."""

    def __init__(self, root, primary=None):
        """Creates an empty cluster, or a standby of another one."""
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        # PostgreSQL refuses to run as root.
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        if self.user:
            for directory in [self.root, *self.root.parents]:
                if directory.stat().st_mode & 0o001 == 0:
                    directory.chmod(directory.stat().st_mode | 0o011)
            shutil.chown(self.root, "postgres")
        versions = sorted(Path("/usr/lib/postgresql").iterdir(), key=lambda path: int(path.name))
        self.binaries = versions[-1] / "bin"
        self.process = None
        if primary:
            self._run("pg_basebackup", "-D", self.root / "data", "-h", primary.root, "-U", "ferry", "-R", "-c", "fast")
        else:
            self._run("initdb", "-D", self.root / "data", "-U", "ferry", "-A", "trust", "-E", "UTF8", "--locale=C")

    @property
    def url(self):
        return f"postgres://ferry@/postgres?host={self.root}"

    def _run(self, program, *arguments):
        subprocess.run([*self.user, str(self.binaries / program), *map(str, arguments)], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def start(self):
        options = ["listen_addresses=", f"unix_socket_directories={self.root}", "max_connections=400"]
        with open(self.root / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.user, str(self.binaries / "postgres"), "-D", str(self.root / "data"),
                 *[word for option in options for word in ("-c", option)]],
                cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ready = [str(self.binaries / "pg_isready"), "-q", "-h", str(self.root), "-U", "ferry"]
        until(lambda: subprocess.run(ready).returncode == 0, "PostgreSQL to accept connections", timeout=60)
        return self

    def sql(self, statement):
        """Runs a statement, and returns its rows, one a line."""
        return subprocess.run([str(self.binaries / "psql"), "-h", str(self.root), "-U", "ferry", "-d", "postgres", "-Atqc", statement],
                              check=True, capture_output=True, text=True).stdout

    def wait_for_standby(self):
        """From now on no commit is acknowledged before a standby has it."""
        self.sql("ALTER SYSTEM SET synchronous_standby_names='*'")
        self.sql("SELECT pg_reload_conf()")
        until(lambda: self.sql("SELECT sync_state FROM pg_stat_replication") == "sync\n", "a synchronous standby")

    def promote(self):
        """Makes a standby the primary."""
        self._run("pg_ctl", "promote", "-w", "-D", self.root / "data")

    def kill(self):
        """Ends the server at once, as a crash does. The processes of connections end with it."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

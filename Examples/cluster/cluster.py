#!/usr/bin/env python3
"""Runs a whole cluster on this machine: three PostgreSQL servers under Patroni and etcd, two ferry-servers that use them, a store for
attachments, and nginx, at which clients reach both servers.

    Examples/cluster/cluster.py start DIR     starts everything; all data, logs and process ids are in DIR
    Examples/cluster/cluster.py demo DIR      two machines sync through it while the leader of the databases is killed
    Examples/cluster/cluster.py status DIR    what runs, and which database leads
    Examples/cluster/cluster.py stop DIR      stops everything; the data stays, and `start` continues with it

The programs come from Debian's packages postgresql, patroni, etcd-server and nginx-light; FERRY_BIN names the directory with Ferry's
own. Each part has an address of its own on loopback. As root, PostgreSQL runs as the user postgres.
"""
import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

NODES, SERVERS = "abc", "12"
BUCKET, PASSWORD = "ferry", "correct horse battery"


class Failure(Exception):
    pass


def until(condition, what, timeout=60.0, step=0.1):
    """Polls until the condition is true, and returns its value."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"waited {timeout:.0f} s for {what() if callable(what) else what}")
        time.sleep(step)
    return value


def start_time(pid):
    """Returns when a process was started, which tells it from a later one with the same id; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


class Program:
    """A program in the background. Its process id is in a file, so that another run can stop it."""

    def __init__(self, root, name, command, *, user=(), prefix=(), environment=None):
        self.name, self.command, self.environment = name, [*prefix, *user, *map(str, command)], environment
        self.log, self.file = root / "log" / f"{name}.log", root / "run" / f"{name}.pid"
        self.child = None

    @property
    def pid(self):
        """The id of the process; None if it does not run."""
        try:
            pid, started = self.file.read_text().split()
        except (OSError, ValueError):
            return None
        if self.child and self.child.pid == int(pid):
            self.child.poll()
        return int(pid) if start_time(pid) == started else None

    def start(self):
        if self.pid:
            return
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                env={**os.environ, "LC_ALL": "C.UTF-8", **(self.environment or {})})
        self.file.write_text(f"{self.child.pid} {start_time(self.child.pid)}")

    def send(self, number):
        if pid := self.pid:
            os.kill(pid, number)

    def stop(self, number=signal.SIGTERM, timeout=40):
        self.send(number)
        until(lambda: not self.pid, f"{self.name} to end; its log is {self.log}", timeout)


class Cluster:
    """The parts of a cluster.

    `network` is the beginning of the parts' addresses. `prefixes` has, by the name of a part, the words that run a program on its
    machine, such as those that enter a network namespace.
    """

    def __init__(self, root, network="127.0.77", prefixes=None):
        self.root = Path(root).resolve()
        self.binaries = Path(os.environ.get("FERRY_BIN", Path(__file__).parents[2] / ".build" / "release")).resolve()
        self.network, self.prefixes = network, prefixes or {}
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        numbers = {"proxy": 9, "etcd": 10, "objects": 30}
        numbers |= {f"postgres-{node}": 11 + place for place, node in enumerate(NODES)}
        numbers |= {f"server-{number}": 20 + int(number) for number in SERVERS}
        self.address = {name: f"{network}.{number}" for name, number in numbers.items()}
        self.url = f"https://{self.address['proxy']}:7443"
        self.authority = self.root / "tls" / "ca.pem"
        self.programs = {}
        for name, command in self.commands():
            isolated = name.startswith(("postgres-", "etcd"))
            self.programs[name] = Program(
                self.root, name, command, user=self.user if isolated else (), prefix=self.prefixes.get(name, ()))

    # MARK: What runs

    def commands(self):
        root, address = self.root, self.address
        etcd = f"http://{address['etcd']}"
        yield "etcd", ["etcd", "--name", "etcd", "--enable-v2=true", "--data-dir", root / "etcd",
                       "--listen-client-urls", f"{etcd}:2379", "--advertise-client-urls", f"{etcd}:2379",
                       "--listen-peer-urls", f"{etcd}:2380", "--initial-advertise-peer-urls", f"{etcd}:2380",
                       "--initial-cluster", f"etcd={etcd}:2380"]
        for node in NODES:
            yield f"postgres-{node}", ["patroni", root / f"postgres-{node}" / "patroni.json"]
        server = [self.binaries / "ferry-server", "run", "--insecure"]
        yield "objects", [*server, "--data", root / "objects", "--http", f"{address['objects']}:7441",
                          "--documents", f"{address['objects']}:7440"]
        hosts = ",".join(address[f"postgres-{node}"] for node in NODES)
        for number in SERVERS:
            name = f"server-{number}"
            yield name, [*server, "--data", root / name, "--http", f"{address[name]}:7441", "--documents", f"{address[name]}:7440",
                         "--url", self.url, "--trusted-proxy", f"{self.network}.0/24", "--trusted-proxy", "127.0.0.1", "--sign-up", "open",
                         "--database", f"postgres://ferry@{hosts}/ferry", "--database-password", root / "secrets" / "ferry",
                         "--objects", f"http://{address['objects']}:7441/{BUCKET}"]
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        yield "proxy", [nginx, "-e", root / "log" / "nginx.log", "-c", root / "nginx.conf"]

    # MARK: Files

    def secret(self, name):
        file = self.root / "secrets" / name
        if not file.exists():
            file.write_text(secrets.token_urlsafe(18) + "\n")
            file.chmod(0o600)
        return file.read_text().strip()

    def prepare(self):
        """Writes what the programs read. What exists is kept, except for configurations."""
        for name in ("log", "run", "secrets", "tls", "etcd", "objects", *(f"server-{number}" for number in SERVERS)):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "secrets").chmod(0o700)
        if self.user:
            # PostgreSQL refuses to run as root, and its user must get through to its directory.
            self.root.chmod(self.root.stat().st_mode | 0o011)
            closed = [directory for directory in self.root.parents if directory.stat().st_mode & 0o001 == 0]
            if closed:
                raise Failure(f"{closed[0]} is closed to the user postgres. Use a directory below /tmp, for example.")
            shutil.chown(self.root / "etcd", "postgres")
        (self.root / "etcd").chmod(0o700)
        for node in NODES:
            self.prepare_node(f"postgres-{node}")
        if not self.authority.exists():
            self.certify()
        (self.root / "nginx.conf").write_text(
            (Path(__file__).parent / "nginx.conf").read_text().replace("NETWORK", self.network).replace("ROOT", str(self.root)))

    def prepare_node(self, name):
        directory = self.root / name
        directory.mkdir(exist_ok=True)
        settings = json.loads((Path(__file__).parent / "patroni.json").read_text())
        address = self.address[name]
        binaries = max(Path("/usr/lib/postgresql").iterdir(), key=lambda path: int(path.name)) / "bin"
        settings |= {"name": name, "restapi": {"listen": f"{address}:8008", "connect_address": f"{address}:8008"},
                     "etcd": {"hosts": f"{self.address['etcd']}:2379"}}
        settings["postgresql"] |= {
            "listen": f"{address}:5432", "connect_address": f"{address}:5432", "data_dir": str(directory / "data"),
            "bin_dir": str(binaries), "pgpass": str(directory / "pgpass"),
            # On loopback every connection comes from 127.0.0.1.
            "pg_hba": [f"host {what} all {where} scram-sha-256" for what in ("all", "replication")
                       for where in (f"{self.network}.0/24", "127.0.0.1/32")],
            "authentication": {role: {"username": user, "password": self.secret(user)}
                               for role, user in (("superuser", "postgres"), ("replication", "standby"))}}
        settings["postgresql"]["parameters"]["unix_socket_directories"] = str(directory)
        file = directory / "patroni.json"
        file.write_text(json.dumps(settings, indent=2))
        file.chmod(0o600)
        if self.user:
            shutil.chown(directory, "postgres")
            shutil.chown(file, "postgres")

    def certify(self):
        """Makes a certificate for the proxy, and the authority that has signed it."""
        run = lambda *words: subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.root / "tls")
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 3650)
        run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.new", "-subj", "/CN=Ferry's example", "-addext",
            "keyUsage=critical,keyCertSign")
        run("req", "-x509", *key, "-keyout", "proxy.key", "-out", "proxy.pem", "-subj", "/CN=proxy", "-CA", "ca.new", "-CAkey", "ca.key",
            "-addext", f"subjectAltName=IP:{self.address['proxy']}", "-addext", "basicConstraints=critical,CA:FALSE")
        (self.root / "tls" / "ca.new").rename(self.authority)

    # MARK: Running

    def start(self):
        self.prepare()
        self.programs["etcd"].start()
        until(lambda: self.get(self.address["etcd"], 2379, "/health") == 200, "etcd")
        for node in NODES:
            self.programs[f"postgres-{node}"].start()
        self.programs["objects"].start()
        until(self.leader, "a leader of the databases", timeout=90)
        until(lambda: "sync" in self.roles().values(), "a synchronous standby", timeout=90)
        self.create_database()
        for name in ("objects", *(f"server-{number}" for number in SERVERS)):
            # A server that ends because the databases cannot be used yet is started again, as a service manager does.
            until(lambda: self.programs[name].start() or self.get(self.address[name], 7441, "/healthz") == 200,
                  f"{name}; its log is {self.programs[name].log}")
        self.give_keys()
        self.programs["proxy"].start()

    def stop(self):
        order = ["proxy", *(f"server-{number}" for number in SERVERS), "objects", *(f"postgres-{node}" for node in NODES), "etcd"]
        for name in order:
            self.programs[name].send(signal.SIGCONT)
        for name in order:
            self.programs[name].stop()
        for node in NODES:
            # Patroni takes its PostgreSQL along, unless Patroni was killed before.
            if pid := self.postmaster(f"postgres-{node}"):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGINT)
                until(lambda: not start_time(pid), "PostgreSQL to end")

    def create_database(self):
        if self.sql("SELECT 1 FROM pg_database WHERE datname='ferry'"):
            return
        self.sql(f"CREATE ROLE ferry LOGIN PASSWORD '{self.secret('ferry')}'")
        self.sql("CREATE DATABASE ferry OWNER ferry")

    def give_keys(self):
        """Makes the keys with which machines reach the attachments."""
        file = self.root / "secrets" / "objects"
        if file.exists():
            return
        made = subprocess.run([str(self.binaries / "ferry-server"), "keys", "add", "machines", "--data", str(self.root / "objects")],
                              check=True, capture_output=True, text=True).stdout
        access, secret = (line.split("=", 1)[1] for line in made.splitlines())
        file.write_text(f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n")
        file.chmod(0o600)

    # MARK: Asking

    def get(self, address, port, path):
        """Returns the status of an HTTP response; None if there is none."""
        try:
            with urllib.request.urlopen(f"http://{address}:{port}{path}", timeout=2) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def leader(self):
        """The name of the database that leads; None if there is none at the moment."""
        return next((f"postgres-{node}" for node in NODES
                     if self.get(self.address[f"postgres-{node}"], 8008, "/leader") == 200), None)

    def roles(self):
        """The role of each database."""
        roles = {}
        for name in (f"postgres-{node}" for node in NODES):
            paths = {"leader": "/leader", "sync": "/sync", "standby": "/replica"}
            roles[name] = next((role for role, path in paths.items() if self.get(self.address[name], 8008, path) == 200), "away")
        return roles

    def postmaster(self, name):
        """The id of the process of a node's PostgreSQL; None if it does not run."""
        try:
            pid = int((self.root / name / "data" / "postmaster.pid").read_text().split()[0])
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            return None
        return pid if command[0].endswith(b"postgres") and str(self.root / name / "data").encode() in b" ".join(command) else None

    def sql(self, statement, database="postgres"):
        """Runs a statement on the leader, and returns its rows, one a line."""
        hosts = ",".join(self.address[f"postgres-{node}"] for node in NODES)
        # By standard input: other users of the machine see arguments.
        return subprocess.run(["psql", f"host={hosts} user=postgres dbname={database} target_session_attrs=read-write", "-Atqv", "ON_ERROR_STOP=1"],
                              input=statement, check=True, capture_output=True, text=True, env={**os.environ, "PGPASSWORD": self.secret("postgres")}).stdout

    def status(self):
        roles = self.roles()
        for name, program in self.programs.items():
            print(f"{name:12} {self.address[name]:14} {f'pid {program.pid}' if program.pid else 'stopped':12} {roles.get(name, '')}")
        print(f"\n{self.url}, certificate of {self.authority}")


class Machine:
    """A user's machine: a home directory, a tasks directory, `ferryd` and `ferry`."""

    def __init__(self, cluster, name):
        self.cluster, self.home = cluster, cluster.root / name
        self.tasks = self.home / "Tasks"
        for directory in (self.tasks, self.home / "run"):
            directory.mkdir(parents=True, exist_ok=True)
        (self.home / "run").chmod(0o700)
        socket = self.home / "run" / "ferryd.sock"
        self.environment = {
            "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home / "run"), "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"), "XDG_CACHE_HOME": str(self.home / ".cache"), "FERRY_SOCKET": str(socket),
            "NO_COLOR": "1"}
        command = [cluster.binaries / "ferryd", "run", "--tasks", self.tasks, "--state", self.home / "state", "--socket", socket,
                   "--device-name", name, "--tls-ca", cluster.authority, "--objects-keys", cluster.root / "secrets" / "objects"]
        self.daemon = Program(cluster.root, name, command, environment=self.environment)

    def start(self, create=False):
        self.daemon.start()
        until(lambda: self.ferry("status", check=False).returncode == 0, "ferryd")
        words = ["login", self.cluster.url, "--email", "me@example.org", "--password-stdin"]
        if not (self.home / "state" / "signed-in").exists():
            self.ferry(*words, *(["--create"] if create else []), input=PASSWORD)
            (self.home / "state" / "signed-in").touch()

    def ferry(self, *words, input=None, check=True):
        return subprocess.run([str(self.cluster.binaries / "ferry"), *map(str, words)], input=input, text=True, capture_output=True,
                              check=check, env={**os.environ, **self.environment}, timeout=120)

    def stop(self):
        self.daemon.stop()


def demonstrate(cluster):
    """Shows that two machines sync, and go on after the leading database was killed."""
    say = lambda text: print(f"\n{text}")
    machines = laptop, desk = Machine(cluster, "laptop"), Machine(cluster, "desk")
    try:
        for machine in machines:
            machine.start(create=machine is laptop)
        say("A file that appears in the laptop's directory appears on the desk:")
        (laptop.tasks / "Buy milk.md").write_text("Oat\n")
        started = time.monotonic()
        until(lambda: (desk.tasks / "Buy milk.md").exists(), "the task of the laptop")
        print(f"  Buy milk.md, after {time.monotonic() - started:.2f} s")
        leader = cluster.leader()
        say(f"{leader} leads. Its PostgreSQL is killed, and the desk writes meanwhile:")
        os.kill(cluster.postmaster(leader), signal.SIGKILL)
        started = time.monotonic()
        (desk.tasks / "Call Anna.md").write_text("Tomorrow\n")
        until(lambda: (laptop.tasks / "Call Anna.md").exists(), "the task of the desk")
        print(f"  Call Anna.md is on the laptop after {time.monotonic() - started:.1f} s; {cluster.leader()} leads")
        say("An attachment, and a server that is killed while it travels:")
        (cluster.root / "photo.bin").write_bytes(os.urandom(8 << 20))
        laptop.ferry("attach", "Buy milk", cluster.root / "photo.bin", "--no-wait")
        cluster.programs["server-1"].stop(signal.SIGKILL)
        until(lambda: (desk.tasks / "Buy milk.files" / "photo.bin").exists(), "the attachment")
        print("  it is on the desk")
        cluster.programs["server-1"].start()
        print(f"\nThe machines' files are in {laptop.tasks} and {desk.tasks}.")
    finally:
        for machine in machines:
            machine.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["start", "demo", "status", "stop"])
    parser.add_argument("directory")
    parser.add_argument("--network", default="127.0.77", help="the beginning of the parts' addresses (default 127.0.77)")
    arguments = parser.parse_args()
    cluster = Cluster(arguments.directory, arguments.network)
    try:
        match arguments.command:
            case "start":
                cluster.start()
                cluster.status()
            case "demo": demonstrate(cluster)
            case "status": cluster.status()
            case "stop": cluster.stop()
    except (Failure, subprocess.SubprocessError) as error:
        print(f"{error} {getattr(error, 'stderr', '') or ''}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

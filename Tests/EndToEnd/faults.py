#!/usr/bin/env python3
"""Runs two machines and a server for half an hour, with a user who works on both machines, and injects every kind of fault.

    FERRY_BIN=.build/release Tests/EndToEnd/faults.py --minutes 30 --seed 7

The faults are kill -9 of any program, networks that are cut, refuse or hang, full disks, and clocks of 1970 and 2070 that jump. Each
machine has its own network namespace, in which a relay provides the server's ports, its own file system of a few MiB, and its own
clock. At the end every fault except the clocks is repaired. Both machines must then have the same bytes and every value that the
user saved: in a file, or restored from trash and history. Needs root and a C compiler. Prints what happened; the exit status is 1 if
something is missing.

The clocks come from `wrong-clock.c` instead of libfaketime, which leaves futexes alone. gRPC waits on futexes until a time of day, so
with libfaketime it spins when the clock is behind, and its timers come late when the clock is ahead.
"""
import argparse
import ctypes
import datetime
import hashlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Clock, Machine, Server, Timeout, agree, built_library, until  # noqa: E402

MARK = re.compile(r"\b(?:laptop|desk)-[a-z]+-\d+\b")


def wrong_clock(choice):
    """Returns the offset of a clock in seconds and its description: that of a clock without a battery, far off, or close."""
    if year := choice([1970, 1970, 2070, 2070, None, None, None]):
        return round((year - datetime.date.today().year) * 365.25) * 86_400, str(year)
    hours = choice([-72, -1.5, 0, 0.75, 120])
    return int(hours * 3600), f"{hours:+} h"


def can_run():
    """Returns the reason why this machine cannot run it, or None if it can."""
    if os.getuid() != 0:
        return "namespaces and file systems of one's own need root"
    if subprocess.run(["unshare", "-m", "-n", "true"], capture_output=True).returncode != 0:
        return "no namespaces here"
    return None


def strings(value):
    """Returns all strings in a JSON document."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in strings(part)]


class Relay:
    """Relays the server's ports inside a machine's network namespace. `state` is open, refused (and reset) or silent."""

    def __init__(self, ports):
        self.state = "open"
        self.pairs = set()
        self.lock = threading.Lock()
        # The process holds the namespace. It ends with its standard input, and so with this program.
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "ip link set lo up; echo up; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.prefix = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        self.ports = ports
        thread = threading.Thread(target=self.listen, daemon=True)
        thread.start()
        thread.join()
        for listener in self.listeners:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def listen(self):
        """Runs in its own thread, which enters the namespace and stays there."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{self.holder.pid}/ns/net") as namespace:
            if libc.setns(namespace.fileno(), 0x40000000) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        self.listeners = [socket.create_server(("127.0.0.1", port), backlog=64) for port in self.ports]

    def accept(self, listener):
        port = listener.getsockname()[1]
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return  # The socket was closed: the run is over.
            if self.state == "refused":
                self.reset(near)
                continue
            try:
                far = socket.create_connection(("127.0.0.1", port), timeout=5)
            except OSError:
                self.reset(near)
                continue
            far.settimeout(None)
            with self.lock:
                self.pairs.add((near, far))
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(source, target, (near, far)), daemon=True).start()

    def pump(self, source, target, pair):
        try:
            while data := source.recv(1 << 16):
                while self.state == "silent":
                    time.sleep(0.05)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in pair:
                self.reset(end)
        with self.lock:
            self.pairs.discard(pair)

    @staticmethod
    def reset(end):
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()

    def cut(self, state):
        self.state = state
        if state == "refused":
            with self.lock:
                pairs, self.pairs = self.pairs, set()
            for pair in pairs:
                for end in pair:
                    self.reset(end)

    def close(self):
        for listener in self.listeners:
            listener.close()
        self.holder.stdin.close()
        self.holder.wait()


class User(threading.Thread):
    """Works on one machine. Each value has a mark; a user that replaces a value after reading it retires the mark."""

    def __init__(self, machine, retired, seed):
        super().__init__(daemon=True)
        self.machine, self.retired, self.random = machine, retired, random.Random(seed)
        self.over = threading.Event()
        self.saved = {}  # The way in which each mark was saved.
        self.attached = {}  # The SHA-256 by path.
        self.count = 0
        self.failure = None
        self.deletes = 0

    def run(self):
        work = [self.create] * 3 + [self.set_value] * 6 + [self.append] * 6 + [self.rename, self.tag, self.command, self.attach, self.delete]
        while not self.over.wait(self.random.uniform(0.02, 0.25)):
            try:
                self.random.choice(work)()
            except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired):
                continue  # The disk is full, the file has gone, or no daemon runs: the user tries something else.
            except BaseException as error:
                self.failure = error
                return

    def mark(self, kind):
        self.count += 1
        return f"{self.machine.name}-{kind}-{self.count}"

    def files(self):
        return [path for path in self.machine.tasks.rglob("*.md") if ".ferry" not in path.parts and not path.name.startswith(".")]

    def pick(self):
        files = self.files()
        return self.random.choice(files) if files else None

    def save(self, path, text, seen=None, what=()):
        """Saves like an editor: a new file replaces the old one, if that is still the one that was read."""
        temporary = path.with_name(f".{path.name}.{self.machine.name}.tmp")
        try:
            with open(temporary, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if seen is None and path.exists() or seen is not None and self.identity(path) != seen[0]:
                raise FileExistsError(path)
            temporary.rename(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        old = set(MARK.findall(seen[1])) if seen else set()
        self.retired.update(old - set(MARK.findall(text)))
        for mark in what:
            self.saved[mark] = f"{path.relative_to(self.machine.tasks)}"

    @staticmethod
    def identity(path):
        status = path.stat()
        return status.st_ino, status.st_mtime_ns, status.st_size

    def read(self, path):
        identity = self.identity(path)
        text = path.read_text()
        if self.identity(path) != identity:
            raise FileExistsError(path)
        return identity, text

    def create(self):
        if len(self.files()) > 60:
            return
        value, line, name = self.mark("value"), self.mark("line"), self.mark("title")
        path = self.machine.tasks / self.random.choice(["", "Work", "Home"]) / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        self.save(path, f"---\nproject: {value}\ntags: [{self.mark('tag')}]\n---\n{line}\n", what=[value, line])

    def set_value(self):
        if path := self.pick():
            seen = self.read(path)
            value = self.mark("value")
            text, number = re.subn(r"(?m)^project: .*$", f"project: {value}", seen[1], count=1)
            if number:
                self.save(path, text, seen, [value])

    def append(self):
        if path := self.pick():
            seen = self.read(path)
            line = self.mark("line")
            self.save(path, seen[1] + f"{line}\n", seen, [line])

    def tag(self):
        if path := self.pick():
            seen = self.read(path)
            tag = self.mark("tag")
            text, number = re.subn(r"(?m)^tags: \[", f"tags: [{tag}, ", seen[1], count=1)
            if number:
                self.save(path, text, seen, [tag])

    def rename(self):
        if path := self.pick():
            new = path.with_name(f"{self.mark('title')}.md")
            path.rename(new)
            self.retired.update(MARK.findall(path.name))
            self.saved[new.stem] = f"the name {new.name}"

    def command(self):
        if path := self.pick():
            tag = self.mark("tag")
            if self.machine.ferry("set", path, f"+{tag}", check=False, timeout=20).returncode == 0:
                self.saved[tag] = f"a command about {path.name}"

    def attach(self):
        if path := self.pick():
            data = self.random.randbytes(self.random.randrange(1, 60_000))
            directory = path.with_name(f"{path.stem}.files")
            name = f"{self.mark('file')}.bin"
            temporary = self.machine.tasks / f".{name}.tmp"
            try:
                temporary.write_bytes(data)
                directory.mkdir(exist_ok=True)
                temporary.rename(directory / name)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
            self.attached[name] = hashlib.sha256(data).hexdigest()

    def delete(self):
        # Deletes are rare: more at once than the guard accepts are another test.
        if self.random.random() < 0.3 and len(self.files()) > 30 and (path := self.pick()):
            # A value that no daemon has read yet would go with the file, and could not be restored.
            result = self.machine.ferry("sync", check=False, timeout=20)
            # An offline daemon has read all values, too.
            if result.returncode == 0 or (result.returncode == 5 and "paused" not in result.stderr):
                path.unlink()
                self.deletes += 1


class Day:
    def __init__(self, root, minutes, seed, size):
        self.root, self.minutes, self.seed = root, minutes, seed
        self.random = random.Random(seed)
        library = built_library(root, "wrong-clock")
        self.clocks = {}
        self.counts = {}
        self.crashes = []
        self.retired = set()
        self.stray = set()
        self.server = Server(root)
        self.server.start()
        ports = [int(self.server.documents.rsplit(":", 1)[1]), int(self.server.url.rsplit(":", 1)[1])]
        self.relays = [Relay(ports), Relay(ports)]
        self.machines = []
        for index, name in enumerate(("laptop", "desk")):
            (root / name).mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "ferry", str(root / name)], check=True)
            self.machines.append(Machine(root, name))
            # The log is not on the machine's disk, which fills up.
            clock = Clock(library, root / f"{name}.clock")
            self.machines[index].environment |= clock.environment
            self.clocks[name] = clock
            self.machines[index].start(prefix=self.relays[index].prefix)
            self.machines[index].login(self.server, create=index == 0)
        self.programs = [self.server, *(machine.daemon for machine in self.machines)]
        self.prefixes = {program: relay.prefix for program, relay in zip(self.programs[1:], self.relays)}
        self.over = threading.Event()
        self.meant = set()  # The ends of programs that this class caused.
        self.log = open(root / "faults.log", "w", buffering=1)

    def note(self, fault, what=""):
        self.counts[fault] = self.counts.get(fault, 0) + 1
        self.log.write(f"{time.time():.3f} {fault} {what}\n")

    # Faults

    def start(self, program):
        program.start(wait=False, prefix=self.prefixes.get(program, ()))

    def set_clock(self):
        name, clock = self.random.choice(list(self.clocks.items()))
        seconds, what = wrong_clock(self.random.choice)
        self.note("clock", f"{name} {what}")
        clock.set(seconds)

    def supervise(self):
        """Restarts programs like systemd, and records those that ended unexpectedly."""
        while not self.over.wait(0.2):
            for program in self.programs:
                if program.process and program.process.poll() is not None:
                    status = program.process.returncode
                    if program.process.pid not in self.meant:
                        self.note("ended", f"{program.name} {program.log.parent.name} with {status}")
                        if status < 0 or status == 133:
                            self.crashes.append(f"{program.name} of {program.log.parent.name} ended with {status}:\n{program.tail(12)}")
                    self.start(program)

    def kill(self):
        for program in self.random.sample(self.programs, self.random.choice([1, 1, 1, 2, 3])):
            if program.running:
                self.meant.add(program.process.pid)
                self.note("kill -9", f"{program.name} {program.log.parent.name}")
                program.process.kill()

    def cut(self):
        relay = self.random.choice(self.relays)
        state = self.random.choice(["refused", "silent"])
        self.note(state, self.machines[self.relays.index(relay)].name)
        relay.cut(state)
        self.over.wait(self.random.uniform(0.3, 10))
        relay.cut("open")

    def fill(self):
        machine = self.random.choice(self.machines)
        ballast = machine.home / "ballast"
        self.note("full disk", machine.name)
        try:
            with open(ballast, "wb", buffering=0) as file:
                while file.write(bytes(1 << 16)):
                    pass
        except OSError:
            pass
        self.over.wait(self.random.uniform(0.5, 6))
        ballast.unlink(missing_ok=True)

    def repeat(self, fault, low, high, seed):
        moments = random.Random(seed)
        while not self.over.wait(moments.uniform(low, high)):
            fault()

    def run(self):
        users = [User(machine, self.retired, f"{self.seed} {machine.name}") for machine in self.machines]
        faults = [
            threading.Thread(target=self.repeat, args=(self.kill, 1, 8, f"{self.seed} kill")),
            threading.Thread(target=self.repeat, args=(self.cut, 2, 12, f"{self.seed} cut")),
            threading.Thread(target=self.repeat, args=(self.fill, 5, 20, f"{self.seed} fill")),
            threading.Thread(target=self.repeat, args=(self.set_clock, 2, 15, f"{self.seed} clock")),
            threading.Thread(target=self.supervise),
        ]
        for thread in users + faults:
            thread.start()
        time.sleep(self.minutes * 60)
        for user in users:
            user.over.set()
        for user in users:
            user.join()
        self.over.set()
        for thread in faults:
            thread.join()
        return users

    # The end

    def mend(self):
        for relay in self.relays:
            relay.cut("open")
        for program in self.programs:
            if not program.running:
                self.start(program)
        for machine in self.machines:
            until(lambda: machine.ferry("status", check=False).returncode in (0, 6), lambda: f"{machine.name}\n{machine.daemon.tail()}",
                  timeout=60, step=0.2)
            # A daemon that stopped for a full disk says so, and starts again within 64 s.
            until(lambda: "Syncing has stopped" not in machine.ferry("sync", "--wait", "--timeout", "240", check=False, timeout=300).stderr,
                  machine.daemon.tail, timeout=90, step=0.5)
            self.sync(machine)

    @staticmethod
    def sync(machine):
        """Waits until all automatic work is done. Items that wait for a person, such as a held delete, may be left."""
        result = machine.ferry("sync", "--wait", "--timeout", "240", check=False, timeout=300)
        assert result.returncode in (0, 6), f"{machine.name}: {result.stderr}\n{machine.daemon.tail()}"

    def bring_back_held(self):
        for machine in self.machines:
            machine.ferry("deletes", "restore", "--all", check=False)
            self.sync(machine)

    def agree_with_held(self, timeout):
        """Waits for agreement. Deletes may be held late, as one that the last scan missed is reported a moment later."""
        for _ in range(3):
            try:
                return agree(*self.machines, timeout=timeout)
            except AssertionError:
                if not any(machine.status()["heldDeletes"] for machine in self.machines):
                    raise
                self.note("held late", "; ".join(f"{machine.name} {machine.ferry('deletes').stdout}" for machine in self.machines))
                self.bring_back_held()
        agree(*self.machines, timeout=timeout)

    def tidy(self):
        """Moves attachments to their tasks if the user put them beside a task whose file had a different name by then."""
        for machine in self.machines:
            for directory in machine.tasks.rglob("*.files"):
                if ".ferry" not in directory.parts and not directory.with_name(f"{directory.stem}.md").exists():
                    self.note("attached to nothing", f"{machine.name} {directory}")
                    self.stray |= {hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}
                    shutil.rmtree(directory)

    def settle(self):
        """Returns all files on both machines, including those from the trash, and the content of the history."""
        self.mend()
        self.bring_back_held()
        self.tidy()
        self.agree_with_held(timeout=60)
        texts = []
        laptop, desk = self.machines
        before = laptop.files()
        trashed = laptop.json("trash")["trash"]
        for entry in trashed:
            texts += strings(laptop.json("history", entry["taskId"]))
            laptop.ferry("restore", entry["taskId"])
        agree(*self.machines, timeout=120)
        for machine in self.machines:
            for task in machine.json("list", "--all")["tasks"]:
                texts += strings(machine.json("history", task["id"]))
        return before, len(trashed), texts

    def check(self, users):
        before, trashed, texts = self.settle()
        files = self.machines[0].files()
        current = " ".join([*files, *(data.decode(errors="replace") for name, data in files.items() if name.endswith(".md"))])
        now, past = set(MARK.findall(current)), set(MARK.findall(" ".join(texts)))
        local = " ".join(
            f"{path.name} {path.read_text(errors='replace')}" for machine in self.machines
            for path in (machine.tasks / ".ferry").rglob("*") if path.is_file() and path.stat().st_size < 1 << 20)
        aside = set(MARK.findall(local))
        missing = [f"{mark}, saved in {where}" for user in users for mark, where in user.saved.items()
                   if mark not in now | past | self.retired]
        only_aside = [entry for entry in missing if entry.split(",")[0] in aside]
        digests = self.stray | {hashlib.sha256(data).hexdigest() for data in files.values()}
        digests |= {hashlib.sha256(path.read_bytes()).hexdigest() for machine in self.machines
                    for path in (machine.tasks / ".ferry").rglob("*.bin")}
        lost = [f"attachment {name}" for user in users for name, digest in user.attached.items() if digest not in digests]
        saved = sum(len(user.saved) for user in users)
        print(f"seed {self.seed}, {self.minutes} minutes: {saved} values saved, {len(self.retired)} of them replaced by who had seen them, "
              f"{sum(len(user.attached) for user in users)} attachments, {sum(user.deletes for user in users)} deletes")
        print(f"faults: {', '.join(f'{name} {count}' for name, count in sorted(self.counts.items()))}")
        print(f"in the end: {len(before)} files the same on both, {trashed} tasks brought back from the trash, "
              f"{len([mark for mark in past - now])} values in history only")
        years = {line[:4] for machine in self.machines for line in machine.daemon.log.read_text(errors="replace").splitlines()
                 if re.match(r"\d{4}-\d\d-\d\dT", line)}
        print(f"years in the daemons' logs: {', '.join(sorted(years))}")
        for user in users:
            assert user.failure is None, user.failure
        problems = [f"not to be found: {entry}" for entry in missing if entry not in only_aside]
        problems += [f"only in the local trash: {entry}" for entry in only_aside]
        problems += lost + self.crashes
        for machine in self.machines:
            tasks = machine.json("list", "--all")["tasks"]
            if len({task["id"] for task in tasks}) != len([path for path in files if path.endswith(".md")]):
                problems.append(f"{machine.name} lists {len(tasks)} tasks for {len(files)} files")
            # Conflicts are left to the user. All other problems would need manual repair.
            problems += [f"{machine.name}: {problem}" for problem in machine.status()["problems"]]
        return problems

    def close(self):
        self.over.set()
        for relay in self.relays:
            relay.cut("open")
        for program in self.programs:
            program.kill()
        for relay in self.relays:
            relay.close()
        for name in ("laptop", "desk"):
            subprocess.run(["umount", str(self.root / name)], check=False)


def run(minutes, seed, keep=None):
    """Returns the list of what is wrong at the end; it is empty after a good run."""
    root = Path(tempfile.mkdtemp(prefix="ferry-"))
    # The MiB of a machine's disk, which must have room for all that the user creates in that time.
    day = Day(root, minutes, seed, 48 + int(10 * minutes))
    problems = ["it did not come to its end"]
    try:
        problems = day.check(day.run())
    except (AssertionError, Timeout) as error:
        problems = [str(error)]
    finally:
        if problems and keep:
            shutil.copytree(root, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("ballast", "*.sock"))
        day.close()
        shutil.rmtree(root)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--keep", help="where everything goes when something is wrong")
    arguments = parser.parse_args()
    if why := can_run():
        sys.exit(f"cannot run here: {why}")
    if "FERRY_FAULTS" not in os.environ:
        # The mounts go with this program.
        os.environ["FERRY_FAULTS"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    print(f"seed {arguments.seed}", flush=True)
    problems = run(arguments.minutes, arguments.seed, keep=arguments.keep)
    for problem in problems[:60]:
        print(problem)
    print("all is well" if not problems else f"{len(problems)} problems, seed {arguments.seed}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

"""kill -9 of the server and of the daemons at random moments under load: nothing is lost, nothing is doubled.

FERRY_KILLS sets the number of kills, FERRY_SEED their moments. Each edit changes its own line, tag or file, so that a loss shows.
"""
import hashlib
import os
import random
import subprocess
import threading
import time

from harness import agree, until

KILLS = int(os.environ.get("FERRY_KILLS", "12"))
SEED = int(os.environ.get("FERRY_SEED", "20261121"))


class User(threading.Thread):
    """Works on one machine without a break, and records the values that must exist at the end."""

    def __init__(self, machine, shared, seed):
        super().__init__(daemon=True)
        self.machine, self.shared, self.random = machine, shared, random.Random(seed)
        self.over = threading.Event()
        self.notes = {}  # by path
        self.tags = set()
        self.added = set()
        self.attachments = {}  # SHA-256 by path
        self.count = 0
        self.failure = None

    def run(self):
        try:
            while not self.over.is_set():
                self.count += 1
                self.random.choice([self.create, self.append, self.append, self.rename, self.tag, self.add, self.attach])()
                # The rate is that of a person's scripts, so that the end has no backlog of many thousands.
                self.over.wait(0.01)
        except BaseException as error:
            self.failure = error

    def name(self, kind):
        return f"{self.machine.name} {kind} {self.count}"

    def create(self):
        path = f"{self.random.choice(['', 'Work/', 'Home/'])}{self.name('made')}.md"
        self.notes[path] = f"{self.name('line')}\n"
        self.machine.write(path, self.notes[path])

    def append(self):
        if not self.notes:
            return
        path = self.random.choice(list(self.notes))
        self.notes[path] += f"{self.name('line')}\n"
        self.machine.write(path, self.notes[path])

    def rename(self):
        if not self.notes:
            return
        path = self.random.choice(list(self.notes))
        if any(other.startswith(path.removesuffix(".md") + ".files/") for other in self.attachments):
            return
        new = os.path.join(os.path.dirname(path), self.name("renamed") + ".md")
        self.machine.tasks.joinpath(path).rename(self.machine.tasks / new)
        self.notes[new] = self.notes.pop(path)

    def ferry(self, *arguments):
        """Returns whether the daemon confirmed the command. A daemon that is not running, or stops, is no failure."""
        try:
            return self.machine.ferry(*arguments, check=False, timeout=20).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def tag(self):
        tag = f"{self.machine.name}{self.count}"
        if self.ferry("set", self.shared, f"+{tag}"):
            self.tags.add(tag)

    def add(self):
        title = self.name("added")
        if self.ferry("add", title):
            self.added.add(title)

    def attach(self):
        if not self.notes or self.random.random() < 0.7:
            return
        path = self.random.choice(list(self.notes))
        data = self.random.randbytes(self.random.randrange(1 << 20, 3 << 20))
        directory = path.removesuffix(".md") + ".files"
        self.machine.tasks.joinpath(directory).mkdir(exist_ok=True)
        file = f"{directory}/{self.name('file')}.bin"
        self.machine.tasks.joinpath(file).write_bytes(data)
        self.attachments[file] = hashlib.sha256(data).hexdigest()


def test_nothing_is_lost_or_doubled_by_kill_9_at_any_moment(server, machines):
    laptop, desk = machines
    shared = laptop.json("add", "Shared")["task"]["id"]
    agree(laptop, desk)
    users = [User(machine, shared, SEED + index) for index, machine in enumerate(machines)]
    moments = random.Random(SEED)
    for user in users:
        user.start()
    programs = [server, laptop.daemon, desk.daemon]
    for _ in range(KILLS):
        # The test is about random moments, so there is no event to wait for.
        time.sleep(moments.uniform(0.05, 0.7))
        victims = moments.sample(programs, moments.choice([1, 1, 1, 2, 3]))
        for victim in victims:
            victim.kill()
        time.sleep(moments.uniform(0, 0.2))
        for victim in sorted(victims, key=programs.index):
            victim.start()
    for user in users:
        user.over.set()
    for user in users:
        user.join()
        assert user.failure is None, (SEED, user.failure)

    agree(*machines, timeout=60)
    files = desk.files()
    missing = []
    for user in users:
        for path, notes in user.notes.items():
            if files.get(path, b"").decode() != notes:
                missing.append(f"{path} should have {notes!r:.300}, has {files.get(path)!r:.300}")
        for path, digest in user.attachments.items():
            if hashlib.sha256(files.get(path, b"")).hexdigest() != digest:
                missing.append(f"{path} has {len(files.get(path, b''))} bytes that are not those that were written")
        missing += [f"added: {title}" for title in user.added if f"{title}.md" not in files]
    tags = set(desk.json("show", shared)["task"]["tags"] or [])
    missing += [f"tag: {tag}" for user in users for tag in user.tags - tags]
    assert not missing, f"seed {SEED}, {len(missing)} missing:\n" + "\n".join(missing[:20])
    # A task that was added without a response may exist once; the others must match exactly.
    known = {path for user in users for path in [*user.notes, *user.attachments]} | {"Shared.md"}
    extra = [path for path in files if path not in known and " added " not in path]
    assert not extra, f"seed {SEED}: doubled or from nowhere: {extra[:20]}"
    for machine in machines:
        tasks = machine.json("list", "--all")["tasks"]
        assert len({task["id"] for task in tasks}) == len(tasks) == len([path for path in files if path.endswith(".md")])
        assert len({task["title"] for task in tasks}) == len(tasks), f"seed {SEED}: doubled"
        status = machine.status()
        assert not status["problems"] and not status["heldDeletes"] and not status["conflicts"], (SEED, status)
        assert not machine.json("trash")["trash"], SEED
    until(lambda: all(machine.status()["pendingUp"] == 0 for machine in machines), "nothing that waits")

"""Daemons with documents on `ferry-server` and attachments in an S3 store of another operator: moto, Ceph's gateway if it is
installed, and another `ferry-server`, which is strict about keys.

FERRY_LARGE is the size of the largest attachment in MiB.
"""
import contextlib
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import ceph
import pytest
import stores
from conftest import working_keys
from harness import BIN, Machine, Server, agree, until
from proxy import CountingProxy

BUCKET, DAY = "attachments", 24 * 3600
LARGE = int(os.environ.get("FERRY_LARGE", "24")) << 20


class Other(Server):
    def start(self, **options):
        super().start(**options)
        self.keys = working_keys(self, "foreign")


def ours(root):
    (root / "other").mkdir()
    return Other(root / "other")


STORES = {"moto": stores.Moto, "ferry-server": ours, "ceph": stores.Ceph}


@pytest.fixture
def root():
    # pytest's tmp_path would be too long: the path of a Unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        yield Path(directory)


@pytest.fixture(params=STORES)
def store(request, root):
    """An object store without buckets."""
    if request.param == "ceph" and not ceph.is_installed():
        pytest.skip("Ceph is not installed: apt-get install ceph-mon ceph-osd radosgw")
    store = STORES[request.param](root)
    try:
        store.start()
        yield store
    finally:
        store.stop()


class Home:
    """A server with attachments in `store`, reached through a proxy, and two machines with keys for the store."""

    def __init__(self, root, store):
        self.store = store
        self.proxy = CountingProxy(store.url.split("//", 1)[1])
        self.server = Server(root, "--objects", f"http://{self.proxy.address}/{BUCKET}")
        self.laptop, self.desk = self.machines = [Machine(root, "laptop"), Machine(root, "desk")]
        for machine in self.machines:
            machine.keys = machine.home / "keys"
            machine.daemon.arguments += ["--objects-keys", machine.keys]
            self.give(machine, store.keys)

    @staticmethod
    def give(machine, keys):
        machine.keys.write_text(f"[default]\naws_access_key_id = {keys[0]}\naws_secret_access_key = {keys[1]}\n")
        machine.keys.chmod(0o600)

    def restart(self):
        for machine in self.machines:
            machine.stop()
            machine.start()

    def client(self):
        return stores.client(self.store.url, self.store.keys)

    def disconnect(self):
        self.proxy.close()

    def reconnect(self):
        host, port = self.proxy.address.split(":")
        self.proxy = CountingProxy(self.store.url.split("//", 1)[1], listen=int(port))


@contextlib.contextmanager
def home(root, store):
    home = Home(root, store)
    try:
        home.server.start()
        for index, machine in enumerate(home.machines):
            machine.start()
            machine.login(home.server, create=index == 0)
        yield home
    finally:
        for machine in home.machines:
            machine.daemon.kill()
        home.server.stop()
        home.proxy.close()


def doctor(machine):
    result = machine.ferry("doctor", "--json", check=False)
    return {check["code"]: check for check in json.loads(result.stdout)["checks"]}


def waits_for(machine, word):
    until(lambda: word in (machine.status().get("transfersWaitFor") or ""), lambda: machine.status(), timeout=40, step=0.05)


def noise(seed, size):
    """Returns random bytes, in steps, as `randbytes` fails above 256 MiB."""
    draw, step = random.Random(seed), 16 << 20
    return b"".join(draw.randbytes(min(step, size - start)) for start in range(0, size, step))


def attach(home, task, root, *sizes):
    files = []
    for size in sizes:
        file = root / f"{size}.bin"
        file.write_bytes(noise(size, size))
        files.append(file)
    home.laptop.ferry("attach", task, "--no-wait", *files)
    return files


def objects(home):
    pages = home.client().get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return {entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", [])}


def test_a_user_with_another_store(root, store):
    with home(root, store) as h:
        laptop, desk = h.machines
        laptop.ferry("add", "Film")
        files = attach(h, "Film", root, 0, 1, 5 << 20, LARGE)
        # The bucket does not exist yet; that is not a fault of the attachments.
        waits_for(laptop, "NoSuchBucket")
        assert "NoSuchBucket" in doctor(laptop)["endpoint-objects"]["message"]
        assert laptop.status()["problems"] == []
        h.client().create_bucket(Bucket=BUCKET)
        laptop.sync(timeout=120)
        agree(laptop, desk, timeout=120)
        for file in files:
            assert (desk.tasks / "Film.files" / file.name).read_bytes() == file.read_bytes()
        assert doctor(laptop)["endpoint-objects"]["state"] == "ok"
        # The objects are in the store, and not on the server.
        assert sum(objects(h).values()) >= LARGE
        assert not any(path.stat().st_size > 1 << 20 for path in (h.server.data / "objects").rglob("*"))

        # The daemon is killed in the middle of an upload, and of a download.
        content = noise(7, LARGE)
        draft, target = laptop.tasks / "Film.files/cut.bin", desk.tasks / "Film.files/cut.bin"
        start = h.proxy.up
        draft.write_bytes(content)
        until(lambda: h.proxy.up - start > LARGE // 3, "a part of the upload", timeout=60)
        laptop.daemon.kill()
        start = h.proxy.down
        laptop.start()
        until(lambda: h.proxy.down - start > LARGE // 3, lambda: desk.status(), timeout=60)
        desk.daemon.kill()
        desk.start()
        until(target.exists, lambda: desk.status(), timeout=120, step=0.05)
        assert target.read_bytes() == content
        agree(laptop, desk, timeout=60)

        # The store is stopped for a while.
        h.disconnect()
        attach(h, "Film", root, 3 << 20)
        waits_for(laptop, "cannot")
        assert doctor(laptop)["endpoint-objects"]["state"] == "failed"
        h.reconnect()
        until((desk.tasks / f"Film.files/{3 << 20}.bin").exists, lambda: laptop.status(), timeout=120, step=0.05)
        agree(laptop, desk, timeout=60)

        # One machine has no keys, another those of a different account.
        laptop.stop()
        laptop.keys.rename(laptop.home / "lost")
        laptop.start()
        attach(h, "Film", root, 2 << 20)
        waits_for(laptop, "cannot be read")
        (laptop.home / "lost").rename(laptop.keys)
        until((desk.tasks / f"Film.files/{2 << 20}.bin").exists, lambda: laptop.status(), timeout=120, step=0.05)
        for machine in h.machines:
            assert machine.status()["problems"] == []


def test_wrong_keys(root, store):
    if isinstance(store, stores.Moto):
        pytest.skip("moto takes any keys")
    with home(root, store) as h:
        h.client().create_bucket(Bucket=BUCKET)
        h.laptop.stop()
        h.give(h.laptop, (h.store.keys[0], "wrong"))
        h.laptop.start()
        h.laptop.ferry("add", "Film")
        [file] = attach(h, "Film", root, 2 << 20)
        waits_for(h.laptop, "the keys are not good")
        check = doctor(h.laptop)["endpoint-objects"]
        assert check["state"] == "failed" and "SignatureDoesNotMatch" in check["message"] and "objects-keys" in check["remedy"]
        # The keys are corrected without a restart.
        h.give(h.laptop, h.store.keys)
        until((h.desk.tasks / f"Film.files/{file.name}").exists, lambda: h.laptop.status(), timeout=150, step=0.1)
        agree(*h.machines)


def test_moving_to_another_store(root, store):
    """Attachments on the server are offered to another store as soon as the server names it, and the reverse."""
    with home(root, store) as h:
        laptop, desk = h.machines
        h.client().create_bucket(Bucket=BUCKET)
        options, h.server.options = h.server.options, []
        h.server.stop()
        h.server.start()
        h.restart()
        laptop.ferry("add", "Film")
        files = attach(h, "Film", root, 1, 5 << 20)
        laptop.sync()
        agree(laptop, desk)
        assert objects(h) == {}
        h.server.stop()
        h.server.options = options
        h.server.start()
        h.restart()
        until(lambda: sum(objects(h).values()) >= 5 << 20, lambda: laptop.status(), timeout=60, step=0.1)
        third = Machine(root, "third")
        third.keys = third.home / "keys"
        third.daemon.arguments += ["--objects-keys", third.keys]
        h.give(third, store.keys)
        third.start()
        try:
            third.login(h.server)
            for file in files:
                target = third.tasks / "Film.files" / file.name
                until(target.exists, lambda: third.status(), timeout=60, step=0.05)
                assert target.read_bytes() == file.read_bytes()
        finally:
            third.daemon.kill()




class Collector:
    """`ferry-server objects` for a home, with the server's own keys, and the user's part of the bucket."""

    def __init__(self, home, root):
        self.home, self.keys = home, root / "server-keys"
        home.give(type("", (), {"keys": self.keys}), home.store.keys)
        self.user = next(iter(objects(home))).split("/")[0]
        self.list = f"{self.user}/condemned"

    def run(self, command, *options):
        result = subprocess.run(
            [BIN / "ferry-server", "objects", command, "--data", self.home.server.data, "--objects",
             f"{self.home.store.url}/{BUCKET}", "--objects-keys", self.keys, *options], text=True, capture_output=True, timeout=120)
        assert result.returncode == 0, result
        counts = {}
        for line in result.stdout.split(f"{BUCKET}:\n")[1].splitlines():
            word, rest = line.split(": ")
            counts[word] = int(rest.split()[0])
        return counts

    def put_chunk(self, content):
        """Puts a chunk to which no document refers."""
        data = b"FRYC\x01\x00\x00\x00" + len(content).to_bytes(8, "big") + content
        name = hashlib.sha256(data).hexdigest()
        key = f"{self.user}/chunks/{name[:2]}/{name}"
        self.home.client().put_object(Bucket=BUCKET, Key=key, Body=data)
        return key

    def read_list(self):
        return json.loads(self.home.client().get_object(Bucket=BUCKET, Key=self.list)["Body"].read())

    def write_list(self, value):
        self.home.client().put_object(Bucket=BUCKET, Key=self.list, Body=json.dumps(value).encode())

    def condemned(self):
        return {hash for group in self.read_list()["condemned"] for hash in group["chunks"] + group["manifests"]}


def test_chunks_marked_for_deletion_are_put_again(root, store):
    """A machine does not rely on chunks that are marked for deletion, although the store still has them."""
    with home(root, store) as h:
        h.client().create_bucket(Bucket=BUCKET)
        h.laptop.ferry("add", "Film")
        attach(h, "Film", root, 5 << 20)
        agree(*h.machines)
        collector = Collector(h, root)
        there = len(objects(h))
        assert collector.run("check") == {"needed": there, "unused": 0, "to remove": 0}
        content = noise(3, 200 << 10)
        key = collector.put_chunk(content)
        assert collector.run("gc") == {"needed": there, "unused": 1, "removed": 0}
        # The entry is made to look old.
        since = int(time.time()) - 20 * DAY
        condemned = {"version": 1, "removals": 1, "until": 0,
                     "condemned": [{"since": since, "chunks": [key.split("/")[-1]], "manifests": []}]}
        collector.write_list(condemned)
        # A machine reads the list again after half a minute.
        h.restart()
        start = h.proxy.up
        (h.laptop.tasks / "Film.files/same.bin").write_bytes(content)
        until((h.desk.tasks / "Film.files/same.bin").exists, lambda: h.laptop.status(), timeout=60, step=0.05)
        assert h.proxy.up - start > len(content)
        assert collector.run("gc") == {"needed": there + 1, "unused": 0, "removed": 0}
        assert collector.condemned() == set()
        # An unreadable part of the list delays uploads, and nothing else; without that part uploads continue.
        h.client().put_object(Bucket=BUCKET, Key=collector.list, Body=b"damaged")
        h.restart()
        attach(h, "Film", root, 3 << 20)
        waits_for(h.laptop, "'condemned'")
        assert h.laptop.status()["problems"] == []
        h.client().delete_object(Bucket=BUCKET, Key=collector.list)
        until((h.desk.tasks / f"Film.files/{3 << 20}.bin").exists, lambda: h.laptop.status(), timeout=60, step=0.05)
        agree(*h.machines)


def test_unneeded_objects_are_removed():
    """Removes old objects that were marked for deletion long ago; a machine that needs one during the removal puts it again."""
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        root = Path(directory)
        store = ours(root)
        store.start()
        try:
            remove_unneeded(root, store)
        finally:
            store.stop()


def remove_unneeded(root, store):
    with home(root, store) as h:
        h.client().create_bucket(Bucket=BUCKET)
        h.laptop.ferry("add", "Film")
        attach(h, "Film", root, 5 << 20)
        agree(*h.machines)
        collector = Collector(h, root)
        there = set(objects(h))
        contents = [noise(seed, 200 << 10) for seed in (4, 5)]
        keys = {collector.put_chunk(content) for content in contents}
        store.stop()
        with sqlite3.connect(store.data / "objects/index.db") as index:
            index.execute("UPDATE object SET modified = modified - ? WHERE bucket = ?", (60 * DAY * 10**6, BUCKET))
        index.close()
        store.start()
        assert collector.run("gc") == {"needed": len(there), "unused": 2, "removed": 0}
        assert collector.condemned() == {key.split("/")[-1] for key in keys}
        assert collector.run("gc", "--grace", "2") == {"needed": len(there), "unused": 2, "removed": 0}
        value = collector.read_list()
        value["condemned"][0]["since"] -= 31 * DAY
        # A removal was interrupted: until it can no longer be running, no object that it may remove can be put.
        value["until"] = int(time.time()) - 3600 + 12
        collector.write_list(value)
        h.restart()
        (h.laptop.tasks / "Film.files/again.bin").write_bytes(contents[0])
        waits_for(h.laptop, "are being deleted")
        assert collector.run("gc") == {"needed": len(there), "unused": 2, "removed": 0}
        until((h.desk.tasks / "Film.files/again.bin").exists, lambda: h.laptop.status(), timeout=120, step=0.05)
        assert collector.run("gc") == {"needed": len(there) + 1, "unused": 0, "removed": 1}
        left = set(objects(h)) - there - {collector.list}
        assert len(left) == 1 and left < keys and collector.condemned() == set()
        agree(*h.machines)

"""Daemons whose documents are on `ferry-server` and whose attachments are in an S3 store of somebody else: moto, Ceph's gateway where
it is installed, and `ferry-server` in that part, which is strict about keys.

FERRY_LARGE is the size of the largest attachment in MiB.
"""
import contextlib
import json
import os
import random
import tempfile
from pathlib import Path

import ceph
import pytest
import stores
from conftest import working_keys
from harness import Machine, Server, agree, until
from proxy import CountingProxy

BUCKET = "attachments"
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
    # Not pytest's tmp_path: a Unix socket's path has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        yield Path(directory)


@pytest.fixture(params=STORES)
def store(request, root):
    """A store without buckets."""
    if request.param == "ceph" and not ceph.is_installed():
        pytest.skip("Ceph is not installed: apt-get install ceph-mon ceph-osd radosgw")
    store = STORES[request.param](root)
    try:
        store.start()
        yield store
    finally:
        store.stop()


class Home:
    """A server whose attachments are in `store`, reached through a proxy, and two machines with keys for that."""

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
    """More than 256 MiB at once is too much for `randbytes`."""
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


def test_a_user_with_a_store_elsewhere(root, store):
    with home(root, store) as h:
        laptop, desk = h.machines
        laptop.ferry("add", "Film")
        files = attach(h, "Film", root, 0, 1, 5 << 20, LARGE)
        # Nobody has made the bucket yet: that is no fault of the attachments.
        waits_for(laptop, "NoSuchBucket")
        assert "NoSuchBucket" in doctor(laptop)["endpoint-objects"]["message"]
        assert laptop.status()["problems"] == []
        h.client().create_bucket(Bucket=BUCKET)
        laptop.sync(timeout=120)
        agree(laptop, desk, timeout=120)
        for file in files:
            assert (desk.tasks / "Film.files" / file.name).read_bytes() == file.read_bytes()
        assert doctor(laptop)["endpoint-objects"]["state"] == "ok"
        # They are there, and not on the server.
        assert sum(objects(h).values()) >= LARGE
        assert not any(path.stat().st_size > 1 << 20 for path in (h.server.data / "objects").rglob("*"))

        # Killed in the middle of an upload, and of a download.
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

        # The store is away for a while.
        h.disconnect()
        attach(h, "Film", root, 3 << 20)
        waits_for(laptop, "cannot")
        assert doctor(laptop)["endpoint-objects"]["state"] == "failed"
        h.reconnect()
        until((desk.tasks / f"Film.files/{3 << 20}.bin").exists, lambda: laptop.status(), timeout=120, step=0.05)
        agree(laptop, desk, timeout=60)

        # A machine without keys, and one with those of somebody else.
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
        # Mended without a restart.
        h.give(h.laptop, h.store.keys)
        until((h.desk.tasks / f"Film.files/{file.name}").exists, lambda: h.laptop.status(), timeout=150, step=0.1)
        agree(*h.machines)


def test_moving_to_a_store_elsewhere(root, store):
    """Attachments that are on the server are offered to the other store once the server names that; and back."""
    with home(root, store) as h:
        laptop, desk = h.machines
        h.client().create_bucket(Bucket=BUCKET)
        options, h.server.options = h.server.options, []
        h.server.stop()
        h.server.start()
        for machine in h.machines:
            machine.stop()
            machine.start()
        laptop.ferry("add", "Film")
        files = attach(h, "Film", root, 1, 5 << 20)
        laptop.sync()
        agree(laptop, desk)
        assert objects(h) == {}
        h.server.stop()
        h.server.options = options
        h.server.start()
        for machine in h.machines:
            machine.stop()
            machine.start()
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

"""Repair of an object whose bytes the server has lost: a machine with the file uploads it again."""
import contextlib
import os
import sqlite3
import threading

import pytest

from harness import Machine, agree, until


class Stored:
    """The bytes of an object on the server's disk: a file, or a span of a segment, `s/<number>/<offset>/<size>`."""
    HEAD = 128

    def __init__(self, server, name):
        self.is_segment = name.startswith("s/")
        if self.is_segment:
            number, self.start, self.size = map(int, name.split("/")[1:])
            self.file = server.data / "objects/segments" / str(number)
            self.body = self.start + self.HEAD
        else:
            self.file = server.data / "objects/files" / name
            self.start = self.body = 0
            self.size = self.file.stat().st_size

    def overwrite(self, position, content):
        with self.file.open("r+b") as file:
            file.seek(position)
            file.write(content)


def objects(server, least=0):
    """Returns the names of the objects, the largest last."""
    with contextlib.closing(sqlite3.connect(server.data / "objects/index.db")) as index:
        return [name for name, in index.execute("SELECT file FROM object WHERE size >= ? ORDER BY size", [least])]


def lose(stored):
    if stored.is_segment:
        stored.overwrite(stored.start, bytes(stored.HEAD + stored.size))
    else:
        stored.file.unlink()


def cut(stored):
    os.truncate(stored.file, stored.body + 1000)


def turn_a_bit(stored):
    middle = stored.body + stored.size // 2
    with stored.file.open("rb") as file:
        file.seek(middle)
        byte = file.read(1)[0]
    stored.overwrite(middle, bytes([byte ^ 1]))


@pytest.mark.parametrize("size", [100_000, 300_000, 5_000_000], ids=["in a segment", "one chunk", "many chunks"])
@pytest.mark.parametrize("damage", [lose, cut, turn_a_bit])
def test_an_object_that_the_server_lost_is_uploaded_again(root, server, machines, damage, size):
    laptop, desk = machines
    laptop.write("Plan.md", "the plan\n")
    drawing = os.urandom(size)
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(drawing)
    agree(laptop, desk)
    for machine in machines:
        machine.stop()
    stored = Stored(server, objects(server)[-1])
    assert stored.is_segment == (size < 256 << 10)
    damage(stored)
    # The machine that has the file is off.
    phone = Machine(root, "phone")
    phone.start()
    try:
        phone.login(server)
        until(lambda: [problem["code"] for problem in phone.status()["problems"]] == ["attachment-damaged"],
              lambda: f"{phone.status()}\n{phone.ferry('transfers')}\n{phone.daemon.tail()}")
        shown = phone.json("show", "Plan")
        assert [attachment["state"] for attachment in shown["attachments"]] == ["damaged"]
        assert "attached on laptop" in shown["remarks"][0]
        refused = phone.ferry("get", "Plan", check=False)
        assert refused.returncode == 1 and "store" in refused.stderr
        laptop.start()
        until(lambda: (phone.tasks / "Plan.files/drawing.bin").exists(),
              lambda: f"{laptop.ferry('transfers')}\n{laptop.daemon.tail()}")
        assert (phone.tasks / "Plan.files/drawing.bin").read_bytes() == drawing
        agree(laptop, phone)
        until(lambda: not phone.status()["problems"], phone.status)
        assert phone.ferry("conflicts").strip() == laptop.ferry("conflicts").strip()
    finally:
        phone.stop()


def test_a_failed_repair_is_not_repeated(root, server, machines):
    laptop, desk = machines
    laptop.write("Plan.md", "the plan\n")
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(os.urandom(12_000_000))
    agree(laptop, desk)
    enough = threading.Event()
    broken = set()

    def break_all():
        while not enough.is_set():
            for name in objects(server, least=100_000):
                try:
                    if name not in broken:
                        turn_a_bit(Stored(server, name))
                        broken.add(name)
                except FileNotFoundError:
                    pass  # The file was replaced.

    disk = threading.Thread(target=break_all)
    disk.start()
    phone = Machine(root, "phone")
    phone.start()
    try:
        until(lambda: broken, "nothing was broken")
        phone.login(server)
        until(lambda: any("did not help" in problem["hint"] for problem in phone.status()["problems"]), phone.status, timeout=60)
        for machine in machines:
            machine.sync()
            uploads = [transfer for transfer in machine.json("transfers")["transfers"] if transfer["direction"] == "upload"]
            assert len(uploads) <= 2, "the first one and a repair"
    finally:
        enough.set()
        disk.join()
        phone.stop()

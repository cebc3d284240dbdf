"""An object whose bytes the server has lost: whoever has the file puts it there again."""
import os
import threading

import pytest

from harness import Machine, agree, until


def lose(file):
    file.unlink()


def cut(file):
    file.write_bytes(file.read_bytes()[:1000])


def turn_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("size", [300_000, 5_000_000], ids=["one chunk", "many chunks"])
@pytest.mark.parametrize("damage", [lose, cut, turn_a_bit])
def test_what_the_server_has_lost_is_put_there_again(root, server, machines, damage, size):
    laptop, desk = machines
    laptop.write("Plan.md", "the plan\n")
    drawing = os.urandom(size)
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(drawing)
    agree(laptop, desk)
    for machine in machines:
        machine.stop()
    files = [path for path in (server.data / "objects/files").rglob("*") if path.is_file()]
    damage(max(files, key=lambda path: path.stat().st_size))
    # Nobody who has it is there.
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


def test_where_a_repair_does_not_help_there_is_no_second_one(root, server, machines):
    laptop, desk = machines
    laptop.write("Plan.md", "the plan\n")
    (laptop.tasks / "Plan.files").mkdir()
    (laptop.tasks / "Plan.files/drawing.bin").write_bytes(os.urandom(12_000_000))
    agree(laptop, desk)
    enough = threading.Event()
    broken = set()

    def break_all():
        while not enough.is_set():
            for file in (server.data / "objects/files").rglob("*"):
                try:
                    if file not in broken and file.is_file() and file.stat().st_size > 100_000:
                        turn_a_bit(file)
                        broken.add(file)
                except FileNotFoundError:
                    pass  # It was replaced.

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

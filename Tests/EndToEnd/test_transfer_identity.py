"""A transfer keeps its id and its progress when the daemon restarts."""
import os

from harness import until


def transfer(machine, name):
    found = [transfer for transfer in machine.json("transfers")["transfers"] if transfer["name"] == name]
    return found[0] if found else None


def limited(machine, *options):
    machine.stop()
    machine.daemon.arguments += options
    machine.start()


def unlimited(machine, *options):
    machine.daemon.kill()
    machine.daemon.arguments = machine.daemon.arguments[:-len(options)]
    machine.start()


def test_a_paused_upload_keeps_its_id_and_progress(root, machines):
    laptop, desk = machines
    limited(laptop, "--upload-limit", "2M")
    (root / "film.bin").write_bytes(os.urandom(16 << 20))
    laptop.ferry("add", "Film")
    (began,) = laptop.json("attach", "Film", root / "film.bin", "--no-wait")["transfers"]
    until(lambda: transfer(laptop, "film.bin")["bytesDone"] >= 4 << 20, lambda: transfer(laptop, "film.bin"), timeout=30)
    laptop.ferry("transfers", "pause", began["id"])
    paused = transfer(laptop, "film.bin")
    assert paused["state"] == "paused" and paused["bytesDone"] >= 4 << 20
    for _ in range(2):
        laptop.daemon.kill()
        laptop.start()
        until(lambda: transfer(laptop, "film.bin"), laptop.daemon.tail)
        again = transfer(laptop, "film.bin")
        assert (again["id"], again["state"], again["bytesDone"]) == (began["id"], "paused", paused["bytesDone"])
    unlimited(laptop, "--upload-limit", "2M")
    # It is selected by the id that was shown before.
    laptop.ferry("transfers", "resume", began["id"])
    until((desk.tasks / "Film.files/film.bin").exists, lambda: transfer(laptop, "film.bin"), timeout=30)
    done = transfer(laptop, "film.bin")
    assert (done["id"], done["state"], done["bytesDone"]) == (began["id"], "done", 16 << 20)
    # A new version is another transfer.
    (laptop.tasks / "Film.files/film.bin").write_bytes(os.urandom(2 << 20))
    until(lambda: {entry["id"] for entry in laptop.json("transfers")["transfers"]} > {began["id"]}, lambda: transfer(laptop, "film.bin"))


def test_a_killed_download_keeps_its_id_and_progress(root, machines):
    laptop, desk = machines
    limited(desk, "--download-limit", "1M")
    (root / "film.bin").write_bytes(os.urandom(24 << 20))
    laptop.ferry("add", "Film")
    laptop.ferry("attach", "Film", root / "film.bin")
    # Its progress is saved every few seconds.
    until(lambda: (transfer(desk, "film.bin") or {}).get("bytesDone", 0) >= 9 << 20, lambda: transfer(desk, "film.bin"), timeout=60)
    before = transfer(desk, "film.bin")
    desk.daemon.kill()
    desk.start()
    until(lambda: transfer(desk, "film.bin"), desk.daemon.tail)
    after = transfer(desk, "film.bin")
    assert after["id"] == before["id"]
    assert after["bytesDone"] >= 1 << 20, (before, after)
    unlimited(desk, "--download-limit", "1M")
    until((desk.tasks / "Film.files/film.bin").exists, lambda: transfer(desk, "film.bin"), timeout=30)
    assert transfer(desk, "film.bin")["id"] == before["id"]

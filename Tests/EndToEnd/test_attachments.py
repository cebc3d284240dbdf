"""Files on tasks: attached by command or by dropping them beside the task, and the traffic they cause."""
import os
import signal
import subprocess

from harness import BIN, Clock, agree, built_library, until


def caught_signals(pid):
    """Returns the names of the signals for which a program has handlers."""
    (mask,) = (line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("SigCgt:"))
    return [number.name for number in signal.Signals if int(mask, 16) >> (number - 1) & 1]


def attached(machine, task):
    return {entry["name"]: entry["state"] for entry in machine.json("attachments", task)["attachments"]}


def transfers(machine):
    return machine.json("transfers")["transfers"]


def test_attach_drop_detach_and_get(root, machines):
    laptop, desk = machines
    photo = root / "photo.jpg"
    photo.write_bytes(os.urandom(3 << 20))
    laptop.ferry("add", "Insurance")
    laptop.ferry("add", "Claim")
    laptop.ferry("attach", "Insurance", photo)
    # A file that is dropped beside a task is attached; so is a copy beside a task of the other machine.
    (laptop.tasks / "Claim.files").mkdir()
    (laptop.tasks / "Claim.files/letter.txt").write_text("Dear Sir or Madam\n" * 1000)
    agree(laptop, desk)
    assert (desk.tasks / "Insurance.files/photo.jpg").read_bytes() == photo.read_bytes()
    assert (desk.tasks / "Claim.files/letter.txt").read_text() == "Dear Sir or Madam\n" * 1000
    assert attached(desk, "Claim") == {"letter.txt": "here"}
    path = desk.ferry("get", "Insurance", "photo.jpg").strip()
    assert (desk.tasks / path).read_bytes() == photo.read_bytes()
    # Text is compressed for the transfer.
    (letter,) = [transfer for transfer in transfers(laptop) if transfer["name"] == "letter.txt"]
    assert letter["bytesOnWire"] < letter["bytesTotal"] / 4
    # Attachments follow their task when it moves.
    desk.ferry("move", "Insurance", "Papers")
    desk.ferry("set", "Claim", "title:Claim 2026")
    until(lambda: (laptop.tasks / "Papers/Insurance.files/photo.jpg").exists(), lambda: sorted(laptop.files()))
    until(lambda: (laptop.tasks / "Claim 2026.files/letter.txt").exists(), lambda: sorted(laptop.files()))
    agree(laptop, desk)
    # An attachment is detached by command, and by removing the file.
    desk.ferry("detach", "Insurance", "photo.jpg")
    (laptop.tasks / "Claim 2026.files/letter.txt").unlink()
    until(lambda: not attached(laptop, "Insurance") and not attached(desk, "Claim"),
          lambda: (attached(laptop, "Insurance"), attached(desk, "Claim")))
    until(lambda: not any(".files/" in name for machine in machines for name in machine.files()),
          lambda: [sorted(machine.files()) for machine in machines])


def test_large_attachments_are_downloaded_on_request(root, machines):
    laptop, desk = machines
    desk.stop()
    desk.daemon.arguments += ["--download", "1M"]
    desk.start()
    laptop.ferry("add", "Film")
    small, large = root / "poster.jpg", root / "film.bin"
    small.write_bytes(os.urandom(100_000))
    large.write_bytes(os.urandom(3 << 20))
    laptop.ferry("attach", "Film", large, small)
    until(lambda: attached(desk, "Film") == {"poster.jpg": "here", "film.bin": "remote"}, lambda: attached(desk, "Film"))
    desk.sync()
    assert [path.name for path in (desk.tasks / "Film.files").iterdir()] == ["poster.jpg"]
    # The absence of a file that was never on this machine does not count as a delete.
    assert attached(laptop, "Film") == {"poster.jpg": "here", "film.bin": "here"}
    desk.ferry("get", "Film", "film.bin")
    assert (desk.tasks / "Film.files/film.bin").read_bytes() == large.read_bytes()
    # Attachments that are on this machine are kept up to date.
    (laptop.tasks / "Film.files/film.bin").write_bytes(small.read_bytes() * 20)
    agree(laptop, desk)
    assert (desk.tasks / "Film.files/film.bin").read_bytes() == small.read_bytes() * 20


def test_an_unfinished_download_is_attached_once_it_is_renamed(machines):
    laptop, desk = machines
    laptop.ferry("add", "Film")
    files = laptop.tasks / "Film.files"
    files.mkdir()
    unfinished = [files / name for name in ("film.mp4.part", "film.mp4.crdownload", "notes.txt~")]
    for file in unfinished:
        file.write_bytes(b"half")
    (files / "poster.jpg").write_bytes(b"poster")
    laptop.sync()
    until(lambda: attached(desk, "Film") == {"poster.jpg": "here"}, lambda: attached(desk, "Film"))
    unfinished[0].write_bytes(b"the whole film")
    unfinished[0].rename(files / "film.mp4")
    until(lambda: attached(desk, "Film") == {"poster.jpg": "here", "film.mp4": "here"}, lambda: attached(desk, "Film"))
    assert (desk.tasks / "Film.files/film.mp4").read_bytes() == b"the whole film"
    assert sorted(path.name for path in (desk.tasks / "Film.files").iterdir()) == ["film.mp4", "poster.jpg"]


def test_a_changed_attachment_replaces_the_old_one(machines):
    laptop, desk = machines
    laptop.ferry("add", "Draft")
    file = laptop.tasks / "Draft.files/draft.bin"
    file.parent.mkdir()
    file.write_bytes(os.urandom(1 << 20))
    agree(laptop, desk)
    new = file.read_bytes()[: 1 << 19] + os.urandom(100)
    file.write_bytes(new)
    until(lambda: (desk.tasks / "Draft.files/draft.bin").read_bytes() == new, desk.daemon.tail)
    agree(laptop, desk)
    assert list(attached(desk, "Draft")) == ["draft.bin"]


def test_modification_times_and_executable_bits_are_synced(root, machines):
    laptop, desk = machines
    script = root / "deploy.sh"
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o755)
    os.utime(script, ns=(0, 1_000_000_123_456_000))
    laptop.ferry("add", "Release")
    laptop.ferry("attach", "Release", script)
    dropped = laptop.tasks / "Release.files/old.txt"
    dropped.write_text("from 1969\n")
    os.utime(dropped, ns=(0, -5_000_000_000))
    agree(laptop, desk)
    for machine in machines:
        status = (machine.tasks / "Release.files/deploy.sh").stat()
        assert (status.st_mtime_ns, status.st_mode & 0o100) == (1_000_000_123_456_000, 0o100)
        status = (machine.tasks / "Release.files/old.txt").stat()
        assert (status.st_mtime_ns, status.st_mode & 0o111) == (-5_000_000_000, 0)
    assert subprocess.check_output([desk.tasks / "Release.files/deploy.sh"], text=True) == "one\n"
    # A new version has its own modification time, and is executable although the earlier one was not.
    dropped = desk.tasks / "Release.files/old.txt"
    dropped.write_text("#!/bin/sh\necho two\n")
    dropped.chmod(0o755)
    os.utime(dropped, ns=(0, 2_000_000_000_000_000))
    here = laptop.tasks / "Release.files/old.txt"
    until(lambda: "two" in here.read_text(), laptop.daemon.tail)
    agree(laptop, desk)
    assert here.stat().st_mtime_ns == 2_000_000_000_000_000
    assert subprocess.check_output([here], text=True) == "two\n"


def test_a_directory_of_many_files_is_attached_and_watched_to_its_end(root, machines):
    laptop, desk = machines
    laptop.ferry("add", "Archive")
    names = [f"note {number}.txt" for number in range(500)]
    (root / "notes/old").mkdir(parents=True)
    for number, name in enumerate(names):
        (root / "notes" / ("old" if number % 2 else "") / name).write_text(name)
    (root / "notes/.hidden").write_text("not this one")
    said = laptop.ferry("attach", "Archive", root / "notes", check=False)
    assert said.returncode == 0 and said.stderr.count("done\n") == 500, said
    agree(laptop, desk)
    assert sorted(path.name for path in (desk.tasks / "Archive.files").iterdir()) == sorted(names)
    refused = laptop.ferry("attach", "Archive", root / "notes", root / "nothing", check=False)
    assert refused.returncode != 0 and "nothing: No such file" in refused.stderr


def test_the_same_file_on_another_task_sends_no_chunk(root, machines):
    laptop, desk = machines
    big = root / "big.bin"
    big.write_bytes(os.urandom(6 << 20))
    laptop.ferry("add", "First")
    laptop.ferry("add", "Second")
    laptop.ferry("attach", "First", big)
    laptop.ferry("attach", "Second", big)
    first, second = sorted((t for t in transfers(laptop) if t["direction"] == "upload"), key=lambda t: -t["bytesOnWire"])
    assert first["bytesOnWire"] >= 6 << 20
    assert second["bytesOnWire"] < 64 << 10 and second["state"] == "done"
    agree(laptop, desk)
    assert (desk.tasks / "Second.files/big.bin").read_bytes() == big.read_bytes()


def test_a_transfer_is_paused_resumed_and_cancelled(root, server, machines):
    laptop, desk = machines
    laptop.stop()
    laptop.daemon.arguments += ["--upload-limit", "1M"]
    laptop.start()
    content = {name: os.urandom(4 << 20) for name in ("paused.bin", "cancelled.bin")}
    for name, data in content.items():
        (root / name).write_bytes(data)
    laptop.ferry("add", "Slow")
    (paused,) = laptop.json("attach", "Slow", root / "paused.bin", "--no-wait")["transfers"]
    laptop.ferry("transfers", "pause", paused["id"])

    def state(name):
        return [transfer["state"] for transfer in transfers(laptop) if transfer["name"] == name]

    until(lambda: state("paused.bin") == ["paused"], lambda: transfers(laptop))
    # A user who stops watching is informed that the daemon continues.
    watcher = subprocess.Popen([str(BIN / "ferry"), "transfers", "--watch"], stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **laptop.environment})
    until(lambda: "SIGINT" in caught_signals(watcher.pid), lambda: caught_signals(watcher.pid))
    watcher.send_signal(signal.SIGINT)
    assert "the daemon continues" in watcher.communicate(timeout=10)[1] and watcher.returncode == 130
    # A pause survives a restart.
    laptop.stop()
    laptop.daemon.arguments = laptop.daemon.arguments[:-2]
    laptop.start()
    until(lambda: state("paused.bin") == ["paused"], lambda: transfers(laptop))
    assert not (desk.tasks / "Slow.files/paused.bin").exists()
    laptop.ferry("transfers", "resume", "--all")
    until(lambda: (desk.tasks / "Slow.files/paused.bin").exists(), lambda: transfers(laptop))
    assert (desk.tasks / "Slow.files/paused.bin").read_bytes() == content["paused.bin"]
    # A cancelled upload stops, is reported, and does not start again. Its file stays, on this machine only.
    laptop.stop()
    laptop.daemon.arguments += ["--upload-limit", "1M"]
    laptop.start()
    (cancelled,) = laptop.json("attach", "Slow", root / "cancelled.bin", "--no-wait")["transfers"]
    laptop.ferry("transfers", "cancel", cancelled["id"])
    until(lambda: [t["state"] for t in transfers(laptop) if t["id"] == cancelled["id"]] == ["cancelled"],
          lambda: transfers(laptop))
    laptop.stop()
    laptop.daemon.arguments = laptop.daemon.arguments[:-2]
    laptop.start()
    for machine in (laptop, desk):
        machine.sync()
    until(lambda: state("cancelled.bin") == ["cancelled"], lambda: transfers(laptop))
    assert attached(desk, "Slow") == attached(laptop, "Slow") == {"paused.bin": "here"}
    kept = laptop.tasks / "Slow.files/cancelled.bin"
    assert kept.read_bytes() == content["cancelled.bin"]
    assert [problem["code"] for problem in laptop.status()["problems"]] == ["not-attached"]
    laptop.ferry("transfers", "resume", cancelled["id"])
    agree(laptop, desk)
    assert (desk.tasks / "Slow.files/cancelled.bin").read_bytes() == content["cancelled.bin"]
    assert not laptop.status()["problems"]


def test_cancelling_a_new_version_leaves_it_on_its_machine(root, machines):
    laptop, desk = machines
    laptop.ferry("add", "Draft")
    old = root / "draft.bin"
    old.write_bytes(os.urandom(1 << 20))
    laptop.ferry("attach", "Draft", old)
    agree(laptop, desk)
    laptop.stop()
    laptop.daemon.arguments += ["--upload-limit", "64K"]
    laptop.start()
    file = laptop.tasks / "Draft.files/draft.bin"
    new = os.urandom(4 << 20)
    file.write_bytes(new)

    def uploads():
        return [transfer for transfer in transfers(laptop) if transfer["direction"] == "upload"]

    until(lambda: uploads() and uploads()[-1]["state"] == "running", lambda: transfers(laptop))
    laptop.ferry("transfers", "cancel", uploads()[-1]["id"])
    until(lambda: uploads()[-1]["state"] == "cancelled", lambda: transfers(laptop))
    for machine in (laptop, desk):
        machine.sync()
    assert file.read_bytes() == new and (desk.tasks / "Draft.files/draft.bin").read_bytes() == old.read_bytes()
    # A change of the file becomes a new version, which is attached.
    laptop.stop()
    laptop.daemon.arguments = laptop.daemon.arguments[:-2]
    laptop.start()
    file.write_bytes(b"short")
    agree(laptop, desk)
    assert (desk.tasks / "Draft.files/draft.bin").read_bytes() == b"short" and not laptop.status()["problems"]


def test_an_upload_resumes_after_its_daemon_was_killed(root, machines):
    laptop, desk = machines
    laptop.stop()
    laptop.daemon.arguments += ["--upload-limit", "4M"]
    laptop.start()
    big = root / "big.bin"
    big.write_bytes(os.urandom(16 << 20))
    laptop.ferry("add", "Big")
    laptop.ferry("attach", "Big", big, "--no-wait")
    until(lambda: any(t["bytesOnWire"] > 4 << 20 for t in transfers(laptop)), lambda: transfers(laptop))
    laptop.daemon.kill()
    laptop.daemon.arguments = laptop.daemon.arguments[:-2]
    laptop.start()
    until(lambda: (desk.tasks / "Big.files/big.bin").exists(), lambda: (transfers(laptop), laptop.status()))
    assert (desk.tasks / "Big.files/big.bin").read_bytes() == big.read_bytes()
    (again,) = [transfer for transfer in transfers(laptop) if transfer["direction"] == "upload"]
    assert again["bytesOnWire"] < 15 << 20, again
    agree(laptop, desk)


def test_an_upload_outlives_its_keys_and_the_sign_in(root, server, machines):
    laptop, desk = machines
    clock = Clock(built_library(root, "wrong-clock"), root / "clock")
    server.stop()
    server.environment = clock.environment
    server.start()
    laptop.stop()
    laptop.daemon.arguments += ["--upload-limit", "4M"]
    laptop.start()
    big = root / "big.bin"
    big.write_bytes(os.urandom(16 << 20))
    laptop.ferry("add", "Big")
    laptop.ferry("attach", "Big", big, "--no-wait")
    until(lambda: any(t["bytesOnWire"] > 4 << 20 for t in transfers(laptop)), lambda: transfers(laptop))
    # The server treats keys that it issued for an hour as expired now.
    clock.set(2 * 3600)
    until(lambda: (desk.tasks / "Big.files/big.bin").exists(), lambda: (transfers(laptop), laptop.daemon.tail()), timeout=60)
    assert (desk.tasks / "Big.files/big.bin").read_bytes() == big.read_bytes()
    (upload,) = [transfer for transfer in transfers(laptop) if transfer["direction"] == "upload"]
    assert upload["bytesOnWire"] < 22 << 20, upload
    laptop.write("After.md", "still signed in\n")
    agree(laptop, desk)


def test_a_file_attached_by_command_is_complete_regardless_of_its_name(root, server, machines):
    laptop, desk = machines
    laptop.ferry("add", "Film")
    agree(laptop, desk)
    film = root / "film.PART"
    film.write_bytes(b"the first of two parts")
    server.stop()
    laptop.ferry("attach", "Film", film, "--no-wait")
    until((laptop.tasks / "Film.files/film.PART").exists, "the file beside its task")
    laptop.daemon.kill()
    laptop.start()
    server.start()
    until((desk.tasks / "Film.files/film.PART").exists, lambda: (laptop.status(), transfers(laptop)), timeout=60)
    assert (desk.tasks / "Film.files/film.PART").read_bytes() == film.read_bytes()


def spooled(machine, pid):
    """Returns the number of bytes of its standard input that a program has stored in a file without a name."""
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{number}").startswith(f"{machine.run_dir}/#"):
                return os.stat(f"/proc/{pid}/fd/{number}").st_size
        except OSError:
            continue  # The descriptor was closed since it was listed.
    return 0


def copies(machine):
    return list(machine.run_dir.glob("ferry-attach-*"))


def attaching(machine, name, **options):
    # Under nohup the tests would hand on that SIGHUP is ignored.
    return subprocess.Popen([str(BIN / "ferry"), "attach", "Backup", "-", "--name", name], stdin=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
                            env={**os.environ, **machine.environment}, **{"stderr": subprocess.DEVNULL, **options})


def test_truncated_standard_input_leaves_no_copy(machines):
    laptop, _ = machines
    laptop.ferry("add", "Backup")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        process = attaching(laptop, "dump")
        process.stdin.write(b"half of it" * 100_000)
        process.stdin.flush()
        until(lambda: spooled(laptop, process.pid), "the copy of standard input")
        process.send_signal(number)
        process.wait(20)
        assert not copies(laptop)
    assert attached(laptop, "Backup") == {}
    # The upload also continues when nothing reads its progress.
    process = attaching(laptop, "dump", stderr=subprocess.PIPE)
    process.stderr.close()
    process.stdin.write(b"all of it")
    process.stdin.close()
    process.wait(20)
    assert not copies(laptop)
    until(lambda: attached(laptop, "Backup") == {"dump": "here"}, lambda: attached(laptop, "Backup"))


def test_files_of_a_killed_command_are_removed_by_the_next(machines):
    laptop, _ = machines
    laptop.ferry("add", "Backup")
    # The daemon sends no responses, so both commands wait for it.
    laptop.daemon.signal(signal.SIGSTOP)
    processes = []
    for count, name in enumerate(("killed", "waiting"), 1):
        processes.append(attaching(laptop, name))
        processes[-1].stdin.write(name.encode())
        processes[-1].stdin.close()
        until(lambda: len(copies(laptop)) == count, lambda: copies(laptop))
    killed, waiting = processes
    killed.kill()
    killed.wait()
    assert len(copies(laptop)) == 2
    third = attaching(laptop, "third")
    third.stdin.write(b"third")
    third.stdin.flush()
    until(lambda: spooled(laptop, third.pid), "the third")
    # The file of the command that is still running exists.
    assert [path.read_bytes() for path in copies(laptop)] == [b"waiting"]
    third.stdin.close()
    laptop.daemon.signal(signal.SIGCONT)
    for process in (waiting, third):
        assert process.wait(20) == 0
    assert not copies(laptop)
    assert attached(laptop, "Backup").keys() >= {"waiting", "third"}


def test_files_with_names_that_are_not_text_are_reported(root, machines):
    laptop, _ = machines
    laptop.ferry("add", "Archive")
    (root / "old").mkdir()
    (root / "old/good.txt").write_text("good")
    with open(os.fsencode(root / "old") + b"/caf\xe9.txt", "wb") as file:
        file.write(b"latin")
    said = laptop.ferry("attach", "Archive", root / "old", check=False)
    assert said.returncode == 8 and "caf\\xe9.txt is not attached" in said.stderr, said
    assert attached(laptop, "Archive") == {"good.txt": "here"}
    said = laptop.ferry("attach", "Archive", os.fsdecode(os.fsencode(root / "old") + b"/caf\xe9.txt"), check=False)
    assert said.returncode == 3 and "not UTF-8" in said.stderr, said

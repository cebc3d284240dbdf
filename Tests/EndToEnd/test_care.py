"""Maintenance of the daemon: doctor, log, config, devices, and the report for support."""
import json
import os
import socket
import subprocess
import tarfile
import threading

from harness import BIN, PASSWORD, Machine, agree, until


def test_doctor_passes_a_healthy_machine_and_reports_faults(server, machines):
    laptop, _ = machines
    laptop.write("Good.md", "")
    laptop.sync()
    report = laptop.ferry("doctor")
    for text in ("ferryd", "marker", "watched", "free on the disk", "signed in", "clock", "(documents)", "(objects)"):
        assert text in report, report
    laptop.write("Odd.md", "---\npriority: soonish\n---\n")
    laptop.write("Broken.md", "---\npriority: [\n---\n")
    laptop.sync()
    until(lambda: laptop.status()["problems"], laptop.status)
    sick = laptop.ferry("doctor", check=False)
    assert sick.returncode == 6
    assert "Broken.md" in sick.stdout and "'Odd' (priority)" in sick.stdout and "ferry show" in sick.stdout
    server.stop()
    until(lambda: laptop.status()["state"] == "offline", laptop.status)
    checks = {c["code"]: c for c in json.loads(laptop.ferry("doctor", "--json", check=False).stdout)["checks"]}
    assert checks["endpoint-identity"]["state"] == "failed" and checks["endpoint-documents"]["state"] == "failed"
    assert all(check["remedy"] for check in checks.values() if check["state"] != "ok")


def test_doctor_names_another_program_that_syncs_the_directory(root, machines):
    laptop, _ = machines
    laptop.write("Plan.sync-conflict-20261122-101500-ABCDEFG.md", "")
    laptop.sync()
    (root / ".stfolder").mkdir()
    report = laptop.ferry("doctor", check=False)
    assert report.returncode == 6
    assert f"Syncthing also syncs {root}" in report.stdout and "'Plan.sync-conflict" in report.stdout


def test_doctor_reports_quarantined_files(machines):
    laptop, _ = machines
    laptop.stop()
    # A crash right after a write has replaced a file leaves this state.
    (laptop.tasks / ".ferry-0123456789abcdef.tmp").write_text("words\n")
    laptop.start()
    aside = laptop.tasks / ".ferry/recovered"
    until(lambda: aside.exists() and list(aside.iterdir()), laptop.status)
    report = laptop.ferry("doctor", check=False)
    assert report.returncode == 6, report.stdout
    assert f"1 file in {aside}" in report.stdout and "30 days after" in report.stdout, report.stdout
    (file,) = aside.iterdir()
    assert file.read_text() == "words\n"
    file.unlink()
    assert str(aside) not in laptop.ferry("doctor")


def test_doctor_without_an_account_and_without_a_daemon(root):
    laptop = Machine(root, "laptop")
    result = laptop.ferry("doctor", check=False)
    assert result.returncode == 4 and "systemctl" in result.stdout
    laptop.start()
    result = laptop.ferry("doctor", check=False)
    assert result.returncode == 6 and "ferry login" in result.stdout
    laptop.stop()


def test_devices_have_the_names_from_their_daemons_configuration(machines):
    laptop, desk = machines
    agree(laptop, desk)
    for machine, other in ((laptop, desk), (desk, laptop)):
        until(lambda: len(machine.json("devices")["devices"]) == 2, lambda: machine.ferry("devices"))
        first, second = machine.json("devices")["devices"]
        assert (first["name"], first.get("thisOne")) == (machine.name, True)
        assert second["name"] == other.name and not second.get("thisOne")
        assert first["lastSeen"].startswith("20") and first["version"]
    assert "this machine" in laptop.ferry("devices")


def test_config_shows_the_source_of_each_value_and_checks_a_file(root):
    laptop = Machine(root, "laptop")
    configuration = root / "ferryd.yaml"
    configuration.write_text("upload-limit: 2M\n")
    laptop.daemon.arguments += ["--config", configuration]
    laptop.daemon.environment["FERRY_DOWNLOAD_LIMIT"] = "500K"
    laptop.start()
    settings = {s["key"]: (s["value"], s["source"]) for s in laptop.json("config")["settings"]}
    assert settings["tasks"] == (str(laptop.tasks), "--tasks")
    assert settings["upload-limit"] == ("2M", str(configuration))
    assert settings["download-limit"] == ("500K", "FERRY_DOWNLOAD_LIMIT")
    assert settings["log-level"] == ("info", "default") and settings["device-name"] == ("laptop", "--device-name")
    assert laptop.ferry("config", "check", configuration).strip() == f"{configuration} is good."
    configuration.write_text("uplod-limit: 2M\n")
    result = laptop.ferry("config", "check", configuration, check=False)
    assert result.returncode == 78 and "upload-limit" in result.stderr and str(configuration) in result.stderr
    assert laptop.ferry("config", "check", root / "none", check=False).returncode == 3
    laptop.stop()


def test_the_log_shows_past_lines_and_follows_new_ones(machines):
    laptop, desk = machines
    assert "ready" in laptop.ferry("log")
    following = subprocess.Popen([str(BIN / "ferry"), "log", "--follow"], env={**os.environ, **laptop.environment}, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(iter(following.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        until(lambda: any("ready" in line for line in seen), lambda: seen)
        desk.write("News.md", "")
        until(lambda: any("task" in line and "News" in line for line in seen), lambda: seen)
        laptop.ferry("pause")
        until(lambda: any("paused" in line for line in seen), lambda: seen)
        laptop.ferry("resume")
    finally:
        laptop.stop()
    assert following.wait(20) == 4
    reader.join(10)


def test_a_support_bundle_contains_no_secrets_and_no_user_text(root, machines):
    laptop, desk = machines
    laptop.write("Secret Plan.md", "the words of the plan\n")
    laptop.write("Hidden List/Other Secret.md", "")
    agree(laptop, desk)
    laptop.write("Broken Secret.md", "---\na: [\n---\n")
    until(lambda: laptop.status()["problems"], laptop.status)
    bundle = root / "bundle.tar"
    assert laptop.ferry("support-bundle", bundle).strip() == str(bundle)
    assert bundle.stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as archive:
        files = {member.name: archive.extractfile(member).read().decode() for member in archive.getmembers()}
    assert set(files) >= {f"ferry-support/{name}" for name in ("status.json", "doctor.txt", "config.txt", "log.txt", "versions.txt")}
    everything = "\n".join(files.values())
    session = json.loads((laptop.state / "session.json").read_text())
    for secret in ("Secret", "Hidden", "the words", "me@example.org", PASSWORD, session["refreshToken"], str(laptop.home),
                   socket.gethostname()):
        assert secret not in everything, secret
    assert json.loads(files["ferry-support/status.json"])["state"] == "running"
    again = laptop.ferry("support-bundle", bundle, check=False)
    assert again.returncode == 1 and str(bundle) in again.stderr


def test_errors_have_causes_on_request_and_are_json_objects_for_scripts(root):
    laptop = Machine(root, "laptop")
    assert laptop.ferry("list", "--json", check=False).returncode == 4
    laptop.start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    short = laptop.ferry("login", url, check=False)
    assert short.returncode == 5 and len(short.stderr.splitlines()) == 2
    assert "because:" in laptop.ferry("login", url, "--verbose", check=False).stderr
    for arguments, status, code in ((["login", url], 5, "offline"), (["sync"], 7, "needs-sign-in"), (["set", "x"], 2, "usage")):
        result = laptop.ferry(*arguments, "--json", check=False)
        error = json.loads(result.stderr)["error"]
        assert (result.returncode, error["status"], error["code"]) == (status, status, code) and error["message"]
        assert not result.stdout
    laptop.stop()


def test_one_cause_is_one_line_of_the_log_when_it_begins_and_one_when_it_ends(server, machines):
    laptop, desk = machines
    for number in range(40):
        laptop.write(f"Task {number}.md", "")
    agree(laptop, desk)
    for number in range(40):
        (laptop.tasks / f"Task {number}.md").unlink()
    until(lambda: laptop.status()["heldDeletes"] >= 30, laptop.status)
    laptop.ferry("sync")
    laptop.ferry("deletes", "restore", "--all")
    until(lambda: "no deletes are held for review any more" in laptop.daemon.tail(), laptop.daemon.tail)
    assert laptop.daemon.tail(200).count("deletes at once are held") == 1, laptop.daemon.tail(200)
    server.stop()
    until(lambda: "cannot be reached" in laptop.daemon.tail(), laptop.daemon.tail)
    server.start()
    until(lambda: laptop.daemon.tail().count("connected to the server") == 2, laptop.daemon.tail)
    assert len(laptop.daemon.tail(200).splitlines()) < 12, laptop.daemon.tail(200)

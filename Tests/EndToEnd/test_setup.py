"""`ferry setup` and `ferry-server setup` without systemd, tasks before the first sign-in, and configurations that are mended."""
import json
import re
import shutil
import signal
import subprocess

import pytest

from harness import BIN, PASSWORD, Machine, Server, agree, until
from test_supervision import Notifications


def server_setup(root, *arguments, input="", check=True):
    """Runs `ferry-server setup` for a data directory below `root`."""
    result = subprocess.run(
        [str(BIN / "ferry-server"), "setup", "--no-service", "--data", str(root / "server"), "--config",
         str(root / "ferry-server.yaml"), *map(str, arguments)],
        input=input, text=True, capture_output=True, timeout=60, cwd=root)
    if not check:
        return result
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_server_is_set_up_and_both_machines_with_one_command_each(root):
    said = server_setup(root, "--email", "Me@example.org")
    code = re.search(r"ferry setup http://127.0.0.1:7441 --code (\S+)", said)[1]
    assert "me@example.org" in said.lower() and f"ferry-server run --config {root}/ferry-server.yaml" in said
    again = server_setup(root, "--email", "me@example.org")
    assert "is there already" in again and code not in again, "an account without a password gets a fresh code"
    code = re.search(r"--code (\S+)", again)[1]
    server = Server(root, "--config", root / "ferry-server.yaml")
    server.start()
    pair = [Machine(root, "laptop"), Machine(root, "desk")]
    try:
        for machine in pair:
            machine.start()
        laptop, desk = pair
        laptop.write("Call Anna.md", "the blue door\n")
        first = laptop.ferry("setup", server.url, "--code", code, "--password-stdin", "--no-service", input=PASSWORD)
        assert "me@example.org on" in first and "1 task, all synced" in first
        second = desk.ferry("setup", server.url, "--email", "me@example.org", "--password-stdin", "--no-service", input=PASSWORD)
        assert "1 task, all synced" in second and desk.read("Call Anna.md") == "the blue door\n"
        repeated = desk.ferry("setup", server.url, "--email", "me@example.org", "--no-service")
        assert "signed in already" in repeated
        assert "is there already" in server_setup(root, "--email", "me@example.org")
    finally:
        for program in (*pair, server):
            program.stop()


def test_health_tells_whether_the_server_answers(root):
    server = Server(root)
    health = [str(BIN / "ferry-server"), "health", "--data", str(server.data)]
    assert subprocess.run(health, capture_output=True, timeout=30).returncode == 1
    server.start()
    result = subprocess.run(health, capture_output=True, text=True, timeout=30)
    assert (result.returncode, result.stdout) == (0, "ok\n"), result.stderr
    server.kill()
    assert subprocess.run(health, capture_output=True, timeout=30).returncode == 1


@pytest.mark.parametrize("arguments, told", [
    (["http://10.0.0.1"], "--insecure"), (["tasks.example.org"], "no address"),
    (["https://nas.home", "--tls-cert", "/none", "--tls-key", "/none"], "TLS certificate"),
])
def test_a_setup_that_cannot_be_changes_nothing(root, arguments, told):
    result = server_setup(root, *arguments, check=False)
    assert result.returncode == 78 and told in result.stderr
    assert not (root / "ferry-server.yaml").exists()


def test_other_machines_are_not_served_without_tls(root):
    result = subprocess.run(
        [str(BIN / "ferry-server"), "run", "--data", str(root / "d"), "--http", "0.0.0.0:0"], capture_output=True, text=True, timeout=30)
    assert result.returncode == 78 and "insecure allows it" in result.stderr and not (root / "d").exists()
    server = Server(root, "--insecure")
    server.documents, server.url = "127.0.0.1:0", "http://0.0.0.0:0"
    server.start()
    assert "0.0.0.0" not in server.url, "the address is for `ferry login`"
    server.stop()


def test_tasks_are_kept_before_anybody_signs_in_and_travel_then(root, server):
    laptop, desk = Machine(root, "laptop"), Machine(root, "desk")
    try:
        laptop.start()
        laptop.ferry("add", "Buy", "milk", "+errands", "due:friday")
        laptop.write("Work/Ship.md", "notes\n")
        until(lambda: "Ship" in laptop.list(), "the file to be a task")
        (root / "plan.txt").write_text("a plan")
        laptop.ferry("attach", "--no-wait", "Ship", root / "plan.txt")
        laptop.ferry("done", "milk")
        status = laptop.status()
        assert status["state"] == "needs-sign-in" and status["tasks"] == 2 and "this machine only" in status["reason"]
        assert laptop.ferry("status", "--check", check=False).returncode == 7
        laptop.stop()
        laptop.start()
        assert laptop.list()["Buy milk"]["completed"], "a restart without an account goes on"
        (root / "todo.txt").write_text("(A) Call Anna\n")
        laptop.ferry("import", root / "todo.txt")
        laptop.write("Late.md", "written a moment before the export\n")
        titles = {json.loads(line)["task"]["title"] for line in laptop.ferry("export").splitlines()}
        assert titles == {"Buy milk", "Ship", "Call Anna", "Late"}
        before = laptop.files()
        laptop.login(server, create=True)
        laptop.sync()
        assert laptop.files() == before
        desk.start()
        desk.login(server)
        agree(laptop, desk)
        until(lambda: desk.files() == before, lambda: (before, desk.files()))
        laptop.ferry("logout")
        refused = laptop.ferry("add", "Too late", check=False)
        assert refused.returncode == 7, "tasks of an account wait for it"
    finally:
        laptop.stop()
        desk.stop()


def under_supervision(root, machine):
    """Makes the daemon believe that a service manager has started it."""
    told = Notifications(root / "notify")
    machine.daemon.environment |= {"NOTIFY_SOCKET": str(told.path), "WATCHDOG_USEC": "500000"}
    return told


def test_a_mistake_in_the_configuration_is_told_by_status_and_mended_in_place(root, laptop):
    path = root / "ferryd.yaml"
    path.write_text("log-level: info\ntaks: /x\n")
    laptop.daemon.arguments += ["--config", path]
    told = under_supervision(root, laptop)
    laptop.start()
    status = laptop.status()
    assert status["state"] == "configuration-error" and f"{path}, line 2" in status["reason"] and '"tasks"' in status["reason"]
    assert laptop.ferry("status", "--check", check=False).returncode == 6
    refused = laptop.ferry("list", check=False)
    assert refused.returncode == 1 and "line 2" in refused.stderr
    assert laptop.ferry("doctor", check=False).returncode == 6
    good = root / "good.yaml"
    good.write_text("log-level: debug\n")
    assert "is good" in laptop.ferry("config", "check", good)
    path.write_text("log-level: loud\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "log-level" in laptop.status()["reason"], laptop.status)
    assert any(line.startswith("STATUS=configuration-error") for line in told.lines)
    path.write_text("log-level: info\n")
    # systemd starts it again on this status.
    assert laptop.daemon.process.wait(20) == 75, laptop.daemon.tail()
    laptop.start()
    assert laptop.status()["state"] == "needs-sign-in"


def test_a_reload_names_what_it_cannot_apply(root, laptop):
    path = root / "ferryd.yaml"
    path.write_text("log-level: info\n")
    laptop.daemon.arguments += ["--config", path]
    laptop.start()

    def problems():
        return [p["message"] for p in laptop.status()["problems"] if p["code"] == "configuration"]

    path.write_text("trash-days: 7\ndownload: none\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: any("download, trash-days" in message for message in problems()), problems)
    path.write_text("trash: 7\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: any("line 1" in message for message in problems()), problems)
    path.write_text("log-level: debug\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: not problems(), problems)


@pytest.mark.parametrize("is_service", [True, False])
def test_a_daemon_whose_program_was_replaced_starts_the_new_one(root, laptop, is_service):
    programs = root / "bin"
    programs.mkdir()
    shutil.copy(BIN / "ferryd", programs / "ferryd")
    laptop.daemon.name = str(programs / "ferryd")
    if is_service:
        under_supervision(root, laptop)
    else:
        # Without a supervisor it looks every half minute; this is the interval of its watchdog.
        laptop.daemon.environment |= {"WATCHDOG_USEC": "500000"}
    laptop.start()
    shutil.copy(BIN / "ferryd", programs / "new")
    (programs / "new").rename(programs / "ferryd")
    if is_service:
        assert laptop.daemon.process.wait(30) == 75, laptop.daemon.tail()
    else:
        until(lambda: laptop.daemon.log.read_text().count("ready ") >= 2, laptop.daemon.tail, timeout=60)
        assert laptop.daemon.running and laptop.status()["state"] == "needs-sign-in"

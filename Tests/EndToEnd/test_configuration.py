"""The daemon's configuration: invalid values and their messages, reload by SIGHUP, and the manual pages."""
import signal
import subprocess

import pytest

from harness import BIN, run_daemon, until


@pytest.mark.parametrize("text, told", [
    ("taks: /tmp/x\n", '"tasks"'), ("log-level: loud\n", "log-level"), ("tasks: [1, 2]\n", "tasks"), ("tasks: {", "line "),
    ("tasks: relative\n", "must begin with"),
])
def test_bad_configuration_ends_with_78_and_names_the_key(root, text, told):
    path = root / "ferryd.yaml"
    path.write_text(text)
    result = run_daemon("run", "--config", path, HOME=str(root))
    assert result.returncode == 78, result.stderr
    assert str(path) in result.stderr and told in result.stderr
    assert len(result.stderr.splitlines()) <= 2


def test_an_unknown_flag_ends_with_78_and_suggests_the_nearest(root):
    result = run_daemon("--sokcet", root / "s", HOME=str(root))
    assert result.returncode == 78 and "--socket" in result.stderr


def test_an_invalid_environment_variable_is_named(root):
    result = run_daemon("run", HOME=str(root), FERRY_UPLOAD_LIMIT="fast")
    assert result.returncode == 78 and "FERRY_UPLOAD_LIMIT" in result.stderr


def test_in_the_journal_a_bad_configuration_is_one_line_with_its_level(root):
    # systemd sets JOURNAL_STREAM to the device and inode of standard error.
    code = ("import os, sys; status = os.fstat(2); os.environ['JOURNAL_STREAM'] = f'{status.st_dev}:{status.st_ino}';"
            "os.execv(sys.argv[1], sys.argv[1:])")
    result = subprocess.run(["python3", "-c", code, str(BIN / "ferryd"), "--config", str(root / "none")],
                            capture_output=True, text=True, timeout=30)
    assert result.returncode == 78
    assert result.stderr.startswith("<3>ferryd: ") and result.stderr.count("\n") == 1


def test_manual_pages_are_generated_from_the_declarations():
    assert "log\\-level" in run_daemon("manual").stdout
    page = run_daemon("manual", "ferryd.yaml").stdout
    assert ".TH" in page and "FERRY_TASKS" in page
    assert run_daemon("--version").stdout.startswith("ferryd ")


def test_sighup_reloads_the_configuration(root, laptop):
    configuration = root / "ferryd.yaml"
    configuration.write_text("log-level: error\n")
    laptop.daemon.arguments += ["--config", configuration]
    laptop.start()
    configuration.write_text("log-level: info\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "read again" in laptop.daemon.tail(), laptop.daemon.tail)
    configuration.write_text("log-lvel: info\n")
    laptop.daemon.signal(signal.SIGHUP)
    until(lambda: "did you mean" in laptop.daemon.tail(), laptop.daemon.tail)
    assert laptop.daemon.running and laptop.ferry("status")

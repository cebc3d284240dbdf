"""Each state, directory and socket has one daemon, and private files are private."""
import json

from harness import PASSWORD, run_daemon


def test_a_second_daemon_on_the_same_state_is_refused(root, laptop):
    laptop.start()
    other = run_daemon("run", "--tasks", root / "elsewhere", "--state", laptop.state, "--socket", root / "o.sock", HOME=str(root))
    assert other.returncode == 1
    assert "Another ferryd" in other.stderr and str(laptop.state) in other.stderr
    assert laptop.ferry("status")


def test_a_second_daemon_on_the_same_tasks_directory_is_refused(root, laptop):
    laptop.start()
    other = run_daemon("run", "--tasks", laptop.tasks, "--state", root / "other", "--socket", root / "o.sock", HOME=str(root))
    assert other.returncode == 1
    assert "Another ferryd" in other.stderr and str(laptop.tasks) in other.stderr


def test_a_socket_of_a_running_program_is_not_taken_over(root, laptop):
    laptop.start()
    other = run_daemon("run", "--tasks", root / "t", "--state", root / "s", "--socket", laptop.socket, HOME=str(root))
    assert other.returncode == 1 and str(laptop.socket) in other.stderr
    assert laptop.ferry("status")


def test_private_files_have_private_modes(root, server, laptop):
    laptop.start()
    laptop.login(server, create=True)
    assert laptop.state.stat().st_mode & 0o777 == 0o700
    assert laptop.socket.stat().st_mode & 0o777 == 0o600
    for file in laptop.state.iterdir():
        if file.suffix == ".json":
            assert file.stat().st_mode & 0o077 == 0, file
    assert PASSWORD not in laptop.daemon.tail(1000)
    token = json.loads((laptop.state / "session.json").read_text())["refreshToken"]
    assert token not in laptop.daemon.tail(1000)


def test_a_socket_left_behind_by_kill_9_is_replaced(laptop):
    laptop.start()
    laptop.daemon.kill()
    assert laptop.socket.exists()
    laptop.start()
    assert laptop.ferry("status")
    assert laptop.stop() == 0
    assert not laptop.socket.exists()

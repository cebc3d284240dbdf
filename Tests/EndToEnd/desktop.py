"""A session bus with a mocked notification server, for the tests of reminders."""
import os
import subprocess
import time

from harness import until

PYTHON = "/usr/bin/python3"  # python3-dbusmock is a package of the system.
SERVICE, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
LOGIN, LOGIN_PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
SESSION = f"{LOGIN_PATH}/session/_31"


class Desktop:
    """A bus at the address of a machine's session bus, and a notification server on it."""

    def __init__(self, machine):
        self.socket = machine.run_dir / "bus"
        self.log = machine.home / "desktop.log"
        self.environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.socket}"}
        # The login manager is on the same bus as the notification server, and not that of the tests' machine.
        for bus in ("SESSION", "SYSTEM"):
            machine.environment[f"DBUS_{bus}_BUS_ADDRESS"] = f"unix:path={self.socket}"
        self.bus = self.server = self.systemd = self.logind = None

    def start_bus(self):
        self.socket.unlink(missing_ok=True)
        self.bus = subprocess.Popen(
            ["/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address=unix:path={self.socket}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.socket.exists, "the bus")
        return self

    def start_server(self, capabilities="body body-markup actions"):
        self.server = self.mock("--template", "notification_daemon", "--parameters", f'{{"capabilities": "{capabilities}"}}')
        until(lambda: self.owns(SERVICE), "the notification server")
        return self

    def start_refusing_server(self):
        """A notification server that answers each notice with an error."""
        self.server = self.mock(SERVICE, PATH, SERVICE)
        until(lambda: self.owns(SERVICE), "the notification server")
        add = "org.freedesktop.DBus.Mock.AddMethod"
        refusal = "raise dbus.exceptions.DBusException('no', name='org.freedesktop.DBus.Error.LimitsExceeded')"
        self.call(SERVICE, PATH, add, SERVICE, "Notify", "susssasa{sv}i", "u", refusal)
        self.call(SERVICE, PATH, add, SERVICE, "GetCapabilities", "", "as", 'ret = ["body"]')
        return self

    def start_systemd(self):
        """A service manager, of which only the call that starts a unit is needed."""
        name, path = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
        self.systemd = self.mock(name, path, f"{name}.Manager")
        until(lambda: self.owns(name), "the service manager")
        self.call(name, path, "org.freedesktop.DBus.Mock.AddMethod", f"{name}.Manager", "StartTransientUnit",
                  "ssa(sv)a(sa(sv))", "o", 'ret = dbus.ObjectPath("/job")')

    def start_login(self, **hints):
        """A login manager with one graphical session of the user, which has these properties."""
        self.logind = self.mock(LOGIN, LOGIN_PATH, f"{LOGIN}.Manager")
        until(lambda: self.owns(LOGIN), "the login manager")
        add = "org.freedesktop.DBus.Mock.AddObject"
        self.call(LOGIN, LOGIN_PATH, add, f"{LOGIN_PATH}/user/self", f"{LOGIN}.User",
                  f"{{'Display': <('1', objectpath '{SESSION}')>}}", "@a(ssss) []")
        hints = {"IdleHint": False, "LockedHint": False, **hints}
        self.call(LOGIN, LOGIN_PATH, add, SESSION, f"{LOGIN}.Session", self.variants(hints), "@a(ssss) []")
        return self

    def hint(self, **hints):
        """Changes properties of the user's session."""
        self.call(LOGIN, SESSION, "org.freedesktop.DBus.Mock.UpdateProperties", f"{LOGIN}.Session", self.variants(hints))

    @staticmethod
    def variants(hints):
        return "{" + ", ".join(f"'{name}': <{str(value).lower()}>" for name, value in hints.items()) + "}"

    def mock(self, *arguments):
        with open(self.log, "a") as log:
            return subprocess.Popen([PYTHON, "-m", "dbusmock", *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=subprocess.STDOUT)

    def call(self, destination, path, method, *arguments, check=True):
        result = subprocess.run(
            ["gdbus", "call", "--session", "--dest", destination, "--object-path", path, "--method", method, *arguments],
            env=self.environment, capture_output=True, text=True, timeout=20, check=False)
        assert result.returncode == 0 or not check, result.stderr
        return result.stdout

    def owns(self, name):
        return "true" in self.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner", name, check=False)

    def clients(self):
        """Returns the number of connections to the bus, without that of the question."""
        names = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.ListNames")
        return names.count("':") - 1

    def lines(self, method):
        """The logged calls of a method: the time, and the rest of the line."""
        found = []
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            words = line.split(" ", 2)
            if len(words) == 3 and words[1] == method and not words[2].startswith("raised: "):
                found.append((float(words[0]), words[2]))
        return found

    def notices(self):
        """The notices shown so far, as the mock logs their arguments."""
        return [text for _, text in self.lines("Notify")]

    def closed(self):
        return [text for _, text in self.lines("CloseNotification")]

    def shows(self, count, timeout=10):
        until(lambda: len(self.notices()) >= count, lambda: f"{count} notices, not {self.notices()}", timeout=timeout)
        return self.notices()

    def stays(self, count, seconds=1.2):
        """Nothing more is shown for a while: the test is that nothing happens."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert len(self.notices()) == count, self.notices()
            time.sleep(0.05)

    def press(self, number, key):
        self.call(SERVICE, PATH, "org.freedesktop.DBus.Mock.EmitSignal", SERVICE, "ActionInvoked", "us",
                  f"[<uint32 {number}>, <'{key}'>]")

    def dismiss(self, number, reason=2):
        self.call(SERVICE, PATH, "org.freedesktop.DBus.Mock.EmitSignal", SERVICE, "NotificationClosed", "uu",
                  f"[<uint32 {number}>, <uint32 {reason}>]")

    @staticmethod
    def end(process):
        if process and process.poll() is None:
            process.kill()
            process.wait()

    def stop(self):
        for process in (self.server, self.systemd, self.logind, self.bus):
            self.end(process)

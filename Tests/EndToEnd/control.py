"""A client of the daemon's control socket, as other programs use it."""
import http.client
import json
import socket
import threading


class Control(http.client.HTTPConnection):
    """HTTP over the control socket, like `curl --unix-socket`."""

    def __init__(self, path):
        super().__init__("ferryd", timeout=20)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(machine, method, path, body=None):
    connection = Control(machine.socket)
    connection.request(method, path, body=None if body is None else json.dumps(body))
    response = connection.getresponse()
    return response.status, response.headers, json.loads(response.read() or b"null")


class Events(threading.Thread):
    """Reads the event stream in the background."""

    def __init__(self, machine, last=None):
        super().__init__(daemon=True)
        self.seen = []
        self.connection = Control(machine.socket)
        self.connection.timeout = 60
        self.connection.request("GET", "/v1/events", headers={} if last is None else {"Last-Event-ID": str(last)})
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        self.ended = False
        self.start()

    def run(self):
        event = {}
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line:
                    key, _, value = line.partition(": ")
                    event[key] = value
                elif event:
                    self.seen.append((int(event.get("id", 0)), event.get("event"), json.loads(event.get("data", "null"))))
                    event = {}
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.ended = True

    def hang_up(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join(10)

    def of(self, kind):
        return [data for _, other, data in list(self.seen) if other == kind]

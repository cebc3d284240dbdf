"""A TCP proxy on loopback that counts the bytes it relays, so that tests see what a program really sends."""
import selectors
import socket
import threading


class CountingProxy:
    def __init__(self, target, listen=0):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.up = self.down = 0
        self.listener = socket.create_server(("127.0.0.1", listen))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.running:
            for key, _ in self.selector.select(timeout=0.2):
                if key.data is None:
                    self.accept()
                else:
                    self.forward(key.fileobj, *key.data)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(self.target)
        except OSError:
            return client.close()
        self.selector.register(client, selectors.EVENT_READ, (server, True))
        self.selector.register(server, selectors.EVENT_READ, (client, False))

    def forward(self, source, target, is_up):
        try:
            data = source.recv(1 << 18)
            if data:
                target.sendall(data)
        except OSError:
            data = b""
        if is_up:
            self.up += len(data)
        else:
            self.down += len(data)
        if not data:
            for end in (source, target):
                try:
                    self.selector.unregister(end)
                except (KeyError, ValueError):
                    pass
                end.close()

    def close(self):
        self.running = False
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

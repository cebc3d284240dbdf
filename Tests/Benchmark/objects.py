#!/usr/bin/env python3
"""Measures attachments and the S3 port with real programs on loopback; prints a table. Not part of the tests.

    FERRY_BIN=.build/release Tests/Benchmark/objects.py [s3] [log] [small] [insert]

FERRY_BIN names the directory with the release programs. Needs a quiet machine and some GiB of disk.
"""
import hashlib
import hmac
import os
import random
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bars import BIN, Pair, Server, cpu, say, until

BUCKET = "ferry"


class Signer:
    """Signs requests ahead of time (AWS Signature Version 4), so that little but the server is measured."""

    def __init__(self, server):
        done = subprocess.run([str(BIN / "ferry-server"), "keys", "add", "bars", "--data", str(server.data)], check=True,
                              capture_output=True, text=True)
        self.key, self.secret = (line.split("=", 1)[1] for line in done.stdout.split())
        self.host = server.url.split("//", 1)[1]
        self.date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())

    def request(self, method, path, body=b"", digest=None):
        digest = digest or hashlib.sha256(body).hexdigest()
        scope = f"{self.date[:8]}/us-east-1/s3/aws4_request"
        names = "host;x-amz-content-sha256;x-amz-date"
        canonical = (f"{method}\n{path}\n\nhost:{self.host}\nx-amz-content-sha256:{digest}\nx-amz-date:{self.date}\n\n{names}\n{digest}")
        text = f"AWS4-HMAC-SHA256\n{self.date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = b"AWS4" + self.secret.encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return (f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nx-amz-content-sha256: {digest}\r\nx-amz-date: {self.date}\r\n"
                f"Content-Length: {len(body)}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={self.key}/{scope}, "
                f"SignedHeaders={names}, Signature={signature}\r\n\r\n").encode() + body


def exchange(host, requests, connections=32):
    """Sends the requests over `connections` connections, one at a time on each, and returns the requests per second."""
    address = (host.rsplit(":", 1)[0], int(host.rsplit(":", 1)[1]))
    selector = selectors.DefaultSelector()
    waiting = iter(requests)
    left = len(requests)

    class Connection:
        def __init__(self):
            self.socket = socket.create_connection(address)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            self.buffer = bytearray(1 << 18)

        def send(self):
            request = next(waiting, None)
            if request is not None:
                self.head, self.wanted, self.got = b"", None, 0
                self.socket.sendall(request)

        def receive(self):
            """Returns true when the response is complete."""
            count = self.socket.recv_into(self.buffer)
            assert count, "the server closed a connection"
            self.got += count
            if self.wanted is None:
                self.head += self.buffer[:min(count, 4096)]
                end = self.head.find(b"\r\n\r\n")
                if end < 0:
                    return False
                assert self.head[9:12] == b"200", self.head[:200]
                length = int(self.head[:end + 2].lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
                self.wanted = end + 4 + length
            return self.got >= self.wanted

    start = time.monotonic()
    for _ in range(connections):
        connection = Connection()
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()
    while left:
        for key, _ in selector.select():
            if key.data.receive():
                left -= 1
                key.data.send()
    took = time.monotonic() - start
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return len(requests) / took


def synced_files(directory, count, content, threads=32):
    """Returns the number of files written and synced per second by `threads` threads, which is the speed of the disk itself."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            file = os.open(directory / str(number), os.O_CREAT | os.O_WRONLY)
            os.write(file, content)
            os.fsync(file)
            os.close(file)

    start = time.monotonic()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return count / (time.monotonic() - start)


def measure_s3(puts=20_000, gets=40_000):
    root = Path(tempfile.mkdtemp(prefix="ferry-bars-"))
    server = Server(root)
    server.start()
    signer = Signer(server)
    body = random.Random(1).randbytes(64 << 10)
    digest = hashlib.sha256(body).hexdigest()
    until(lambda: works(server, signer), "the key to be known")
    rate = exchange(signer.host, [signer.request("PUT", f"/{BUCKET}/bars/{n}", body, digest) for n in range(puts)])
    (root / "disk").mkdir()
    disk = synced_files(root / "disk", puts, body)
    say("S3: puts of 64 KiB, synced, 32 connections", f"{rate:.0f}/s; the disk alone, files written and synced by 32 threads: {disk:.0f}/s",
        "≥ 3,000/s, or the disk's own limit")
    draw = random.Random(2)
    rate = exchange(signer.host, [signer.request("GET", f"/{BUCKET}/bars/{draw.randrange(puts)}") for _ in range(gets)])
    say("S3: gets of 64 KiB, 32 connections", f"{rate:.0f}/s", "≥ 8,000/s")
    server.stop()
    shutil.rmtree(root)


def works(server, signer):
    host, port = signer.host.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(signer.request("GET", "/"))
        return connection.recv(12)[9:12] == b"200"


def ready_pair(tasks):
    pair = Pair()
    for name in tasks:
        pair.a.write(f"{name}.md", "x\n")
    for index, machine in enumerate((pair.a, pair.b)):
        machine.start()
        machine.login(pair.server, create=index == 0)
    pair.a.sync()
    return pair


def timed(pair, task, source, timeout=600):
    """Returns the seconds until an attached file is complete on the other machine, and the bytes that its upload sent."""
    target = pair.b.tasks / f"{task}.files" / source.name
    known = {transfer["id"] for transfer in pair.a.json("transfers")["transfers"]}
    start = time.monotonic()
    pair.a.ferry("attach", task, source, "--no-wait")
    until(target.exists, lambda: f"{source.name}; {pair.a.status()}", timeout=timeout, step=0.005)
    took = time.monotonic() - start
    subprocess.run(["cmp", str(source), str(target)], check=True)
    sent = [transfer["bytesOnWire"] for transfer in pair.a.json("transfers")["transfers"] if transfer["id"] not in known]
    return took, sum(sent)


def measure_log(mebibytes=1024):
    pair = ready_pair(["Log"])
    draw = random.Random(3)
    source = pair.root / "server.log"
    hosts = [f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)}" for _ in range(500)]
    with open(source, "w") as out:
        second = 0
        while out.tell() < mebibytes << 20:
            second += 1
            out.write("".join(
                f"{draw.choice(hosts)} - - [21/Nov/2026:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000] "
                f"\"GET /tasks/{draw.randrange(100_000)} HTTP/1.1\" {draw.choice((200, 200, 200, 304, 404))} {draw.randrange(50_000)} "
                f"\"-\" \"agent/{draw.randrange(20)}\"\n" for _ in range(200)))
    took, sent = timed(pair, "Log", source)
    say(f"{mebibytes} MiB of log text, until whole on the other machine", f"{mebibytes / took:.0f} MiB/s, stored as {sent >> 20} MiB",
        "≥ 1.25 × restic")
    pair.close()


def measure_small(tasks=100, each=20):
    """Measures many small files at once: spread over tasks, and then the same number beside one task."""
    for tasks, each in ((tasks, each), (1, tasks * each)):
        names = [f"Task {number:03}" for number in range(tasks)]
        pair = ready_pair(names)
        for name in names:
            (pair.root / name).mkdir()
            for number in range(each):
                (pair.root / name / f"{number:04}.bin").write_bytes(os.urandom(100 << 10))
        count = tasks * each
        programs = {"A": pair.a.daemon, "B": pair.b.daemon, "server": pair.server}
        used = {name: cpu(program) for name, program in programs.items()}
        start = time.monotonic()
        for name in names:
            (pair.root / name).rename(pair.a.tasks / f"{name}.files")

        def there():
            return sum(1 for folder in os.scandir(pair.b.tasks) if folder.name.endswith(".files")
                       for entry in os.scandir(folder) if entry.name.endswith(".bin"))

        until(lambda: there() == count, lambda: f"{count} files, {there()} are there; {pair.a.status()}", timeout=600, step=0.02)
        took = time.monotonic() - start
        for name in names:
            subprocess.run(["diff", "-r", str(pair.a.tasks / f"{name}.files"), str(pair.b.tasks / f"{name}.files")], check=True)
        costs = ", ".join(f"{name} {cpu(program) - used[name]:.1f} s" for name, program in programs.items())
        say(f"{count} files of 100 KiB dropped beside {tasks} tasks, until all are on the other machine",
            f"{count / took:.0f} files/s (processor: {costs})", "≥ 840 files/s")
        pair.close()


def read_and_hash(path):
    """Returns the seconds that it takes to read and hash a file without Ferry."""
    start = time.monotonic()
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return time.monotonic() - start


def measure_insert(rounds=5):
    """Measures new versions, each renamed over the one before, until they are stored and until they are on the other machine.

    The first move of the other machine shows that a version is stored.
    """
    for mebibytes in (64, 1024):
        pair = ready_pair(["Image"])
        source = pair.root / "disk.img"
        with open(source, "wb") as out:
            for _ in range(mebibytes):
                out.write(os.urandom(1 << 20))
        timed(pair, "Image", source)
        name = f"Image.files/{source.name}"
        target, incoming = pair.b.tasks / name, pair.b.tasks / ".ferry" / "incoming"
        results = []
        for _ in range(rounds):
            content = source.read_bytes()
            middle = random.randrange(len(content))
            source.write_bytes(content[:middle] + os.urandom(1 << 10) + content[middle:])
            del content
            size = source.stat().st_size
            new = source.with_suffix(".new")
            shutil.copy(source, new)
            os.sync()
            alone = read_and_hash(new)
            known = {transfer["id"] for transfer in pair.a.json("transfers")["transfers"]}
            start = time.monotonic()
            os.rename(new, pair.a.tasks / name)
            until(lambda: any(incoming.iterdir()) or target.stat().st_size == size, lambda: f"a sign; {pair.a.status()}", step=0.002)
            stored = time.monotonic() - start
            until(lambda: target.stat().st_size == size, lambda: f"{source.name}; {pair.b.status()}", timeout=600, step=0.005)
            took = time.monotonic() - start
            subprocess.run(["cmp", str(source), str(target)], check=True)
            until(lambda: not any(incoming.iterdir()), "the end of the download")
            sent = sum(transfer["bytesOnWire"] for transfer in pair.a.json("transfers")["transfers"] if transfer["id"] not in known)
            results.append((stored / alone, stored, took, alone, sent / (1 << 20)))
        each = "; ".join(f"{stored:.2f}, {took:.2f}, {alone:.2f} s, {sent:.2f} MiB" for _, stored, took, alone, sent in results)
        median = statistics.median(result[0] for result in results)
        say(f"1 KiB inserted into {mebibytes} MiB: stored, whole on the other machine, reading and hashing it alone, bytes sent",
            f"{each}; stored ÷ alone: median {median:.2f}", "≤ 1.3; ≤ 1.2 MiB for 64 MiB")
        pair.close()


def main():
    measures = {"s3": measure_s3, "log": measure_log, "small": measure_small, "insert": measure_insert}
    print("| what | measured | bar |\n|---|---|---|")
    for name in sys.argv[1:] or measures:
        measures[name]()


if __name__ == "__main__":
    main()

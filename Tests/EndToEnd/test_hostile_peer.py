"""Hostile documents and objects from another account or from another machine of the user.

The daemon keeps running and comes to rest, its memory is bounded, nothing is written outside the tasks directory, the user's own
tasks keep syncing, and the daemon starts again.

The test generates every field of every kind of document with every wrong type and extreme value, hostile names, and manifests and
chunks of all shapes, and gives them to one daemon at once. If that daemon ends, halves of the set are tried until the document that
ends it is found.
"""
import contextlib
import hashlib
import json
import os
import struct
import tempfile
import unicodedata
import zlib
from pathlib import Path

import pytest

from harness import Machine, Server, until

pytest.importorskip("google.cloud.firestore")
import boto3  # noqa: E402
import grpc  # noqa: E402
from botocore.config import Config  # noqa: E402
from google.cloud.firestore_v1 import types  # noqa: E402
from google.protobuf import timestamp_pb2  # noqa: E402

DATABASE = "projects/ferry/databases/(default)"
ROOT = f"{DATABASE}/documents"
STRANGER = "stranger0000000000000000001"
ESCAPE = "\x1b]0;called\x07\x1b[31mRED\x1b[2J"
NAMES = [
    "../../outside", "..", ".", "", "/etc/outside", "a/b/c", "a\0b", ".ferry", ".ferry/root", ".hidden", "CON", "x" * 5000, "x" * 255,
    "é" * 130, "日" * 100, ESCAPE, "\u202etxt.exe", "zero\u200bwidth", "a\nb", "a\rb", "  lead", "trail  ", "trail.", "-rf", "~root",
    "a\\b", "\ufdd0", "\uffff", "%00", "$(touch outside)", "`touch outside`", "a" * 100 + "/" + "b" * 100, "x.files", "x.md",
    "Own task", "../Work/Own task", ".ferry/trash/x", "\u2028", "\U0001f3f4", "e\u0301", "\u00e9", "\u00c9", ".md", ".files", "a/", "/",
    "Own task.files", "Own task.md", "con.md", "nul\0", "\ud7ff", "\u0301",
]


def vector(*numbers):
    return {"__type__": "__vector__", "value": [float(number) for number in numbers]}


def nested(depth, value="end"):
    for _ in range(depth):
        value = {"a": value}
    return value


MISSING = object()
WRONG = {
    "missing": MISSING, "null": None, "true": True, "false": False, "zero": 0, "least": -2**63, "greatest": 2**63 - 1, "minus one": -1,
    "huge": 2**62, "nan": float("nan"), "infinity": float("inf"), "minus infinity": float("-inf"), "1e308": 1e308, "half": 0.5,
    "-0.0": -0.0, "empty": "", "escape": ESCAPE, "bidi": "\u202e\u2066txt", "NUL": "a\0b", "long": "x" * 40_000, "bytes": b"\xff\0",
    "empty array": [], "array": ["a"] * 2000, "mixed array": [None, 1, "x", {"a": []}], "empty map": {}, "deep": nested(15),
    "year 1": (-62_135_596_800, 0), "year 9999": (253_402_300_799, 999_999_000), "vector": vector(1, float("nan")),
    "reference": types.Value(reference_value=f"{ROOT}/tasks/x"), "place": types.Value(geo_point_value={"latitude": 90, "longitude": -180}),
    "text number": "9223372036854775808", "text time": "9999-12-31T23:59:59.999999999Z", "map of all": {"1": 1, "a.b": None, "`": "`", " ": " "},
}
FIELDS = {
    "tasks": ["title", "notes", "completed", "priority", "due", "dueHasTime", "tags", "listId", "attachments", "layout", "fields",
              "createdTime", "updatedTime", "completedTime", "deletedTime", "origins", "signatures", "other"],
    "lists": ["name", "createdTime", "sharedWith", "names", "signatures", "parent"],
    "devices": ["name", "version", "lastSeenTime", "createdTime"],
    "history": ["field", "value", "baseTime", "replacedTime", "replica", "reason", "origin", "listId", "dismissedTime"],
    "attachment": ["name", "size", "sha256", "manifest", "mimeType", "createdTime", "modifiedTime", "executable", "damaged"],
    "origin": ["replica", "time", "rule", "by"],
}
# The user id of such a document must be the stranger's own, or the rules hide it.
KEPT = {"userId"}


def value(item):
    match item:
        case types.Value(): return item
        case None: return types.Value(null_value=0)
        case bool(): return types.Value(boolean_value=item)
        case int(): return types.Value(integer_value=item)
        case float(): return types.Value(double_value=item)
        case str(): return types.Value(string_value=item)
        case bytes(): return types.Value(bytes_value=item)
        case list(): return types.Value(array_value={"values": [value(part) for part in item]})
        case dict(): return types.Value(map_value={"fields": {key: value(part) for key, part in item.items()}})
        case (seconds, nanos): return types.Value(timestamp_value=timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos))
    raise TypeError(item)


def write(path, fields):
    fields = {key: value(item) for key, item in fields.items() if item is not MISSING}
    return types.Write(update=types.Document(name=f"{ROOT}/{path}", fields=fields))


class Setting:
    """A server, two machines of the user (one of which receives every document), and an administrator who writes invalid documents."""

    def __init__(self, root, *options):
        self.root = root
        self.server = Server(root, "--emulator")
        self.server.start()
        self.laptop, self.desk = Machine(root, "laptop", *options), Machine(root, "desk", "--download", "0")
        self.laptop.start()
        self.laptop.login(self.server, create=True)
        self.laptop.write("Work/Own task.md", "mine\n")
        self.laptop.sync()
        self.user = self.laptop.json("whoami")["account"]["userId"]
        self.channel = grpc.insecure_channel(self.server.documents)

    def stop(self):
        self.channel.close()
        for program in (self.laptop, self.desk, self.server):
            program.stop() if isinstance(program, Server) or program.daemon.running else None

    def commit(self, writes):
        """Commits all writes, and returns the number that the server itself refuses, such as those with impossible names."""
        call = self.channel.unary_unary(
            "/google.firestore.v1.Firestore/Commit", request_serializer=types.CommitRequest.serialize,
            response_deserializer=types.CommitResponse.deserialize)

        def send(part):
            try:
                call(types.CommitRequest(database=DATABASE, writes=part), metadata=[("authorization", "Bearer owner")], timeout=60)
                return 0
            except grpc.RpcError as error:
                assert error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE), error
                if len(part) == 1:
                    return 1
                return send(part[:len(part) // 2]) + send(part[len(part) // 2:])

        return sum(send(writes[start:start + 100]) for start in range(0, len(writes), 100))

    def s3(self):
        added = self.server_tool("keys", "add", "tests")
        keys = dict(line.split("=", 1) for line in added.split())
        client = boto3.client(
            "s3", endpoint_url=self.server.url, aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"], region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, signature_version="s3v4"))

        def bucket():
            try:
                return client.list_buckets()["Buckets"][0]["Name"]
            except client.exceptions.ClientError:
                return None

        return client, until(bucket, "the new key to be known")

    def server_tool(self, *arguments):
        import subprocess

        from harness import BIN
        done = subprocess.run([str(BIN / "ferry-server"), *arguments, "--data", str(self.server.data)], capture_output=True, text=True)
        assert done.returncode == 0, done
        return done.stdout

    def comes_to_rest(self):
        """Returns whether the laptop's daemon has processed everything and is at rest; false if it has ended."""
        if self.laptop.daemon.running:
            result = self.laptop.ferry("sync", "--wait", "--timeout", 120, check=False, timeout=150)
            # Status 6: no transfer or change is active, and an entry waits for a person.
            assert result.returncode in (0, 6) or not self.laptop.daemon.running, f"{result.stderr}\n{self.laptop.daemon.tail()}"
        return self.laptop.daemon.running

    def memory(self):
        """Returns the peak memory of the laptop's daemon in MiB."""
        status = Path(f"/proc/{self.laptop.daemon.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10


@contextlib.contextmanager
def started(*options):
    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        setting = Setting(Path(directory), *options)
        try:
            yield setting
        finally:
            setting.stop()


def culprits(make, many):
    """Returns the documents that end the daemon, by bisection with a server and a machine for each half."""
    while len(many) > 1:
        for half in (many[:len(many) // 2], many[len(many) // 2:]):
            with started() as setting:
                made = {write.update.name: write for write in make(setting)}
                setting.commit([made[name] for name in half if name in made])
                if not setting.comes_to_rest():
                    many = half
                    break
        else:
            return many
    return many


def documents(setting):
    """Yields every field of every kind with every wrong value, in the user's documents and in a list that a stranger shares."""
    user = setting.user
    writes = [
        write("lists/shared", {"userId": STRANGER, "name": "Shared", "sharedWith": [user], "names": {STRANGER: ESCAPE, user: "v"}}),
    ]

    def attachment(**odd):
        return {"name": "a.bin", "size": 5, "sha256": "0" * 64, "manifest": f"{user}/chunks/00/{'0' * 64}", "mimeType": "text/plain",
                "createdTime": (1, 0), "modifiedTime": (1, 0), **odd}

    def present(fields):
        return {key: item for key, item in fields.items() if item is not MISSING}

    for number, (word, item) in enumerate(WRONG.items()):
        for field in FIELDS["tasks"]:
            name = f"{field}-{number}"
            writes.append(write(f"tasks/own-{name}", {"userId": user, "title": f"{field} {word}", field: item}))
            if field != "listId":
                writes.append(write(
                    f"tasks/shared-{name}", {"userId": STRANGER, "listId": "shared", "title": f"{field} {word}", field: item}))
        for field in FIELDS["lists"]:
            writes.append(write(f"lists/own-{field}-{number}", {"userId": user, "name": f"{field} {word}", field: item}))
            if field != "sharedWith":
                writes.append(write(
                    f"lists/shared-{field}-{number}",
                    {"userId": STRANGER, "sharedWith": [user], "name": f"s {field} {word}", field: item}))
        for field in FIELDS["devices"]:
            writes.append(write(f"devices/{field}-{number}", {"userId": user, "name": word, field: item}))
        for field in FIELDS["history"]:
            entry = {"field": "title", "value": "lost", "replacedTime": (1, 0), "replica": "r", "reason": "changedOnBothSides"}
            writes.append(write(f"tasks/own-title-0/history/{field}-{number}", {"userId": user, **entry, field: item}))
        origin = {part: present({"replica": "r", "time": (1, 0), part: item}) for part in FIELDS["origin"]}
        writes.append(write(f"tasks/origins-{number}", {"userId": user, "title": f"origins {word}", "origins": origin}))
        if item is not MISSING:
            custom = {key: item for key in ["title", "due", "priority", "completed", "tags", "id", "a: b", " ", "`", "\n"]}
            writes.append(write(f"tasks/custom-{number}", {"userId": user, "title": f"custom {word}", "fields": custom}))
    for owner, place in [(user, {}), (STRANGER, {"listId": "shared"})]:
        for field in FIELDS["attachment"]:
            odd = {f"id{number}": present(attachment(**{field: item})) for number, item in enumerate(WRONG.values())}
            writes.append(write(
                f"tasks/{owner}-attached-{field}", {"userId": owner, "title": f"attached {field}", "attachments": odd, **place}))
        named = {f"id{number}": attachment(name=name) for number, name in enumerate(NAMES)}
        writes.append(write(f"tasks/{owner}-named", {"userId": owner, "title": "named", "attachments": named, **place}))
        keyed = {name.replace("\0", "0") or "e": attachment(name=f"k{number}") for number, name in enumerate(NAMES) if len(name) < 1000}
        writes.append(write(f"tasks/{owner}-keyed", {"userId": owner, "title": "keyed", "attachments": keyed, **place}))
        places = ["", "/", "../..", "http://outside/x", f"{STRANGER}/chunks/00/{'0' * 64}", f"{user}/condemned", "x" * 5000,
                  f"{user}/chunks/../../x", f"{user}/manifests/zz/{'g' * 64}", "/" * 500 + "0" * 64, f"a\0b/chunks/00/{'0' * 64}"]
        wrong = {f"id{number}": attachment(manifest=place) for number, place in enumerate(places)}
        wrong |= {f"same{number}": attachment(name="Same.txt" if number % 2 else "same.TXT") for number in range(30)}
        wrong |= {"no map": "text", "nothing": None}
        writes.append(write(f"tasks/{owner}-placed", {"userId": owner, "title": "placed", "attachments": wrong, **place}))
        sizes = [2**62] * 4 + [2**63 - 1] * 3 + [-2**63, -1, -1, -1] + [2**57] * 40 + [640 << 30] * 5
        sized = {f"id{number}": attachment(name=f"s{number}", size=size, manifest=f"{owner}/chunks/{number:02x}/{number:064x}")
                 for number, size in enumerate(sizes)}
        writes.append(write(f"tasks/{owner}-sized", {"userId": owner, "title": "sized", "attachments": sized, **place}))
    for number, name in enumerate(NAMES):
        writes += [
            write(f"lists/named-{number}", {"userId": STRANGER, "sharedWith": [user], "name": name}),
            write(f"tasks/named-{number}", {"userId": STRANGER, "listId": f"named-{number}", "title": name, "notes": name}),
            write(f"tasks/own-named-{number}", {"userId": user, "title": name, "tags": [name, name], "fields": {"x": name}}),
            write(f"devices/named-{number}", {"userId": user, "name": name, "version": name, "lastSeenTime": (1, 0)}),
        ]
    # An id is also read as text in other fields.
    for number, name in enumerate(["\u202eid", "zero\u200bid", "a\x1b[31mid", "-rf", "$(touch outside)", "' id", "\u2028"]):
        writes += [write(f"tasks/{name}", {"userId": user, "title": f"id {number}"}),
                   write(f"lists/{name}", {"userId": STRANGER, "sharedWith": [user], "name": f"list id {number}"}),
                   write(f"devices/{name}", {"userId": user, "name": f"device id {number}"})]
    return writes


def chunk(content, codec=0, length=None, body=None):
    return b"FRYC" + bytes([1, codec, 0, 0]) + struct.pack(">Q", len(content) if length is None else length) + (
        body if body is not None else zlib.compress(content, 9) if codec else content)


def digest(content):
    return hashlib.sha256(content).hexdigest()


def objects(setting):
    """Yields chunks and manifests of all shapes by key, and the attachments that name them."""
    user, found, attachments = setting.user, {}, {}

    def add(label, kind, content, size, sha256="0" * 64, address=None):
        address = address or digest(content)
        key = f"{user}/{kind}/{address[:2]}/{address}"
        found[key] = content
        attachments[f"id{len(attachments)}"] = {
            "name": f"{label}.bin", "size": size, "sha256": sha256, "manifest": key, "mimeType": "application/octet-stream",
            "createdTime": (1, 0)}

    raw = os.urandom(1000)
    for label, content in {
        "bomb": chunk(raw, 1, 1000, zlib.compress(bytes(64 << 20), 9)), "says 16 MiB": chunk(raw, 0, 16 << 20),
        "says 2^63-1": chunk(raw, 0, 2**63 - 1), "says 2^64-1": chunk(raw, 0, 2**64 - 1), "says 0": chunk(b"", 0, 0),
        "codec 9": chunk(raw, 9), "version 9": b"FRYC\x09\x01\0\0" + bytes(8), "15 bytes": chunk(b"")[:15], "empty": b"",
        "garbage": chunk(raw, 1, None, os.urandom(500)), "cut": chunk(raw, 1, None, zlib.compress(raw)[:100]),
        "trailing": chunk(raw, 1, None, zlib.compress(raw) + b"x" * 5000), "long": chunk(bytes(20 << 20)),
    }.items():
        add(f"chunk {label}", "chunks", content, 1000, address=digest(label.encode()))
    for size in (0, 5, 999, 1001, 1 << 39):
        add(f"chunk of {size}", "chunks", chunk(raw), size, digest(raw), address=digest(chunk(raw)))
    small = [digest(chunk(raw)), 1000, 1016]
    zeros = bytes(16 << 20)
    long = [digest(chunk(zeros)), 16 << 20, len(chunk(zeros, 1))]
    found[f"{user}/chunks/{small[0][:2]}/{small[0]}"] = chunk(raw)
    found[f"{user}/chunks/{long[0][:2]}/{long[0]}"] = chunk(zeros, 1)

    def manifest(label, declared, version=1, size=1000, sha256=digest(raw), chunks=(small,)):
        text = json.dumps({"version": version, "size": size, "sha256": sha256, "chunks": chunks}, separators=(",", ":"))
        add(f"manifest {label}", "manifests", text.encode(), declared, sha256 if isinstance(sha256, str) else "0" * 64)

    manifest("negative", 1000, size=-5, chunks=[[small[0], -5, 100]])
    manifest("length 0", 0, size=0, chunks=[[small[0], 0, 16]])
    manifest("no chunks", 2**40, size=2**40, chunks=[])
    manifest("greatest", 2**39, size=2**63 - 1, chunks=[[small[0], 2**63 - 1, 2**63 - 1]])
    manifest("1e300", 1000, size=1e300, chunks=[[small[0], 1e300, 1e300]])
    manifest("sum", 999, size=999)
    manifest("version", 1000, version=2)
    manifest("map", 1000, chunks={"a": 1})
    manifest("long hash", 1000, sha256="f" * 100_000, chunks=[])
    manifest("wrong hash", 2000, size=2000, chunks=[small] * 2)
    manifest("types", 1000, version="1", size="1000", sha256=5, chunks=None)
    manifest("entries", 1000, chunks=[None, [], [1, 2, 3], "x"])
    for declared in (5, 1 << 20):
        manifest(f"2 GiB for {declared}", declared, size=128 * len(zeros), chunks=[long] * 128)
    manifest("a million", 1000, size=200_000, chunks=[[small[0], 1, 17]] * 200_000)
    manifest("a million declared", 200_000, size=200_000, chunks=[[small[0], 1, 17]] * 200_000)
    for label, content in {"deep": b"[" * 1_000_000, "bytes": b"\xff" * 1000, "empty": b"", "text": b'"'}.items():
        add(f"manifest {label}", "manifests", content, 1000)
    add("good", "manifests", json.dumps(
        {"version": 1, "size": 2000, "sha256": digest(raw * 2), "chunks": [small] * 2}, separators=(",", ":")).encode(), 2000,
        digest(raw * 2))
    # The same without a size, and with the smallest and the largest size.
    attachments |= {f"{key}-{number}": {**{k: v for k, v in entry.items() if k != "size"}, **odd, "name": f"{number} {entry['name']}"}
                    for key, entry in attachments.items() if "good" not in entry["name"]
                    for number, odd in enumerate([{}, {"size": 2**63 - 1}])}
    return found, attachments


def everything_holds(setting, names):
    """Checks the conditions that must hold after any input."""
    laptop, desk = setting.laptop, setting.desk
    # The user's own tasks keep syncing in both directions.
    assert laptop.read("Work/Own task.md") == "mine\n"
    for machine, other, name in [(laptop, desk, "From the laptop"), (desk, laptop, "From the desk")]:
        machine.write(f"{name}.md", "own\n")
        until(lambda: other.read(f"{name}.md") == "own\n", lambda: f"{name}: {other.status()}\n{other.daemon.tail()}", timeout=60)
    # Files exist only in the tasks directory.
    assert {path.name for path in setting.root.iterdir()} <= {"laptop", "desk", "server", "server.log"}
    assert {path.name for path in laptop.home.iterdir()} == names
    assert not Path("/etc/outside").exists() and not list(Path("/tmp").glob("outside"))
    for path in laptop.tasks.rglob("*"):
        assert not path.is_symlink() and path.resolve().is_relative_to(laptop.tasks.resolve()), path


def commands(machine):
    """Runs every command that shows text by others: it ends, and prints nothing that a terminal would act on."""
    tasks = machine.json("list", "--all")["tasks"]
    shown = {task["id"]: task["id"] for task in tasks if any(word in task["id"] for word in ("named-1", "title-1", "attached", "custom-1"))}
    for arguments in [["list", "--all"], ["lists"], ["status"], ["devices"], ["doctor"], ["conflicts"], ["transfers"], ["trash"], ["deletes"],
                      ["log"], ["sync", "--dry-run"], ["history", "own-title-0"], ["explain", "own-title-0"], ["share"], ["whoami"],
                      ["completion", "--candidates", "lists"], ["completion", "--candidates", "tasks"],
                      ["completion", "--candidates", "transfers"], *[["show", task] for task in list(shown)[:25]],
                      ["attachments", f"{STRANGER}-named"], ["attachments", f"{STRANGER}-attached-mimeType"], ["show", f"{STRANGER}-keyed"], ["show", "no such task\x1b[2J\u202e"]]:
        result = machine.ferry(*arguments, check=False)
        assert 0 <= result.returncode < 10, (arguments, result)
        acted = {hex(ord(character)) for character in set(result.stdout + result.stderr) - {"\n", "\t"}
                 if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")}
        assert not acted, (arguments, acted)
    for task in list(shown)[:8]:
        assert machine.ferry("show", task, "--json", check=False).returncode in (0, 3)


def restarted(setting, names):
    assert setting.laptop.stop() == 0
    setting.laptop.start()
    assert setting.comes_to_rest(), setting.laptop.daemon.tail()
    everything_holds(setting, names)


def test_no_foreign_document_stops_exhausts_or_misleads_the_daemon():
    with started() as setting:
        laptop, desk = setting.laptop, setting.desk
        names = {path.name for path in laptop.home.iterdir()}
        desk.start()
        desk.login(setting.server)
        before = setting.memory()
        writes = documents(setting)
        refused = setting.commit(writes)
        assert refused < len(writes) // 10 and len(writes) > 1500
        if not setting.comes_to_rest():
            ended = culprits(documents, [write.update.name for write in writes])
            pytest.fail(f"{ended[:5]} ended ferryd:\n{laptop.daemon.tail()}")
        seen = [name for name in (write.update.name.rpartition("/")[2] for write in writes) if name.startswith("own-title-")]
        until(lambda: {task["id"] for task in laptop.json("list", "--all")["tasks"]} >= set(seen), laptop.daemon.tail)
        assert setting.memory() < before + 256
        everything_holds(setting, names)
        commands(laptop)
        restarted(setting, names)
        laptop.write("From the laptop.md", "again\n")
        until(lambda: desk.read("From the laptop.md") == "again\n", desk.daemon.tail)


def test_no_foreign_object_stops_exhausts_or_misleads_the_daemon():
    with started() as setting:
        laptop, desk = setting.laptop, setting.desk
        names = {path.name for path in laptop.home.iterdir()}
        desk.start()
        desk.login(setting.server)
        client, bucket = setting.s3()
        found, attachments = objects(setting)
        for key, content in found.items():
            client.put_object(Bucket=bucket, Key=key, Body=content)
        before = setting.memory()
        assert setting.commit([
            write(f"tasks/objects-{number}", {"userId": setting.user, "title": f"Objects {number}", "attachments": {key: entry}})
            for number, (key, entry) in enumerate(attachments.items())]) == 0
        assert setting.comes_to_rest(), laptop.daemon.tail()
        good = next(f"Objects {number}" for number, entry in enumerate(attachments.values()) if entry["name"] == "good.bin")
        until(lambda: (laptop.tasks / f"{good}.files/good.bin").exists(), lambda: laptop.json("transfers"))
        # Each file on the disk is as its document describes it.
        for number, entry in enumerate(attachments.values()):
            for path in (laptop.tasks / f"Objects {number}.files").glob("*"):
                content = path.read_bytes()
                assert digest(content) == entry["sha256"] and entry.get("size", len(content)) in (len(content), 2**63 - 1), path
        usage = sum(path.stat().st_blocks * 512 for path in laptop.home.rglob("*") if path.is_file())
        assert usage < 64 << 20, f"{usage >> 20} MiB on the disk"
        # The others are reported by task and attachment, with the values that differ.
        problems = [problem for problem in laptop.status()["problems"] if problem["code"].startswith("attachment-")]
        told = " ".join(f"{problem.get('subject')} {problem['message']}" for problem in problems)
        assert len(problems) > 20 and "has 2147483648 bytes in the store, and its task says 1048576" in told
        assert setting.memory() < before + 256
        everything_holds(setting, names)
        commands(laptop)
        restarted(setting, names)

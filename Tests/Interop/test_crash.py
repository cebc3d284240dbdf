"""kill -9 of the server under load: acknowledged changes exist afterwards, and no other change is partial."""
import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from conftest import administrator_keys, s3_client
from google.api_core import exceptions
from harness import BIN, Server


def test_acknowledged_commits_and_objects_survive(monkeypatch):
    from google.cloud import firestore

    with tempfile.TemporaryDirectory(prefix="ferry-") as directory:
        server = Server(Path(directory), "--emulator")
        server.start()
        key, secret = administrator_keys(server)
        server.stop()
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.documents)
        # The last acknowledged put of an object, followed by every later put that was not acknowledged.
        documents, objects = {}, {}
        for life in range(6):
            server.start()
            db = firestore.Client(project="ferry")
            s3 = s3_client(server, key, secret, connect_timeout=2, read_timeout=5)
            enough = threading.Event()

            def commit(worker):
                n = done = 0
                while True:
                    n += 1
                    pair = [db.document(f"crash/{life}-{worker}-{n}-{half}") for half in "ab"]
                    batch = db.batch()
                    for document in pair:
                        batch.set(document, {"n": n})
                    try:
                        batch.commit(timeout=2, retry=None)
                    except exceptions.GoogleAPICallError:
                        # The client may still wait to reconnect after the last kill.
                        if enough.is_set() or done:
                            return
                        continue
                    done += 1
                    for document in pair:
                        documents[document.path] = n
                    if done == 20:
                        enough.set()

            def put(worker):
                n = 0
                while True:
                    n += 1
                    content = os.urandom(20_000 + n)
                    try:
                        # Half of them replace an existing object.
                        name = f"{worker}-{n % 10}" if worker else f"{life}-{n}"
                        objects.setdefault(name, [None]).append(content)
                        s3.put_object(Bucket="ferry", Key=name, Body=content)
                        objects[name] = [content]
                    except Exception:
                        return

            threads = [threading.Thread(target=work, args=(worker,)) for work in (commit, put) for worker in range(3)]
            for thread in threads:
                thread.start()
            assert enough.wait(60)
            server.kill()
            for thread in threads:
                thread.join()
            # The data is sound after the kill, and after the recovery at the next start.
            check(server)

        server.start()
        db = firestore.Client(project="ferry")
        s3 = s3_client(server, key, secret)
        found = {d.reference.path: d.get("n") for d in db.collection("crash").stream()}
        assert {path: found.get(path) for path in documents} == documents
        # A commit that was not acknowledged is either complete or absent.
        assert all(path[:-1] + ("b" if path.endswith("a") else "a") in found for path in found)
        assert sum(contents[0] is not None for contents in objects.values()) > 20
        for name, contents in objects.items():
            if contents[0] is not None:
                assert s3.get_object(Bucket="ferry", Key=name)["Body"].read() in contents, name
        # Files without an object are gone.
        listed = [o for page in s3.get_paginator("list_objects_v2").paginate(Bucket="ferry") for o in page.get("Contents", [])]
        assert len(entries(server)) == len(listed)
        # Partly filled blocks cost more than the bytes of the files, but not much.
        taken = sum(path.stat().st_blocks * 512 for path in (server.data / "objects" / "segments").iterdir())
        assert taken < 1.3 * sum(o["Size"] for o in listed) + 100_000
        assert server.stop() == 0
        check(server)


def test_failed_writes_to_disk_are_not_acknowledged(tmp_path):
    library, failing = tmp_path / "disk.so", tmp_path / "failing"
    source = Path(__file__).parent.parent / "EndToEnd" / "stuck-disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    server = Server(tmp_path, "--emulator")
    server.environment = {"LD_PRELOAD": str(library), "FERRY_FAILING_DISK": str(failing)}
    server.start()
    s3 = s3_client(server, *administrator_keys(server))
    contents = {name: os.urandom(50_000) for name in ("before", "replaced", "after")}
    for name in ("before", "replaced"):
        s3.put_object(Bucket="ferry", Key=name, Body=contents[name])
    written = {path for path, _ in entries(server)}
    failing.touch()
    for name in ("replaced", "new", "new"):
        with pytest.raises(s3.exceptions.ClientError, match="InternalError"):
            s3.put_object(Bucket="ferry", Key=name, Body=os.urandom(60_000))
    # The objects are gone, and the older ones exist.
    assert len(entries(server)) == 2
    failing.unlink()
    s3.put_object(Bucket="ferry", Key="after", Body=contents["after"])
    # The recovery does not rely on the segment any more.
    assert len({path for path, _ in entries(server)} - written) == 1
    for end in (server.kill, server.stop):
        assert {o["Key"] for o in s3.list_objects_v2(Bucket="ferry")["Contents"]} == set(contents)
        for name, content in contents.items():
            assert s3.get_object(Bucket="ferry", Key=name)["Body"].read() == content
        end()
        check(server)
        server.start()
    server.stop()


def entries(server):
    """Returns the small objects' locations: the segments, and the offset of each object in them."""
    found = []
    for path in (server.data / "objects" / "segments").iterdir():
        content = path.read_bytes()
        found += [(path, start) for start in range(0, len(content), 4096) if content.startswith(b"FERRYOB1", start)]
    return found


def test_an_object_whose_bytes_are_lost_counts_as_absent(tmp_path):
    server = Server(tmp_path, "--emulator")
    server.start()
    s3 = s3_client(server, *administrator_keys(server))
    s3.put_object(Bucket="ferry", Key="k", Body=b"one", IfNoneMatch="*")
    with pytest.raises(s3.exceptions.ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket="ferry", Key="k", Body=b"two", IfNoneMatch="*")
    assert len(entries(server)) == 1
    for path, start in entries(server):
        with path.open("r+b") as segment:
            segment.seek(start)
            segment.write(bytes(4096))
    for ask in (s3.get_object, s3.head_object):
        with pytest.raises(s3.exceptions.ClientError, match="NoSuchKey|404"):
            ask(Bucket="ferry", Key="k")
    upload = s3.create_multipart_upload(Bucket="ferry", Key="copy")["UploadId"]
    with pytest.raises(s3.exceptions.ClientError, match="NoSuchKey"):
        s3.copy_object(Bucket="ferry", Key="copy", CopySource="ferry/k")
    with pytest.raises(s3.exceptions.ClientError, match="NoSuchKey"):
        s3.upload_part_copy(Bucket="ferry", Key="copy", CopySource="ferry/k", UploadId=upload, PartNumber=1)
    s3.put_object(Bucket="ferry", Key="k", Body=b"three", IfNoneMatch="*")
    assert s3.get_object(Bucket="ferry", Key="k")["Body"].read() == b"three"
    assert server.stop() == 0
    check(server)


def check(server):
    found = subprocess.run([str(BIN / "ferry-server"), "check", "--objects", "--data", str(server.data)],
                           capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, f"{server.data} is undamaged\n"), found.stderr

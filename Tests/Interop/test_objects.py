"""Objects with boto3, as an administrator and with keys from STS."""
import base64
import contextlib
import hashlib
import io
import random
import socket
import subprocess
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request
import zlib
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from conftest import User, administrator_keys, s3_client
from harness import BIN, until

BUCKET = "ferry"


def code(error):
    return error.value.response["Error"]["Code"]


def put(s3, key, body=b"content", **options):
    return s3.put_object(Bucket=BUCKET, Key=key, Body=body, **options)


def body(s3, key, **options):
    return s3.get_object(Bucket=BUCKET, Key=key, **options)["Body"].read()


def test_put_get_head_and_delete(s3, name):
    answer = put(s3, f"{name}/a", b"hello", ContentType="text/plain")
    assert answer["ETag"] == f'"{hashlib.md5(b"hello").hexdigest()}"'
    got = s3.get_object(Bucket=BUCKET, Key=f"{name}/a")
    assert got["Body"].read() == b"hello" and got["ContentType"] == "text/plain" and got["ETag"] == answer["ETag"]
    head = s3.head_object(Bucket=BUCKET, Key=f"{name}/a")
    assert head["ContentLength"] == 5 and head["LastModified"] == got["LastModified"]
    s3.delete_object(Bucket=BUCKET, Key=f"{name}/a")
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=BUCKET, Key=f"{name}/a")
    assert code(error) == "NoSuchKey"
    with pytest.raises(ClientError) as error:
        s3.head_object(Bucket=BUCKET, Key=f"{name}/a")
    assert code(error) == "404"
    # A second delete is no error.
    s3.delete_object(Bucket=BUCKET, Key=f"{name}/a")


@pytest.mark.parametrize("size", [0, 1, 65536, (5 << 20) + 3])
def test_sizes(s3, name, size):
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    put(s3, f"{name}/a", content)
    assert body(s3, f"{name}/a") == content


@pytest.mark.parametrize("key", [
    "plain", "with space", "ünïcode/✓", "a//b", "../up", "./here", "per%cent", "plus+sign", "quote'\"&<>", "a=b?c=d#e",
    "tab\there", "trailing/"])
def test_keys_of_all_kinds(s3, name, key):
    key = f"{name}/{key}"
    put(s3, key, key.encode())
    assert body(s3, key) == key.encode()
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=BUCKET, Prefix=key)["Contents"]] == [key]


def test_ranges(s3, name):
    put(s3, f"{name}/a", b"0123456789")
    for span, expected, header in [
        ("bytes=2-4", b"234", "bytes 2-4/10"), ("bytes=7-", b"789", "bytes 7-9/10"), ("bytes=-3", b"789", "bytes 7-9/10"),
            ("bytes=8-100", b"89", "bytes 8-9/10"), ("bytes=-100", b"0123456789", "bytes 0-9/10")]:
        answer = s3.get_object(Bucket=BUCKET, Key=f"{name}/a", Range=span)
        assert (answer["Body"].read(), answer["ContentRange"]) == (expected, header)
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 206
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=BUCKET, Key=f"{name}/a", Range="bytes=10-")
    assert code(error) == "InvalidRange"


def test_metadata_and_headers_come_back(s3, name):
    put(s3, f"{name}/a", Metadata={"colour": "blue", "path": "a/b c"}, CacheControl="max-age=5", ContentEncoding="x-own",
        ContentDisposition='attachment; filename="a b.txt"', ContentLanguage="de")
    head = s3.head_object(Bucket=BUCKET, Key=f"{name}/a")
    assert head["Metadata"] == {"colour": "blue", "path": "a/b c"}
    assert (head["CacheControl"], head["ContentEncoding"], head["ContentLanguage"]) == ("max-age=5", "x-own", "de")
    assert head["ContentDisposition"] == 'attachment; filename="a b.txt"'


def test_conditions(s3, name):
    etag = put(s3, f"{name}/a")["ETag"]
    for options, expected in [({"IfNoneMatch": etag}, "304"), ({"IfMatch": '"other"'}, "PreconditionFailed")]:
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=BUCKET, Key=f"{name}/a", **options)
        assert code(error) == expected
    assert body(s3, f"{name}/a", IfMatch=etag) == b"content"
    with pytest.raises(ClientError) as error:
        put(s3, f"{name}/a", b"again", IfNoneMatch="*")
    assert code(error) == "PreconditionFailed"
    put(s3, f"{name}/b", IfNoneMatch="*")


def crc(content):
    return base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()


def test_checksums_are_checked_and_kept(s3, name):
    content = b"some content"
    sha = base64.b64encode(hashlib.sha256(content).digest()).decode()
    put(s3, f"{name}/sha", content, ChecksumSHA256=sha)
    put(s3, f"{name}/crc", content, ChecksumAlgorithm="CRC32")
    put(s3, f"{name}/md5", content, ContentMD5=base64.b64encode(hashlib.md5(content).digest()).decode())
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/sha", ChecksumMode="ENABLED")["ChecksumSHA256"] == sha
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/crc", ChecksumMode="ENABLED")["ChecksumCRC32"] == crc(content)
    old = base64.b64encode(hashlib.sha1(content).digest()).decode()
    put(s3, f"{name}/sha1", content, ChecksumAlgorithm="SHA1")
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/sha1", ChecksumMode="ENABLED")["ChecksumSHA1"] == old
    # The AWS CLI uses it since its second version; "123456789" is the test vector of the specification.
    put(s3, f"{name}/crc64", b"123456789", ChecksumCRC64NVME="rosUhgp5mIg=")
    head = s3.head_object(Bucket=BUCKET, Key=f"{name}/crc64", ChecksumMode="ENABLED")
    assert head["ChecksumCRC64NVME"] == "rosUhgp5mIg="
    wrong = base64.b64encode(hashlib.sha256(b"else").digest()).decode()
    for options in [{"ChecksumSHA256": wrong}, {"ChecksumCRC32": crc(b"else")}, {"ChecksumSHA1": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
                    {"ChecksumCRC64NVME": "AAAAAAAAAAA="},
                    {"ContentMD5": base64.b64encode(hashlib.md5(b"else").digest()).decode()}]:
        with pytest.raises(ClientError) as error:
            put(s3, f"{name}/wrong", content, **options)
        assert code(error) == "BadDigest"
    with pytest.raises(ClientError):
        s3.head_object(Bucket=BUCKET, Key=f"{name}/wrong")


def test_a_client_that_closed_its_side_and_reads_slowly_costs_nothing(server, s3, name):
    put(s3, f"{name}/big", bytes(32 << 20))
    url = urllib.parse.urlsplit(s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": f"{name}/big"}))

    def read(path):
        # A thread may have ended since it was listed.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return path.read_text()

    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    loops = [task / "stat" for task in tasks if read(task / "comm") == "http-loop\n"]
    assert loops

    def states():
        return [stat.read_text().rpartition(") ")[2][0] for stat in loops]

    def all_rest():
        # A busy loop sleeps now and then on a lock, but not at a hundred consecutive looks.
        return all(set(states()) == {"S"} for _ in range(100))

    with socket.create_connection((url.hostname, url.port), timeout=20) as client:
        client.sendall(f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        assert client.recv(12) == b"HTTP/1.1 200"
        until(all_rest, states)
        # The client still receives the complete object.
        assert len(b"".join(iter(lambda: client.recv(1 << 20), b""))) > 32 << 20


@pytest.fixture(scope="module")
def tree(s3):
    import uuid

    prefix = "tree" + uuid.uuid4().hex[:8] + "/"
    keys = sorted(f"{prefix}{part}" for part in ["a", "a/1", "a/2", "b", "b-1", "c/x/1", "c/x/2", "c/y", "d", "é"])
    for key in keys:
        put(s3, key, key.encode())
    return prefix, sorted(keys, key=lambda key: key.encode())


def test_listing_is_in_byte_order(s3, tree):
    prefix, keys = tree
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]] == keys
    assert [o["Key"] for o in s3.list_objects(Bucket=BUCKET, Prefix=prefix)["Contents"]] == keys


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("version", ["list_objects", "list_objects_v2"])
def test_paging_returns_every_key_and_group_once(s3, tree, version, size):
    prefix, keys = tree
    pages = s3.get_paginator(version)
    plain = [o["Key"] for p in pages.paginate(Bucket=BUCKET, Prefix=prefix, PaginationConfig={"PageSize": size})
             for o in p.get("Contents", [])]
    assert plain == keys
    found, groups = [], []
    for page in pages.paginate(Bucket=BUCKET, Prefix=prefix, Delimiter="/", PaginationConfig={"PageSize": size}):
        found += [o["Key"] for o in page.get("Contents", [])]
        groups += [g["Prefix"] for g in page.get("CommonPrefixes", [])]
    assert groups == [f"{prefix}a/", f"{prefix}c/"]
    assert found == [key for key in keys if "/" not in key[len(prefix):]]


def test_start_after(s3, tree):
    prefix, keys = tree
    answer = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix, StartAfter=keys[4])
    assert [o["Key"] for o in answer["Contents"]] == keys[5:] and answer["KeyCount"] == len(keys) - 5


def test_deleting_many_at_once(s3, name):
    for n in range(5):
        put(s3, f"{name}/{n}")
    answer = s3.delete_objects(
        Bucket=BUCKET, Delete={"Objects": [{"Key": f"{name}/{n}"} for n in range(4)] + [{"Key": f"{name}/none"}]})
    assert len(answer["Deleted"]) == 5 and "Errors" not in answer
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=BUCKET, Prefix=name)["Contents"]] == [f"{name}/4"]


def test_copying(s3, name):
    put(s3, f"{name}/é a", b"copied", Metadata={"m": "1"}, ContentType="text/x")
    s3.copy_object(Bucket=BUCKET, Key=f"{name}/b", CopySource={"Bucket": BUCKET, "Key": f"{name}/é a"})
    got = s3.get_object(Bucket=BUCKET, Key=f"{name}/b")
    assert (got["Body"].read(), got["Metadata"], got["ContentType"]) == (b"copied", {"m": "1"}, "text/x")
    s3.copy_object(Bucket=BUCKET, Key=f"{name}/b", CopySource={"Bucket": BUCKET, "Key": f"{name}/b"}, Metadata={"m": "2"},
                   MetadataDirective="REPLACE")
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/b")["Metadata"] == {"m": "2"}
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=BUCKET, Key=f"{name}/c", CopySource={"Bucket": BUCKET, "Key": f"{name}/none"})
    assert code(error) == "NoSuchKey"


def test_multipart_by_hand(s3, name):
    key = f"{name}/big"
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key=key, ContentType="text/y", Metadata={"m": "1"})["UploadId"]
    first, last = b"a" * (5 << 20), b"the end"
    parts = []
    for number, content in [(1, first), (2, last)]:
        tag = s3.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=number, Body=content)["ETag"]
        parts.append({"PartNumber": number, "ETag": tag})
    listed = s3.list_parts(Bucket=BUCKET, Key=key, UploadId=upload)["Parts"]
    assert [(p["PartNumber"], p["Size"]) for p in listed] == [(1, 5 << 20), (2, 7)]
    assert upload in [u["UploadId"] for u in s3.list_multipart_uploads(Bucket=BUCKET, Prefix=name)["Uploads"]]
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=BUCKET, Key=key)
    assert code(error) == "NoSuchKey"
    done = s3.complete_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})
    digest = hashlib.md5(hashlib.md5(first).digest() + hashlib.md5(last).digest()).hexdigest()
    assert done["ETag"] == f'"{digest}-2"'
    got = s3.get_object(Bucket=BUCKET, Key=key)
    assert got["Body"].read() == first + last and got["ContentType"] == "text/y" and got["Metadata"] == {"m": "1"}
    with pytest.raises(ClientError) as error:
        s3.list_parts(Bucket=BUCKET, Key=key, UploadId=upload)
    assert code(error) == "NoSuchUpload"


def test_an_object_of_one_part_is_sound(server, s3, name):
    """The check accepts such an object, although its entity tag looks like one that contains a SHA-256."""
    for algorithm, content in (("CRC32", b"part"), ("SHA256", b"other part")):
        key = f"{name}/{algorithm}"
        upload = s3.create_multipart_upload(Bucket=BUCKET, Key=key, ChecksumAlgorithm=algorithm)["UploadId"]
        tag = s3.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=1, Body=content,
                             ChecksumAlgorithm=algorithm)["ETag"]
        s3.complete_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload={
            "Parts": [{"PartNumber": 1, "ETag": tag}]})
    put(s3, f"{name}/whole", b"whole", ChecksumAlgorithm="SHA256")
    checked = subprocess.run([str(BIN / "ferry-server"), "check", "--objects", "--data", str(server.data)], text=True,
                             capture_output=True, timeout=120)
    assert checked.returncode == 0, checked


def test_multipart_by_the_transfer_manager(s3, name):
    content = bytes(range(256)) * (90 << 10)
    s3.upload_fileobj(io.BytesIO(content), BUCKET, f"{name}/a")
    target = io.BytesIO()
    s3.download_fileobj(BUCKET, f"{name}/a", target)
    assert target.getvalue() == content
    s3.copy({"Bucket": BUCKET, "Key": f"{name}/a"}, BUCKET, f"{name}/b")
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/b")["ContentLength"] == len(content)


def test_multipart_refusals(s3, name):
    key = f"{name}/big"
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"]
    tags = [s3.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=n, Body=b"small")["ETag"] for n in (1, 2)]

    def complete(parts):
        with pytest.raises(ClientError) as error:
            s3.complete_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload={
                "Parts": [{"PartNumber": n, "ETag": tag} for n, tag in parts]})
        return code(error)

    assert complete([(1, tags[0]), (2, tags[1])]) == "EntityTooSmall"
    assert complete([(1, tags[0]), (3, tags[1])]) == "InvalidPart"
    assert complete([(2, tags[1]), (1, tags[0])]) == "InvalidPartOrder"
    s3.abort_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload)
    with pytest.raises(ClientError) as error:
        s3.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=1, Body=b"late")
    assert code(error) == "NoSuchUpload"


def fetch(url, data=None, method="GET", headers={}):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data, method=method, headers=headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_presigned_urls(s3, name):
    put(s3, f"{name}/a b", b"shared")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": f"{name}/a b"}, ExpiresIn=60)
    assert fetch(url) == (200, b"shared")
    assert fetch(url.replace("a%20b", "other"))[0] == 403
    upload = s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": f"{name}/up"}, ExpiresIn=60)
    assert fetch(upload, b"posted", "PUT")[0] == 200
    assert body(s3, f"{name}/up") == b"posted"
    assert fetch(upload, None, "GET")[0] == 403


def test_a_presigned_url_expires(s3, name):
    put(s3, f"{name}/a")
    from unittest import mock
    import datetime
    import botocore.auth

    earlier = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=10)
    with mock.patch.object(botocore.auth, "get_current_datetime", return_value=earlier):
        url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": f"{name}/a"}, ExpiresIn=60)
    status, text = fetch(url)
    assert status == 403 and b"Request has expired" in text


def test_buckets(s3, name):
    s3.create_bucket(Bucket=name)
    s3.create_bucket(Bucket=name)
    with pytest.raises(ClientError) as error:
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    assert code(error) == "BucketAlreadyOwnedByYou"
    assert name in [b["Name"] for b in s3.list_buckets()["Buckets"]]
    s3.put_object(Bucket=name, Key="a", Body=b"")
    with pytest.raises(ClientError) as error:
        s3.delete_bucket(Bucket=name)
    assert code(error) == "BucketNotEmpty"
    s3.delete_object(Bucket=name, Key="a")
    s3.delete_bucket(Bucket=name)
    with pytest.raises(ClientError) as error:
        s3.list_objects_v2(Bucket=name)
    assert code(error) == "NoSuchBucket"


def test_a_reader_gets_the_old_object_or_the_new_one(s3, name):
    contents = [bytes([n]) * 300_000 for n in range(2)]
    put(s3, f"{name}/a", contents[0])
    done = threading.Event()

    def write():
        for n in range(30):
            put(s3, f"{name}/a", contents[n % 2])
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        assert body(s3, f"{name}/a") in contents
    thread.join()


@pytest.mark.parametrize("size", [3_000, 20_000, 60_000, 250_000])
@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_slow_readers_get_the_content_at_their_request(s3, name, size, change):
    """The responses are in the system's buffers when the objects are deleted. The system keeps adjacent parts of a file in units
    that are larger than a page, and clears the part that is freed."""
    for number in range(20):
        # The contents of one archive are written at once, side by side.
        contents = {f"{name}/{letter}": bytes([1 + (number + position) % 255]) * size for position, letter in enumerate("abcdefgh")}
        files = io.BytesIO()
        with tarfile.open(fileobj=files, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for key, content in contents.items():
                entry = tarfile.TarInfo(key)
                entry.size = size
                archive.addfile(entry, io.BytesIO(content))
        put(s3, f"{name}/archive", files.getvalue(), Metadata={"snowball-auto-extract": "true"})
        with contextlib.ExitStack() as stack:
            answers = {}
            for key in contents:
                url = urllib.parse.urlsplit(s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": key}))
                client = stack.enter_context(socket.socket())
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.settimeout(20)
                client.connect((url.hostname, url.port))
                client.sendall(f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode())
                answers[client] = key, client.recv(12)
            for key in list(contents)[::2]:
                if change == "replaced":
                    put(s3, key, b"new")
                s3.delete_object(Bucket=BUCKET, Key=key)
            for client, (key, answer) in answers.items():
                answer += b"".join(iter(lambda: client.recv(1 << 16), b""))
                assert answer[:12] == b"HTTP/1.1 200"
                assert answer.partition(b"\r\n\r\n")[2] == contents[key], (number, key, answer.count(0))


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_slow_readers_of_large_objects_get_the_content_at_their_request(s3, name, change):
    key = f"{name}/a"
    url = urllib.parse.urlsplit(s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": key}))
    for size in (300_000, 3_000_000):
        content = random.Random(size).randbytes(size)
        put(s3, key, content)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(20)
            client.connect((url.hostname, url.port))
            client.sendall(f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode())
            answer = client.recv(12)
            if change == "replaced":
                put(s3, key, bytes(size))
            else:
                s3.delete_object(Bucket=BUCKET, Key=key)
            answer += b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert answer.partition(b"\r\n\r\n")[2] == content


# ---------------------------------------------------------------- authorization


def test_wrong_secrets_and_unknown_keys_are_refused(server, s3):
    key, secret = administrator_keys(server, "wrong")
    for client, expected in [
            (s3_client(server, "AKIANOBODY", secret), "InvalidAccessKeyId"),
            (s3_client(server, s3._request_signer._credentials.access_key, "x" * 40), "SignatureDoesNotMatch")]:
        with pytest.raises(ClientError) as error:
            client.list_objects_v2(Bucket=BUCKET)
        assert code(error) == expected
    assert fetch(f"{server.url}/{BUCKET}")[0] == 403


def test_a_user_works_below_its_own_prefix(user):
    s3 = user.s3()
    put(s3, f"{user.id}/chunks/a", b"mine")
    assert body(s3, f"{user.id}/chunks/a") == b"mine"
    assert [o["Key"] for o in s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{user.id}/")["Contents"]] == [f"{user.id}/chunks/a"]
    s3.upload_fileobj(io.BytesIO(b"x" * (9 << 20)), BUCKET, f"{user.id}/big")
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": f"{user.id}/big"}]})


def test_a_user_has_no_access_to_objects_of_others(user, other):
    put(other.s3(), f"{other.id}/secret", b"theirs")
    s3 = user.s3()
    attempts = [
        lambda: body(s3, f"{other.id}/secret"), lambda: put(s3, f"{other.id}/new"), lambda: put(s3, "top"),
        lambda: s3.delete_object(Bucket=BUCKET, Key=f"{other.id}/secret"),
        lambda: s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{other.id}/"), lambda: s3.list_objects_v2(Bucket=BUCKET),
        lambda: s3.list_objects(Bucket=BUCKET, Prefix=user.id[:5]), lambda: s3.list_buckets(),
        lambda: s3.create_bucket(Bucket="mine"), lambda: s3.delete_bucket(Bucket=BUCKET),
        lambda: s3.copy_object(Bucket=BUCKET, Key=f"{user.id}/stolen", CopySource=f"{BUCKET}/{other.id}/secret"),
        lambda: s3.copy_object(Bucket=BUCKET, Key=f"{user.id}/stolen", CopySource=f"{BUCKET}/{user.id}/../{other.id}/secret"),
        lambda: s3.create_multipart_upload(Bucket=BUCKET, Key=f"{other.id}/big"),
        lambda: s3.list_multipart_uploads(Bucket=BUCKET)]
    for number, attempt in enumerate(attempts):
        with pytest.raises(ClientError) as error:
            attempt()
        assert code(error) in ("AccessDenied", "403", "NoSuchKey"), number
    answer = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": f"{other.id}/secret"}]})
    assert answer["Errors"][0]["Code"] == "AccessDenied"
    assert body(other.s3(), f"{other.id}/secret") == b"theirs"


def test_a_prefix_ends_at_a_slash(user):
    with pytest.raises(ClientError) as error:
        put(user.s3(), f"{user.id}x/a")
    assert code(error) == "AccessDenied"


def test_garbage_and_foreign_session_tokens_are_refused(server, user, other):
    mine, theirs = user.storage_keys(), other.storage_keys()
    for token in ["garbage", "a.b", theirs["SessionToken"], mine["SessionToken"][:-2] + "zz", None]:
        client = s3_client(server, mine["AccessKeyId"], mine["SecretAccessKey"], token)
        with pytest.raises(ClientError) as error:
            client.list_objects_v2(Bucket=BUCKET, Prefix=f"{user.id}/")
        assert code(error) in ("ExpiredToken", "InvalidAccessKeyId", "InvalidToken")


def test_sts_refuses_bad_id_tokens(user):
    header, claims, signature = user.token.split(".")
    for token in ["garbage", "a.b.c", f"{header}.{claims}.{signature[::-1]}", f"{header}.{claims}."]:
        with pytest.raises(ClientError) as error:
            user.storage_keys(token)
        assert code(error) == "InvalidIdentityToken"


def test_keys_from_sts_have_an_expiry(user):
    import datetime

    keys = user.storage_keys(DurationSeconds=900)
    left = keys["Expiration"] - datetime.datetime.now(datetime.timezone.utc)
    assert datetime.timedelta(minutes=13) < left <= datetime.timedelta(minutes=15)

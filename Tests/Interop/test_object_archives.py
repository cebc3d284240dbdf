"""Many objects in one put: an archive that the server extracts, with boto3 and Python's tarfile."""
import io
import tarfile
import urllib.error
import urllib.request

import pytest
from botocore.exceptions import ClientError

BUCKET = "ferry"


def archive(files, form=tarfile.USTAR_FORMAT):
    """Builds an archive from names and contents; None is a directory, text is a link to that path."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            else:
                entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


def put(s3, key, body, **options):
    return s3.put_object(Bucket=BUCKET, Key=key, Body=body, Metadata={"snowball-auto-extract": "true"}, **options)


def code(s3, key, body, **options):
    with pytest.raises(ClientError) as error:
        put(s3, key, body, **options)
    return error.value.response["Error"]["Code"]


def names(s3, prefix):
    return [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]


def test_an_archive_becomes_its_files(s3, name):
    files = {f"{name}/d": None, f"{name}/d/a": b"first", f"{name}/empty": b"", f"{name}/{'n' * 99}": bytes(range(256)) * 1024}
    answer = put(s3, f"{name}/all.tar", archive(files))
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-ferry-objects"] == "3"
    assert names(s3, f"{name}/") == sorted(key for key, content in files.items() if content is not None)
    for key in names(s3, f"{name}/"):
        got = s3.get_object(Bucket=BUCKET, Key=key)
        assert got["Body"].read() == files[key] and got["ContentType"] == "application/octet-stream"
        assert s3.head_object(Bucket=BUCKET, Key=key, IfMatch=got["ETag"])["ContentLength"] == len(files[key])
    # The same archive again, with one new file.
    put(s3, f"{name}/all.tar", archive({f"{name}/d/a": b"second", f"{name}/z": b"z"}))
    assert s3.get_object(Bucket=BUCKET, Key=f"{name}/d/a")["Body"].read() == b"second"
    assert len(names(s3, f"{name}/")) == 4


def test_a_refused_archive_puts_no_object(s3, name, user, other):
    good = {f"{user.id}/{name}/a": b"a"}
    mine = user.s3()
    for bad, error in (({f"{other.id}/{name}/b": b"b"}, "AccessDenied"), ({f"{user.id}/b": "/etc/passwd"}, "InvalidArgument"),
                       ({f"{user.id}/large": bytes(257 << 10)}, "EntityTooLarge")):
        assert code(mine, f"{user.id}/all.tar", archive({**good, **bad})) == error
    whole = archive(good)
    assert code(mine, f"{user.id}/all.tar", whole[:1024]) == "InvalidArgument"
    assert code(mine, f"{user.id}/all.tar", b"no archive") == "InvalidArgument"
    assert code(mine, f"{user.id}/all.tar", archive({f"{user.id}/{'é' * 60}": b"x"}, tarfile.PAX_FORMAT)) == "InvalidArgument"
    assert code(mine, f"{user.id}/all.tar", whole, IfNoneMatch="*") == "NotImplemented"
    assert code(mine, f"{user.id}/all.tar", whole, ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==") == "BadDigest"
    assert code(mine, f"{other.id}/all.tar", whole) == "AccessDenied"
    assert code(s3, "all.tar", bytes((4 << 20) + 1)) == "EntityTooLarge"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket="no-such-bucket", Key="all.tar", Body=whole, Metadata={"snowball-auto-extract": "true"})
    assert error.value.response["Error"]["Code"] == "NoSuchBucket"
    assert names(s3, f"{user.id}/") == []
    put(mine, f"{user.id}/all.tar", whole)
    assert names(s3, f"{user.id}/") == list(good)


@pytest.mark.parametrize("header", ["x-amz-meta-snowball-auto-extract: true", "x-amz-copy-source: ferry/{}", "x-amz-acl: private"])
def test_a_presigned_put_cannot_become_another_request(s3, name, user, header):
    """The holder of the URL may put this one object, and add nothing that the signer has not allowed."""
    key, other = f"{user.id}/{name}/a", f"{user.id}/{name}/b"
    put(user.s3(), f"{user.id}/all.tar", archive({other: b"secret"}))
    field, value = header.format(other).split(": ")
    url = user.s3().generate_presigned_url("put_object", {"Bucket": BUCKET, "Key": key})
    body = archive({other: b"changed"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(url, body, {field: value}, method="PUT"), timeout=20)
    assert refused.value.code == 403 and b"not signed" in refused.value.read()
    assert names(s3, f"{user.id}/{name}/") == [other]
    assert s3.get_object(Bucket=BUCKET, Key=other)["Body"].read() == b"secret"
    urllib.request.urlopen(urllib.request.Request(url, b"mine", method="PUT"), timeout=20)
    assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"mine"


def get_archive(session, server, keys):
    """Returns the names and contents of the server's archive of these keys, in their order."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    request = AWSRequest("POST", f"{server}/{BUCKET}?x-ferry-archive=", data="\n".join(keys).encode())
    S3SigV4Auth(session._request_signer._credentials, "s3", "us-east-1").add_auth(request)
    prepared = request.prepare()
    with urllib.request.urlopen(urllib.request.Request(
            prepared.url, prepared.body, dict(prepared.headers), method="POST"), timeout=20) as answer:
        with tarfile.open(fileobj=io.BytesIO(answer.read())) as tar:
            files = [(entry.name, tar.extractfile(entry).read()) for entry in tar]
        assert answer.headers["x-ferry-objects"] == str(len(files))
    return files


def test_many_objects_are_read_at_once(s3, name, user, other):
    mine, server = user.s3(), s3.meta.endpoint_url
    keys = [f"{user.id}/{name}/{letter}" for letter in "abc"]
    put(mine, f"{user.id}/all.tar", archive({key: key.encode() for key in keys}))
    s3.put_object(Bucket=BUCKET, Key=f"{other.id}/{name}", Body=b"not for you")
    s3.put_object(Bucket=BUCKET, Key=f"{user.id}/{name}/large", Body=bytes(257 << 10))
    wanted = [keys[2], f"{other.id}/{name}", f"{user.id}/{name}/absent", f"{user.id}/{name}/large", keys[0]]
    assert get_archive(mine, server, wanted) == [(key, key.encode()) for key in (keys[2], keys[0])]
    assert get_archive(s3, server, [f"{other.id}/{name}"]) == [(f"{other.id}/{name}", b"not for you")]
    assert get_archive(mine, server, ["", ""]) == []
    for bad in (["x"] * 257, ["x" * 300_000]):
        with pytest.raises(urllib.error.HTTPError) as refused:
            get_archive(mine, server, bad)
        assert refused.value.code == 400 and b"EntityTooLarge" in refused.value.read()

"""Checksums of objects that are uploaded in parts, with boto3: of the object, and of the parts' checksums."""
import base64
import hashlib
import re
import struct
import subprocess
import urllib.error
import urllib.request
import zlib

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from conftest import working_keys
from harness import BIN

BUCKET = "ferry"
FIRST, LAST = bytes(range(256)) * (20 << 10), b"the last part"


class Table:
    """Computes a cyclic redundancy check byte by byte, as its definition says."""

    def __init__(self, polynomial, form):
        self.form, self.mask = form, (1 << 8 * struct.calcsize(form)) - 1
        self.table = []
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ polynomial if byte & 1 else byte >> 1
            self.table.append(byte)

    def __call__(self, content):
        value = self.mask
        for byte in content:
            value = self.table[(value ^ byte) & 0xFF] ^ value >> 8
        return struct.pack(self.form, value ^ self.mask)


DIGESTS = {
    "CRC64NVME": Table(0x9A6C9329AC4BC9B5, ">Q"), "CRC32C": Table(0x82F63B78, ">I"),
    "CRC32": lambda content: struct.pack(">I", zlib.crc32(content)),
    "SHA256": lambda content: hashlib.sha256(content).digest(), "SHA1": lambda content: hashlib.sha1(content).digest(),
}


def text(algorithm, content):
    return base64.b64encode(DIGESTS[algorithm](content)).decode()


def expected(algorithm, kind):
    if kind == "FULL_OBJECT":
        return text(algorithm, FIRST + LAST)
    return text(algorithm, b"".join(DIGESTS[algorithm](part) for part in (FIRST, LAST))) + "-2"


def upload(s3, key, algorithm, kind=None):
    """Starts an upload and puts both parts. Returns its id and the list of parts."""
    options = {"ChecksumType": kind} if kind else {}
    began = s3.create_multipart_upload(Bucket=BUCKET, Key=key, ChecksumAlgorithm=algorithm, **options)
    assert began["ChecksumAlgorithm"] == algorithm
    parts = []
    for number, part in enumerate((FIRST, LAST), 1):
        checksum = {f"Checksum{algorithm}": text(algorithm, part)}
        answer = s3.upload_part(Bucket=BUCKET, Key=key, UploadId=began["UploadId"], PartNumber=number, Body=part, **checksum)
        assert answer[f"Checksum{algorithm}"] == checksum[f"Checksum{algorithm}"]
        parts.append({"PartNumber": number, "ETag": answer["ETag"], **checksum})
    return began["UploadId"], parts


def complete(s3, key, upload, parts, **options):
    return s3.complete_multipart_upload(Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload={"Parts": parts}, **options)


@pytest.mark.parametrize("algorithm, kind, asked", [
    ("CRC64NVME", "FULL_OBJECT", None), ("CRC64NVME", "FULL_OBJECT", "FULL_OBJECT"), ("CRC32", "FULL_OBJECT", "FULL_OBJECT"),
    ("CRC32C", "FULL_OBJECT", "FULL_OBJECT"), ("CRC32", "COMPOSITE", None), ("CRC32C", "COMPOSITE", "COMPOSITE"),
    ("SHA256", "COMPOSITE", None), ("SHA1", "COMPOSITE", "COMPOSITE")])
def test_an_object_in_parts_has_its_checksum(s3, name, algorithm, kind, asked):
    field, value = f"Checksum{algorithm}", expected(algorithm, kind)
    id, parts = upload(s3, name, algorithm, asked)
    listed = s3.list_parts(Bucket=BUCKET, Key=name, UploadId=id)
    assert listed["ChecksumAlgorithm"] == algorithm and listed["ChecksumType"] == kind
    assert [part[field] for part in listed["Parts"]] == [part[field] for part in parts]
    done = complete(s3, name, id, parts, ChecksumType=kind, MpuObjectSize=len(FIRST + LAST), **{field: value})
    assert done[field] == value and done["ChecksumType"] == kind
    head = s3.head_object(Bucket=BUCKET, Key=name, ChecksumMode="ENABLED")
    assert head[field] == value and head["ChecksumType"] == kind
    assert field not in s3.head_object(Bucket=BUCKET, Key=name)
    # boto3 verifies the checksums it supports when it reads.
    assert s3.get_object(Bucket=BUCKET, Key=name)["Body"].read() == FIRST + LAST
    told = s3.get_object_attributes(Bucket=BUCKET, Key=name, ObjectAttributes=[
        "ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"])
    assert told["Checksum"] == {field: value, "ChecksumType": kind} and told["ETag"] == done["ETag"].strip('"')
    assert told["ObjectParts"]["TotalPartsCount"] == 2 and told["ObjectSize"] == len(FIRST + LAST)
    assert told["StorageClass"] == "STANDARD"


@pytest.mark.parametrize("algorithm", ["CRC64NVME", "CRC32", "SHA256"])
def test_another_checksum_at_the_end_is_refused(s3, name, algorithm):
    id, parts = upload(s3, name, algorithm)
    field = f"Checksum{algorithm}"

    def refusal(parts=parts, **options):
        with pytest.raises(ClientError) as error:
            complete(s3, name, id, parts, **options)
        return error.value.response["Error"]["Code"]

    assert refusal(**{field: text(algorithm, b"another")}) == "BadDigest"
    assert refusal([{**parts[0], field: text(algorithm, b"another")}, parts[1]]) == "InvalidPart"
    assert refusal(MpuObjectSize=7) == "InvalidRequest"
    assert refusal(ChecksumType="COMPOSITE" if algorithm == "CRC64NVME" else "FULL_OBJECT") == "InvalidRequest"
    # The upload still exists.
    assert complete(s3, name, id, parts)[field]


def test_a_checksum_first_given_at_completion(s3, name):
    url = s3.generate_presigned_url("create_multipart_upload", Params={"Bucket": BUCKET, "Key": name})
    answer = urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=20).read().decode()
    id = re.search("<UploadId>(.*)</UploadId>", answer).group(1)
    tag = s3.upload_part(Bucket=BUCKET, Key=name, UploadId=id, PartNumber=1, Body=LAST)["ETag"]
    parts = [{"PartNumber": 1, "ETag": tag}]
    with pytest.raises(ClientError) as error:
        complete(s3, name, id, parts, ChecksumCRC32=text("CRC32", b"another"))
    assert error.value.response["Error"]["Code"] == "BadDigest"
    complete(s3, name, id, parts, ChecksumCRC32=text("CRC32", LAST))
    head = s3.head_object(Bucket=BUCKET, Key=name, ChecksumMode="ENABLED")
    assert head["ChecksumCRC32"] == text("CRC32", LAST) and head["ChecksumType"] == "FULL_OBJECT"


def test_impossible_uploads_are_refused_at_their_start(s3, name):
    for algorithm, kind in (("SHA256", "FULL_OBJECT"), ("CRC64NVME", "COMPOSITE")):
        with pytest.raises(ClientError) as error:
            s3.create_multipart_upload(Bucket=BUCKET, Key=name, ChecksumAlgorithm=algorithm, ChecksumType=kind)
        assert error.value.response["Error"]["Code"] == "InvalidRequest"


def test_parts_that_are_copied_count(s3, name):
    s3.put_object(Bucket=BUCKET, Key=f"{name}/source", Body=FIRST + LAST)
    id = s3.create_multipart_upload(Bucket=BUCKET, Key=name, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")["UploadId"]
    source, parts = {"Bucket": BUCKET, "Key": f"{name}/source"}, []
    for number, span in enumerate((f"bytes=0-{len(FIRST) - 1}", f"bytes={len(FIRST)}-{len(FIRST + LAST) - 1}"), 1):
        copied = s3.upload_part_copy(
            Bucket=BUCKET, Key=name, UploadId=id, PartNumber=number, CopySource=source, CopySourceRange=span)["CopyPartResult"]
        parts.append({"PartNumber": number, "ETag": copied["ETag"], "ChecksumCRC32": copied["ChecksumCRC32"]})
    assert complete(s3, name, id, parts)["ChecksumCRC32"] == expected("CRC32", "FULL_OBJECT")


def test_parts_whose_checksum_is_in_a_trailer(server, s3, name):
    """Newer SDKs send CRC64NVME in a trailer; boto3 does so only with an extension, and over TLS."""
    credentials = Credentials(*working_keys(server, "trailers"))
    id = s3.create_multipart_upload(Bucket=BUCKET, Key=name, ChecksumAlgorithm="CRC64NVME")["UploadId"]

    def put(number, content, trailer):
        """Puts a part; None announces a trailer and sends none. Returns the header fields, or the error's code."""
        request = AWSRequest("PUT", f"{server.url}/{BUCKET}/{name}?partNumber={number}&uploadId={id}", headers={
            "x-amz-trailer": "x-amz-checksum-crc64nvme", "Content-Encoding": "aws-chunked",
            "x-amz-decoded-content-length": str(len(content))})
        request.context["checksum"] = {"request_algorithm": {"in": "trailer"}}
        S3SigV4Auth(credentials, "s3", "us-east-1").add_auth(request)
        line = f"x-amz-checksum-crc64nvme:{trailer}\r\n".encode() if trailer else b""
        body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(content), content, line)
        try:
            return urllib.request.urlopen(
                urllib.request.Request(request.url, body, dict(request.headers), method="PUT"), timeout=20).headers
        except urllib.error.HTTPError as error:
            return re.search("<Code>(.*)</Code>", error.read().decode()).group(1)

    parts = []
    for number, content in enumerate((FIRST, LAST), 1):
        headers = put(number, content, text("CRC64NVME", content))
        assert headers["x-amz-checksum-crc64nvme"] == text("CRC64NVME", content)
        parts.append({"PartNumber": number, "ETag": headers["ETag"], "ChecksumCRC64NVME": headers["x-amz-checksum-crc64nvme"]})
    assert put(2, LAST, text("CRC64NVME", FIRST)) == "BadDigest"
    assert put(2, LAST, None) == "MalformedTrailerError"
    assert complete(s3, name, id, parts)["ChecksumCRC64NVME"] == expected("CRC64NVME", "FULL_OBJECT")


def test_a_copy_has_a_checksum_of_the_whole(s3, name):
    id, parts = upload(s3, f"{name}/parts", "CRC32")
    assert complete(s3, f"{name}/parts", id, parts)["ChecksumType"] == "COMPOSITE"
    s3.put_object(Bucket=BUCKET, Key=f"{name}/whole", Body=LAST, ChecksumCRC64NVME=text("CRC64NVME", LAST))

    def copied(source, **options):
        """Returns the checksums reported for the copy, which must be those that it has."""
        told = s3.copy_object(Bucket=BUCKET, Key=f"{name}/copy", CopySource=f"{BUCKET}/{name}/{source}", **options)
        head = s3.head_object(Bucket=BUCKET, Key=f"{name}/copy", ChecksumMode="ENABLED")
        checksums = {key: value for key, value in head.items() if key.startswith("Checksum")}
        assert checksums == {key: value for key, value in told["CopyObjectResult"].items() if key.startswith("Checksum")}
        return checksums

    # The parts' own checksum becomes one of the whole object, as a copy has no parts.
    assert copied("parts") == {"ChecksumCRC32": text("CRC32", FIRST + LAST), "ChecksumType": "FULL_OBJECT"}
    assert copied("whole") == {"ChecksumCRC64NVME": text("CRC64NVME", LAST), "ChecksumType": "FULL_OBJECT"}
    assert copied("whole", MetadataDirective="REPLACE", ChecksumAlgorithm="CRC64NVME")["ChecksumCRC64NVME"]
    assert copied("whole", ChecksumAlgorithm="SHA256") == {"ChecksumSHA256": text("SHA256", LAST), "ChecksumType": "FULL_OBJECT"}


def test_listings_contain_checksums(s3, name):
    s3.put_object(Bucket=BUCKET, Key=f"{name}/whole", Body=LAST, ChecksumCRC64NVME=text("CRC64NVME", LAST))
    id, parts = upload(s3, f"{name}/parts", "SHA1")
    [begun] = s3.list_multipart_uploads(Bucket=BUCKET, Prefix=name)["Uploads"]
    assert begun["ChecksumAlgorithm"] == "SHA1" and begun["ChecksumType"] == "COMPOSITE"
    complete(s3, f"{name}/parts", id, parts)
    for listing in (s3.list_objects, s3.list_objects_v2):
        found = [(entry["ChecksumAlgorithm"], entry["ChecksumType"]) for entry in listing(Bucket=BUCKET, Prefix=name)["Contents"]]
        assert found == [(["SHA1"], "COMPOSITE"), (["CRC64NVME"], "FULL_OBJECT")]


class UnsignedPayload(S3SigV4Auth):
    def payload(self, request):
        return "UNSIGNED-PAYLOAD"


@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_content_that_is_not_signed_is_checked_by_its_checksum(server, s3, name, size):
    """Ferry's machines put objects like this, without MD5 and SHA-256: checked on the way, and on the disk."""
    # No other test uses this content, as the test searches the disk for it.
    content = (name.encode() * size)[:size]

    def put(body):
        request = AWSRequest("PUT", f"{server.url}/{BUCKET}/{name}", headers={"x-amz-checksum-crc32c": text("CRC32C", content)})
        UnsignedPayload(Credentials(*working_keys(server)), "s3", "us-east-1").add_auth(request)
        answer = urllib.request.Request(request.url, body, dict(request.headers), method="PUT")
        with urllib.request.urlopen(answer) as response:
            return dict(response.headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        put(content[:-1] + b"?")
    assert refused.value.code == 400 and b"BadDigest" in refused.value.read()
    first, second = put(content)["ETag"], put(content)["ETag"]
    assert first.endswith('-1"') and second.endswith('-1"')
    assert s3.get_object(Bucket=BUCKET, Key=name, IfMatch=second)["Body"].read() == content
    assert s3.head_object(Bucket=BUCKET, Key=name, ChecksumMode="ENABLED")["ChecksumCRC32C"] == text("CRC32C", content)
    assert "is undamaged" in check(server)
    place = next(path for path in (server.data / "objects").rglob("*") if path.is_file() and content in path.read_bytes())
    whole = place.read_bytes()
    place.write_bytes(whole.replace(content, content[:-1] + b"?"))
    try:
        assert "differs from what was stored" in check(server)
    finally:
        place.write_bytes(whole)


def check(server):
    return subprocess.run([str(BIN / "ferry-server"), "check", "--objects", "--data", str(server.data)], capture_output=True,
                          text=True, timeout=120).stdout

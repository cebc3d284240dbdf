"""What an S3 store that has no versions, settings or encryption answers to clients that ask for them, and conditions that a client
relies on."""
import os
import urllib.error
import urllib.parse
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from conftest import s3_client, working_keys

BUCKET = "ferry"


@pytest.fixture(scope="module")
def keys(server):
    return working_keys(server, "refusals")


@pytest.fixture
def s3(server, keys):
    return s3_client(server, *keys)


def refusal(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(Bucket=BUCKET, **arguments)
    return error.value.response["Error"]["Code"]


def body(s3, key, **options):
    return s3.get_object(Bucket=BUCKET, Key=key, **options)["Body"].read()


def test_settings_that_were_never_made_are_answered_as_such(s3):
    for call, code in {
        s3.get_bucket_policy: "NoSuchBucketPolicy", s3.get_bucket_cors: "NoSuchCORSConfiguration",
        s3.get_bucket_lifecycle_configuration: "NoSuchLifecycleConfiguration", s3.get_bucket_tagging: "NoSuchTagSet",
        s3.get_bucket_website: "NoSuchWebsiteConfiguration",
        s3.get_bucket_encryption: "ServerSideEncryptionConfigurationNotFoundError",
        s3.get_object_lock_configuration: "ObjectLockConfigurationNotFoundError",
        s3.get_public_access_block: "NoSuchPublicAccessBlockConfiguration",
        # These would be a list of the bucket's objects.
        s3.list_object_versions: "NotImplemented", s3.list_bucket_inventory_configurations: "NotImplemented",
        s3.list_bucket_metrics_configurations: "NotImplemented",
    }.items():
        assert refusal(call) == code
    assert "Status" not in s3.get_bucket_versioning(Bucket=BUCKET)
    assert s3.get_bucket_acl(Bucket=BUCKET)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket=BUCKET)
    with pytest.raises(ClientError) as error:
        s3.get_bucket_policy(Bucket="not-there")
    assert error.value.response["Error"]["Code"] == "NoSuchBucket"


def test_settings_of_an_object(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")
    # The AWS CLI asks for the tags of what it copies.
    assert s3.get_object_tagging(Bucket=BUCKET, Key=name)["TagSet"] == []
    assert s3.get_object_acl(Bucket=BUCKET, Key=name)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert refusal(s3.get_object_tagging, Key=name + "x") == "NoSuchKey"
    assert refusal(s3.get_object_attributes, Key=name + "x", ObjectAttributes=["ETag"]) == "NoSuchKey"
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    assert refusal(s3.put_object_tagging, Key=name, Tagging=tags) == "NotImplemented"
    assert body(s3, name) == b"content"


def test_a_version_that_is_not_there_is_not_the_one_that_is(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")
    assert body(s3, name, VersionId="null") == b"content"
    for call in (s3.get_object, s3.head_object, s3.delete_object):
        with pytest.raises(ClientError) as error:
            call(Bucket=BUCKET, Key=name, VersionId="3HL4kqtJlcpXrof3")
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    old = {"Bucket": BUCKET, "Key": name, "VersionId": "3HL4kqtJlcpXrof3"}
    assert refusal(s3.copy_object, Key=name + "x", CopySource=old) == "InvalidArgument"
    one = {"Objects": [{"Key": name, "VersionId": "3HL4kqtJlcpXrof3"}]}
    assert refusal(s3.delete_objects, Delete=one) == "InvalidArgument"
    assert body(s3, name) == b"content"


def test_what_cannot_be_encrypted_or_locked_is_not_taken(s3, name):
    assert refusal(s3.put_object, Key=name, Body=b"secret", ServerSideEncryption="AES256") == "NotImplemented"
    assert refusal(s3.put_object, Key=name, Body=b"kept", ObjectLockMode="COMPLIANCE",
                   ObjectLockRetainUntilDate="2030-01-01T00:00:00Z") == "NotImplemented"
    assert refusal(s3.create_multipart_upload, Key=name, ServerSideEncryption="aws:kms") == "NotImplemented"
    assert refusal(s3.get_object, Key=name) == "NoSuchKey"


def test_conditions_of_a_delete_and_of_a_copys_target(s3, name):
    tag = s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")["ETag"]
    assert refusal(s3.delete_object, Key=name, IfMatch='"0123"') == "PreconditionFailed"
    source = {"Bucket": BUCKET, "Key": name}
    s3.put_object(Bucket=BUCKET, Key=name + "x", Body=b"other")
    assert refusal(s3.copy_object, Key=name + "x", CopySource=source, IfNoneMatch="*") == "PreconditionFailed"
    assert body(s3, name) == b"content" and body(s3, name + "x") == b"other"
    s3.delete_object(Bucket=BUCKET, Key=name, IfMatch=tag)
    assert refusal(s3.get_object, Key=name) == "NoSuchKey"


def test_a_part_of_a_get_is_the_whole_or_an_error(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")
    assert body(s3, name, PartNumber=1) == b"content"
    assert refusal(s3.get_object, Key=name, PartNumber=2) == "InvalidPartNumber"


def test_a_download_that_goes_on_after_the_object_was_replaced_starts_anew(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"new content")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": name})

    def fetch(version):
        request = urllib.request.Request(url, headers={"Range": "bytes=4-", "If-Range": version})
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()

    head = s3.head_object(Bucket=BUCKET, Key=name)
    assert fetch(head["ETag"]) == (206, b"content")
    assert fetch(head["ResponseMetadata"]["HTTPHeaders"]["last-modified"]) == (206, b"content")
    assert fetch('"of the old one"') == (200, b"new content")
    assert fetch("Sat, 21 Nov 1998 12:00:00 GMT") == (200, b"new content")


def test_completing_again_after_a_lost_answer(s3, name):
    upload = {"Bucket": BUCKET, "Key": name, "UploadId": s3.create_multipart_upload(Bucket=BUCKET, Key=name)["UploadId"]}
    content = os.urandom(5 << 20), b"the end"
    parts = {"Parts": [{"PartNumber": n, "ETag": s3.upload_part(**upload, PartNumber=n, Body=part)["ETag"]}
                       for n, part in enumerate(content, 1)]}
    first = s3.complete_multipart_upload(**upload, MultipartUpload=parts)
    again = s3.complete_multipart_upload(**upload, MultipartUpload=parts)
    assert again["ETag"] == first["ETag"] and body(s3, name) == b"".join(content)
    # Once it is another object, the upload is not what is there.
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"other")
    assert refusal(s3.complete_multipart_upload, **{k: v for k, v in upload.items() if k != "Bucket"},
                   MultipartUpload=parts) == "NoSuchUpload"


def test_a_part_that_is_copied_lies_within_its_source(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key=name + "x")["UploadId"]
    part = {"Key": name + "x", "UploadId": upload, "PartNumber": 1, "CopySource": {"Bucket": BUCKET, "Key": name}}
    for span in ("bytes=0-7", "bytes=3-", "bytes=3-1", "nonsense"):
        assert refusal(s3.upload_part_copy, **part, CopySourceRange=span) == "InvalidArgument"
    s3.upload_part_copy(Bucket=BUCKET, **part, CopySourceRange="bytes=0-2")
    assert s3.list_parts(Bucket=BUCKET, Key=name + "x", UploadId=upload)["Parts"][0]["Size"] == 3
    s3.abort_multipart_upload(Bucket=BUCKET, Key=name + "x", UploadId=upload)


def test_uploads_are_listed_page_by_page(s3, name):
    ids = {s3.create_multipart_upload(Bucket=BUCKET, Key=f"{name}/{n // 2}")["UploadId"] for n in range(5)}
    pages = list(s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=BUCKET, Prefix=name, PaginationConfig={"PageSize": 2}))
    listed = [upload for page in pages for upload in page["Uploads"]]
    assert [len(page["Uploads"]) for page in pages] == [2, 2, 1]
    assert {upload["UploadId"] for upload in listed} == ids and len(listed) == 5
    for upload in listed:
        s3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])


def test_an_old_signature_is_named(server, keys):
    old = boto3.client("s3", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=keys[0],
                       aws_secret_access_key=keys[1], config=Config(signature_version="s3"))
    url = old.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "a"})
    assert "AWSAccessKeyId" in urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(url)
    assert error.value.code == 400 and b"AWS4-HMAC-SHA256" in error.value.read()

"""Responses of an S3 store without versions, settings or encryption to clients that request them, and the conditions that clients
rely on."""
import contextlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request

import boto3
import pytest
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


def test_missing_settings_are_reported_as_missing(s3):
    for call, code in {
        s3.get_bucket_policy: "NoSuchBucketPolicy", s3.get_bucket_cors: "NoSuchCORSConfiguration",
        s3.get_bucket_lifecycle_configuration: "NoSuchLifecycleConfiguration", s3.get_bucket_tagging: "NoSuchTagSet",
        s3.get_bucket_website: "NoSuchWebsiteConfiguration",
        s3.get_bucket_encryption: "ServerSideEncryptionConfigurationNotFoundError",
        s3.get_object_lock_configuration: "ObjectLockConfigurationNotFoundError",
        s3.get_public_access_block: "NoSuchPublicAccessBlockConfiguration",
        # A server that ignored the parameter would return a list of the bucket's objects.
        s3.list_bucket_inventory_configurations: "NotImplemented",
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
    # The AWS CLI requests the tags of an object that it copies.
    assert s3.get_object_tagging(Bucket=BUCKET, Key=name)["TagSet"] == []
    assert s3.get_object_acl(Bucket=BUCKET, Key=name)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert refusal(s3.get_object_tagging, Key=name + "x") == "NoSuchKey"
    assert refusal(s3.get_object_attributes, Key=name + "x", ObjectAttributes=["ETag"]) == "NoSuchKey"
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    assert refusal(s3.put_object_tagging, Key=name, Tagging=tags) == "NotImplemented"
    assert body(s3, name) == b"content"


def test_an_unknown_version_is_refused(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"content")
    assert body(s3, name, VersionId="null") == b"content"
    for call in (s3.get_object, s3.head_object, s3.delete_object):
        with pytest.raises(ClientError) as error:
            call(Bucket=BUCKET, Key=name, VersionId="3HL4kqtJlcpXrof3")
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    old = {"Bucket": BUCKET, "Key": name, "VersionId": "3HL4kqtJlcpXrof3"}
    assert refusal(s3.copy_object, Key=name + "x", CopySource=old) == "InvalidArgument"
    answer = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": name, "VersionId": "3HL4kqtJlcpXrof3"}]})
    assert answer["Errors"][0]["Code"] == "InvalidArgument" and "Deleted" not in answer
    assert body(s3, name) == b"content"


def test_requests_for_encryption_or_locks_are_refused(s3, name):
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


def test_a_download_resumed_after_a_replacement_restarts(s3, name):
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
    # Once the key has another object, the upload's condition fails.
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


def test_conditions_of_puts(s3, name):
    tag = s3.put_object(Bucket=BUCKET, Key=name, Body=b"old")["ETag"]
    assert refusal(s3.put_object, Key=name, Body=b"new", IfNoneMatch=tag) == "PreconditionFailed"
    assert refusal(s3.put_object, Key=name, Body=b"new", IfMatch='"0123"') == "PreconditionFailed"
    assert refusal(s3.put_object, Key=name + "x", Body=b"new", IfMatch="*") == "NoSuchKey"
    assert body(s3, name) == b"old"
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"new", IfMatch="*", IfNoneMatch='"0123"')
    assert body(s3, name) == b"new"


def test_conditions_of_each_key_that_is_deleted(s3, name):
    tags = {key: s3.put_object(Bucket=BUCKET, Key=f"{name}/{key}", Body=key.encode())["ETag"] for key in ("a", "b", "ccc", "d")}
    answer = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [
        {"Key": f"{name}/a", "ETag": '"0"'}, {"Key": f"{name}/b", "ETag": tags["b"]}, {"Key": f"{name}/ccc", "Size": 999},
        {"Key": f"{name}/d", "Size": 1}, {"Key": f"{name}/none", "ETag": '"0"'}]})
    assert {error["Key"]: error["Code"] for error in answer["Errors"]} == {
        f"{name}/a": "PreconditionFailed", f"{name}/ccc": "PreconditionFailed"}
    assert [item["Key"] for item in answer["Deleted"]] == [f"{name}/b", f"{name}/d", f"{name}/none"]
    assert [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{name}/")["Contents"]] == [f"{name}/a", f"{name}/ccc"]
    assert refusal(s3.delete_object, Key=f"{name}/a", IfMatchSize=999) == "PreconditionFailed"


@pytest.mark.parametrize("key", ['<Key a="1>2">{}</Key>', "<Key><![CDATA[{}]]></Key>", "<Key>{}</Key><!-- <Key>x</Key> -->"])
def test_xml_documents_are_parsed_by_the_standard(server, keys, name, key):
    s3 = s3_client(server, *keys)
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"x")

    def replace(request, **_):
        request.data = f"<Delete><Object>{key.format(name)}</Object></Delete>".encode()
        for field in [f for f in request.headers if "checksum" in f.lower() or f == "Content-MD5"]:
            del request.headers[field]

    s3.meta.events.register("before-sign.s3.DeleteObjects", replace)
    answer = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": "other"}]})
    assert [d["Key"] for d in answer["Deleted"]] == [name]
    assert refusal(s3.head_object, Key=name) == "404"


def test_entities_of_a_document_are_refused(server, keys, name):
    s3 = s3_client(server, *keys)

    def replace(request, **_):
        lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
        request.data = f'<!DOCTYPE d [<!ENTITY l0 "{name}">{lines}]><Delete><Object><Key>&l9;</Key></Object></Delete>'.encode()
        for field in [f for f in request.headers if "checksum" in f.lower() or f == "Content-MD5"]:
            del request.headers[field]

    s3.meta.events.register("before-sign.s3.DeleteObjects", replace)
    assert refusal(s3.delete_objects, Delete={"Objects": [{"Key": "other"}]}) == "MalformedXML"


def test_unsupported_options_are_refused(s3, name):
    for code, options in (
            ("NotImplemented", {"Tagging": "a=b"}), ("NotImplemented", {"WebsiteRedirectLocation": "/elsewhere"}),
            ("NotImplemented", {"WriteOffsetBytes": 3}), ("NotImplemented", {"ObjectLockLegalHoldStatus": "ON"}),
            ("NotImplemented", {"ServerSideEncryption": "aws:kms"}),
            ("AccessControlListNotSupported", {"ACL": "public-read"}), ("AccessControlListNotSupported", {"GrantRead": "id=1"}),
            ("InvalidStorageClass", {"StorageClass": "GLACIER"}), ("AccessDenied", {"ExpectedBucketOwner": "111111111111"})):
        assert refusal(s3.put_object, Key=name, Body=b"x", **options) == code, options
    assert refusal(s3.get_object, Key=name) == "NoSuchKey"
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"x", ACL="private", StorageClass="STANDARD", ExpectedBucketOwner="000000000000")
    s3.put_object_acl(Bucket=BUCKET, Key=name, ACL="private")
    acl = s3.get_object_acl(Bucket=BUCKET, Key=name)
    acl = {"Owner": acl["Owner"], "Grants": acl["Grants"]}
    s3.put_object_acl(Bucket=BUCKET, Key=name, AccessControlPolicy=acl)
    acl["Grants"] += [{"Grantee": {"Type": "CanonicalUser", "ID": "1"}, "Permission": "READ"}]
    assert refusal(s3.put_object_acl, Key=name, AccessControlPolicy=acl) == "AccessControlListNotSupported"
    assert refusal(s3.put_object_acl, Key=name, ACL="public-read") == "AccessControlListNotSupported"
    with pytest.raises(ClientError) as error:
        s3.create_bucket(Bucket=f"{name}-locked", ObjectLockEnabledForBucket=True)
    assert error.value.response["Error"]["Code"] == "NotImplemented"


def test_options_in_a_presigned_url_are_checked(s3, name):
    """SDKs other than boto3 write them in the query, where they are signed."""
    from botocore.auth import S3SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    def answer(wish):
        request = AWSRequest("PUT", f"{s3.meta.endpoint_url}/{BUCKET}/{name}?{wish}")
        S3SigV4QueryAuth(s3._request_signer._credentials, "s3", "us-east-1").add_auth(request)
        try:
            return urllib.request.urlopen(urllib.request.Request(request.url, data=b"x", method="PUT")).status
        except urllib.error.HTTPError as error:
            return error.code

    assert answer("x-amz-acl=public-read") == 400 and answer("x-amz-tagging=a%3Db") == 501
    assert answer("x-amz-checksum-crc32=AAAAAA%3D%3D") == 400
    assert answer("x-amz-meta-a=b&x-id=PutObject") == 200
    assert s3.head_object(Bucket=BUCKET, Key=name)["Metadata"] == {"a": "b"}


def test_each_header_that_amazons_client_knows_has_a_rule(s3, name):
    """Each header of operations on objects and buckets is honored, harmless if ignored, or refused with its name."""
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    s3.put_object(Bucket=BUCKET, Key=name, Body=b"x")
    model = s3.meta.service_model
    shapes = [model.operation_model(operation).input_shape for operation in model.operation_names]
    headers = {member.serialization["name"].lower() for shape in shapes if shape for member in shape.members.values()
               if member.serialization.get("location") == "header"}
    headers = sorted(header for header in headers if header.startswith("x-amz-"))
    assert len(headers) > 80
    answers = {}
    for header in headers:
        request = AWSRequest("GET", f"{s3.meta.endpoint_url}/{BUCKET}/{name}", headers={header: "of no kind"})
        S3SigV4Auth(s3._request_signer._credentials, "s3", "us-east-1").add_auth(request)
        try:
            answers[header] = urllib.request.urlopen(urllib.request.Request(request.url, headers=dict(request.headers))).status
        except urllib.error.HTTPError as error:
            answers[header] = error.code
            assert error.code in (400, 403, 501), header
            if error.code == 501:
                assert header.encode() in error.read(), header
    refused = {header for header, status in answers.items() if status != 200}
    # Headers that would change the readers of an object, its storage, or whether a request is performed.
    for word in ("acl", "grant", "lock-", "server-side-encryption", "tagging", "expected-bucket-owner", "storage-class",
                 "write-offset", "rename-source", "website", "fwd-", "sha512"):
        matching = {header for header in headers if word in header} - {"x-amz-tagging-directive"}
        assert matching and matching <= refused, (word, matching - refused)


def test_empty_values_are_stored_and_read(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"precious", Metadata={"a": "", "b": " ", "c": "x\ty"}, CacheControl="", ContentType="",
                  ContentEncoding="", ContentLanguage="")
    answer = s3.get_object(Bucket=BUCKET, Key=name)
    assert answer["Body"].read() == b"precious"
    assert answer["Metadata"] == {"a": "", "b": "", "c": "x\ty"} and answer["ContentType"] == "binary/octet-stream"
    s3.copy_object(Bucket=BUCKET, Key=name + "x", CopySource={"Bucket": BUCKET, "Key": name})
    assert s3.head_object(Bucket=BUCKET, Key=name + "x")["Metadata"] == {"a": "", "b": "", "c": "x\ty"}
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": name, "ResponseContentType": ""})
    assert urllib.request.urlopen(url).read() == b"precious"


def test_header_values_are_utf_8_or_refused(s3, name):
    url = urllib.parse.urlsplit(s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": name}))

    def put(value):
        connection = http.client.HTTPConnection(url.netloc)
        connection.request("PUT", f"{url.path}?{url.query}", b"x", {"Content-Disposition": value})
        with contextlib.closing(connection):
            return connection.getresponse().status

    assert put("attachment; filename=naïve".encode()) == 200
    assert s3.head_object(Bucket=BUCKET, Key=name)["ResponseMetadata"]["HTTPHeaders"]["content-disposition"].encode(
        "latin-1") == "attachment; filename=naïve".encode()
    assert put("attachment; filename=naïve".encode("latin-1")) == 400


def test_each_object_has_one_version(s3, name):
    for key in ("a", "b/1", "b/2", "c d&e"):
        s3.put_object(Bucket=BUCKET, Key=f"{name}/{key}", Body=key.encode())
    listed = s3.list_object_versions(Bucket=BUCKET, Prefix=f"{name}/")
    assert [(item["Key"], item["VersionId"], item["IsLatest"], item["Size"]) for item in listed["Versions"]] == [
        (f"{name}/{key}", "null", True, len(key)) for key in ("a", "b/1", "b/2", "c d&e")]
    assert "DeleteMarkers" not in listed
    pages = list(s3.get_paginator("list_object_versions").paginate(
        Bucket=BUCKET, Prefix=f"{name}/", Delimiter="/", PaginationConfig={"PageSize": 1}))
    assert [item["Key"] for page in pages for item in page.get("Versions", [])] == [f"{name}/a", f"{name}/c d&e"]
    assert [item["Prefix"] for page in pages for item in page.get("CommonPrefixes", [])] == [f"{name}/b/"]
    # The requests of a client that empties a bucket.
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": item["Key"], "VersionId": item["VersionId"]} for item in listed["Versions"]]})
    assert "Versions" not in s3.list_object_versions(Bucket=BUCKET, Prefix=f"{name}/")
    assert refusal(s3.list_object_versions, VersionIdMarker="null") == "InvalidArgument"


def test_urls_and_forms_with_signature_version_2(server, s3, keys, user, name):
    """boto3 creates them in us-east-1 unless it is configured otherwise."""
    import requests

    old = boto3.client("s3", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=keys[0], aws_secret_access_key=keys[1])
    s3.put_object(Bucket=BUCKET, Key=f"{name}/a b", Body=b"content")

    def presign(operation, client=old, **parameters):
        url = client.generate_presigned_url(operation, Params={"Bucket": BUCKET, **parameters})
        assert "AWSAccessKeyId" in urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
        return url

    got = requests.get(presign("get_object", Key=f"{name}/a b", ResponseContentType="text/x", VersionId="null"))
    assert (got.status_code, got.content, got.headers["Content-Type"]) == (200, b"content", "text/x")
    put = presign("put_object", Key=f"{name}/c", Metadata={"who": "me"}, ContentType="image/png")
    assert requests.put(put, data=b"png", headers={"Content-Type": "text/html"}).status_code == 403
    assert requests.put(put, data=b"png", headers={"Content-Type": "image/png"}).status_code == 200
    assert s3.head_object(Bucket=BUCKET, Key=f"{name}/c")["Metadata"] == {"who": "me"}
    assert requests.get(put).status_code == 403
    assert requests.get(presign("get_object", Key=f"{name}/c") + "&attributes").status_code == 403
    assert requests.put(presign("put_object", Key=f"{name}/c", ACL="public-read"), data=b"x").status_code == 400
    form = old.generate_presigned_post(BUCKET, f"{name}/form")
    assert requests.post(form["url"], data=form["fields"], files={"file": b"posted"}).status_code == 204
    assert body(s3, f"{name}/form") == b"posted"
    form["fields"]["key"] = f"{name}/elsewhere"
    assert requests.post(form["url"], data=form["fields"], files={"file": b"posted"}).status_code == 403
    # With keys from STS, within the user's own prefix.
    session = user.storage_keys()
    mine = boto3.client("s3", endpoint_url=server.url, region_name="us-east-1", aws_access_key_id=session["AccessKeyId"],
                        aws_secret_access_key=session["SecretAccessKey"], aws_session_token=session["SessionToken"])
    assert requests.put(presign("put_object", mine, Key=f"{user.id}/a"), data=b"mine").status_code == 200
    assert requests.get(presign("get_object", mine, Key=f"{user.id}/a")).content == b"mine"
    assert requests.get(presign("get_object", mine, Key=f"{name}/c")).status_code == 403
    form = mine.generate_presigned_post(BUCKET, f"{user.id}/form")
    assert requests.post(form["url"], data=form["fields"], files={"file": b"posted"}).status_code == 204


def test_a_session_policy_is_refused(user):
    for narrower in ({"Policy": '{"Version": "2012-10-17", "Statement": []}'}, {"PolicyArns": [{"arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}]}):
        with pytest.raises(ClientError) as error:
            user.storage_keys(**narrower)
        assert error.value.response["Error"]["Code"] == "ValidationError" and "Policy" in error.value.response["Error"]["Message"]


def test_unfinished_uploads_of_an_account_are_bounded(user, other):
    mine = user.s3()

    def begin(s3=mine, id=user.id, key="a"):
        return {"Bucket": BUCKET, "Key": f"{id}/{key}", "UploadId": s3.create_multipart_upload(Bucket=BUCKET, Key=f"{id}/{key}")["UploadId"]}

    uploads = [begin(key=str(number)) for number in range(100)]
    with pytest.raises(ClientError) as error:
        begin()
    assert error.value.response["Error"]["Code"] == "QuotaExceeded"
    assert "may have 100" in error.value.response["Error"]["Message"] and "abort" in error.value.response["Error"]["Message"].lower()
    # Other accounts have their own limits, and a finished upload frees its place.
    theirs = other.s3()
    theirs.abort_multipart_upload(**begin(theirs, other.id))
    mine.abort_multipart_upload(**uploads.pop())
    uploads.append(begin())
    # 256 MiB of parts, of which each counts at least a MiB; a replaced part counts once.
    for number in range(1, 257):
        mine.upload_part(**uploads[0], PartNumber=number, Body=b"x")
    mine.upload_part(**uploads[0], PartNumber=256, Body=b"y")
    for upload in uploads[:2]:
        with pytest.raises(ClientError) as error:
            mine.upload_part(**upload, PartNumber=257, Body=b"x")
        assert error.value.response["Error"]["Code"] == "QuotaExceeded"
        assert "256 MiB" in error.value.response["Error"]["Message"]
    mine.abort_multipart_upload(**uploads[0])
    mine.upload_part(**uploads[1], PartNumber=1, Body=b"x")


def test_uploads_are_listed_in_groups(s3, name):
    for key in ("a/1", "a/2", "b", "c/1"):
        s3.create_multipart_upload(Bucket=BUCKET, Key=f"{name}/{key}")
    pages = list(s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=BUCKET, Prefix=f"{name}/", Delimiter="/", PaginationConfig={"PageSize": 1}))
    assert [item["Prefix"] for page in pages for item in page.get("CommonPrefixes", [])] == [f"{name}/a/", f"{name}/c/"]
    assert [item["Key"] for page in pages for item in page.get("Uploads", [])] == [f"{name}/b"]


def test_a_bucket_is_deleted_with_its_unfinished_uploads(s3, name):
    s3.create_bucket(Bucket=name)
    upload = s3.create_multipart_upload(Bucket=name, Key="a")["UploadId"]
    s3.upload_part(Bucket=name, Key="a", UploadId=upload, PartNumber=1, Body=b"part")
    s3.delete_bucket(Bucket=name)
    s3.create_bucket(Bucket=name)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=name)
    s3.delete_bucket(Bucket=name)


def test_a_copy_onto_itself_changes_something(s3, name):
    s3.put_object(Bucket=BUCKET, Key=name, Body=b"x")
    itself = {"Key": name, "CopySource": {"Bucket": BUCKET, "Key": name}}
    assert refusal(s3.copy_object, **itself) == "InvalidRequest"
    assert refusal(s3.copy_object, **itself, MetadataDirective="KEEP") == "InvalidArgument"
    s3.copy_object(Bucket=BUCKET, **itself, MetadataDirective="REPLACE", Metadata={"a": "b"})
    assert s3.head_object(Bucket=BUCKET, Key=name)["Metadata"] == {"a": "b"}

"""Uploads from browsers with URLs that boto3 presigns, and pages of other sites that use a bucket."""
import base64
import hashlib
import json

import pytest
import requests
from botocore.exceptions import ClientError

BUCKET = "ferry"


def post(presigned, content, filename="photo.jpg", **fields):
    return requests.post(presigned["url"], data={**presigned["fields"], **fields}, files={"file": (filename, content)},
                         allow_redirects=False, timeout=30)


def code(answer):
    return answer.text.split("<Code>")[1].split("</Code>")[0]


def test_a_form_uploads_a_file(s3, name):
    for content in (b"", b"a small one", b"\r\n--" * (1 << 20)):
        answer = post(s3.generate_presigned_post(BUCKET, f"{name}/photo"), content)
        assert answer.status_code == 204, answer.text
        assert answer.headers["ETag"] == f'"{hashlib.md5(content).hexdigest()}"'
        assert s3.get_object(Bucket=BUCKET, Key=f"{name}/photo")["Body"].read() == content


def test_policies_restrict_fields(s3, name):
    presigned = s3.generate_presigned_post(
        BUCKET, name + "/${filename}", Fields={"x-amz-meta-who": "me"},
        Conditions=[["starts-with", "$Content-Type", "image/"], {"x-amz-meta-who": "me"}, ["eq", "$success_action_status", "201"]])
    good = {"Content-Type": "image/png", "success_action_status": "201"}
    answer = post(presigned, b"png", "C:\\pictures\\älter & neuer.png", **good)
    assert answer.status_code == 201 and "<PostResponse>" in answer.text and f"<Bucket>{BUCKET}</Bucket>" in answer.text
    got = s3.get_object(Bucket=BUCKET, Key=f"{name}/älter & neuer.png")
    assert got["Body"].read() == b"png" and got["ContentType"] == "image/png" and got["Metadata"] == {"who": "me"}
    for change in ({"Content-Type": "text/html"}, {"x-amz-meta-who": "you"}, {"key": "elsewhere"}, {"x-amz-meta-more": "1"},
                   {"success_action_status": "200"}):
        answer = post(presigned, b"png", **{**good, **change})
        assert answer.status_code == 403 and code(answer) == "AccessDenied", change
    assert post(presigned, b"png", **good, **{"x-ignore-me": "1"}).status_code == 201


def test_policies_restrict_the_length(s3, name):
    presigned = s3.generate_presigned_post(BUCKET, f"{name}/a", Conditions=[["content-length-range", 3, 1 << 20]])
    assert code(post(presigned, b"ab")) == "EntityTooSmall"
    assert code(post(presigned, b"a" * ((1 << 20) + 1))) == "EntityTooLarge"
    with pytest.raises(ClientError):
        s3.head_object(Bucket=BUCKET, Key=f"{name}/a")
    for size in (3, 1 << 20):
        assert post(presigned, b"a" * size).status_code == 204
        assert s3.head_object(Bucket=BUCKET, Key=f"{name}/a")["ContentLength"] == size


def test_a_browser_is_redirected(s3, name):
    def answer(url):
        return post(s3.generate_presigned_post(
            BUCKET, name, Fields={"success_action_redirect": url}, Conditions=[{"success_action_redirect": url}]), b"x")

    led = answer("https://example.org/done?from=form")
    assert led.status_code == 303
    assert led.headers["Location"].startswith(f"https://example.org/done?from=form&bucket={BUCKET}&key={name}&etag=%22")
    # A value that is not a web address causes no redirect.
    assert answer("javascript:alert(1)").status_code == 204


def test_forms_that_are_refused(server, s3, user, name):
    presigned = s3.generate_presigned_post(BUCKET, f"{name}/a")
    signature = presigned["fields"]["x-amz-signature"]
    assert code(post(presigned, b"x", **{"x-amz-signature": signature[:-1] + ("0" if signature[-1] != "0" else "1")})) == \
        "SignatureDoesNotMatch"
    policy = json.loads(base64.b64decode(presigned["fields"]["policy"]))
    policy["expiration"] = "2099-01-01T00:00:00Z"
    assert code(post(presigned, b"x", policy=base64.b64encode(json.dumps(policy).encode()).decode())) == "SignatureDoesNotMatch"
    expired = s3.generate_presigned_post(BUCKET, f"{name}/a", ExpiresIn=-1)
    assert code(post(expired, b"x")) == "AccessDenied"
    without = {"url": presigned["url"], "fields": {"key": f"{name}/a"}}
    assert code(post(without, b"x")) == "AccessDenied"
    assert code(requests.post(presigned["url"], files={key: (None, value) for key, value in presigned["fields"].items()},
                              timeout=30)) == "InvalidArgument"
    assert code(post(presigned, b"x", **{"x-ignore-long": "x" * (20 << 10)})) == "MaxPostPreDataLengthExceeded"
    for body in (b"", b"nonsense", b"--b\r\n\r\n", b"--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nx",
                 b"--b\r\nContent-Disposition: form-data; name=\"\xff\"\r\n\r\nx\r\n--b--\r\n"):
        answer = requests.post(presigned["url"], data=body, headers={"Content-Type": "multipart/form-data; boundary=b"}, timeout=30)
        assert answer.status_code == 400, body
    assert requests.post(presigned["url"], data=b"x", headers={"Content-Type": "multipart/form-data"}, timeout=30).status_code == 400
    # Users upload to their own prefix.
    own = user.s3()
    assert post(own.generate_presigned_post(BUCKET, f"{user.id}/{name}"), b"mine").status_code == 204
    assert code(post(own.generate_presigned_post(BUCKET, f"{name}/a"), b"x")) == "AccessDenied"
    with pytest.raises(ClientError):
        s3.head_object(Bucket=BUCKET, Key=f"{name}/a")


RULES = {"CORSRules": [
    {"ID": "app", "AllowedOrigins": ["https://*.example.org"], "AllowedMethods": ["GET", "PUT"], "AllowedHeaders": ["x-amz-*", "Content-Type"],
     "ExposeHeaders": ["ETag"], "MaxAgeSeconds": 600},
    {"AllowedOrigins": ["*"], "AllowedMethods": ["HEAD"]}]}


@pytest.fixture
def bucket(s3, name):
    s3.create_bucket(Bucket=name)
    yield name
    s3.delete_object(Bucket=name, Key="a")
    s3.delete_bucket(Bucket=name)


def preflight(server, bucket, origin, method, headers=None):
    asked = {"Origin": origin, "Access-Control-Request-Method": method}
    if headers:
        asked["Access-Control-Request-Headers"] = headers
    return requests.options(f"{server.url}/{bucket}/a", headers=asked, timeout=30)


def test_pages_of_other_sites(server, s3, bucket):
    assert preflight(server, bucket, "https://app.example.org", "GET").status_code == 403
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration=RULES)
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"] == RULES["CORSRules"]
    answer = preflight(server, bucket, "https://app.example.org", "PUT", "Content-Type, X-Amz-Date")
    assert answer.status_code == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example.org"
    assert answer.headers["Access-Control-Allow-Methods"] == "GET, PUT"
    assert answer.headers["Access-Control-Allow-Headers"] == "content-type, x-amz-date"
    assert answer.headers["Access-Control-Max-Age"] == "600" and "Origin" in answer.headers["Vary"]
    for origin, method, headers in (("https://evil.com", "PUT", None), ("https://app.example.org", "DELETE", None),
                                    ("https://app.example.org", "PUT", "X-Other"), ("http://app.example.org", "PUT", None)):
        refused = preflight(server, bucket, origin, method, headers)
        assert refused.status_code == 403 and "Access-Control-Allow-Origin" not in refused.headers
    # The requests themselves.
    put = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "a"})
    get = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "a"})
    answer = requests.put(put, data=b"from a page", headers={"Origin": "https://app.example.org"}, timeout=30)
    assert answer.status_code == 200 and answer.headers["Access-Control-Expose-Headers"] == "ETag"
    answer = requests.get(get, headers={"Origin": "https://app.example.org"}, timeout=30)
    assert answer.content == b"from a page" and answer.headers["Access-Control-Allow-Origin"] == "https://app.example.org"
    assert "Access-Control-Allow-Origin" not in requests.get(get, headers={"Origin": "https://evil.com"}, timeout=30).headers
    assert "Access-Control-Allow-Origin" not in requests.get(get, timeout=30).headers
    # A refusal carries the headers as well, or the page could not read the reason.
    refused = requests.get(f"{server.url}/{bucket}/a", headers={"Origin": "https://app.example.org"}, timeout=30)
    assert refused.status_code == 403 and refused.headers["Access-Control-Allow-Origin"] == "https://app.example.org"
    s3.delete_bucket_cors(Bucket=bucket)
    with pytest.raises(ClientError) as error:
        s3.get_bucket_cors(Bucket=bucket)
    assert error.value.response["Error"]["Code"] == "NoSuchCORSConfiguration"
    assert "Access-Control-Allow-Origin" not in requests.get(get, headers={"Origin": "https://app.example.org"}, timeout=30).headers


def test_rules_that_are_refused(s3, user, bucket):
    def refusal(client, **rule):
        rules = {"CORSRules": [{"AllowedOrigins": ["*"], "AllowedMethods": ["GET"], **rule}]}
        with pytest.raises(ClientError) as error:
            client.put_bucket_cors(Bucket=bucket, CORSConfiguration=rules)
        return error.value.response["Error"]["Code"]

    assert refusal(s3, AllowedMethods=["PATCH"]) == "InvalidRequest"
    assert refusal(s3, AllowedOrigins=["https://*.*"]) == "InvalidRequest"
    assert refusal(s3, ExposeHeaders=["A\r\nB"]) in ("InvalidRequest", "MalformedXML")
    assert refusal(s3, AllowedOrigins=["x" * (64 << 10)]) == "EntityTooLarge"
    assert refusal(user.s3()) == "AccessDenied"

"""What an account may keep, as the official clients see it."""
import concurrent.futures
import io

import pytest
from botocore.exceptions import ClientError
from conftest import User, started
from google.api_core import exceptions


@pytest.fixture(scope="module")
def small():
    yield from started("--quota-documents", "3", "--quota-objects", "6M")


def test_a_commit_over_the_quota_is_refused_completely(small):
    user, other = User(small), User(small)
    tasks = user.db().collection("tasks")
    made = [tasks.add({"userId": user.id})[1] for _ in range(3)]
    with pytest.raises(exceptions.ResourceExhausted, match="Quota exceeded: the account holds 3 documents, and the limit is 3"):
        tasks.add({"userId": user.id}, retry=None)
    with pytest.raises(exceptions.ResourceExhausted):
        made[0].collection("history").add({"value": "counts for whom the task is"}, retry=None)
    made[0].update({"title": "What is there can be changed"})
    other.db().collection("tasks").add({"userId": other.id})
    made[1].delete()
    tasks.add({"userId": user.id})


def put(s3, user, name, size):
    s3.put_object(Bucket="ferry", Key=f"{user.id}/{name}", Body=b"x" * size)


def test_an_object_over_the_quota_is_refused_and_leaves_nothing(small):
    user = User(small)
    s3 = user.s3()
    put(s3, user, "a", 5 << 20)
    for size in (2 << 20, (1 << 20) + 1):
        with pytest.raises(ClientError, match="QuotaExceeded.*of the 6.0 MiB") as refused:
            put(s3, user, "b", size)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    put(s3, user, "b", 1 << 20)
    # A replacement of the same size is allowed, even if the quota is used up.
    put(s3, user, "a", 5 << 20)
    put(s3, user, "a", 1)
    put(s3, user, "a", 5 << 20)
    s3.delete_object(Bucket="ferry", Key=f"{user.id}/b")
    put(s3, user, "c", 1 << 20)


def test_parts_count_until_their_upload_ends(small):
    user = User(small)
    s3 = user.s3()
    where = {"Bucket": "ferry", "Key": f"{user.id}/big"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    tag = s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=io.BytesIO(b"x" * (5 << 20)))["ETag"]
    with pytest.raises(ClientError, match="QuotaExceeded"):
        s3.upload_part(**where, UploadId=upload, PartNumber=2, Body=io.BytesIO(b"x" * (2 << 20)))
    with pytest.raises(ClientError, match="QuotaExceeded"):
        put(s3, user, "other", 2 << 20)
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]})
    put(s3, user, "other", 1 << 20)
    with pytest.raises(ClientError, match="QuotaExceeded"):
        put(s3, user, "third", 1)
    s3.delete_object(**where)
    upload = s3.create_multipart_upload(**where)["UploadId"]
    s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=io.BytesIO(b"x" * (5 << 20)))
    s3.abort_multipart_upload(**where, UploadId=upload)
    put(s3, user, "third", 5 << 20)


def test_requests_are_limited_for_the_account_that_makes_them():
    for server in started("--quota-requests", "1"):
        user, other = User(server), User(server)
        tasks, s3 = user.db().collection("tasks"), user.s3()
        with pytest.raises(exceptions.ResourceExhausted, match="Too many requests"):
            for _ in range(70):
                tasks.add({"userId": user.id}, retry=None)
        with pytest.raises(ClientError, match="SlowDown"):
            # One request is allowed per second, and the client retries a refused one after up to a second.
            for _ in range(20):
                s3.list_objects_v2(Bucket="ferry", Prefix=f"{user.id}/")
        other.db().collection("tasks").add({"userId": other.id})


def test_objects_count_also_without_bytes(small):
    """An object's key and metadata take space, so an account may keep one for each 4 KiB of its quota."""
    user = User(small)
    s3 = user.s3()
    limit = (6 << 20) // (4 << 10)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: put(s3, user, f"e{number}", 0), range(limit)))
    with pytest.raises(ClientError, match=f"QuotaExceeded.*{limit} objects"):
        put(s3, user, "one-more", 0)
    put(s3, user, "e0", 0)
    s3.delete_object(Bucket="ferry", Key=f"{user.id}/e0")
    put(s3, user, "one-more", 0)

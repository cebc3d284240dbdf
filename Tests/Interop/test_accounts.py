"""Accounts over the Identity Toolkit's REST interface, and access to the documents port with ID tokens."""
import base64
import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Refused, User, call, firestore_client
from google.api_core import exceptions
from google.cloud.firestore_v1.base_query import FieldFilter


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def address():
    return f"{uuid.uuid4().hex[:10]}@example.org"


def accounts(server, action, **body):
    return call(f"{server.url}/v1/accounts:{action}?key=any", {"returnSecureToken": True, **body})


def test_an_anonymous_account_becomes_a_permanent_one_with_the_same_id(server, user):
    email = address()
    linked = accounts(server, "update", idToken=user.token, email=email, password="correct horse")
    assert linked["localId"] == user.id and linked["email"] == email
    signed_in = accounts(server, "signInWithPassword", email=email, password="correct horse")
    assert signed_in["localId"] == user.id
    looked_up = accounts(server, "lookup", idToken=signed_in["idToken"])["users"][0]
    assert looked_up["localId"] == user.id and looked_up["email"] == email


def test_tokens_are_for_this_project_and_can_be_verified_by_any_client(server, user):
    import google.auth.crypt
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    discovery = call(f"{server.url}/.well-known/openid-configuration")
    content = claims(user.token)
    assert content["sub"] == user.id and content["aud"] == "ferry" and content["iss"] == discovery["issuer"] == server.url
    header = json.loads(base64.urlsafe_b64decode(user.token.split(".")[0] + "=="))
    key = next(k for k in call(discovery["jwks_uri"])["keys"] if k["kid"] == header["kid"])

    def number(text):
        return int.from_bytes(base64.urlsafe_b64decode(text + "=="), "big")

    signed, signature = user.token.rsplit(".", 1)
    rsa.RSAPublicNumbers(number(key["e"]), number(key["n"])).public_key().verify(
        base64.urlsafe_b64decode(signature + "=="), signed.encode(), padding.PKCS1v15(), hashes.SHA256())


def outcome(server, target, source):
    try:
        call(f"{server.url}/v1/accounts:copyObjects", {"idToken": target.token, "sourceIdToken": source.token})
        return 200
    except Refused as refusal:
        return refusal.status


def test_attachments_are_copied_between_accounts_of_one_caller(server):
    source, target, stranger = User(server), User(server), User(server)

    def copy(**tokens):
        after, pages = "", 0
        while after is not None:
            after = call(f"{server.url}/v1/accounts:copyObjects", {"after": after, **tokens}).get("next")
            pages += 1
        return pages

    def keys(user):
        pages = user.s3().get_paginator("list_objects_v2").paginate(Bucket="ferry", Prefix=f"{user.id}/")
        return [entry["Key"].removeprefix(f"{user.id}/") for page in pages for entry in page.get("Contents", [])]

    names = [f"chunks/{number:02x}/{number:064x}" for number in range(502)] + [f"manifests/00/{0:064x}"]
    bucket = source.s3()
    for name in names:
        bucket.put_object(Bucket="ferry", Key=f"{source.id}/{name}", Body=name.encode())
    bucket.put_object(Bucket="ferry", Key=f"{source.id}/condemned", Body=b"x")
    for tokens in ({"idToken": stranger.token}, {"idToken": stranger.token, "sourceIdToken": source.id},
                   {"sourceIdToken": source.token}, {"idToken": source.token, "sourceIdToken": source.token},
                   {"idToken": stranger.token, "sourceIdToken": source.token[:-4] + "AAAA"}):
        with pytest.raises(Refused) as refusal:
            copy(**tokens)
        assert refusal.value.status == 400
    assert keys(stranger) == [] and len(keys(source)) == len(names) + 1
    assert copy(idToken=target.token, sourceIdToken=source.token) == 2
    assert keys(target) == sorted(names)
    got = target.s3().get_object(Bucket="ferry", Key=f"{target.id}/{names[7]}")
    assert got["Body"].read() == names[7].encode()
    # One call at a time for an account.
    fresh = User(server)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: outcome(server, fresh, source), range(6)))
    assert 200 in results and 429 in results and set(results) <= {200, 429}, results
    # A place in another account's keys leads nowhere else, and objects that are there stay as they are.
    call(f"{server.url}/v1/accounts:copyObjects", {
        "idToken": stranger.token, "sourceIdToken": target.token, "after": f"{source.id}/"})
    assert set(keys(stranger)) <= set(names)
    copy(idToken=target.token, sourceIdToken=source.token)
    again = target.s3().head_object(Bucket="ferry", Key=f"{target.id}/{names[7]}")
    assert again["LastModified"] == got["LastModified"]
    # The copies do not depend on the account that they come from.
    call(f"{server.url}/v1/accounts:delete", {"idToken": source.token})
    assert target.s3().get_object(Bucket="ferry", Key=f"{target.id}/{names[9]}")["Body"].read() == names[9].encode()


@pytest.mark.parametrize("action, body, message", [
    ("signInWithPassword", {"email": "nobody@example.org", "password": "some password"}, "INVALID_LOGIN_CREDENTIALS"),
    ("signUp", {"email": "no address", "password": "some password"}, "INVALID_EMAIL"),
    ("signUp", {"email": "weak@example.org", "password": "short"}, "WEAK_PASSWORD"),
    ("lookup", {"idToken": "garbage"}, "INVALID_ID_TOKEN"),
])
def test_refusals(server, action, body, message):
    with pytest.raises(Refused) as refused:
        accounts(server, action, **body)
    assert refused.value.status == 400 and refused.value.message.startswith(message)


def test_a_wrong_password_and_a_taken_address(server):
    email = address()
    User(server, email=email, password="correct horse")
    with pytest.raises(Refused, match="INVALID_LOGIN_CREDENTIALS"):
        accounts(server, "signInWithPassword", email=email, password="wrong horse")
    with pytest.raises(Refused, match="EMAIL_EXISTS"):
        User(server, email=email, password="other password")


def test_a_refresh_token_gives_a_new_id_token(server, user):
    answer = call(f"{server.url}/v1/token?key=any", {"grant_type": "refresh_token", "refresh_token": user.refresh_token})
    assert answer["user_id"] == user.id and claims(answer["id_token"])["sub"] == user.id
    with pytest.raises(Refused):
        call(f"{server.url}/v1/token", {"grant_type": "refresh_token", "refresh_token": "garbage"})


# ---------------------------------------------------------------- documents


def task(user, **fields):
    return {"title": "Mine", "userId": user.id, **fields}


def test_a_user_writes_reads_queries_and_listens_to_its_own(user):
    import queue

    db = user.db()
    mine = db.collection("tasks").where(filter=FieldFilter("userId", "==", user.id))
    heard = queue.Queue()
    watch = mine.on_snapshot(lambda documents, changes, time: heard.put([d.get("title") for d in documents]))
    assert heard.get(timeout=20) == []
    _, reference = db.collection("tasks").add(task(user))
    assert heard.get(timeout=20) == ["Mine"]
    watch.unsubscribe()
    assert reference.get().get("title") == "Mine"
    reference.update({"title": "Changed"})
    reference.collection("history").add({"field": "title", "value": "Mine", "userId": user.id})
    reference.collection("history").add({"field": "title", "value": "children belong to their parent's owner"})
    assert [d.get("title") for d in mine.stream()] == ["Changed"]
    assert mine.count().get()[0][0].value == 1
    history = db.collection_group("history").where(filter=FieldFilter("userId", "==", user.id))
    assert [d.get("value") for d in history.stream()] == ["Mine"]
    assert len(list(reference.collection("history").stream())) == 2
    reference.delete()


def test_history_is_received_across_tasks(user):
    import queue

    db = user.db()
    _, reference = db.collection("tasks").add(task(user))
    heard = queue.Queue()
    watch = db.collection_group("history").where(filter=FieldFilter("userId", "==", user.id)).on_snapshot(
        lambda documents, changes, time: heard.put(len(documents)))
    assert heard.get(timeout=20) == 0
    reference.collection("history").add({"userId": user.id})
    assert heard.get(timeout=20) == 1
    watch.unsubscribe()


def test_a_user_has_no_access_to_documents_of_others(user, other):
    theirs = other.db()
    _, secret = theirs.collection("tasks").add(task(other))
    secret.collection("history").add({"userId": other.id})
    db = user.db()
    target = db.document(secret.path)
    batch = db.batch()
    batch.set(db.collection("tasks").document(), task(user))
    batch.update(target, {"title": "Stolen"})
    mine = db.collection("tasks").document()
    mine.set(task(user))
    attempts = [
        lambda: target.get(), lambda: target.set(task(user)), lambda: target.update({"title": "x"}), lambda: target.delete(),
        lambda: target.update({"userId": user.id}), lambda: batch.commit(),
        lambda: list(db.collection("tasks").stream()), lambda: db.collection("tasks").count().get(),
        lambda: list(db.collection("tasks").where(filter=FieldFilter("userId", "==", other.id)).stream()),
        lambda: list(db.collection("tasks").where(filter=FieldFilter("title", "==", "Mine")).stream()),
        lambda: list(db.collection_group("history").stream()), lambda: list(target.collection("history").stream()),
        lambda: list(db.collection_group("history").where(filter=FieldFilter("userId", "==", other.id)).stream()),
        lambda: target.collection("history").add({"userId": user.id}), lambda: target.collection("history").document("x").get(),
        lambda: list(db.collection("tasks").list_documents()), lambda: list(db.collections()),
        lambda: list(target.collections()), lambda: db.collection("tasks").add({"title": "nobody's"}),
        lambda: db.collection("tasks").add(task(other)), lambda: mine.update({"userId": other.id}),
        lambda: mine.collection("history").add({"userId": other.id})]
    for number, attempt in enumerate(attempts):
        with pytest.raises(exceptions.PermissionDenied, match="Missing or insufficient permissions"):
            attempt()
            pytest.fail(f"attempt {number} was let through")
    assert secret.get().to_dict() == task(other)
    assert len(list(db.collection("tasks").where(filter=FieldFilter("userId", "==", user.id)).stream())) == 1


def test_bulk_writes_are_judged_one_by_one(user, other):
    db, failed = user.db(), []
    writer = db.bulk_writer()
    writer.on_write_error(lambda error, _: failed.append(error.code) or False)
    mine, theirs = db.collection("tasks").document(), db.collection("tasks").document()
    writer.set(mine, task(user))
    writer.set(theirs, task(other))
    writer.close()
    assert failed == [7] and mine.get().exists and not theirs.get().exists


def test_a_listener_to_anothers_documents_is_refused(user, other):
    from harness import until

    watch = user.db().collection("tasks").where(filter=FieldFilter("userId", "==", other.id)).on_snapshot(
        lambda *_: pytest.fail("something was heard"))
    until(lambda: not watch._consumer.is_active, "the listener to be refused")


@pytest.mark.parametrize("token", [None, "garbage", "owner", "a.b.c"])
def test_without_a_valid_token_there_is_no_access(server, token):
    db = firestore_client(server.documents, token)
    with pytest.raises(exceptions.Unauthenticated):
        db.document("tasks/a").get()
    with pytest.raises(exceptions.Unauthenticated):
        db.document("tasks/a").set({})


def test_a_token_with_another_signature_or_no_algorithm_is_refused(server, user, other):
    header, content, signature = user.token.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    for token in [f"{header}.{other.token.split('.')[1]}.{signature}", f"{none}.{content}."]:
        with pytest.raises(exceptions.Unauthenticated):
            firestore_client(server.documents, token).document("tasks/a").get()


def test_other_databases_do_not_exist(server, user):
    from google.cloud.firestore_v1.services.firestore import client as service

    name = "projects/ferry/databases/other"
    db = user.db()
    with pytest.raises(exceptions.NotFound, match="does not exist"):
        list(db._firestore_api.batch_get_documents(
            request={"database": name, "documents": [f"{name}/documents/tasks/a"]}))


def test_the_emulator_takes_unsigned_tokens_and_keeps_users_apart(emulator):
    def unsigned(user):
        parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, {"sub": user, "user_id": user})]
        return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."

    db = firestore_client(emulator.documents, unsigned("alice"))
    _, reference = db.collection("tasks").add({"userId": "alice"})
    assert reference.get().exists
    with pytest.raises(exceptions.PermissionDenied):
        firestore_client(emulator.documents, unsigned("bob")).document(reference.path).get()
    owner = firestore_client(emulator.documents, "owner")
    assert owner.document(reference.path).get().exists

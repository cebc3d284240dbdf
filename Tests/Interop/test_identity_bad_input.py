"""Hostile input at every call of the Identity Toolkit: a clear refusal in Google's envelope, and nothing is spent."""
import base64
import hashlib
import hmac
import json
import time
import uuid

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conftest import Refused, User, call
from test_identity import service_account

CALLS = ["signUp", "signInWithPassword", "signInWithCustomToken", "signInWithEmailLink", "signInWithIdp", "createAuthUri", "lookup",
         "update", "delete", "sendOobCode", "resetPassword"]


def encoded(value):
    return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).decode().rstrip("=")


def decoded(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture(scope="module")
def forged(server):
    """ID tokens that were not issued, by what is wrong with them, and the one that they are made of."""
    user = User(server)
    head, body, signature = user.token.split(".")
    header, claims, now = decoded(head), decoded(body), int(time.time())
    stranger = rsa.generate_private_key(65537, 2048)
    issued = jwt.PyJWKClient(f"{server.url}/.well-known/jwks.json").get_signing_key_from_jwt(user.token).key

    def symmetric(secret, algorithm="HS256"):
        text = f"{encoded({**header, 'alg': algorithm})}.{body}"
        return f"{text}.{encoded(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"

    def signed(**changes):
        return jwt.encode({**claims, **changes}, stranger, "RS256", headers={"kid": header["kid"]})

    pem = issued.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    tokens = {
        "another key": signed(), "another key, future": signed(iat=now + 5000, exp=now + 9000, auth_time=now + 5000),
        "another key in the header": f"{encoded({**header, 'jwk': {'kty': 'RSA', 'n': 'AQAB', 'e': 'AQAB'}})}.{body}.{signature}",
        "a key elsewhere": f"{encoded({**header, 'jku': 'http://127.0.0.1:1/keys'})}.{body}.{signature}",
        "none": f"{encoded({**header, 'alg': 'none'})}.{body}.", "none, signed": f"{encoded({**header, 'alg': 'None'})}.{body}.{signature}",
        "public key, PEM": symmetric(pem), "public key, DER": symmetric(issued.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
        "public key, no algorithm": symmetric(pem, ""), "empty secret": symmetric(b""),
        "another user": f"{head}.{encoded({**claims, 'sub': 'someone', 'user_id': 'someone'})}.{signature}",
        "longer": f"{head}.{encoded({**claims, 'exp': 2**62})}.{signature}", "truncated": user.token[:-7], "two parts": f"{head}.{body}",
        "four parts": f"{user.token}.{signature}", "empty": "...", "a space": f"{user.token} ", "long": "a" * 60_000,
        "signature of zeros": f"{head}.{body}.{encoded(bytes(256))}", "no signature": f"{head}.{body}.",
        "another header": f"{encoded({**header, 'kid': '../../etc/passwd'})}.{body}.{signature}",
    }
    return user, tokens


@pytest.mark.parametrize("operation, fields", [
    ("lookup", {}), ("update", {"displayName": "Mallory"}), ("update", {"password": "mallory1"}), ("delete", {}),
    ("signUp", {"email": "mallory@example.org", "password": "mallory1"}), ("sendOobCode", {"requestType": "VERIFY_EMAIL"})])
def test_forged_id_tokens_change_nothing(server, forged, operation, fields):
    user, tokens = forged
    for name, token in tokens.items():
        with pytest.raises(Refused) as refusal:
            call(f"{server.url}/v1/accounts:{operation}", {**fields, "idToken": token})
        assert refusal.value.status == 400, name
        assert refusal.value.message.split(" ")[0] in ("INVALID_ID_TOKEN", "TOKEN_EXPIRED", "OPERATION_NOT_ALLOWED"), name
        assert token[:30] not in json.dumps(refusal.value.body) or not token.strip("."), name
    seen = call(f"{server.url}/v1/accounts:lookup", {"idToken": user.token})["users"][0]
    assert "displayName" not in seen and "email" not in seen


def test_forged_id_tokens_open_nothing_else(server, forged):
    for name, token in forged[1].items():
        documents = requests.get(f"{server.url}/v1/projects/ferry/databases/(default)/documents/tasks/a", timeout=10,
                                 headers={"Authorization": f"Bearer {token.strip()}x"})
        assert documents.status_code in (400, 401, 431), name
        keys = requests.post(f"{server.url}/", timeout=10, data={
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::0:role/ferry",
            "RoleSessionName": "x", "WebIdentityToken": token})
        assert keys.status_code in (400, 403, 413), (name, keys.text)


def test_forged_assertions_and_custom_tokens_are_refused(server):
    key = json.loads(service_account(server))
    stranger = rsa.generate_private_key(65537, 2048)
    now = int(time.time())
    mail = key["client_email"]
    assertion = {"iss": mail, "sub": mail, "aud": key["token_uri"], "iat": now, "exp": now + 600, "scope": "x"}
    for name, changes, signer in (
            ("another key", {}, stranger), ("expired", {"iat": now - 9000, "exp": now - 5000}, key["private_key"]),
            ("future", {"iat": now + 5000, "exp": now + 9000}, key["private_key"]), ("another issuer", {"iss": "x"}, key["private_key"])):
        token = jwt.encode({**assertion, **changes}, signer, "RS256", headers={"kid": key["private_key_id"]})
        answer = requests.post(f"{server.url}/v1/token", timeout=10, data={
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": token})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant"), name
        custom = jwt.encode({**assertion, "uid": "x", **changes}, signer, "RS256", headers={"kid": key["private_key_id"]})
        with pytest.raises(Refused, match="INVALID_CUSTOM_TOKEN|CREDENTIAL_MISMATCH"):
            call(f"{server.url}/v1/accounts:signInWithCustomToken", {"token": custom})


@pytest.mark.parametrize("operation", CALLS)
def test_bodies_of_10_mb_are_refused_early(server, operation):
    filler = b'{"email": "' + b"a" * (10 << 20) + b'"}'
    began = time.monotonic()
    try:
        answer = requests.post(f"{server.url}/v1/accounts:{operation}", data=filler, timeout=20)
        assert answer.status_code == 413 and answer.json()["error"]["message"] == "INVALID_REQUEST", answer.text
    except requests.ConnectionError:
        # The server need not read the rest of a body that it has refused.
        pass
    assert time.monotonic() - began < 10
    assert User(server).id


@pytest.mark.parametrize("body", [
    b"{", b"[]", b"null", b'"x"', b'{"a":' * 2000, b"\xff\xfe", b'{"email": 1, "password": []}', b'{"idToken": {"a": 1}}',
    b'{"oobCode": ["x"]}', b'{"email": "a@b.c\\u0000", "password": "secret12"}', b'{"idToken": 1e400}'])
def test_malformed_bodies_have_googles_errors(server, body):
    for operation in CALLS:
        answer = requests.post(f"{server.url}/v1/accounts:{operation}", data=body, timeout=10)
        if operation == "signUp" and answer.status_code == 200:
            continue  # Fields of another type are not there: an anonymous account.
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["errors"][0]["domain"]) == (400, 400, "global"), (operation, answer.text)


def test_other_methods_and_paths_have_googles_errors(server):
    for method, path in [("GET", "/v1/accounts:signUp"), ("PUT", "/v1/accounts:lookup"), ("POST", "/v1/accounts:fly"),
                         ("POST", "/v2/accounts/mfaEnrollment:start"), ("POST", "/identitytoolkit.googleapis.com/v1/fly"),
                         ("POST", "/www.googleapis.com/identitytoolkit/v3/relyingparty/fly"), ("GET", "/emulator/v1/projects/ferry/config"),
                         ("POST", "/identitytoolkit/v3/relyingparty/uploadAccount"), ("POST", "/securetoken.googleapis.com/v1/fly")]:
        answer = requests.request(method, f"{server.url}{path}", json={}, timeout=10)
        assert answer.status_code in (404, 405) and answer.json()["error"]["code"] == answer.status_code, (path, answer.text)


def test_replayed_codes_and_refused_attempts_spend_nothing(emulator):
    """A code survives what is refused before it is used, and works once."""
    address = f"{uuid.uuid4().hex[:10]}@example.org"
    User(emulator, email=address, password="secret12")
    call(f"{emulator.url}/v1/accounts:sendOobCode", {"requestType": "PASSWORD_RESET", "email": address})
    code = call(f"{emulator.url}/emulator/v1/projects/ferry/oobCodes")["oobCodes"][-1]["oobCode"]
    reset = f"{emulator.url}/v1/accounts:resetPassword"
    for wrong in ({"newPassword": "x"}, {"newPassword": "y" * 5000}):
        with pytest.raises(Refused, match="WEAK_PASSWORD"):
            call(reset, {"oobCode": code, **wrong})
    with pytest.raises(Refused, match="INVALID_OOB_CODE"):
        call(reset, {"oobCode": code[:-1], "newPassword": "secret34"})
    assert call(reset, {"oobCode": code, "newPassword": "secret34"})["email"] == address
    for _ in range(2):
        with pytest.raises(Refused, match="INVALID_OOB_CODE"):
            call(reset, {"oobCode": code, "newPassword": "secret56"})
    assert call(f"{emulator.url}/v1/accounts:signInWithPassword", {"email": address, "password": "secret34"})

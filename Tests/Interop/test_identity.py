"""The Identity Toolkit: Google's Admin SDK against the emulator and against a server with a service account's key, and
the calls of client SDKs."""
import base64
import datetime
import json
import os
import subprocess
import time
import uuid

import firebase_admin
import google.auth.credentials
import jwt
import pytest
import requests
from firebase_admin import auth, credentials

from conftest import Refused, User, call, started
from harness import BIN, until

EMULATOR = "FIREBASE_AUTH_EMULATOR_HOST"


class Anonymous(credentials.Base):
    def get_credential(self):
        return google.auth.credentials.AnonymousCredentials()


class Admin:
    """An app of Google's Admin SDK, and REST calls at the same server."""

    def __init__(self, server, app, emulated):
        self.server, self.app, self.emulated = server, app, emulated

    def rest(self, operation, body, headers=None):
        return call(f"{self.server.url}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=any", body, headers)

    def refused(self, operation, body):
        with pytest.raises(Refused) as refusal:
            self.rest(operation, body)
        assert refusal.value.body["error"]["code"] == refusal.value.status
        return refusal.value.message.split(" ")[0]


def service_account(server, *words):
    command = [BIN / "ferry-server", "keys", *(words or ("add", "--service-account", "tests")), "--data", server.data]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture(params=["emulator", "server"])
def admin(request, monkeypatch):
    server = request.getfixturevalue(request.param)
    emulated = request.param == "emulator"
    if emulated:
        monkeypatch.setenv(EMULATOR, server.url.removeprefix("http://"))
        credential = Anonymous()
    else:
        # A program reaches another server than Google's by its addresses alone.
        url = f"{server.url}/identitytoolkit.googleapis.com/v1"
        monkeypatch.setattr("firebase_admin._user_mgt.UserManager.ID_TOOLKIT_URL", url)
        monkeypatch.setattr("firebase_admin._token_gen.TokenGenerator.ID_TOOLKIT_URL", url)
        key = json.loads(service_account(server))
        credential = credentials.Certificate(key)
    app = firebase_admin.initialize_app(credential, {"projectId": "ferry"}, name=uuid.uuid4().hex)
    if not emulated:
        until(lambda: ready(app), "the server to notice the key")
    yield Admin(server, app, emulated)
    firebase_admin.delete_app(app)


def ready(app):
    """Whether the running server has noticed the new key."""
    try:
        auth.get_user("nobody", app=app)
    except auth.UserNotFoundError:
        return True
    except Exception:
        return False


def mail():
    return f"u{uuid.uuid4().hex[:10]}@example.org"


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_accounts_are_made_found_changed_and_deleted(admin):
    address, app = mail(), admin.app
    made = auth.create_user(email=address, password="secret12", display_name="Ann", photo_url="https://x.example/a.png",
                            app=app)
    assert (made.email, made.display_name, made.email_verified, made.disabled) == (address, "Ann", False, False)
    fixed = auth.create_user(uid=f"fixed-{uuid.uuid4().hex[:8]}", app=app)
    with pytest.raises(auth.UidAlreadyExistsError):
        auth.create_user(uid=fixed.uid, app=app)
    with pytest.raises(auth.EmailAlreadyExistsError):
        auth.create_user(email=address.upper(), app=app)
    assert auth.get_user(made.uid, app=app).photo_url == "https://x.example/a.png"
    assert auth.get_user_by_email(address, app=app).uid == made.uid
    found = auth.get_users([auth.UidIdentifier(fixed.uid), auth.EmailIdentifier(address), auth.UidIdentifier("none")], app=app)
    assert {u.uid for u in found.users} == {made.uid, fixed.uid} and [i.uid for i in found.not_found] == ["none"]
    changed = auth.update_user(made.uid, display_name=auth.DELETE_ATTRIBUTE, email_verified=True, app=app)
    assert changed.display_name is None and changed.email_verified
    tokens = admin.rest("signInWithPassword", {"email": address, "password": "secret12", "returnSecureToken": True})
    assert claims(tokens["idToken"])["email_verified"] is True
    auth.update_user(made.uid, disabled=True, app=app)
    assert admin.refused("signInWithPassword", {"email": address, "password": "secret12"}) == "USER_DISABLED"
    auth.update_user(made.uid, disabled=False, password="another12", app=app)
    assert admin.refused("signInWithPassword", {"email": address, "password": "secret12"}) == "INVALID_LOGIN_CREDENTIALS"
    assert admin.rest("signInWithPassword", {"email": address, "password": "another12"})["localId"] == made.uid
    auth.delete_user(made.uid, app=app)
    with pytest.raises(auth.UserNotFoundError):
        auth.get_user(made.uid, app=app)
    result = auth.delete_users([fixed.uid, "none"], app=app)
    assert (result.success_count, result.failure_count) == (2, 0)


def test_accounts_are_listed_in_pages(admin):
    uids = sorted(f"list{uuid.uuid4().hex[:8]}{n}" for n in range(5))
    for uid in uids:
        auth.create_user(uid=uid, app=admin.app)
    page = auth.list_users(max_results=2, app=admin.app)
    assert len(page.users) == 2 and page.has_next_page
    everybody = [u.uid for u in page.iterate_all()]
    assert set(uids) <= set(everybody) and len(everybody) == len(set(everybody))
    auth.delete_users(uids, app=admin.app)


def test_custom_claims_reach_the_tokens(admin):
    address, app = mail(), admin.app
    user = auth.create_user(email=address, password="secret12", app=app)
    auth.set_custom_user_claims(user.uid, {"role": "editor", "level": 3}, app=app)
    assert auth.get_user(user.uid, app=app).custom_claims == {"role": "editor", "level": 3}
    tokens = admin.rest("signInWithPassword", {"email": address, "password": "secret12", "returnSecureToken": True})
    token = claims(tokens["idToken"])
    assert (token["role"], token["level"], token["sub"]) == ("editor", 3, user.uid)
    auth.set_custom_user_claims(user.uid, None, app=app)
    fresh = call(f"{admin.server.url}/securetoken.googleapis.com/v1/token?key=any",
                 {"grant_type": "refresh_token", "refresh_token": tokens["refreshToken"]})
    assert "role" not in claims(fresh["id_token"])
    for bad in ('{"sub": "x"}', "[]", '{"a": "' + "x" * 1000 + '"}'):
        with pytest.raises(Exception) as refusal:
            auth._get_client(app)._user_manager.update_user(user.uid, custom_claims=bad)
        assert "CLAIM" in str(refusal.value).upper() or isinstance(refusal.value, ValueError)
    # A user cannot set claims.
    answer = admin.rest("update", {"idToken": fresh["id_token"], "customAttributes": '{"admin": true}', "emailVerified": True})
    assert answer["emailVerified"] is False and auth.get_user(user.uid, app=app).custom_claims is None


def test_custom_tokens_sign_in(admin):
    uid = f"custom-{uuid.uuid4().hex[:8]}"
    token = auth.create_custom_token(uid, {"team": "x"}, app=admin.app).decode()
    first = admin.rest("signInWithCustomToken", {"token": token, "returnSecureToken": True})
    assert first["isNewUser"] is True and claims(first["idToken"])["team"] == "x"
    assert claims(first["idToken"])["firebase"]["sign_in_provider"] == "custom"
    assert admin.rest("signInWithCustomToken", {"token": token})["isNewUser"] is False
    fresh = call(f"{admin.server.url}/v1/token?key=any", {"grantType": "refresh_token", "refreshToken": first["refreshToken"]})
    assert claims(fresh["id_token"])["team"] == "x" and fresh["user_id"] == uid
    assert admin.refused("signInWithCustomToken", {"token": "nonsense"}) == "INVALID_CUSTOM_TOKEN"
    if not admin.emulated:
        header, body, _ = token.split(".")
        unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        other = jwt.encode(claims(token), "secret" * 8, "HS256", headers={"kid": jwt.get_unverified_header(token)["kid"]})
        for forged in (f"{header}.{body}.AAAA", f"{unsigned}.{body}.", other, first["idToken"]):
            assert admin.refused("signInWithCustomToken", {"token": forged}) == "INVALID_CUSTOM_TOKEN"


def test_tokens_are_verified_and_revoked(admin):
    app = admin.app
    user = admin.rest("signUp", {"email": mail(), "password": "secret12", "returnSecureToken": True})
    if admin.emulated:
        assert auth.verify_id_token(user["idToken"], app=app, check_revoked=True)["uid"] == user["localId"]
    else:
        # The server's own issuer: any OpenID client verifies its tokens by discovery.
        metadata = call(f"{admin.server.url}/.well-known/openid-configuration")
        keys = jwt.PyJWKClient(metadata["jwks_uri"])
        verified = jwt.decode(user["idToken"], keys.get_signing_key_from_jwt(user["idToken"]), ["RS256"], audience="ferry",
                              issuer=metadata["issuer"])
        assert verified["sub"] == user["localId"]
    cookie = auth.create_session_cookie(user["idToken"], datetime.timedelta(hours=2), app=app)
    cookie = cookie.decode() if isinstance(cookie, bytes) else cookie
    assert claims(cookie)["exp"] - claims(cookie)["iat"] == 7200
    if admin.emulated:
        assert auth.verify_session_cookie(cookie, check_revoked=True, app=app)["uid"] == user["localId"]
    else:
        assert admin.refused("lookup", {"idToken": cookie}) == "INVALID_ID_TOKEN"
    # Tokens and revocations count whole seconds.
    until(lambda: time.time() >= claims(cookie)["iat"] + 1, "the next second")
    auth.revoke_refresh_tokens(user["localId"], app=app)
    assert auth.get_user(user["localId"], app=app).tokens_valid_after_timestamp >= claims(user["idToken"])["iat"] * 1000 + 1000
    if admin.emulated:
        with pytest.raises(auth.RevokedIdTokenError):
            auth.verify_id_token(user["idToken"], app=app, check_revoked=True)
        with pytest.raises(auth.RevokedSessionCookieError):
            auth.verify_session_cookie(cookie, check_revoked=True, app=app)
    with pytest.raises(Refused):
        call(f"{admin.server.url}/v1/token?key=any", {"grant_type": "refresh_token", "refresh_token": user["refreshToken"]})


def test_accounts_are_imported(admin):
    address, uid = mail(), f"imp{uuid.uuid4().hex[:8]}"
    records = [
        auth.ImportUserRecord(uid, email=address, display_name="Imp", email_verified=True, custom_claims={"a": 1},
                              provider_data=[auth.UserProvider("s1" + uid, provider_id="google.com", email=address)]),
        auth.ImportUserRecord(f"{uid}x", password_hash=b"x", password_salt=b"y"),
        auth.ImportUserRecord(f"{uid}y"),
    ]
    result = auth.import_users(records, hash_alg=auth.UserImportHash.standard_scrypt(1024, 16, 8, 64), app=admin.app)
    assert (result.success_count, result.failure_count) == (2, 1) and result.errors[0].index == 1
    user = auth.get_user(uid, app=admin.app)
    assert (user.display_name, user.email_verified, user.custom_claims) == ("Imp", True, {"a": 1})
    assert user.provider_data[0].provider_id == "google.com"
    found = auth.get_users([auth.ProviderIdentifier("google.com", "s1" + uid)], app=admin.app)
    assert [u.uid for u in found.users] == [uid]


def code(link):
    from urllib.parse import parse_qs, urlparse

    return parse_qs(urlparse(link).query)["oobCode"][0]


def test_links_set_passwords_verify_and_sign_in(admin):
    address, app = mail(), admin.app
    user = auth.create_user(email=address, app=app)
    reset = code(auth.generate_password_reset_link(address, app=app))
    assert admin.rest("resetPassword", {"oobCode": reset})["requestType"] == "PASSWORD_RESET"
    assert admin.rest("resetPassword", {"oobCode": reset, "newPassword": "secret12"})["email"] == address
    assert admin.refused("resetPassword", {"oobCode": reset, "newPassword": "secret34"}) == "INVALID_OOB_CODE"
    assert admin.rest("signInWithPassword", {"email": address, "password": "secret12"})["localId"] == user.uid
    verify = code(auth.generate_email_verification_link(address, app=app))
    assert admin.rest("resetPassword", {"oobCode": verify})["requestType"] == "VERIFY_EMAIL"
    assert admin.rest("update", {"oobCode": verify})["emailVerified"] is True
    assert admin.refused("update", {"oobCode": verify}) == "INVALID_OOB_CODE"
    assert auth.get_user(user.uid, app=app).email_verified
    settings = auth.ActionCodeSettings("http://localhost/x?a=b&c", handle_code_in_app=True)
    link = auth.generate_sign_in_with_email_link(address, settings, app=app)
    assert "continueUrl=http%3A%2F%2Flocalhost%2Fx%3Fa%3Db%26c" in link
    assert admin.refused("signInWithEmailLink", {"email": mail(), "oobCode": code(link)}) == "INVALID_EMAIL"
    assert admin.rest("signInWithEmailLink", {"email": address, "oobCode": code(link)})["localId"] == user.uid
    assert admin.refused("signInWithEmailLink", {"email": address, "oobCode": code(link)}) == "INVALID_OOB_CODE"
    with pytest.raises(auth.EmailNotFoundError):
        auth.generate_password_reset_link(mail(), app=app)
    if admin.emulated:
        admin.rest("sendOobCode", {"requestType": "PASSWORD_RESET", "email": address})
        codes = call(f"{admin.server.url}/emulator/v1/projects/ferry/oobCodes")["oobCodes"]
        assert codes[-1]["email"] == address and codes[-1]["oobCode"] == code(codes[-1]["oobLink"])
    else:
        assert admin.refused("sendOobCode", {"requestType": "PASSWORD_RESET", "email": address}) == "OPERATION_NOT_ALLOWED"


def test_users_cannot_administrate(server):
    user = User(server)
    base = f"{server.url}/v1/projects/ferry"
    for headers in ({}, {"Authorization": "Bearer owner"}, {"Authorization": f"Bearer {user.token}"}):
        for path in ("/accounts", "/accounts:lookup", "/accounts:delete", ":createSessionCookie", "/accounts:sendOobCode"):
            with pytest.raises(Refused) as refusal:
                call(base + path, {"localId": [user.id], "idToken": user.token}, headers)
            assert refusal.value.status == 401
        assert requests.get(f"{base}/accounts:batchGet", headers=headers, timeout=10).status_code == 401
        assert requests.delete(f"{server.url}/emulator/v1/projects/ferry/accounts", headers=headers, timeout=10).status_code == 404
    # With a token of one's own, fields of administrators mean nothing.
    other = User(server)
    seen = call(f"{server.url}/v1/accounts:lookup", {"idToken": user.token, "localId": [other.id]})
    assert [u["localId"] for u in seen["users"]] == [user.id]


def test_a_removed_key_ends_its_tokens():
    for server in started():
        key = json.loads(service_account(server))
        from google.auth.transport.requests import Request
        from google.oauth2 import service_account as google_account

        def token():
            credential = google_account.Credentials.from_service_account_info(key, scopes=["any"])
            try:
                credential.refresh(Request())
            except Exception:
                return None
            return credential.token

        until(token, "the server to notice the key")
        headers = {"Authorization": f"Bearer {token()}"}
        url = f"{server.url}/v1/projects/ferry/accounts:lookup"
        assert "users" not in call(url, {"localId": ["x"]}, headers)
        # It is no ID token, and no key to documents or objects.
        with pytest.raises(Refused) as refusal:
            call(f"{server.url}/v1/projects/ferry/databases/(default)/documents/a/b", headers=headers)
        assert refusal.value.status == 401
        service_account(server, "remove", key["private_key_id"])

        def ended():
            try:
                call(url, {"localId": ["x"]}, headers)
            except Refused as refusal:
                return refusal.status == 401

        until(ended, "the end of the token")
        assert token() is None
        assert key["private_key_id"] not in service_account(server, "list")


def test_providers_of_the_emulator(emulator):
    subject = uuid.uuid4().hex

    def sign_in(provider="google.com", **body):
        token = json.dumps({"sub": subject, "email": f"{subject[:8]}@gmail.com", "email_verified": True, "name": "G"})
        return call(f"{emulator.url}/v1/accounts:signInWithIdp?key=any", {
            "postBody": f"id_token={requests.utils.quote(token)}&providerId={provider}", "requestUri": "http://localhost",
            "returnIdpCredential": True, "returnSecureToken": True, **body})

    anonymous = User(emulator)
    first = sign_in(idToken=anonymous.token)
    assert first["localId"] == anonymous.id and first["isNewUser"] is False and first["displayName"] == "G"
    assert claims(first["idToken"])["firebase"]["identities"]["google.com"] == [subject]
    assert sign_in()["localId"] == anonymous.id
    in_use = sign_in(idToken=User(emulator).token)
    assert in_use["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED" and "idToken" not in in_use
    confirm = sign_in(provider="oidc.other")
    assert confirm["needConfirmation"] is True and confirm["verifiedProvider"] == ["google.com"]
    ways = call(f"{emulator.url}/v1/accounts:createAuthUri", {
        "identifier": f"{subject[:8]}@gmail.com", "continueUri": "http://localhost"})
    assert ways["registered"] is True and ways["allProviders"] == ["google.com"]
    with pytest.raises(Refused) as refusal:
        call(f"{emulator.url}/v1/accounts:update", {"idToken": first["idToken"], "deleteProvider": ["google.com"]})
    assert refusal.value.message.startswith("OPERATION_NOT_ALLOWED")
    linked = call(f"{emulator.url}/v1/accounts:update", {
        "idToken": first["idToken"], "email": mail(), "password": "secret12", "returnSecureToken": True})
    left = call(f"{emulator.url}/v1/accounts:update", {"idToken": linked["idToken"], "deleteProvider": ["google.com"]})
    assert [p["providerId"] for p in left["providerUserInfo"]] == ["password"]
    assert sign_in()["localId"] != anonymous.id


def test_the_emulator_is_cleared():
    for server in started("--emulator"):
        User(server), User(server)
        base = f"{server.url}/identitytoolkit.googleapis.com/v1/projects/ferry"
        owner = {"Authorization": "Bearer owner"}
        assert len(call(f"{base}/accounts:query", {}, owner)["userInfo"]) == 2
        assert call(f"{server.url}/emulator/v1/projects/ferry/accounts", method="DELETE") == {}
        assert call(f"{base}/accounts:query", {}, owner)["recordsCount"] == "0"
        assert "signIn" in call(f"{server.url}/emulator/v1/projects/ferry/config")


RULES = """rules_version = '2';
service cloud.firestore {
  match /databases/{database}/documents {
    match /pages/{page} {
      allow read: if request.auth.token.role == 'editor' && request.auth.token.firebase.sign_in_provider == 'custom';
    }
  }
}
"""


def test_rules_see_custom_claims(tmp_path):
    path = tmp_path / "firestore.rules"
    path.write_text(RULES)
    for server in started("--rules", str(path)):
        key = json.loads(service_account(server))
        from google.auth import crypt, jwt as google_jwt

        signer = crypt.RSASigner.from_service_account_info(key)

        def sign_in(**claims):
            now = int(time.time())
            token = google_jwt.encode(signer, {
                "iss": key["client_email"], "sub": key["client_email"], "uid": "u", "iat": now, "exp": now + 600,
                "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
                "claims": claims}).decode()
            return call(f"{server.url}/v1/accounts:signInWithCustomToken", {"token": token})["idToken"]

        until(lambda: not isinstance(attempt(lambda: sign_in(role="editor")), Exception), "the server to notice the key")
        url = f"{server.url}/v1/projects/ferry/databases/(default)/documents/pages/a"
        for role, status in (("editor", 404), ("reader", 403)):
            answer = requests.get(url, headers={"Authorization": f"Bearer {sign_in(role=role)}"}, timeout=10)
            assert answer.status_code == status


def attempt(body):
    try:
        return body()
    except Exception as error:
        return error


assert os.environ.get(EMULATOR) is None

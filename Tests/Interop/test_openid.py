"""Sign-in with OpenID providers: a provider that nobody here wrote (oidc-provider-mock, on authlib), and forged tokens of
one whose keys the test holds."""
import contextlib
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlparse

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from conftest import Refused, User, call, started
from harness import free_ports, until
from openid import Provider

REDIRECT = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def provider():
    provider = Provider(free_ports(1)[0])
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def server(provider, tmp_path_factory):
    secret = tmp_path_factory.mktemp("openid") / "secret"
    secret.write_text("very secret\n")
    yield from started("--openid", f"home={provider.url},ferry,{secret}", "--openid", f"other={provider.url},another,{secret}")


def begin(server, provider="oidc.home", **parameters):
    state = uuid.uuid4().hex
    answer = call(f"{server.url}/v1/accounts:createAuthUri", {
        "providerId": provider, "continueUri": REDIRECT, "customParameter": {"state": state, **parameters}})
    assert parse_qs(urlparse(answer["authUri"]).query)["redirect_uri"] == [REDIRECT]
    return answer["authUri"], state


def code(server, provider, subject, name="oidc.home", **parameters):
    url, state = begin(server, name, **parameters)
    brought = provider.sign_in(url, subject)
    assert brought["state"] == state
    return brought["code"]


def finish(server, fields, **body):
    return call(f"{server.url}/v1/accounts:signInWithIdp", {
        "postBody": urlencode(fields), "requestUri": REDIRECT, "returnSecureToken": True, **body})


def refused(server, fields, **body):
    with pytest.raises(Refused) as refusal:
        finish(server, fields, **body)
    assert refusal.value.status == 400
    return refusal.value.message


def test_sign_in_link_and_unlink(server, provider):
    subject = f"ann-{uuid.uuid4().hex[:6]}"
    provider.user(subject, email=f"{subject}@example.org", email_verified=True, name="Ann")
    first = finish(server, {"providerId": "oidc.home", "code": code(server, provider, subject, nonce="n1"), "nonce": "n1"})
    assert first["isNewUser"] is True and first["email"] == f"{subject}@example.org" and first["displayName"] == "Ann"
    seen = call(f"{server.url}/v1/accounts:lookup", {"idToken": first["idToken"]})["users"][0]
    assert [(p["providerId"], p["rawId"]) for p in seen["providerUserInfo"]] == [("home", subject)] and seen["emailVerified"]
    again = finish(server, {"providerId": "home", "code": code(server, provider, subject)})
    assert (again["localId"], again["isNewUser"]) == (first["localId"], False)
    # Linking an anonymous account keeps its id; the same credential cannot be linked twice.
    anonymous, other = User(server), f"bob-{uuid.uuid4().hex[:6]}"
    provider.user(other, email=f"{other}@example.org", email_verified=False)
    linked = finish(server, {"providerId": "home", "code": code(server, provider, other)}, idToken=anonymous.token)
    assert linked["localId"] == anonymous.id and linked["email"] == f"{other}@example.org"
    in_use = finish(server, {"providerId": "home", "code": code(server, provider, subject)}, idToken=anonymous.token,
                    returnIdpCredential=True)
    assert in_use["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED" and "idToken" not in in_use
    assert refused(server, {"providerId": "home", "code": code(server, provider, subject)},
                   idToken=User(server).token).startswith("FEDERATED_USER_ID_ALREADY_LINKED")
    # The credential that was refused signs in to its own account.
    assert finish(server, {"providerId": "home", "id_token": in_use["oauthIdToken"]})["localId"] == first["localId"]
    with pytest.raises(Refused) as refusal:
        call(f"{server.url}/v1/accounts:update", {"idToken": linked["idToken"], "deleteProvider": ["home"]})
    assert refusal.value.message.startswith("OPERATION_NOT_ALLOWED")


def test_a_known_address_needs_confirmation(server, provider):
    subject = f"eve-{uuid.uuid4().hex[:6]}"
    address = f"{subject}@example.org"
    victim = User(server, email=address, password="secret12")
    provider.user(subject, email=address, email_verified=True)
    answer = finish(server, {"providerId": "home", "code": code(server, provider, subject)})
    assert answer["needConfirmation"] is True and answer["verifiedProvider"] == ["password"] and "idToken" not in answer
    linked = finish(server, {"providerId": "home", "code": code(server, provider, subject)}, idToken=victim.token)
    assert linked["localId"] == victim.id
    assert finish(server, {"providerId": "home", "code": code(server, provider, subject)})["localId"] == victim.id
    # One that the provider has not verified is not taken over.
    stranger = f"mal-{uuid.uuid4().hex[:6]}"
    provider.user(stranger, email=address, email_verified=False)
    new = finish(server, {"providerId": "home", "code": code(server, provider, stranger)})
    assert new["localId"] != victim.id
    assert "email" not in call(f"{server.url}/v1/accounts:lookup", {"idToken": new["idToken"]})["users"][0]


def test_nonces_audiences_and_codes(server, provider):
    subject = f"u-{uuid.uuid4().hex[:6]}"
    provider.user(subject)
    for sent, given in (("right", "wrong"), ("right", None), (None, "unasked")):
        fields = {"providerId": "home", "code": code(server, provider, subject, **({"nonce": sent} if sent else {}))}
        assert refused(server, {**fields, **({"nonce": given} if given else {})}).startswith("MISSING_OR_INVALID_NONCE")
    # A token for another client of the same provider.
    token = finish(server, {"providerId": "other", "code": code(server, provider, subject, "other")})["oauthIdToken"]
    assert "another client" in refused(server, {"providerId": "home", "id_token": token})
    used = {"providerId": "home", "code": code(server, provider, subject)}
    finish(server, used)
    assert "used or expired" in refused(server, used)
    assert "used or expired" in refused(server, {"providerId": "home", "code": "invented"})
    assert refused(server, {"providerId": "nobody", "id_token": token}).startswith("OPERATION_NOT_ALLOWED")


def test_rotated_keys_are_found(server, provider):
    subject = f"r-{uuid.uuid4().hex[:6]}"
    provider.user(subject)
    old = finish(server, {"providerId": "home", "code": code(server, provider, subject)})
    lost = code(server, provider, subject)
    provider.stop()
    provider.start()
    provider.user(subject)
    assert "used or expired" in refused(server, {"providerId": "home", "code": lost})

    # The server looks for a key that it does not know at most every ten seconds.
    def signs_in():
        with contextlib.suppress(Refused):
            return finish(server, {"providerId": "home", "code": code(server, provider, subject)})

    assert until(signs_in, "the new key", timeout=30, step=1)["localId"] == old["localId"]
    assert "signed with" in (said := refused(server, {"providerId": "home", "id_token": old["oauthIdToken"]})) or "signature" in said


class Keys:
    """A provider's documents alone, whose private keys the test holds."""

    def __init__(self, port):
        self.issuer, self.requests = f"http://127.0.0.1:{port}", 0
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests += 1
                body = json.dumps(outer.document(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def document(self, path):
        if path.startswith("/.well-known"):
            return {"issuer": self.issuer, "authorization_endpoint": self.issuer, "token_endpoint": self.issuer,
                    "jwks_uri": f"{self.issuer}/keys"}
        keys = [{**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.rsa.public_key())), "kid": "r"},
                {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.ec.public_key())), "kid": "e"}]
        return {"keys": keys}

    def token(self, algorithm="RS256", kid=None, key=None, **changes):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "ferry", "sub": "s", "iat": now, "exp": now + 600, **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        key = key or {"RS256": self.rsa, "ES256": self.ec, "none": None}[algorithm]
        kid = kid or {"RS256": "r", "ES256": "e"}.get(algorithm, "r")
        return jwt.encode(claims, key, algorithm, headers={"kid": kid})


@pytest.fixture(scope="module")
def keys():
    keys = Keys(free_ports(1)[0])
    yield keys
    keys.http.shutdown()


@pytest.fixture(scope="module")
def strict(keys):
    yield from started("--openid", f"home={keys.issuer},ferry")


def test_both_algorithms_are_verified(strict, keys):
    first = finish(strict, {"providerId": "home", "id_token": keys.token()})
    assert finish(strict, {"providerId": "home", "id_token": keys.token("ES256")})["localId"] == first["localId"]
    assert finish(strict, {"providerId": "home", "id_token": keys.token(aud=["ferry", "x"], azp="ferry")})
    import hashlib

    hashed = hashlib.sha256(b"raw").hexdigest()
    fields = {"providerId": "home", "id_token": keys.token(sub="apple", nonce=hashed), "nonce": "raw",
              "user": json.dumps({"name": {"firstName": "Ann", "lastName": "A"}})}
    assert finish(strict, fields)["displayName"] == "Ann A"
    assert refused(strict, {**fields, "nonce": hashed[:-1] + "x"}).startswith("MISSING_OR_INVALID_NONCE")


def test_forged_tokens_are_refused(strict, keys):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    now = int(time.time())
    other = Keys(free_ports(1)[0])
    public = keys.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    import base64
    import hashlib
    import hmac

    def confused():
        """HS256 with the public key as its secret, which jwt refuses to make."""
        head, body, _ = keys.token().split(".")
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"r"}').decode().rstrip("=")
        mac = hmac.new(public, f"{head}.{body}".encode(), hashlib.sha256).digest()
        return f"{head}.{body}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"

    good = keys.token()
    cases = {
        "none": keys.token("none"), "confused": confused(), "other key": keys.token(key=other.rsa),
        "other kind": keys.token("ES256", kid="r"), "unknown key": keys.token(kid="x"), "truncated": good[:-5],
        "two parts": good.rsplit(".", 1)[0], "issuer": keys.token(iss="https://evil.example"), "audience": keys.token(aud="x"),
        "audiences": keys.token(aud=["ferry", "x"]), "azp": keys.token(azp="x"), "expired": keys.token(iat=now - 900, exp=now - 400),
        "future": keys.token(iat=now + 1000, exp=now + 2000), "old": keys.token(iat=now - 5000), "no times": keys.token(exp=None),
        "no subject": keys.token(sub=None), "overflow": keys.token(iat=-(2**63), exp=2**63 - 1), "nothing": "", "long": "a" * 40000,
    }
    before = keys.requests
    for name, token in cases.items():
        message = refused(strict, {"providerId": "home", "id_token": token})
        assert message.startswith("INVALID_IDP_RESPONSE"), (name, message)
        assert token[:40] == "" or token[:40] not in message
    # Forged keys do not make the server call the provider again and again.
    for _ in range(20):
        refused(strict, {"providerId": "home", "id_token": keys.token(kid=uuid.uuid4().hex)})
    assert keys.requests - before <= 6
    other.http.shutdown()


def test_a_provider_that_is_away_is_named(strict):
    for server in started("--openid", f"home=http://127.0.0.1:{free_ports(1)[0]},ferry"):
        with pytest.raises(Refused) as refusal:
            finish(server, {"providerId": "home", "id_token": "a.b.c"})
        assert refusal.value.status in (400, 503) and refusal.value.body["error"]["message"].startswith("INVALID_IDP_RESPONSE")


class Mailbox:
    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append(envelope)
        return "250 OK"


def test_links_are_mailed(tmp_path):
    """A mail server that nobody here wrote (aiosmtpd)."""
    from aiosmtpd.controller import Controller

    mailbox, port = Mailbox(), free_ports(1)[0]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        for server in started("--smtp", f"smtp://127.0.0.1:{port}", "--smtp-from", "ferry@example.org"):
            address = f"{uuid.uuid4().hex[:8]}@example.org"
            user = User(server, email=address, password="secret12")

            def ask(kind, **body):
                return call(f"{server.url}/v1/accounts:sendOobCode", {"requestType": kind, **body})

            assert "oobLink" not in ask("PASSWORD_RESET", email=address, returnOobLink=True)
            mail = mailbox.mails.pop()
            assert mail.rcpt_tos == [address] and mail.mail_from == "ferry@example.org"
            text = mail.content.decode()
            link = next(line for line in text.splitlines() if "oobCode=" in line)
            reset = parse_qs(urlparse(link).query)["oobCode"][0]
            call(f"{server.url}/v1/accounts:resetPassword", {"oobCode": reset, "newPassword": "secret34"})
            fresh = call(f"{server.url}/v1/accounts:signInWithPassword", {"email": address, "password": "secret34"})
            ask("VERIFY_EMAIL", idToken=fresh["idToken"])
            verify = mailbox.mails.pop().content.decode().split("oobCode=")[1].split("&")[0]
            assert call(f"{server.url}/v1/accounts:update", {"oobCode": verify})["emailVerified"] is True
            assert ask("PASSWORD_RESET", email="nobody@example.org")["email"] == "nobody@example.org" and not mailbox.mails
            with pytest.raises(Refused) as refusal:
                for _ in range(10):
                    ask("PASSWORD_RESET", email=address)
            assert refusal.value.message.startswith("TOO_MANY_ATTEMPTS_TRY_LATER") and user.id
    finally:
        controller.stop()

"""Sign-in with OpenID providers: a provider that nobody here wrote (oidc-provider-mock, on authlib), and forged tokens of
one whose keys the test holds."""
import base64
import contextlib
import hashlib
import json
import threading
import time
import uuid
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlparse

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from conftest import Refused, User, call, started
from harness import free_ports, until
from openid import AuthlibProvider, Provider

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


@pytest.fixture(scope="module")
def authlib():
    provider = AuthlibProvider(free_ports(1)[0])
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def challenged(authlib, tmp_path_factory):
    """A server with authlib's provider, as a client with a secret, as one without, and as another client."""
    secret = tmp_path_factory.mktemp("openid") / "secret"
    secret.write_text("very secret\n")
    yield from started("--openid", f"home={authlib.url},ferry,{secret}", "--openid", f"public={authlib.url},app",
                       "--openid", f"other={authlib.url},another,{secret}")


def proven(server, provider, subject, name="home", **parameters):
    """Returns the fields of a sign-in with PKCE."""
    verifier = uuid.uuid4().hex * 2
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    got = code(server, provider, subject, name, code_challenge=challenge, code_challenge_method="S256", **parameters)
    return {"providerId": name, "code": got, "code_verifier": verifier}


def test_authlib_signs_in_links_and_enforces_its_challenge(challenged, authlib):
    ann, bob = f"ann{uuid.uuid4().hex[:6]}", f"bob{uuid.uuid4().hex[:6]}"
    first = finish(challenged, {**proven(challenged, authlib, ann, nonce="n"), "nonce": "n"})
    assert first["isNewUser"] is True and first["email"] == f"{ann}@example.org"
    assert finish(challenged, proven(challenged, authlib, ann))["localId"] == first["localId"]
    anonymous = User(challenged)
    linked = finish(challenged, proven(challenged, authlib, bob), idToken=anonymous.token)
    assert linked["localId"] == anonymous.id
    in_use = finish(challenged, proven(challenged, authlib, ann), idToken=User(challenged).token, returnIdpCredential=True)
    assert in_use["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED"
    assert finish(challenged, {"providerId": "home", "id_token": in_use["oauthIdToken"]})["localId"] == first["localId"]
    # A verifier that is wrong or missing, and a client without a secret that began without a challenge.
    wrong = {**proven(challenged, authlib, ann), "code_verifier": "x" * 64}
    assert "INVALID_IDP_RESPONSE" in refused(challenged, wrong)
    missing = proven(challenged, authlib, ann)
    del missing["code_verifier"]
    assert "INVALID_IDP_RESPONSE" in refused(challenged, missing)
    assert finish(challenged, proven(challenged, authlib, f"pub{ann}", "public"))["isNewUser"] is True
    plain = {"providerId": "public", "code": code(challenged, authlib, ann, "public")}
    assert "INVALID_IDP_RESPONSE" in refused(challenged, plain)
    # A code is spent by one use, also by one that failed later.
    used = proven(challenged, authlib, ann, nonce="n")
    assert refused(challenged, {**used, "nonce": "m"}).startswith("MISSING_OR_INVALID_NONCE")
    assert "used or expired" in refused(challenged, {**used, "nonce": "n"})
    late = proven(challenged, authlib, ann)
    authlib.post("expire")
    assert "used or expired" in refused(challenged, late)
    token = finish(challenged, proven(challenged, authlib, ann, "other"))["oauthIdToken"]
    assert "another client" in refused(challenged, {"providerId": "home", "id_token": token})


def test_authlib_rotates_its_key(challenged, authlib):
    subject = f"rot{uuid.uuid4().hex[:6]}"
    old = finish(challenged, proven(challenged, authlib, subject))
    authlib.post("rotate")

    def signs_in():
        with contextlib.suppress(Refused):
            return finish(challenged, proven(challenged, authlib, subject))

    assert until(signs_in, "the new key", timeout=30, step=1)["localId"] == old["localId"]
    assert refused(challenged, {"providerId": "home", "id_token": old["oauthIdToken"]}).startswith("INVALID_IDP_RESPONSE")


def test_authlib_signs_a_device_in(challenged, authlib):
    def ask():
        return call(f"{challenged.url}/v1/accounts:createAuthUri", {"providerId": "home", "customParameter": {"device": "true"}})

    begun = ask()
    assert begun["verification_uri"] == f"{authlib.url}/device" and "sessionId" not in begun
    fields = {"providerId": "home", "device_code": begun["device_code"]}
    assert refused(challenged, fields) == "AUTHORIZATION_PENDING"
    authlib.post("device", user_code=begun["user_code"], sub="dev1")
    first = finish(challenged, fields)
    assert first["email"] == "dev1@example.org"
    declined = ask()
    authlib.post("device", user_code=declined["user_code"], sub="dev1", approve="no")
    assert refused(challenged, {"providerId": "home", "device_code": declined["device_code"]}) == "USER_CANCELLED"
    late = ask()
    authlib.post("expire")
    assert "used or expired" in refused(challenged, {"providerId": "home", "device_code": late["device_code"]})
    assert "INVALID_IDP_RESPONSE" in refused(challenged, {"providerId": "home", "device_code": "invented"})


def test_a_signed_secret_is_as_apple_demands(authlib, tmp_path):
    """The provider verifies the client's secret with PyJWT, and takes it from the form only."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = ec.generate_private_key(ec.SECP256R1())
    file = tmp_path / "AuthKey_KEY1234567.p8"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    right = {"public": public, "team": "TEAM123456", "id": "KEY1234567"}
    for server in started("--openid", f"apple={authlib.url},apple,{file},TEAM123456,KEY1234567"):
        subject = f"apple{uuid.uuid4().hex[:6]}"
        authlib.post("client", **right)
        assert finish(server, proven(server, authlib, subject, "apple"))["email"] == f"{subject}@example.org"
        # A key, team, or id that Apple does not know.
        other = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for wrong in ({"public": other.decode()}, {"team": "OTHER"}, {"id": "OTHER"}):
            authlib.post("client", **{**right, **wrong})
            assert "INVALID_IDP_RESPONSE" in refused(server, proven(server, authlib, subject, "apple"))


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


class Form(HTMLParser):
    """What a browser without scripts sees of a page: its text, its form, and where it would load something from."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.text, self.loads, self.tags = {}, "", [], set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        self.loads += [value for name, value in attributes.items() if name in ("src", "href", "action", "srcset")]
        if tag == "input":
            self.fields[attributes["name"]] = attributes.get("value", "")

    def handle_data(self, data):
        self.text += data


def opened(link):
    answer = requests.get(link, timeout=10)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "frame-ancestors 'none'" in policy
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
    form = Form(answer.text)
    assert not form.loads and "script" not in form.tags
    style = answer.text.split("<style>")[1].split("</style>")[0]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in policy
    return answer.status_code, form


def sent(link, form, **fields):
    answer = requests.post(link, data={**form.fields, **fields}, timeout=10)
    return answer.status_code, Form(answer.text).text


class Mailbox:
    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append(envelope)
        return "250 OK"

    def next(self):
        until(lambda: self.mails, "a mail", timeout=10, step=0.01)
        return self.mails.pop()


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
            mail = mailbox.next()
            assert mail.rcpt_tos == [address] and mail.mail_from == "ferry@example.org"
            text = mail.content.decode()
            link = next(line for line in text.splitlines() if "oobCode=" in line)
            reset = parse_qs(urlparse(link).query)["oobCode"][0]
            call(f"{server.url}/v1/accounts:resetPassword", {"oobCode": reset, "newPassword": "secret34"})
            fresh = call(f"{server.url}/v1/accounts:signInWithPassword", {"email": address, "password": "secret34"})
            ask("VERIFY_EMAIL", idToken=fresh["idToken"])
            verify = mailbox.next().content.decode().split("oobCode=")[1].split("&")[0]
            assert call(f"{server.url}/v1/accounts:update", {"oobCode": verify})["emailVerified"] is True
            # Mails leave behind the answers. The address without an account gets none, as the end shows.
            assert ask("PASSWORD_RESET", email="nobody@example.org")["email"] == "nobody@example.org"
            count = 0
            with pytest.raises(Refused) as refusal:
                for _ in range(10):
                    ask("PASSWORD_RESET", email=address)
                    count += 1
            assert refusal.value.message.startswith("TOO_MANY_ATTEMPTS_TRY_LATER") and user.id
            assert count and {tuple(mailbox.next().rcpt_tos) for _ in range(count)} == {(address,)} and not mailbox.mails
    finally:
        controller.stop()


@pytest.fixture(scope="module")
def mailing():
    """A server that sends mails, and the mailbox."""
    from aiosmtpd.controller import Controller

    mailbox, port = Mailbox(), free_ports(1)[0]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    for server in started("--smtp", f"smtp://127.0.0.1:{port}", "--smtp-from", "ferry@example.org"):
        yield server, mailbox
    controller.stop()


def mailed(mailing, kind, **body):
    """Asks for a mail and returns its link."""
    server, mailbox = mailing
    call(f"{server.url}/v1/accounts:sendOobCode", {"requestType": kind, **body})
    link = next(line for line in mailbox.next().content.decode().splitlines() if "oobCode=" in line)
    assert link.startswith(f"{server.url}/__/auth/action?")
    return link


def test_the_pages_behind_links_work_without_scripts(mailing):
    server, mailbox = mailing
    address = f"{uuid.uuid4().hex[:8]}@example.org"
    user = User(server, email=address, password="secret12")
    link = mailed(mailing, "PASSWORD_RESET", email=address)
    # Opening the link twice spends nothing: mail servers open links.
    for _ in range(2):
        status, form = opened(link)
        assert status == 200 and address in form.text and set(form.fields) == {"mode", "oobCode", "newPassword", "repeated"}
    assert "differ" in sent(link, form, newPassword="secret34", repeated="secret35")[1]
    assert sent(link, form, newPassword="x", repeated="x")[0] == 400
    assert sent(link, form, newPassword="secret 34&<", repeated="secret 34&<")[0] == 200
    fresh = call(f"{server.url}/v1/accounts:signInWithPassword", {"email": address, "password": "secret 34&<"})
    assert fresh["localId"] == user.id
    assert sent(link, form, newPassword="secret56", repeated="secret56")[0] == 400 and opened(link)[0] == 400
    link = mailed(mailing, "VERIFY_EMAIL", idToken=fresh["idToken"])
    status, form = opened(link)
    assert status == 200 and not verified(server, fresh)
    assert sent(link, form)[0] == 200 and verified(server, fresh) and sent(link, form)[0] == 400
    new = f"{uuid.uuid4().hex[:8]}@example.org"
    link = mailed(mailing, "VERIFY_AND_CHANGE_EMAIL", idToken=fresh["idToken"], newEmail=new)
    status, form = opened(link)
    assert new in form.text and sent(link, form)[0] == 200
    assert call(f"{server.url}/v1/accounts:signInWithPassword", {"email": new, "password": "secret 34&<"})["localId"] == user.id
    other = f"{uuid.uuid4().hex[:8]}@example.org"
    link = mailed(mailing, "EMAIL_SIGNIN", email=other, continueUrl="http://localhost:5000/in?a=b")
    status, form = opened(link)
    code = parse_qs(urlparse(link).query)["oobCode"][0]
    assert status == 200 and code in form.text and "form" not in form.tags
    signed = call(f"{server.url}/v1/accounts:signInWithEmailLink", {"email": other, "oobCode": code})
    assert signed["isNewUser"] is True and opened(link)[0] == 400


def verified(server, tokens):
    return call(f"{server.url}/v1/accounts:lookup", {"idToken": tokens["idToken"]})["users"][0]["emailVerified"]


@pytest.mark.parametrize("query", [
    "", "?mode=resetPassword", "?mode=resetPassword&oobCode=invented", "?mode=<script>&oobCode=\"><script>alert(1)</script>",
    "?mode=verifyEmail&oobCode=x&continueUrl=https://evil.example", "?mode=signIn&oobCode=x&continueUrl=javascript:alert(1)",
    "?mode=signIn&oobCode=" + "a" * 5000])
def test_pages_of_invented_links_say_nothing_of_them(mailing, query):
    server, _ = mailing
    link = f"{server.url}/__/auth/action{query.replace('<', '%3C').replace('>', '%3E').replace(chr(34), '%22')}"
    status, form = opened(link)
    assert status == 400 and "expired" in form.text and "evil" not in form.text and "alert" not in form.text
    answer = requests.post(link, data={"mode": "resetPassword", "oobCode": "x" * 9000}, timeout=10)
    assert answer.status_code in (400, 413)


@pytest.mark.parametrize("url", [
    "https://evil.example/", "http://localhost.evil.example/", "http://localhost@evil.example/", "http://localhost:80@evil.example/",
    "http://127.0.0.1:1\\@evil.example", "//evil.example", "javascript:alert(1)", "data:,x"])
def test_a_code_is_sent_to_no_other_site(mailing, url):
    """A stranger who asks for somebody's mail must not get the code from the page that it leads to."""
    server, mailbox = mailing
    with pytest.raises(Refused) as refusal:
        call(f"{server.url}/v1/accounts:sendOobCode", {"requestType": "EMAIL_SIGNIN", "email": "a@example.org", "continueUrl": url})
    assert refusal.value.message.startswith("UNAUTHORIZED_DOMAIN") and not mailbox.mails, mailbox.mails

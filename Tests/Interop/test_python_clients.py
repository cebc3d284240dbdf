"""The REST clients for Python that nobody here wrote: pyrebase4, firebase-rest-api and empyrebase. Each call of theirs to accounts
and documents, but for the names of Google's hosts, which lead to the server here."""
import json
import time
import uuid

import empyrebase
import firebase
import jwt
import pyrebase
import pytest
import requests

from conftest import started
from harness import free_ports, until
from openid import Provider
from test_identity import service_account
from test_openid import Mailbox

GOOGLE = {"https://firestore.googleapis.com/": "/", **{
    f"https://{host}/": f"/{host}/"
    for host in ("www.googleapis.com", "identitytoolkit.googleapis.com", "securetoken.googleapis.com")}}
AUDIENCE = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
REDIRECT = "http://127.0.0.1:9/callback"


@pytest.fixture(scope="module")
def provider():
    provider = Provider(free_ports(1)[0])
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def mailbox():
    from aiosmtpd.controller import Controller

    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=free_ports(1)[0])
    controller.start()
    mailbox.url = f"smtp://127.0.0.1:{controller.port}"
    yield mailbox
    controller.stop()


@pytest.fixture(scope="module")
def server(provider, mailbox, tmp_path_factory):
    secret = tmp_path_factory.mktemp("openid") / "secret"
    secret.write_text("very secret\n")
    for server in started("--openid", f"google.com={provider.url},ferry,{secret}", "--smtp", mailbox.url, "--smtp-from", "f@example.org"):
        server.key = json.loads(service_account(server))
        yield server


class Route:
    """The server to which Google's hosts lead."""


@pytest.fixture(autouse=True)
def route(server, monkeypatch):
    send, route = requests.Session.send, Route()
    route.url = server.url

    def to_server(session, request, **options):
        for host, path in GOOGLE.items():
            if request.url.startswith(host):
                request.url = f"{route.url}{path}{request.url.removeprefix(host)}"
        assert request.url.startswith(("http://127.0.0.1", "http://localhost")), request.url
        return send(session, request, **options)

    monkeypatch.setattr(requests.Session, "send", to_server)
    return route


def config(server):
    return {"apiKey": "any", "authDomain": "ferry.example", "databaseURL": "https://ferry.example", "projectId": "ferry",
            "storageBucket": "ferry", "serviceAccount": server.key}


def account():
    return f"u{uuid.uuid4().hex[:10]}@example.org", "secret12"


def code(mailbox):
    return until(lambda: mailbox.mails, "the mail").pop().content.decode().split("oobCode=")[1].split("&")[0]


CLIENTS = {
    "pyrebase4": pyrebase.initialize_app, "firebase-rest-api": firebase.initialize_app,
    "empyrebase": lambda config: empyrebase.initialize_app(config, skip_version_check=True)}


@pytest.fixture(params=CLIENTS)
def auth(request, server):
    return CLIENTS[request.param](config(server)).auth()


def test_accounts(auth, server):
    email, password = account()
    made = auth.create_user_with_email_and_password(email, password)
    user = auth.sign_in_with_email_and_password(email, password)
    assert user["localId"] == made["localId"] and user["email"] == email
    assert auth.get_account_info(user["idToken"])["users"][0]["email"] == email
    fresh = auth.refresh(user["refreshToken"])
    assert (fresh.get("localId") or fresh["userId"]) == user["localId"]
    assert auth.update_profile(fresh["idToken"], display_name="Ann")["displayName"] == "Ann"
    assert auth.update_profile(fresh["idToken"], delete_attribute=["DISPLAY_NAME"]).get("displayName", "") == ""
    other = account()[0]
    changed = auth.change_email(user["idToken"], other)
    token = changed.get("idToken", user["idToken"])
    arguments = (token, "secret34", True) if isinstance(auth, empyrebase.services.Auth) else (token, "secret34")
    assert auth.change_password(*arguments)["localId"] == user["localId"]
    with pytest.raises(requests.HTTPError, match="INVALID_LOGIN_CREDENTIALS"):
        auth.sign_in_with_email_and_password(other, password)
    again = auth.sign_in_with_email_and_password(other, "secret34")
    auth.delete_user_account(again["idToken"])
    with pytest.raises(requests.HTTPError, match="INVALID_LOGIN_CREDENTIALS"):
        auth.sign_in_with_email_and_password(other, "secret34")
    with pytest.raises(requests.HTTPError, match="EMAIL_EXISTS"):
        first = account()
        auth.create_user_with_email_and_password(*first)
        auth.create_user_with_email_and_password(*first)


def test_anonymous_and_custom_accounts(auth, server):
    anonymous = auth.sign_in_anonymous()
    assert "email" not in auth.get_account_info(anonymous["idToken"])["users"][0]
    # create_custom_token of none of them works with the libraries that they use today; a token of another one does.
    name, mail, now = uuid.uuid4().hex, server.key["client_email"], int(time.time())
    token = jwt.encode({"iss": mail, "sub": mail, "uid": name, "iat": now, "exp": now + 3600, "aud": AUDIENCE}, server.key["private_key"],
                       "RS256")
    user = until(lambda: signed_in(auth, token), "the server to know the key")
    claims = jwt.decode(user["idToken"], options={"verify_signature": False})
    assert (claims["sub"], claims["firebase"]["sign_in_provider"]) == (name, "custom")
    with pytest.raises(requests.HTTPError, match="INVALID_CUSTOM_TOKEN"):
        auth.sign_in_with_custom_token(token[:-8])


def signed_in(auth, token):
    try:
        return auth.sign_in_with_custom_token(token)
    except requests.HTTPError:
        return None


def test_mails(auth, mailbox, route):
    for other in started("--smtp", mailbox.url, "--smtp-from", "f@example.org"):
        # Few mails are sent for one address, as all tests have here.
        route.url = other.url
        check_mails(auth, mailbox)


def check_mails(auth, mailbox):
    email, password = account()
    user = auth.create_user_with_email_and_password(email, password)
    auth.send_email_verification(user["idToken"])
    code(mailbox)
    auth.send_password_reset_email(email)
    reset = code(mailbox)
    assert auth.verify_password_reset_code(reset, "secret34")["email"] == email
    with pytest.raises(requests.HTTPError, match="INVALID_OOB_CODE"):
        auth.verify_password_reset_code(reset, "secret56")
    assert auth.sign_in_with_email_and_password(email, "secret34")["localId"] == user["localId"]


def test_a_provider(server, provider, monkeypatch):
    subject = uuid.uuid4().hex
    provider.user(subject, email=f"{subject}@example.org", email_verified=True)
    # The client exchanges the code itself, at the one place that it knows for this name.
    monkeypatch.setattr("firebase.auth._token_host", lambda name: f"{provider.url}/oauth2/token")
    auth = firebase.initialize_app(config(server)).auth(
        {"client_id": "ferry", "client_secret": "very secret", "redirect_uris": [REDIRECT]})
    brought = provider.sign_in(auth.authenticate_login_with_google(), subject)
    user = auth.sign_in_with_oauth_credential(f"{REDIRECT}?code={brought['code']}")
    assert user["email"] == f"{subject}@example.org"
    # empyrebase has a token already, and no nonce.
    code = provider.sign_in(
        f"{provider.url}/oauth2/authorize?response_type=code&client_id=ferry&redirect_uri={REDIRECT}&scope=openid", subject)["code"]
    token = requests.post(f"{provider.url}/oauth2/token", auth=("ferry", "very secret"), timeout=5, data={
        "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}).json()["id_token"]
    assert CLIENTS["empyrebase"](config(server)).auth().sign_in_with_oauth(token)["localId"] == user["localId"]


def test_claims_are_an_administrators_to_set(server):
    auth = firebase.initialize_app(config(server)).auth()
    user = auth.sign_in_anonymous()
    auth.set_custom_user_claims(user["localId"], {"team": "x"})
    claims = jwt.decode(auth.refresh(user["refreshToken"])["idToken"], options={"verify_signature": False})
    assert claims["team"] == "x"
    # The same call without the key's access token; a user's own token does not help.
    body = {"localId": user["localId"], "customAttributes": '{"admin": true}'}
    for more in ({}, {"idToken": user["idToken"]}):
        requests.post("https://www.googleapis.com/identitytoolkit/v3/relyingparty/setAccountInfo", json={**body, **more}, timeout=5)
        assert json.loads(auth.get_account_info(user["idToken"])["users"][0]["customAttributes"]) == {"team": "x"}


def test_documents_of_firebase_rest_api(server):
    app = firebase.initialize_app({**config(server), "serviceAccount": None})
    user = app.auth().sign_in_anonymous()
    token, mine = user["idToken"], user["localId"]
    name = f"a{uuid.uuid4().hex}"

    def task():
        return app.firestore().collection("tasks").document(name)

    task().set({"userId": mine, "title": "Milk", "n": 1, "tags": ["a", "b"], "at": {"x": 1.5}}, token=token)
    assert task().get(token=token) == {"userId": mine, "title": "Milk", "n": 1, "tags": ["a", "b"], "at": {"x": 1.5}}
    assert task().get(field_paths=["title"], token=token) == {"title": "Milk"}
    task().update({"n": 2, "at.x": 2.5}, token=token)
    assert task().get(token=token)["n"] == 2 and task().get(token=token)["at"] == {"x": 2.5}
    other = app.firestore().collection("tasks").add({"userId": mine, "title": "Bread", "n": 5}, token=token)
    assert other

    def query():
        return app.firestore().collection("tasks").where("userId", "==", mine)

    def titles(found):
        return [fields["title"] for entry in found for fields in entry.values()]

    assert titles(query().order_by("n").get(token=token)) == ["Milk", "Bread"]
    assert titles(query().order_by("n", direction="DESCENDING").limit_to_first(1).get(token=token)) == ["Bread"]
    # It asks for the first ones and turns their order round.
    assert titles(query().order_by("n").limit_to_last(5).get(token=token)) == ["Bread", "Milk"]
    assert titles(query().where("n", ">", 2).get(token=token)) == ["Bread"]
    assert titles(query().order_by("n").start_after({"n": 2}).get(token=token)) == ["Bread"]
    assert titles(query().order_by("n").end_at({"n": 2}).get(token=token)) == ["Milk"]
    assert titles(query().order_by("n").offset(1).get(token=token)) == ["Bread"]
    assert query().select(["n"]).where("n", "in", [5]).get(token=token)[0].popitem()[1] == {"n": 5}
    below = app.firestore().collection("tasks").document(name).collection("history")
    below.add({"userId": mine, "value": "x"}, token=token)
    listed = app.firestore().collection("tasks").document(name).collection("history").list_of_documents(token=token)
    assert len(listed) == 1
    with pytest.raises(requests.HTTPError, match="Missing or insufficient permissions"):
        app.firestore().collection("tasks").get(token=token)
    task().delete(token=token)
    with pytest.raises(requests.HTTPError):
        task().get(token=token)


def test_documents_of_empyrebase(server):
    app = CLIENTS["empyrebase"](config(server))
    user = app.auth().sign_in_anonymous()
    name, mine = f"e{uuid.uuid4().hex}", user["localId"]
    db = app.firestore(auth_id=user["idToken"])
    db.create_document(f"tasks/{name}", {"userId": mine, "title": "Milk", "n": 1, "done": False})
    assert db.get_document(f"tasks/{name}").to_dict() == {"userId": mine, "title": "Milk", "n": 1, "done": False}
    db.update_document(f"tasks/{name}", {"n": 2})
    assert db.collection("tasks").document(name).get_document()["n"] == 2
    assert db.get_document("tasks/nowhere").exists is False
    listed = db.list_documents(f"tasks/{name}/history")
    assert listed == {}
    stranger = app.firestore(auth_id=app.auth().sign_in_anonymous()["idToken"])
    with pytest.raises(requests.HTTPError):
        stranger.get_document(f"tasks/{name}")
    db.delete_document(f"tasks/{name}")
    assert db.get_document(f"tasks/{name}").exists is False
    db.create_document(f"tasks/{name}", {"userId": mine, "title": "Bread"})
    assert db.batch_get_documents([f"tasks/{name}"]) == [{"userId": mine, "title": "Bread"}]
    # Its queries have a collection for a parent, which no document has.
    with pytest.raises(requests.HTTPError, match="NOT_FOUND"):
        db.collection("tasks").where("userId", "==", mine).run_query()

"""An OpenID provider made of authlib's own server: authorization codes with PKCE, which it demands, and the device grant.

    python authlib_provider.py PORT

The client `apple` proves itself as Apple demands: by a JWT in the form, signed with a key that `POST /client` tells.
`POST /expire` lets all codes expire, `POST /rotate` replaces the signing key, `POST /device` answers for the user of a device.
"""
import sys
import time
from dataclasses import dataclass, field

import flask
import jwt
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE, DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oidc.core.grants import OpenIDCode
from joserfc.jwk import RSAKey

PORT = int(sys.argv[1])
URL = f"http://localhost:{PORT}"
SECRET = "very secret"

app = flask.Flask(__name__)
codes, devices, answers, keys, apple = {}, {}, {}, [], {}


def is_signed_as_apple_demands(secret):
    try:
        claims = jwt.decode(secret, apple["public"], ["ES256"], audience=URL, issuer=apple["team"], subject="apple",
                            options={"require": ["iss", "iat", "exp", "aud", "sub"]})
    except jwt.InvalidTokenError as error:
        print(f"apple: {error}", file=sys.stderr)
        return False
    return jwt.get_unverified_header(secret)["kid"] == apple["id"] and claims["exp"] <= time.time() + 15777000


class Client(ClientMixin):
    def __init__(self, name):
        self.client_id = name

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, uri):
        return uri.startswith("http://127.0.0.1:")

    def check_client_secret(self, secret):
        return is_signed_as_apple_demands(secret) if self.client_id == "apple" else secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return (method == "client_secret_post") == (self.client_id == "apple")

    def check_response_type(self, kind):
        return kind == "code"

    def check_grant_type(self, kind):
        return kind in ("authorization_code", DEVICE_CODE_GRANT_TYPE)


@dataclass
class User:
    sub: str

    def get_user_id(self):
        return self.sub


@dataclass
class Code:
    client_id: str
    user: User
    redirect_uri: str
    scope: str
    nonce: str
    code_challenge: str
    code_challenge_method: str
    expires: float = field(default_factory=lambda: time.time() + 60)

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return int(time.time())

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"]

    def save_authorization_code(self, code, request):
        data = request.payload.data
        codes[code] = Code(request.client.client_id, request.user, request.payload.redirect_uri, request.payload.scope, data.get("nonce"),
                           data.get("code_challenge"), data.get("code_challenge_method"))

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found.client_id == client.client_id and found.expires > time.time() else None

    def delete_authorization_code(self, authorization_code):
        for code in [code for code, value in codes.items() if value is authorization_code]:
            del codes[code]

    def authenticate_user(self, authorization_code):
        return authorization_code.user


class Tokens(OpenIDCode):
    def exists_nonce(self, nonce, request):
        return False

    def get_client_algorithm(self, client):
        return "RS256"

    def get_client_claims(self, client):
        return {"iss": URL, "aud": [client.client_id], "exp": int(time.time()) + 600, "iat": int(time.time())}

    def get_compatible_claims(self, request):
        return self.get_client_claims(request.client)

    def get_encode_header(self, client):
        return {"alg": "RS256", "kid": keys[-1].kid}

    def resolve_client_private_key(self, client):
        return keys[-1]

    def generate_user_info(self, user, scope):
        return {"sub": user.sub, "email": f"{user.sub}@example.org", "email_verified": True}


class DeviceTokens(Tokens):
    """The same ID tokens for the device grant, which begins at no page and has no code."""

    def __call__(self, grant):
        grant.register_hook("after_create_token_response", self.process_token)


class DeviceGrant(DeviceCodeGrant):
    def query_device_credential(self, device_code):
        return devices.get(device_code)

    def query_user_grant(self, user_code):
        return answers.get(user_code)

    def should_slow_down(self, credential):
        return False


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    INTERVAL = 1

    def get_verification_uri(self):
        return f"{URL}/device"

    def save_device_credential(self, client_id, scope, data):
        devices[data["device_code"]] = DeviceCredentialDict(
            {**data, "client_id": client_id, "scope": scope, "expires_at": time.time() + data["expires_in"]})


server = AuthorizationServer(app, query_client=Client, save_token=lambda token, request: None)
server.register_grant(CodeGrant, [Tokens(), CodeChallenge(required=True)])
server.register_grant(DeviceGrant, [DeviceTokens()])
server.register_endpoint(DeviceEndpoint)


def rotate():
    keys.append(RSAKey.generate_key(2048, {"kid": f"key{len(keys)}", "use": "sig", "alg": "RS256"}, private=True))
    del keys[:-1]


rotate()


@app.get("/.well-known/openid-configuration")
def discovery():
    return {"issuer": URL, "authorization_endpoint": f"{URL}/authorize", "token_endpoint": f"{URL}/token", "jwks_uri": f"{URL}/keys",
            "device_authorization_endpoint": f"{URL}/device_authorization", "code_challenge_methods_supported": ["S256"]}


@app.get("/keys")
def published():
    return {"keys": [key.as_dict(private=False) for key in keys]}


@app.post("/authorize")
def authorize():
    grant = server.get_consent_grant(end_user=None)
    return server.create_authorization_response(grant_user=User(flask.request.form["sub"]), grant=grant)


@app.post("/token")
def token():
    return server.create_token_response()


@app.post("/device_authorization")
def begin_device():
    return server.create_endpoint_response(DeviceEndpoint.ENDPOINT_NAME)


@app.post("/device")
def answer_device():
    form = flask.request.form
    answers[form["user_code"]] = (User(form["sub"]), form.get("approve") != "no")
    return ""


@app.post("/expire")
def expire():
    for value in [*codes.values(), *devices.values()]:
        if isinstance(value, Code):
            value.expires = 0
        else:
            value["expires_at"] = 0
    return ""


@app.post("/client")
def describe_apple():
    apple.update(flask.request.form)
    return ""


@app.post("/rotate")
def replace_key():
    rotate()
    return ""


if __name__ == "__main__":
    app.run("127.0.0.1", PORT)

"""OpenID providers that nobody here wrote: oidc-provider-mock, and authlib's own server with PKCE and the device grant."""
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, quote, urlparse

import requests

from harness import until


class Provider:
    """A process of oidc-provider-mock. A restart has new keys and has forgotten its codes."""

    def __init__(self, port):
        self.port, self.url, self.process = port, f"http://localhost:{port}", None

    @property
    def arguments(self):
        return ["-m", "oidc_provider_mock", "--port", str(self.port), "--host", "127.0.0.1"]

    def start(self):
        # authlib demands TLS otherwise.
        self.process = subprocess.Popen(
            [sys.executable, *self.arguments], env={**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answers():
            with contextlib.suppress(requests.ConnectionError):
                return requests.get(f"{self.url}/.well-known/openid-configuration", timeout=5).ok

        until(answers, "the provider")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def user(self, subject, **claims):
        requests.put(f"{self.url}/users/{quote(subject)}", json=claims, timeout=5).raise_for_status()

    def sign_in(self, url, subject):
        """A browser at the provider's page: returns what it brings to the redirect."""
        answer = requests.post(url, data={"sub": subject}, allow_redirects=False, timeout=5)
        assert answer.status_code == 302, answer.text
        return {name: values[0] for name, values in parse_qs(urlparse(answer.headers["Location"]).query).items()}


class AuthlibProvider(Provider):
    """authlib_provider.py. Its users are whoever signs in."""

    @property
    def arguments(self):
        return [str(Path(__file__).with_name("authlib_provider.py")), str(self.port)]

    def post(self, path, **fields):
        """Lets codes `expire`, the key `rotate`, a `device`'s user answer, or describes the `client` named apple."""
        requests.post(f"{self.url}/{path}", data=fields, timeout=5).raise_for_status()

"""All connections through TLS, with the user's own certificate authority."""
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import Machine, Server, agree, free_ports, run_daemon, until


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority and its files: ca.pem, server.pem and server.key for 127.0.0.1; other.pem is an unrelated one."""
    place = tmp_path_factory.mktemp("tls")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    for name in ("ca", "other"):
        openssl("req", "-x509", *curve, "-keyout", place / f"{name}.key", "-out", place / f"{name}.pem", "-subj", f"/CN=Ferry {name}")
    openssl("req", *curve[:-2], "-keyout", place / "server.key", "-out", place / "server.csr", "-subj", "/CN=127.0.0.1")
    (place / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", place / "server.csr", "-CA", place / "ca.pem", "-CAkey", place / "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", place / "names", "-out", place / "server.pem")
    return place


@pytest.fixture
def secure(root, authority):
    server = Server(root, "--tls-cert", authority / "server.pem", "--tls-key", authority / "server.key")
    server.start()
    yield server
    server.stop()


def test_tasks_and_attachments_sync_through_tls(root, secure, authority):
    assert secure.url.startswith("https://")
    machines = [Machine(root, name, "--tls-ca", authority / "ca.pem") for name in ("laptop", "desktop")]
    try:
        for number, machine in enumerate(machines):
            machine.start()
            machine.login(secure, create=number == 0)
        laptop, desktop = machines
        laptop.write("Through the tunnel.md", "Body\n")
        soon = machines[0].ferry("doctor", check=False)
        assert soon.returncode == 6 and re.search("is valid for (1 day|2 days) only", soon.stdout), soon.stdout
        content = bytes(range(256)) * 4096
        (root / "picture.bin").write_bytes(content)
        laptop.sync()
        laptop.ferry("attach", "Through the tunnel", root / "picture.bin")
        agree(*machines)
        assert (desktop.tasks / "Through the tunnel.files" / "picture.bin").read_bytes() == content
        # The server may stop and start again.
        secure.stop()
        secure.start()
        desktop.write("Another.md", "x\n")
        agree(*machines)
        assert laptop.read("Another.md")
    finally:
        for machine in machines:
            machine.stop()


@pytest.mark.parametrize("options", [[], ["other.pem"]])
def test_an_untrusted_server_is_refused_before_a_password_is_sent(root, secure, authority, options):
    machine = Machine(root, "laptop", *(["--tls-ca", authority / options[0]] if options else []))
    machine.start()
    try:
        refused = machine.ferry("login", secure.url, "--email", "me@example.org", "--password-stdin", "--create", input="some long secret",
                                check=False)
        assert refused.returncode != 0
        assert "not safe" in refused.stderr and "tls-ca" in refused.stderr
        assert "some long secret" not in refused.stderr + machine.daemon.log.read_text() + secure.log.read_text()
    finally:
        machine.stop()


def test_a_server_with_a_changed_authority_is_refused(root, secure, authority):
    machine = Machine(root, "laptop", "--tls-ca", authority / "ca.pem")
    machine.start()
    machine.login(secure, create=True)
    machine.stop()
    machine.daemon.arguments[-1] = authority / "other.pem"
    machine.start()
    try:
        machine.write("Not for strangers.md", "x\n")
        until(lambda: machine.status()["state"] == "offline" and machine.status()["pendingUp"] == 1, lambda: machine.status())
        assert "certificate" in machine.status()["reason"] and "doctor" in machine.status()["hint"], machine.status()
        assert "tls-ca" in machine.ferry("doctor", check=False).stdout
        assert machine.read("Not for strangers.md") is not None
    finally:
        machine.stop()


@pytest.mark.parametrize("make, told", [
    (lambda path: None, "cannot be read"), (lambda path: path.write_text("hello"), "no certificate"), (lambda path: path.mkdir(), "cannot be read"),
])
def test_a_file_that_cannot_be_used_is_named(root, make, told):
    path = root / "ca.pem"
    make(path)
    result = run_daemon("run", "--tls-ca", path, HOME=str(root))
    assert result.returncode == 78 and "--tls-ca" in result.stderr and told in result.stderr, result.stderr


NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


@pytest.fixture
def proxy(root, authority):
    """Runs nginx as in Examples/nginx.conf on free ports: the ports of proxy, web and documents, and its process."""
    ports = dict(zip(("443", "7441", "7440"), free_ports(3)))
    site = (Path(__file__).parents[2] / "Examples" / "nginx.conf").read_text()
    for ours, port in ports.items():
        site = site.replace(f"listen {ours} ", f"listen 127.0.0.1:{port} ").replace(f"127.0.0.1:{ours};", f"127.0.0.1:{port};")
    for ours, file in (("fullchain.pem", "server.pem"), ("privkey.pem", "server.key")):
        site = site.replace(f"/etc/ssl/tasks.example.org/{ours}", str(authority / file))
    configuration = root / "nginx.conf"
    paths = "".join(f"{kind}_temp_path {root}/nginx-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration.write_text(f"daemon off; pid {root}/nginx.pid; error_log {root}/nginx.log; events {{}} http {{ access_log off; {paths}\n{site}}}\n")

    def start():
        return subprocess.Popen([NGINX, "-e", root / "nginx.log", "-c", configuration], stdin=subprocess.DEVNULL)

    yield ports, start


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_proxy_may_terminate_tls(root, proxy, authority):
    (public, web, documents), start = proxy[0].values(), proxy[1]
    url = f"https://127.0.0.1:{public}"
    server = Server(root, "--url", url)
    server.url, server.documents = f"http://127.0.0.1:{web}", f"127.0.0.1:{documents}"
    nginx = start()
    machines = [Machine(root, name, "--tls-ca", authority / "ca.pem") for name in ("laptop", "desktop")]
    laptop, desktop = machines
    try:
        server.start()
        assert server.url == url and server.documents == f"127.0.0.1:{public}"
        for number, machine in enumerate(machines):
            machine.start()
            until(lambda: machine.ferry("login", url, "--email", "me@example.org", "--password-stdin", *(["--create"] if number == 0 else []),
                                        input="correct horse battery", check=False).returncode == 0, lambda: (root / "nginx.log").read_text())
        content = bytes(range(256)) * (3 << 12) + b"end"
        (root / "picture.bin").write_bytes(content)
        laptop.write("Behind a proxy.md", "Body\n")
        laptop.write("Large.md", "a line of it\n" * 70_000)
        laptop.sync()
        laptop.ferry("attach", "Behind a proxy", root / "picture.bin")
        agree(*machines)
        assert (desktop.tasks / "Behind a proxy.files" / "picture.bin").read_bytes() == content
        # The proxy may stop and start again.
        nginx.send_signal(signal.SIGTERM)
        nginx.wait(10)
        desktop.write("Meanwhile.md", "x\n")
        until(lambda: desktop.status()["state"] == "offline", lambda: desktop.status())
        nginx = start()
        agree(*machines)
        assert laptop.read("Meanwhile.md") == "x\n"
    finally:
        for machine in machines:
            machine.stop()
        server.stop()
        nginx.terminate()
        nginx.wait(10)

"""The container image and the compose file of Examples/compose, as far as a machine without a container engine allows:
the server runs with the compose file's command in namespaces of its own, behind the Caddy of the compose file."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from harness import BIN, PASSWORD, Machine, agree, free_ports, until

COMPOSE = Path(__file__).parents[2] / "Examples/compose"


def instruction(name):
    """The words of an instruction of the Containerfile that is in the exec form."""
    text = (COMPOSE / "Containerfile").read_text().replace("\\\n", "")
    return json.loads(re.search(rf"^{name} .*?(\[.*\])$", text, re.M)[1])


def service(name):
    return yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"][name]


def command(url, documents, http):
    """The server's command in the compose file, for other ports."""
    words = [word.replace("https://${FERRY_HOST:?export FERRY_HOST=tasks.example.org}", url) for word in service("server")["command"]]
    assert "--http=0.0.0.0:7441" in words and "--documents=0.0.0.0:7440" in words
    # Nothing outside of this machine is to reach the test.
    return [word.replace("0.0.0.0:7441", f"127.0.0.1:{http}").replace("0.0.0.0:7440", f"127.0.0.1:{documents}") for word in words]


def test_the_files_agree_with_one_another():
    containerfile, caddyfile = (COMPOSE / "Containerfile").read_text(), (COMPOSE / "Caddyfile").read_text()
    assert instruction("ENTRYPOINT") == ["/usr/bin/ferry-server"] and instruction("HEALTHCHECK")[1] == "health"
    assert re.search(r"^USER 999:999$", containerfile, re.M) and re.search(r"^VOLUME /data$", containerfile, re.M)
    server = service("server")
    assert server["volumes"] == ["data:/data"] and "ports" not in server, "only the proxy is reached from elsewhere"
    assert "server:7441" in caddyfile and "h2c://server:7440" in caddyfile
    for words in (instruction("CMD"), server["command"]):
        assert words[0] == "run" and "--insecure" in words
    dockerfile = (COMPOSE / server["build"]["context"] / server["build"]["dockerfile"])
    assert os.path.normpath(dockerfile) == str(COMPOSE / "Containerfile")


@pytest.fixture
def container(root):
    """The server as the image runs it: user 999, a read-only root, one writable volume; its ports on this machine's loopback."""
    if os.geteuid() != 0:
        pytest.skip("making the container's namespaces needs root")
    documents, http, proxy = free_ports(3)
    volume, tree = root / "volume", root / "tree"
    volume.mkdir(mode=0o700)
    os.chown(volume, 999, 999)
    root.chmod(0o755)
    (tree / "data").mkdir(parents=True)
    shutil.copy(BIN / "ferry-server", tree / "ferry-server")
    script = f"""set -e
mount --bind {tree} /srv && mount --bind {volume} /srv/data && mount -o remount,bind,ro /srv
exec setpriv --reuid 999 --regid 999 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""
    environment = {"PATH": os.environ["PATH"], "STATE_DIRECTORY": "/srv/data"}

    def within(*words, **options):
        return subprocess.run(
            ["nsenter", "-m", "-t", str(process.pid), "setpriv", "--reuid", "999", "--regid", "999", "--clear-groups", "/srv/ferry-server",
             *words], env=environment, capture_output=True, text=True, timeout=30, **options)

    log = open(root / "container.log", "wb")
    process = subprocess.Popen(
        ["unshare", "-m", "bash", "-c", script, "_", "/srv/ferry-server", *command(f"https://localhost:{proxy}", documents, http)],
        env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until(lambda: "ready " in (root / "container.log").read_text() or process.poll() is not None, (root / "container.log").read_text)
        assert process.poll() is None, (root / "container.log").read_text()
        yield within, documents, http, proxy
    finally:
        process.terminate()
        assert process.wait(15) == 0, (root / "container.log").read_text()


def test_the_server_runs_as_in_the_container(root, container):
    within, _, _, proxy = container
    health = within(*instruction("HEALTHCHECK")[1:])
    assert (health.returncode, health.stdout) == (0, "ok\n"), health.stderr
    assert f"ready https://localhost:{proxy}" in (root / "container.log").read_text()
    added = within("user", "add", "me@example.org")
    assert added.returncode == 0 and added.stdout.startswith("me@example.org"), added.stderr
    assert all(os.stat(path).st_uid == 999 for path in (root / "volume").rglob("*"))


def test_two_machines_sync_through_the_proxy_of_the_compose_file(root, container):
    if not shutil.which("caddy"):
        pytest.skip("caddy is not installed")
    within, documents, http, proxy = container
    text = (COMPOSE / "Caddyfile").read_text().replace("h2c://server:7440", f"h2c://127.0.0.1:{documents}")
    text = text.replace("server:7441", f"127.0.0.1:{http}")
    (root / "Caddyfile").write_text("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\tskip_install_trust\n\tlocal_certs\n\tauto_https disable_redirects\n}\n" + text)
    environment = {**os.environ, "FERRY_HOST": f"localhost:{proxy}", "XDG_DATA_HOME": str(root / "caddy"), "HOME": str(root)}
    log = open(root / "caddy.log", "wb")
    caddy = subprocess.Popen(
        ["caddy", "run", "--config", str(root / "Caddyfile"), "--adapter", "caddyfile"], env=environment, stdout=log, stderr=log,
        stdin=subprocess.DEVNULL)
    authority = root / "caddy/caddy/pki/authorities/local/root.crt"
    pair = [Machine(root, name, "--tls-ca", authority) for name in ("laptop", "desk")]
    try:
        until(authority.exists, (root / "caddy.log").read_text)
        code = within("user", "add", "me@example.org").stdout.split()[-1]
        for machine in pair:
            machine.start()
        url = f"https://localhost:{proxy}"
        laptop, desk = pair
        until(lambda: laptop.ferry("setup", url, "--code", code, "--password-stdin", "--no-service", input=PASSWORD, check=False).returncode == 0,
              (root / "caddy.log").read_text, step=0.5)
        desk.ferry("setup", url, "--email", "me@example.org", "--password-stdin", "--no-service", input=PASSWORD)
        (root / "plan.bin").write_bytes(os.urandom(3 << 20))
        laptop.ferry("add", "Through the proxy")
        laptop.ferry("attach", "proxy", root / "plan.bin")
        agree(*pair)
        assert (desk.tasks / "Through the proxy.files/plan.bin").read_bytes() == (root / "plan.bin").read_bytes()
    finally:
        for machine in pair:
            machine.stop()
        caddy.terminate()
        caddy.wait(15)

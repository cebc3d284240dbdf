"""What Prometheus reads from a server."""
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from harness import BIN, Machine, Server, free_ports, until
from postgres import Postgres


def values(port):
    """Returns the samples of a server by name and labels. Every line must have the form of the text format."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = response.read().decode()
    samples = {}
    for line in text.splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))", line), line
            continue
        match = re.fullmatch(r'([a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})?) ([0-9.e+-]+)', line)
        assert match, line
        samples[match[1]] = float(match[2])
    return samples


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_calls_streams_and_requests_are_counted(root, engine):
    port = free_ports(1)[0]
    database = Postgres(root / "postgres").start() if engine == "postgresql" else None
    server = Server(root, "--metrics", f"127.0.0.1:{port}", *(["--database", database.url] if database else []))
    server.start()
    laptop = Machine(root, "laptop")
    laptop.start()
    try:
        laptop.login(server, create=True)
        laptop.write("Buy milk.md", "Oat\n")
        laptop.sync()
        until(lambda: values(port).get('ferry_open_streams{method="Listen"}', 0) >= 1, "the machine to listen")
        found = values(port)
        committed = [name for name in found if name.startswith("ferry_calls_total") and 'code="OK"' in name]
        assert committed and found['ferry_http_requests_total{status="2xx"}'] > 0, found
        for name, value in found.items():
            if name.startswith("ferry_call_seconds_count"):
                method = re.search(r'method="(\w+)"', name)[1]
                assert value == found[f'ferry_call_seconds_bucket{{method="{method}",le="+Inf"}}']
        if database:
            assert found["ferry_servers"] == 1
            assert found["ferry_commit_group_commits_total"] >= found["ferry_commit_group_seconds_count"] > 0
            for pool in ("short", "long"):
                assert 0 <= found[f'ferry_pool_busy{{pool="{pool}"}}'] <= found[f'ferry_pool_connections{{pool="{pool}"}}']
                waits = found[f'ferry_pool_wait_seconds_count{{pool="{pool}"}}']
                assert waits >= found[f'ferry_pool_read_seconds_count{{pool="{pool}"}}'] > 0
            assert found['ferry_log_age_seconds{database="(default)"}'] < 5
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
    finally:
        laptop.stop()
        server.stop()
        if database:
            database.stop()


def test_metrics_are_not_for_other_machines(root):
    result = subprocess.run([str(BIN / "ferry-server"), "run", "--data", str(root / "d"), "--metrics", "0.0.0.0:7442"],
                            capture_output=True, text=True, timeout=30)
    assert result.returncode == 78 and "this machine only" in result.stderr

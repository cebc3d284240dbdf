"""Tools for S3 stores in their usual tasks: the AWS CLI, rclone and s3cmd."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import working_keys

BUCKET = "ferry"


@pytest.fixture(scope="session")
def keys(server):
    return working_keys(server, "tools")


@pytest.fixture
def tree(tmp_path):
    """Files of several sizes, one of which is uploaded in parts, with names that need escaping."""
    root = tmp_path / "tree"
    for name, content in {
        "empty": b"", "small.txt": b"hello\n" * 100, "with space/ünïcode+plus.bin": os.urandom(70_000),
        "deep/er/large.bin": os.urandom((11 << 20) + 7),
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def runner(program, options=(), **environment):
    # The user's settings for other stores are not used.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | environment

    def run(*arguments, fails=False):
        done = subprocess.run([program, *options, *map(str, arguments)], env=environment, capture_output=True, text=True,
                              timeout=120)
        assert (done.returncode != 0) == fails, f"{program} {arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def aws(server, keys, tmp_path):
    program = Path(sys.executable).parent / "aws"
    return runner(str(program), ["--endpoint-url", server.url], AWS_ACCESS_KEY_ID=keys[0], AWS_SECRET_ACCESS_KEY=keys[1],
                  AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE=str(tmp_path / "none"), AWS_EC2_METADATA_DISABLED="true")


def test_aws_cli(aws, tree, name, tmp_path):
    where = f"s3://{BUCKET}/{name}"
    aws("s3", "sync", tree, where)
    listed = {line.split(maxsplit=3)[3]: int(line.split()[2]) for line in aws("s3", "ls", "--recursive", where + "/").splitlines()}
    assert listed == {f"{name}/{key}": len(content) for key, content in files(tree).items()}
    # Unchanged files are not sent again.
    assert aws("s3", "sync", tree, where) == ""
    aws("s3", "sync", where, tmp_path / "back")
    assert files(tmp_path / "back") == files(tree)
    (tree / "small.txt").unlink()
    aws("s3", "sync", "--delete", tree, where)
    aws("s3", "cp", f"{where}/empty", f"{where}/copied")
    aws("s3", "mv", f"{where}/deep/er/large.bin", f"{where}/moved.bin")
    head = json.loads(aws("s3api", "head-object", "--bucket", BUCKET, "--key", f"{name}/moved.bin"))
    assert head["ContentLength"] == (11 << 20) + 7
    aws("s3api", "head-object", "--bucket", BUCKET, "--key", f"{name}/small.txt", fails=True)
    aws("s3", "rm", "--recursive", where)
    assert "Contents" not in (aws("s3api", "list-objects-v2", "--bucket", BUCKET, "--prefix", name + "/") or "{}")


@pytest.fixture
def rclone(server, keys, tmp_path):
    if not shutil.which("rclone"):
        pytest.skip("rclone is not installed")
    return runner("rclone", ["--s3-upload-cutoff", "5M", "--s3-chunk-size", "5M"], RCLONE_CONFIG=str(tmp_path / "none"),
                  RCLONE_CONFIG_FERRY_TYPE="s3", RCLONE_CONFIG_FERRY_PROVIDER="Other",
                  RCLONE_CONFIG_FERRY_ACCESS_KEY_ID=keys[0], RCLONE_CONFIG_FERRY_SECRET_ACCESS_KEY=keys[1],
                  RCLONE_CONFIG_FERRY_ENDPOINT=server.url, RCLONE_CONFIG_FERRY_REGION="us-east-1")


def test_rclone(rclone, tree, name, tmp_path):
    where = f"ferry:{BUCKET}/{name}"
    rclone("sync", tree, where)
    # Compared by MD5, then by bytes.
    rclone("check", tree, where)
    rclone("check", "--download", tree, where)
    listed = {entry["Path"]: entry for entry in json.loads(rclone("lsjson", "-R", "--files-only", where))}
    assert {path: entry["Size"] for path, entry in listed.items()} == {path: len(content) for path, content in files(tree).items()}
    # Times are kept as user metadata.
    seconds = int((tree / "small.txt").stat().st_mtime)
    rclone("copyto", f"{where}/small.txt", tmp_path / "one")
    assert int((tmp_path / "one").stat().st_mtime) == seconds
    assert rclone("cat", "--offset", "3", "--count", "5", f"{where}/small.txt") == "lo\nhe"
    (tree / "empty").unlink()
    (tree / "small.txt").write_bytes(b"changed")
    rclone("sync", tree, where)
    rclone("check", "--download", tree, where)
    rclone("moveto", f"{where}/small.txt", f"{where}/moved.txt")
    assert rclone("cat", f"{where}/moved.txt") == "changed"
    rclone("purge", where)
    assert json.loads(rclone("lsjson", "-R", f"ferry:{BUCKET}", "--include", f"/{name}/**")) == []


@pytest.fixture
def s3cmd(server, keys, tmp_path):
    if not shutil.which("s3cmd"):
        pytest.skip("s3cmd is not installed")
    host = server.url.removeprefix("http://")
    configuration = tmp_path / "s3cfg"
    configuration.write_text(
        f"[default]\naccess_key = {keys[0]}\nsecret_key = {keys[1]}\nhost_base = {host}\nhost_bucket = {host}\n"
        "use_https = False\nbucket_location = us-east-1\nmultipart_chunk_size_mb = 5\nprogress_meter = False\n")
    return runner("s3cmd", ["-c", str(configuration)])


def test_s3cmd(s3cmd, tree, name, tmp_path):
    where = f"s3://{BUCKET}/{name}"
    s3cmd("sync", f"{tree}/", f"{where}/")
    listed = {line.split(maxsplit=3)[3]: int(line.split()[2]) for line in s3cmd("ls", "--recursive", f"{where}/").splitlines()}
    assert listed == {f"{where}/{key}": len(content) for key, content in files(tree).items()}
    (tmp_path / "back").mkdir()
    s3cmd("sync", f"{where}/", f"{tmp_path / 'back'}/")
    assert files(tmp_path / "back") == files(tree)
    info = s3cmd("info", f"{where}/small.txt")
    assert "File size: 600" in info
    s3cmd("cp", f"{where}/small.txt", f"{where}/copy.txt")
    s3cmd("mv", f"{where}/copy.txt", f"{where}/moved.txt")
    s3cmd("get", f"{where}/moved.txt", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == (tree / "small.txt").read_bytes()
    s3cmd("put", "--add-header=x-amz-meta-colour: blue", tree / "small.txt", f"{where}/meta.txt")
    assert "x-amz-meta-colour: blue" in s3cmd("info", f"{where}/meta.txt")
    s3cmd("del", "--recursive", "--force", f"{where}/")
    assert s3cmd("ls", "--recursive", f"{where}/") == ""

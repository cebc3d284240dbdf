"""Runs the test suites of other clients against `ferry-server`.

Debian has the sources of Google's Firestore client and of MinIO's S3 client for Go, with their tests.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import working_keys

PACKAGES = Path("/usr/share/gocode/src")
FIRESTORE = PACKAGES / "cloud.google.com/go"
MINIO = PACKAGES / "github.com/minio/minio-go/v7/functional_tests.go"


def needs(path, package):
    return pytest.mark.skipif(shutil.which("go") is None or not path.exists(), reason=f"not installed: apt-get install golang-go {package}")


def go(arguments, directory, path, timeout=300, **environment):
    environment = {**os.environ, **environment, "GO111MODULE": "off", "GOPATH": path, "GOFLAGS": "", "GOCACHE": str(directory / "cache")}
    return subprocess.run(arguments, cwd=directory, env=environment, capture_output=True, text=True, timeout=timeout)


@needs(FIRESTORE, "golang-google-cloud-dev")
def test_googles_client_for_go(emulator, tmp_path):
    sources = tmp_path / "src/cloud.google.com/go"
    sources.mkdir(parents=True)
    for part in ("firestore", "internal"):
        shutil.copytree(FIRESTORE / part, sources / part)
    # The tests sign in to Google's servers with a key; an emulator accepts every caller.
    tests = sources / "firestore/integration_test.go"
    text, signs_in = re.subn(r"\tts := testutil\.TokenSourceEnv.*?(?=\twantDBPath)", "", tests.read_text(), flags=re.S)
    text, uses_it = re.subn(r"append\(ti\.CallOptions\(\), option\.WithTokenSource\(ts\)\)", "ti.CallOptions()", text)
    assert signs_in == uses_it == 1, "the package has changed"
    tests.write_text(text)
    result = go(["go", "test", "-vet=off", "-v", "-run", "^TestIntegration_", "./src/cloud.google.com/go/firestore"], tmp_path,
                f"{tmp_path}:{PACKAGES.parent}", FIRESTORE_EMULATOR_HOST=emulator.documents,
                GCLOUD_TESTS_GOLANG_FIRESTORE_PROJECT_ID="ferry")
    ended = {name: how for how, name in re.findall(r"^--- (PASS|FAIL|SKIP): (\w+)", result.stdout, re.M)}
    assert len(ended) >= 30, result.stdout + result.stderr
    # The last check of this test is that a query without its own index is refused. Ferry's server needs no such index.
    complaints = re.findall(r"^\s+integration_test\.go:\d+: (.*)", result.stdout, re.M)
    assert {name for name, how in ended.items() if how != "PASS"} <= {"TestIntegration_Query"}, result.stdout
    assert complaints in ([], ["Where and OrderBy on different fields without an index:"]), result.stdout


@needs(MINIO, "golang-github-minio-minio-go-v7-dev")
def test_minios_client_for_go(server, tmp_path):
    text = re.sub(r"^//.*build mint$", "", MINIO.read_text(), flags=re.M)
    # Version 2 of signatures, which Amazon has discontinued, and tests that need MinIO's own services.
    text = re.sub(r"^\t\ttest\w*V2\(\)$", "", text, flags=re.M)
    (tmp_path / "main.go").write_text(text)
    built = go(["go", "build", "-o", "suite", "main.go"], tmp_path, str(PACKAGES.parent))
    assert built.returncode == 0, built.stderr
    access, secret = working_keys(server, "suite")
    result = go(["./suite"], tmp_path, "", RUN_ON_FAIL="1", MINT_MODE="full", ENABLE_KMS="0", ENABLE_HTTPS="0",
                SERVER_ENDPOINT=server.url.removeprefix("http://"), ACCESS_KEY=access, SECRET_KEY=secret)
    told = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    failed = {test["function"].partition("(")[0]: test for test in told if test["status"] == "FAIL"}
    # Locked objects, ACLs and storage classes other than STANDARD (which some tests of lists use) are refused.
    for known in ("PresignedPostPolicy", "RemoveObjects", "GetObjectACL", "ListObjects", "testStorageClassMetadataPutObject",
                  "testStorageClassMetadataCopyObject", "testStorageClassInvalidMetadataPutObject"):
        failed.pop(known, None)
    assert not failed, {function: test.get("error") for function, test in failed.items()}
    assert sum(test["status"] == "PASS" for test in told) >= 25, told

#!/usr/bin/env bash
# Runs the tests of whole programs that depend on a user's rights once more, as nobody: root may read and write
# everything. Needs root, to become another user.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/pytest.sh"

if ((EUID != 0)); then
    echo "skipped: the end-to-end step has run as an ordinary user already"
    count 1 0
    finish
fi
# That user may not reach the checkout by its path, so it is mounted where anybody can.
place=$(mktemp -d) && chmod 755 "$place"
within=(env FERRY_BIN="$place/${FERRY_BIN#"$PWD/"}" HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1 unshare -m bash -c '
    mount --bind "$PWD" "$0" && cd "$0" && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"'
    "$place")
run_pytest Tests/EndToEnd/test_{editors,permissions,names,line_endings,trouble}.py
rmdir "$place"
finish

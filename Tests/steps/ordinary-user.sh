#!/usr/bin/env bash
# Repeats the end-to-end tests that depend on permissions as the user nobody, as root may read and write
# everything. Needs root, to change to that user.
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/pytest.sh"

if ((EUID != 0)); then
    echo "skipped: the end-to-end step has run as an ordinary user already"
    count 1 0
    finish
fi
# That user may lack access to the path of the checkout, so it is mounted at a path that all users can access.
place=$(mktemp -d) && chmod 755 "$place"
within=(env FERRY_BIN="$place/${FERRY_BIN#"$PWD/"}" HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1 unshare -m bash -c '
    mount --bind "$PWD" "$0" && cd "$0" && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"'
    "$place")
run_pytest Tests/EndToEnd/test_{editors,permissions,names,line_endings,trouble}.py
rmdir "$place"
finish

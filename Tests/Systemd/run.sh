#!/usr/bin/env bash
# Builds the Debian packages, installs them in a machine with a real systemd, and runs Ferry there. Needs root.
# FERRY_BIN names the directory with the release programs. The last line is: N passed, N failed
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lab=$here/lab.sh
passed=0 failed=0
scratch=$(mktemp -d)
check() {
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then
        passed=$((passed + 1)) && echo "ok: $name"
    else
        failed=$((failed + 1)) && echo "FAILED: $name" && tail -n 20 "$scratch/out"
    fi
}
finish() {
    "$lab" stop >/dev/null 2>&1
    rm -rf "$scratch"
    echo "$passed passed, $failed failed"
    exit $((failed > 0 || passed == 0))
}
trap 'finish' INT TERM

check "the packages are made" "$here/../../systemd/package.sh" --binaries "$FERRY_BIN" --output "$scratch/packages"
((failed == 0)) || finish
check "and made again in another place they are the same bytes" sh -c \
    "TMPDIR=$(mktemp -d "$scratch/elsewhere-XXXX") '$here/../../systemd/package.sh' --binaries '$FERRY_BIN' --output '$scratch/again' &&
     diff -r '$scratch/packages' '$scratch/again'"
rm "$scratch"/packages/*-dbgsym_*
packages=("$scratch"/packages/*.deb)
# The first upload to Debian would close a bug there.
check "lintian finds no error and no warning" lintian --allow-root --no-cfg --fail-on error,warning \
    --suppress-tags initial-upload-closes-no-bugs "${packages[@]}"

# The machine has the dependencies of the packages, and no part of Ferry.
LAB_PACKAGES=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Depends; done \
    | tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^libc6$' | sort -u | paste -sd' ')
export LAB_NAME=ferry LAB_PACKAGES
"$lab" setup && { "$lab" stop >/dev/null 2>&1; "$lab" boot; } || { failed=1; finish; }

in_lab() { timeout 90 "$lab" exec "$@"; }
alice() { timeout 90 "$lab" user alice "$@"; }
# Polls a shell condition in the machine, for events that systemd schedules.
eventually() { in_lab sh -c "for i in \$(seq 300); do $1 && exit 0; sleep 0.1; done; exit 1"; }

for package in "${packages[@]}"; do "$lab" copy "$package" "/root/$(basename "$package")"; done
check "the packages install" in_lab sh -c 'dpkg --install /root/*.deb'
check "the server runs at once, on loopback, as a user of its own" eventually \
    'test "$(systemctl show -P ActiveState ferry-server)" = active && test "$(stat -c %U /var/lib/ferry-server/documents)" = ferry-server'
check "no user's daemon is enabled" in_lab sh -c '! systemctl --global is-enabled ferryd.socket ferryd.service | grep -q ^enabled'

check "the system unit is valid" in_lab systemd-analyze verify --man=no --recursive-errors=no ferry-server.service
check "the user units are valid" in_lab sh -c 'XDG_RUNTIME_DIR=$(mktemp -d) systemd-analyze verify --user \
    --man=no --recursive-errors=no /usr/lib/systemd/user/ferryd.service /usr/lib/systemd/user/ferryd.socket'
check "the server's exposure is at most 1.5" in_lab systemd-analyze security --offline=true --no-pager --threshold=15 \
    /lib/systemd/system/ferry-server.service

in_lab sh -c 'systemctl stop ferry-server && rm -r /var/lib/ferry-server'
# The unit of earlier versions has its data in /var/lib/private.
in_lab sh -c 'mkdir -p /run/systemd/system/ferry-server.service.d &&
    printf "[Service]\nUser=ferry-dynamic\nGroup=ferry-dynamic\nDynamicUser=yes\n" >/run/systemd/system/ferry-server.service.d/old.conf &&
    systemctl daemon-reload && systemctl start ferry-server && systemctl stop ferry-server && test -d /var/lib/private/ferry-server &&
    rm /run/systemd/system/ferry-server.service.d/old.conf && systemctl daemon-reload'
check "the server starts and says so" in_lab systemctl start ferry-server
check "the data of an earlier unit is the new user's" in_lab sh -c \
    'test ! -L /var/lib/ferry-server && test "$(stat -c %U /var/lib/ferry-server/accounts/accounts.sqlite)" = ferry-server'
check "the server answers" eventually "journalctl -u ferry-server -o cat --no-pager | grep -q '^ready http'"

check "root administers the running server" in_lab sh -c \
    'set -e; ferry-server user add b@example.org | grep -q "^b@example.org"; ferry-server user list | grep -q invited
     ferry-server invite --uses 2 | grep -q -- -; ferry-server user show b@example.org; ferry-server user quota b@example.org --objects 1G
     ferry-server user reset-password b@example.org; ferry-server user disable b@example.org; ferry-server user enable b@example.org
     ferry-server keys add backup; ferry-server keys list | grep -q backup; ferry-server check; ferry-server objects check
     mkdir -m 1777 /backup; ferry-server backup /backup/one; ferry-server user delete b@example.org --yes
     ! ferry-server user list | grep b@example.org'
check "and leaves nothing that is root's" in_lab sh -c 'test -z "$(find /var/lib/ferry-server ! -user ferry-server)"'

in_lab useradd -m alice
in_lab loginctl enable-linger alice
check "the user's systemd is up" eventually "test -S /run/user/\$(id -u alice)/bus"
alice mkdir -p Tasks
check "the socket is there before the daemon" alice systemctl --user start ferryd.socket
check "the first call starts the daemon" alice ferry status
check "the socket is for its user only" alice sh -c 'test "$(stat -c %a "$XDG_RUNTIME_DIR/ferry/ferryd.sock")" = 600'
check "signing in works" alice sh -c 'echo "correct horse" | ferry login http://127.0.0.1:7441 --email a@example.org --create --password-stdin'
check "a task syncs" alice sh -c 'ferry add Buy milk && ferry sync --wait --timeout 20 && test -f "Tasks/Buy milk.md"'
check "systemctl shows the state" alice sh -c \
    'for i in $(seq 100); do systemctl --user show -P StatusText ferryd | grep "^running" && exit 0; sleep 0.1; done; exit 1'

alice sh -c 'p=$(systemctl --user show -P MainPID ferryd); test "$p" -gt 1 && kill -9 "$p"'
check "kill -9: the daemon comes back" alice sh -c \
    'for i in $(seq 300); do [ "$(systemctl --user show -P NRestarts ferryd)$(systemctl --user is-active ferryd)" = 1active ] && exit 0; sleep 0.1; done; exit 1'
check "and still knows everything" alice sh -c 'ferry list | grep -q "Buy milk" && ferry sync --wait --timeout 20'
in_lab sh -c 'p=$(systemctl show -P MainPID ferry-server); test "$p" -gt 1 && kill -9 "$p"'
check "kill -9: the server comes back" eventually \
    '[ "$(systemctl show -P NRestarts ferry-server)$(systemctl is-active ferry-server)" = 1active ]'
check "and the daemon finds it again" alice sh -c 'ferry add Call Anna && ferry sync --wait --timeout 40'

check "a stopped daemon ends cleanly" alice sh -c \
    'systemctl --user stop ferryd.service && test "$(systemctl --user show -P Result ferryd)" = success'
check "and the next call starts it again" alice sh -c 'ferry list | grep -q "Call Anna"'
check "a mistake in the configuration is told by status" alice sh -c \
    'systemctl --user stop ferryd.service; mkdir -p .config/ferry && echo "taskz: /x" > .config/ferry/ferryd.yaml
     systemctl --user start ferryd.service && ferry status | grep "configuration-error.*ferryd.yaml, line 1.*taskz.*tasks"'
check "and is mended by mending the file" alice sh -c \
    'rm .config/ferry/ferryd.yaml
     for i in $(seq 300); do ferry list | grep "Call Anna" && exit 0; sleep 0.1; done; exit 1'
check "and the journal names the key and the nearest right one" eventually \
    "journalctl -o cat --no-pager | grep -q 'ferryd.yaml, line 1.*taskz.*tasks'"
check "an upgrade restarts the server and keeps its data" in_lab sh -c \
    'set -e; before=$(systemctl show -P MainPID ferry-server); dpkg --install /root/*.deb
     test "$(systemctl show -P MainPID ferry-server)" != "$before"; ferry-server user list | grep -q a@example.org'
# The daemon looks at its program with each heartbeat, every 24 seconds, and twice.
check "and a daemon whose program was replaced starts the new one" in_lab sh -c \
    'for i in $(seq 900); do
         p=$(pgrep -x ferryd -u alice | head -n 1); exe=$(readlink "/proc/$p/exe") && case $exe in *deleted*) ;; *) exit 0 ;; esac
         sleep 0.1
     done; exit 1'
check "and the daemon syncs on" alice sh -c 'ferry add After the upgrade && ferry sync --wait --timeout 40'
check "the server stops cleanly" in_lab sh -c \
    'systemctl stop ferry-server && test "$(systemctl show -P Result ferry-server)" = success'
check "removing and purging keep all data" in_lab sh -c \
    'set -e; dpkg --remove ferry ferry-server; dpkg --purge ferry ferry-server; test ! -e /usr/bin/ferryd
     test ! -e /etc/default/ferry-server; test -s /var/lib/ferry-server/documents/main.db; test -f "/home/alice/Tasks/Buy milk.md"'
check "and installing again finds it" in_lab sh -c \
    'dpkg --install /root/*.deb && ferry-server user list | grep -q a@example.org'

"$here/first-hour.sh" "$scratch/packages" | tee "$scratch/hour"
read -r hour_passed _ hour_failed _ < <(tail -n 1 "$scratch/hour")
passed=$((passed + hour_passed)) failed=$((failed + hour_failed))
finish

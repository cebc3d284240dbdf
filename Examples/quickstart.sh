#!/usr/bin/env bash
# Sets up Ferry with a server and two machines that sync, all on this computer.
#
#   Examples/quickstart.sh          installs missing packages, builds, demonstrates the main use, cleans up
#   Examples/quickstart.sh --keep   the same, but leaves the server and the machines running for you to try
#
# Works unattended, as root or as a user with sudo. All files that it creates outside the build folder are in one directory
# below /tmp. It uses only loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8 NO_COLOR=1
keep=
case ${1:-} in
    '') ;;
    --keep) keep=1 ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac

pids=() root=
cleanup() {
    local status=$?
    trap - EXIT INT TERM
    ((${#pids[@]})) && kill "${pids[@]}" 2>/dev/null && wait "${pids[@]}" 2>/dev/null
    [[ -n $root ]] && rm -rf "$root"
    ((status == 0)) || echo "The quickstart failed (status $status)." >&2
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n%s\n' "$*"; }
step() { printf '  %s\n' "$*"; }
fail() {
    echo "FAILED: $*" >&2
    for log in "$root"/*.log; do echo "--- $log" >&2 && tail -n 15 "$log" >&2; done
    exit 1
}

# ---------------------------------------------------------------- set-up
missing=()
while read -r package; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done < <(grep -v '^#' Sources/C/packages.txt)
if ((${#missing[@]})); then
    say "Installing ${missing[*]}"
    sudo=()
    ((EUID == 0)) || sudo=(sudo)
    "${sudo[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install -y --no-install-recommends "${missing[@]}" >/dev/null
fi
command -v swift >/dev/null \
    || {
        cat >&2 <<EOF
Swift 6.3 is missing. Debian has none; swiftly, the installer of swift.org, gets it into your home directory:

    curl -O https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
    tar zxf swiftly-$(uname -m).tar.gz && ./swiftly init && . ~/.local/share/swiftly/env.sh && swiftly install 6.3

Other ways are at https://www.swift.org/install/linux/. Then run this again.
EOF
        exit 1
    }
say "Building (the first time takes some minutes)"
swift build -c release --static-swift-stdlib --product ferryd
swift build -c release --static-swift-stdlib --product ferry
swift build -c release --static-swift-stdlib --product ferry-server
bin=$(swift build -c release --static-swift-stdlib --show-bin-path)

root=$(mktemp -d /tmp/ferry-XXXXXX)
mkdir -p "$root"/{laptop,desk}/{Tasks,run}

# ---------------------------------------------------------------- helpers of the demonstration
now() { local t=$EPOCHREALTIME; echo $((${t/[.,]/} / 1000)); }
# Waits until a command succeeds, and stores the waiting time in milliseconds in $took.
until_true() {
    local what=$1 start
    shift
    start=$(now)
    until "$@" 2>/dev/null; do
        (($(now) - start < 20000)) || fail "waited 20 s: $what"
        sleep 0.003
    done
    took=$(($(now) - start))
}
ready() { until_true "$1 to be ready" grep -q '^ready ' "$root/$1.log"; }
on() { # MACHINE COMMAND...: ferry on that machine
    local machine=$1
    shift
    HOME=$root/$machine FERRY_SOCKET=$root/$machine/run/ferryd.sock "$bin/ferry" "$@"
}
start() { # MACHINE
    : >"$root/$1.log"
    HOME=$root/$1 XDG_RUNTIME_DIR=$root/$1/run XDG_CONFIG_HOME=$root/$1/config "$bin/ferryd" run --tasks "$root/$1/Tasks" \
        --state "$root/$1/state" --socket "$root/$1/run/ferryd.sock" --device-name "$1" >>"$root/$1.log" 2>&1 &
    pids+=($!)
    daemon_pid=$!
    ready "$1"
}
has() { grep -qs -- "$2" "$1"; }
missing() { [[ ! -e $1 ]]; }
contents() { (cd "$root/$1/Tasks" && find . -path ./.ferry -prune -o -type f '(' -name '*.md' -o -path '*.files/*' ')' -print0 | sort -z | xargs -0 sha256sum); }
same_files() { [[ $(contents laptop) == "$(contents desk)" ]]; }
wait_for_sync() {
    on laptop sync --wait --timeout 20 && on desk sync --wait --timeout 20 || fail "the machines did not finish syncing"
    until_true "the directories to agree" same_files
    [[ $(on laptop list --all | cut -f2- | sort) == "$(on desk list --all | cut -f2- | sort)" ]] \
        || fail "the directories agree but 'ferry list' does not"
}
laptop=$root/laptop/Tasks desk=$root/desk/Tasks

# ---------------------------------------------------------------- the demonstration
say "A server and two machines, 'laptop' and 'desk'"
: >"$root/server.log"
"$bin/ferry-server" run --data "$root/server" --documents 127.0.0.1:0 --http 127.0.0.1:0 >>"$root/server.log" 2>&1 &
pids+=($!)
ready server
url=$(grep -m1 '^ready ' "$root/server.log" | cut -d' ' -f2)
step "ferry-server is at $url"
start laptop
start desk
desk_pid=$daemon_pid
echo 'correct horse battery' | on laptop login "$url" --email me@example.org --create --password-stdin >/dev/null
echo 'correct horse battery' | on desk login "$url" --email me@example.org --password-stdin >/dev/null
step "both are signed in as me@example.org"

say "A directory of task files appears on laptop"
count=$(find Examples/vault -name '*.md' | wc -l)
start_time=$(now)
cp -r Examples/vault/. "$laptop/" && rm "$laptop/LICENSE"
all_there() { (($(find "$desk" -name '*.md' | wc -l) == count)); }
until_true "$count files on desk" all_there
step "$count files are on desk after $(($(now) - start_time)) ms"
wait_for_sync
step "both directories and 'ferry list' agree"

say "Editing, in any editor"
sed -i 's/^priority: .*/priority: high/' "$laptop/Buy groceries.md"
until_true "the new priority on desk" has "$desk/Buy groceries.md" '^priority: high'
step "laptop: a new priority saved with sed -i; on desk after $took ms"
printf '\n- Coffee\n' >>"$desk/Buy groceries.md"
until_true "the new line on laptop" has "$laptop/Buy groceries.md" '^- Coffee'
step "desk: a line appended; on laptop after $took ms"
[[ $(grep -c '^priority: high' "$desk/Buy groceries.md") == 1 ]] || fail "the earlier edit is gone"

say "From the shell"
on laptop add Call the plumber +home due:tomorrow priority:high >/dev/null
until_true "the new task on desk" has "$desk/Call the plumber.md" '^priority: high'
step "laptop: ferry add Call the plumber +home due:tomorrow priority:high; a file on desk after $took ms"
on desk 'done' plumber >/dev/null
until_true "completion on laptop" has "$laptop/Call the plumber.md" '^completed: true'
step "desk: ferry done plumber; on laptop after $took ms"

say "Renaming, moving, deleting"
mv "$desk/Call the plumber.md" "$desk/Call the plumber again.md"
until_true "the new name on laptop" test -e "$laptop/Call the plumber again.md"
until_true "the old name to go" missing "$laptop/Call the plumber.md"
step "desk: renamed with mv; on laptop after $took ms"
on laptop move plumber House >/dev/null
until_true "the move on desk" test -e "$desk/House/Call the plumber again.md"
step "laptop: ferry move plumber House; on desk after $took ms"
rm "$laptop/House/Call the plumber again.md"
until_true "the delete on desk" missing "$desk/House/Call the plumber again.md"
step "laptop: deleted with rm; gone on desk after $took ms (a delete waits a moment for its file to come back)"
on desk restore plumber >/dev/null
until_true "the restored file on laptop" test -e "$laptop/House/Call the plumber again.md"
step "desk: ferry restore plumber; back on laptop after $took ms"

say "An attachment"
seq 1 200000 >"$root/receipt.csv"
start_time=$(now)
on laptop attach plumber "$root/receipt.csv"
until_true "the attachment on desk" cmp -s "$root/receipt.csv" "$desk/House/Call the plumber again.files/receipt.csv"
step "laptop: ferry attach plumber receipt.csv ($(stat -c %s "$root/receipt.csv") bytes); whole on desk after $(($(now) - start_time)) ms"
on desk attachments plumber | sed 's/^/    /'

say "Desk goes offline, both sides edit the same task, desk comes back"
kill "$desk_pid" && wait "$desk_pid" 2>/dev/null || true
sed -i 's/^- Milk$/- Oat milk/' "$laptop/Buy groceries.md"
on laptop set groceries +urgent >/dev/null
sed -i 's/^- Eggs$/- Twelve eggs/' "$desk/Buy groceries.md"
on laptop sync --wait --timeout 20 >/dev/null
start desk
until_true "both edits on desk" has "$desk/Buy groceries.md" '^- Oat milk'
until_true "both edits on laptop" has "$laptop/Buy groceries.md" '^- Twelve eggs'
has "$desk/Buy groceries.md" urgent || until_true "the tag on desk" has "$desk/Buy groceries.md" urgent
step "both machines have '- Oat milk', '- Twelve eggs' and the tag: merged after $took ms"
wait_for_sync
step "both directories and 'ferry list' agree"

say "Where each value of a task comes from: 'ferry explain groceries'"
on laptop explain groceries | sed 's/^/    /'

say "What 'ferry list' shows now"
on laptop list | sed 's/^/    /'
say "And 'ferry status'"
on desk status | sed 's/^/    /'

if [[ $keep ]]; then
    trap - EXIT
    cat <<EOF

The server and the machines are still running. Try them in two terminals:

    export FERRY_SOCKET=$root/laptop/run/ferryd.sock PATH=$bin:\$PATH; cd $laptop
    export FERRY_SOCKET=$root/desk/run/ferryd.sock PATH=$bin:\$PATH; cd $desk

Edit a file in one, and see the change in the other; try 'ferry add', 'ferry attach', 'ferry status --watch'. When done:

    kill ${pids[*]}; rm -r $root
EOF
    exit 0
fi
cat <<EOF

Done; everything is cleaned up. 'Examples/quickstart.sh --keep' leaves it running. To use Ferry for real, see
"Install" in README.md: 'ferry-server setup' on a server, and 'ferry setup URL' on each machine.
EOF

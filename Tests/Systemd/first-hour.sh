#!/usr/bin/env bash
# The first hour of a newcomer: a server and two machines, fresh, each with a systemd of its own and the package to
# install. Counts the commands, and the time until the first task is on the second machine. Needs root.
#
#   first-hour.sh PACKAGES      the directory with the .deb files; the rootfs of lab.sh has what they depend on
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
packages=$1
scratch=$(mktemp -d)
passed=0 failed=0
check() {
    local name=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then
        passed=$((passed + 1)) && echo "ok: $name"
    else
        failed=$((failed + 1)) && echo "FAILED: $name" && tail -n 20 "$scratch/out"
    fi
}
declare -A address=([server]=10.77.0.1 [laptop]=10.77.0.2 [desk]=10.77.0.3)
lab() { LAB_NAME=hour-$1 LAB_NETNS=ferry-$1 timeout 120 "$here/lab.sh" "${@:2}"; }

finish() {
    for name in "${!address[@]}"; do
        lab "$name" stop >/dev/null 2>&1
        ip netns delete "ferry-$name" 2>/dev/null
    done
    ip link delete ferry-bridge 2>/dev/null
    rm -rf "$scratch"
    echo "$passed passed, $failed failed"
    exit $((failed > 0 || passed == 0))
}
trap finish INT TERM

# Three machines on one network, and an authority of the user's own for the server's certificate.
ip link add ferry-bridge type bridge && ip link set ferry-bridge up || { failed=1; finish; }
for name in "${!address[@]}"; do
    ip netns add "ferry-$name"
    ip link add "fy-$name" type veth peer name eth0 netns "ferry-$name"
    ip link set "fy-$name" master ferry-bridge up
    ip -n "ferry-$name" link set lo up
    ip -n "ferry-$name" link set eth0 up
    ip -n "ferry-$name" address add "${address[$name]}/24" dev eth0
done
(
    cd "$scratch" || exit
    curve=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
    openssl req -x509 "${curve[@]}" -days 2 -keyout ca.key -out ca.pem -subj /CN=home
    openssl req "${curve[@]}" -keyout server.key -out server.csr -subj /CN=server
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem \
        -extfile <(echo "subjectAltName=IP:${address[server]}")
) >/dev/null 2>&1
for name in server laptop desk; do
    lab "$name" stop >/dev/null 2>&1
    lab "$name" boot >/dev/null 2>&1 || { echo "FAILED: $name does not boot"; failed=1; finish; }
done
# copy_package MACHINE PACKAGE: under the package's own name, into the directory in which it is installed.
copy_package() { lab "$1" copy "$(echo "$packages/$2"_*.deb)" "/root/$(basename "$(echo "$packages/$2"_*.deb)")"; }
copy_package server ferry-server
for file in server.pem server.key; do lab server copy "$scratch/$file" "/root/$file"; done
for name in laptop desk; do
    copy_package "$name" ferry
    lab "$name" exec useradd -m me
    # Stands for the session in which a person would type.
    lab "$name" exec loginctl enable-linger me
    lab "$name" exec sh -c 'for i in $(seq 100); do test -S /run/user/$(id -u me)/bus && exit; sleep 0.1; done; exit 1'
    lab "$name" copy "$scratch/ca.pem" /home/me/ca.pem
    lab "$name" exec chmod 644 /home/me/ca.pem
done

# The machines on which a command was typed.
typed=()
# readme START: the README's command that starts so, without sudo, which the lab does not have.
readme() { grep -m1 -E "^    (sudo )?$1" "$here/../../README.md" | sed -E 's/^ *(sudo )?//'; }
url=https://${address[server]}:7441
start=$SECONDS
machine=https://tasks.example.org
typed+=(server)
check "server: install" lab server exec sh -c "cd /root && $(readme 'apt-get install ./ferry-server_')"
typed+=(server)
set_up=$(readme "ferry-server setup $machine" | sed "s#$machine#$url --tls-cert /root/server.pem --tls-key /root/server.key#")
check "server: set up" lab server exec sh -c "$set_up >/root/said; cat /root/said"
code=$(lab server exec sed -n 's/.*--code \([^ ]*\).*/\1/p' /root/said)
password='echo "correct horse battery"'
set_up=$(readme "ferry setup $machine" | sed "s#$machine#$url --tls-ca ca.pem --password-stdin#")
for name in laptop desk; do
    typed+=("$name")
    check "$name: install" lab "$name" exec sh -c "cd /root && $(readme 'apt-get install ./ferry_')"
    typed+=("$name")
    # The second machine takes the address instead of the code.
    [[ $name == laptop ]] && who="--code $code" || who="--email me@example.org"
    check "$name: set up" lab "$name" user me sh -c "cd && $password | ${set_up/--code CODE/$who}"
done
check "the first task is on the second machine" sh -c \
    "LAB_NAME=hour-laptop '$here/lab.sh' user me ferry add Buy milk && for i in \$(seq 300); do
     LAB_NAME=hour-desk '$here/lab.sh' exec test -f '/home/me/Tasks/Buy milk.md' && exit 0; sleep 0.1; done; exit 1"
took=$((SECONDS - start))
echo "the first task was on the second machine after $took s and ${#typed[@]} commands"
check "that took at most two minutes" test "$took" -le 120
for name in server laptop desk; do
    count=$(printf '%s\n' "${typed[@]}" | grep -cx "$name")
    check "$name: two commands were typed" test "$count" = 2
done
check "all of it may be done again" sh -c \
    "LAB_NAME=hour-server '$here/lab.sh' exec ferry-server setup | grep -q 'is there already' &&
     LAB_NAME=hour-laptop '$here/lab.sh' user me ferry setup $url --email me@example.org | grep -q 'signed in already'"
check "the key that only root reads was handed over by systemd" lab server exec sh -c \
    'test "$(stat -c %a /root/server.key)" = 600 && test "$(systemctl show -P User ferry-server)" = ferry-server && ferry-server health'
check "doctor finds the service enabled" lab laptop user me sh -c 'ferry doctor | grep "ferryd starts with this machine"'
finish

#!/usr/bin/env bash
# Builds the Debian packages ferry and ferry-server.
#
#   systemd/package.sh [--output DIR] [--binaries DIR]
#
# Without --binaries the programs are built first, in .build/package, and contain no path of this machine: two builds of
# one commit in different directories have the same bytes. --binaries names a directory with built programs. The packages
# are written to DIR, or to .build/package.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export LC_ALL=C.UTF-8 TZ=UTC
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH

output=$top/.build/package binaries=
while (($#)); do
    case $1 in
        --output) output=$(mkdir -p "$2" && cd "$2" && pwd) ;;
        --binaries) binaries=$(cd "$2" && pwd) ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
    shift 2
done
for package in debhelper dpkg-dev fakeroot patchelf; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed \
        || { echo "package.sh needs $package: sudo apt-get install debhelper dpkg-dev fakeroot patchelf" >&2; exit 1; }
done

if [[ -z $binaries ]]; then
    maps=(-Xswiftc -file-prefix-map -Xswiftc "$top=." -Xcc "-ffile-prefix-map=$top=.")
    options=(-c release --static-swift-stdlib --scratch-path "$top/.build/package" "${maps[@]}" -Xlinker -z -Xlinker now)
    for product in ferry ferryd ferry-server; do swift build "${options[@]}" --product "$product"; done
    binaries=$(swift build "${options[@]}" --show-bin-path)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Removes from a program what depends on the directory of the build and does nothing in it: the hashes by which a next
# build would know that a module is the same, and the build id, which becomes the hash of the program without symbols.
forget_directory() {
    local program=$1 size
    note() { printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0' && cat; }
    size=$(objdump -h "$program" | awk '$2 == ".swift_modhash" { print "0x" $3 }')
    head -c $((size)) /dev/zero >"$work/hashes"
    head -c 20 /dev/zero | note >"$work/id"
    objcopy --update-section .swift_modhash="$work/hashes" --update-section .note.gnu.build-id="$work/id" "$program"
    strip -o "$work/stripped" "$program"
    printf '%b' "$(sha1sum "$work/stripped" | cut -c1-40 | sed 's/../\\x&/g')" | note >"$work/id"
    objcopy --update-section .note.gnu.build-id="$work/id" "$program"
}
tree=$work/ferry
mkdir -p "$tree"/staging/{bin,man,user,completions/{bash,zsh,fish}}
cp -r systemd/debian "$tree/debian"
stage=$tree/staging

for program in ferry ferryd ferry-server; do
    install "$binaries/$program" "$stage/bin/$program"
    # Swift's linker adds $ORIGIN, which means nothing in /usr/bin.
    patchelf --remove-rpath "$stage/bin/$program"
    forget_directory "$stage/bin/$program"
    "$stage/bin/$program" completion bash >"$stage/completions/bash/$program"
    "$stage/bin/$program" completion zsh >"$stage/completions/zsh/_$program"
    "$stage/bin/$program" completion fish >"$stage/completions/fish/$program.fish"
done
"$stage/bin/ferry" manual >"$stage/man/ferry.1"
"$stage/bin/ferry" manual ferry-task >"$stage/man/ferry-task.7"
"$stage/bin/ferryd" manual >"$stage/man/ferryd.8"
"$stage/bin/ferryd" manual ferryd.yaml >"$stage/man/ferryd.yaml.5"
"$stage/bin/ferry-server" manual >"$stage/man/ferry-server.8"
cp systemd/ferryd.service systemd/ferryd.socket "$stage/user/"
cp README.md Examples/nginx.conf systemd/ferry.desktop "$stage/"
cp -r Examples/compose "$stage/compose"
cp systemd/ferry-server.service "$tree/debian/ferry-server.service"
cp systemd/ferry-server.sysusers "$tree/debian/ferry-server.sysusers"
{
    echo "# Options of ferry-server.service; 'man ferry-server' explains them. Restart the service after a change."
    echo "#"
    "$stage/bin/ferry-server" run --help | sed -n '/^Options:/,/^ *-h,/{/^Options:/d;/-h, --help/d;s/^ */#   /p}'
    echo
    echo "# /etc/ferry-server.yaml, which 'ferry-server setup' writes, has the same settings; options here win."
    echo 'FERRY_SERVER_OPTIONS=""'
} >"$tree/debian/ferry-server.default"

version=$("$stage/bin/ferry" --version | cut -d' ' -f2)
cat >"$tree/debian/changelog" <<CHANGELOG
ferry ($version-1) unstable; urgency=medium

  * Version $version; see CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' systemd/debian/control)  $(date -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG

(cd "$tree" && dpkg-buildpackage --build=binary --no-sign -rfakeroot --no-check-builddeps 2>&1) >"$work/log" \
    || { tail -n 40 "$work/log" >&2; exit 1; }
mkdir -p "$output"
rm -f "$output"/*.deb
cp "$work"/*.deb "$output/"
ls -l "$output"/*.deb

#!/usr/bin/env bash
# Installs the Debian packages that the build and the tests need.
source "$(dirname "$0")/common.sh"

# Clients of Google's and MinIO's, whose own tests are run, with their compiler; other S3 clients; shells whose
# completion is tested; a proxy; PostgreSQL, of which the tests start servers of their own; a FUSE mount; what makes Debian packages;
# a session bus with a mocked notification server.
tools=(python3-venv openssl vim-tiny zsh fish tmux rclone s3cmd iproute2 nginx-light bindfs golang-google-cloud-dev
    golang-github-minio-minio-go-v7-dev golang-go postgresql debhelper dpkg-dev fakeroot lintian patchelf caddy
    dbus-daemon libglib2.0-bin python3-dbusmock)
mapfile -t libraries < <(grep -v '^#' Sources/C/packages.txt)

missing=() sudo=()
for package in "${libraries[@]}" "${tools[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
install_missing() {
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || sudo=(sudo)
    # Debian would otherwise create a cluster and start it.
    "${sudo[@]}" mkdir -p /etc/postgresql-common &&
        echo 'create_main_cluster = false' | "${sudo[@]}" tee -a /etc/postgresql-common/createcluster.conf >/dev/null
    local options=(-qq -o DPkg::Lock::Timeout=300)
    "${sudo[@]}" apt-get "${options[@]}" update &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" -o Dpkg::Use-Pty=0 install -y \
            --no-install-recommends "${missing[@]}"
}
check "packages are installed${missing[*]:+: ${missing[*]}}" install_missing
finish

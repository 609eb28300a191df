#!/bin/bash
# Unpacks one pinned Debian package. usage: fetch.sh NAME=VERSION SHA256 DESTINATION
# Exit 3: the package cannot be had in that version. Repository rules only call this.
set -euo pipefail
spec=$1 sha=$2 dest=$3
cache="${MCONNECT_CACHE:-$HOME/.cache/mconnect}/debs"
deb="$cache/$sha.deb"
mkdir -p "$cache" "$dest"

# A partial download is never named by its digest: it is verified, then renamed.
if ! echo "$sha  $deb" | sha256sum --check --status 2>/dev/null; then
  work="$(mktemp -d "$cache/partial.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && apt-get download -q -o APT::Sandbox::User=root "$spec" >&2) || exit 3
  echo "$sha  $(echo "$work"/*.deb)" | sha256sum --check --quiet >&2
  mv "$work"/*.deb "$deb"
fi
dpkg-deb -x "$deb" "$dest"

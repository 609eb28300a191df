#!/bin/bash
# Unpacks one pinned Debian package. usage: fetch.sh NAME=VERSION SHA256 DESTINATION
# Exit 3: the package cannot be had in that version. Only repository rules call this; it needs no root.
set -euo pipefail
spec=$1 sha=$2 dest=$3
cache="${MCONNECT_CACHE:-$HOME/.cache/mconnect}/debs"
deb="$cache/$sha.deb"
mkdir -p "$cache" "$dest"

download() { # options of apt-get
  (cd "$work" && apt-get -q -o APT::Sandbox::User=root "$@" download "$spec" >&2)
}

# The machine's package lists may be old or empty: these are our own, renewed once a day.
update() {
  mkdir -p "$cache/lists/partial" "$cache/apt/archives/partial"
  own=(-o Dir::State::Lists="$cache/lists" -o Dir::Cache="$cache/apt" -o APT::Sandbox::User=root)
  (
    flock 9
    [[ -n "$(find "$cache/lists.stamp" -mtime -1 2>/dev/null)" ]] && exit
    apt-get -q "${own[@]}" update >&2 && touch "$cache/lists.stamp"
  ) 9>"$cache/lists.lock"
}

# A partial download never bears the name of a digest: it is verified, then renamed.
if ! echo "$sha  $deb" | sha256sum --check --status 2>/dev/null; then
  work="$(mktemp -d "$cache/partial.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  download || { update && download "${own[@]}"; } || exit 3
  echo "$sha  $(echo "$work"/*.deb)" | sha256sum --check --quiet >&2
  mv "$work"/*.deb "$deb"
fi
dpkg-deb -x "$deb" "$dest"

# shellcheck shell=bash
# Sourced by the proofs that run Bazel themselves: another copy of the workspace, with an output base of its own.
#
#   second_workspace            makes it, unless it is there, and sets $copy
#   second_bazel COMMAND...     runs Bazel in it, without any cache of actions: everything is really executed
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
scratch="${MCONNECT_SCRATCH:-}"
if [[ -z "$scratch" ]]; then
  scratch="$(mktemp -d)"
  trap 'second_bazel shutdown >/dev/null 2>&1; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
fi
copy="$scratch/elsewhere/workspace"

second_workspace() {
  [[ -d "$copy" ]] && return
  mkdir -p "$copy"
  git -C "$root" ls-files -z --cached --others --exclude-standard |
    (cd "$root" && xargs -0 ls -d 2>/dev/null | tar -cf - --files-from=-) | tar -xf - -C "$copy"
}

second_bazel() {
  local command="$1"
  shift
  local flags=()
  [[ "$command" == build ]] && flags=(--disk_cache= --noshow_progress --ui_event_filters=-info)
  (cd "$copy" && tools/bazel "--output_base=$scratch/output" --max_idle_secs=60 "$command" "${flags[@]}" "$@")
}

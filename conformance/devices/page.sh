# shellcheck shell=bash
# The file of a report, and what is not in it. Whoever sources this has set `work`, `out`, `parts`, `programs`, `needed`, `device`,
# `checkout` and `built`.
# shellcheck disable=SC2154

# Bytes of the log of a part that are kept: of its begin, and of its end.
log_begin=20000
log_end=60000

# own_address    the first address of a device, IPv4 before IPv6, from what smbd-ping says of it as JSON
own_address() {
  tr -d ' \n' | sed -nE 's/.*"addresses":\[([^]]*)\].*/\1/p' | tr -d '"' | tr , '\n' |
    awk 'NF { if (!/:/) { print; found = 1; exit } if (first == "") first = $0 } END { if (!found && first != "") print first }'
}

# toml TEXT    as a string of TOML
toml() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "$(tr -d '\000-\037\177' <<<"$text")"
}

# --- what is replaced -------------------------------------------------------------------------------------------------------

# hide    what identifies this host and its user, a line each: what it is replaced by, how it is looked for (word, text), and the text
hide() {
  local name file value
  for name in "$(uname -n)" "$(cat /etc/hostname 2>/dev/null || true)" "$(uname -n | cut -d. -f1)" "$(cat /proc/sys/kernel/domainname)"; do
    case "$name" in '' | localhost* | '(none)') ;; *) printf 'HOST\tword\t%s\n' "$name" ;; esac
  done
  printf 'WORK\ttext\t%s\nPROGRAMS\ttext\t%s\nCHECKOUT\ttext\t%s\n' "$work" "$programs" "$checkout"
  [ "${HOME:-/}" = / ] || [ "$HOME" = /root ] || printf 'HOME\ttext\t%s\n' "$HOME"
  for name in "$(id -un 2>/dev/null || true)" "${USER:-}" "${LOGNAME:-}" "${SUDO_USER:-}"; do
    case "$name" in '' | root | nobody) ;; *) printf 'USER\tword\t%s\n' "$name" ;; esac
  done
  for file in /sys/class/net/*/address /sys/class/infiniband/*/{node_guid,sys_image_guid} /sys/class/infiniband/*/ports/*/gids/*; do
    value=$(cat "$file" 2>/dev/null) || continue
    # Also without colons, as names of interfaces and devices have it. One of zeros is none.
    [[ ${value//[:0]/} != '' ]] || continue
    printf 'ID\ttext\t%s\nID\ttext\t%s\n' "$value" "${value//:/}"
  done | sort -u
  if command -v ip >/dev/null; then
    ip -o address show 2>/dev/null | awk '$2 != "lo" { sub("/.*", "", $4); print "ADDRESS\tword\t" $4 }'
  fi
  [ -z "${ADDRESS:-}" ] || printf 'ADDRESS\tword\t%s\n' "$ADDRESS"
}

# without_known    replaces what `hide` has found, in any case of letters; a word is not part of a longer one
without_known() {
  awk -v known="$work/hidden" '
    BEGIN {
      FS = "\t"
      while ((getline line < known) > 0) {
        split(line, field, "\t")
        if (field[3] == "") continue
        by[++count] = field[1]; is_word[count] = field[2] == "word"; text[count] = tolower(field[3])
      }
    }
    {
      for (at = 1; at <= count; at++) {
        rest = $0; done = ""
        while (where = index(tolower(rest), text[at])) {
          length_of = length(text[at])
          before = where > 1 ? substr(rest, where - 1, 1) : substr(done, length(done), 1)
          after = substr(rest, where + length_of, 1)
          found = substr(rest, where, length_of)
          if (!is_word[at] || (before !~ /[A-Za-z0-9_]/ && after !~ /[A-Za-z0-9_]/)) found = by[at]
          done = done substr(rest, 1, where - 1) found
          rest = substr(rest, where + length_of)
        }
        $0 = done rest
      }
      print
    }'
}

# without_any    replaces whatever looks like an address, a MAC address, a GUID or a domain name of the host, known or not. Sections of
# MS-SMBD and MS-SMB2 (3.1.5.9, 2.2.3.1) do not count.
without_any() {
  sed -E \
    -e 's/\b([23])\.([0-9])\.([0-9]{1,2})\.([0-9]{1,2})\b/\1\x03\2\x03\3\x03\4/g' \
    -e 's/\b([0-9]{1,3}\.){3}[0-9]{1,3}\b/ADDRESS/g' \
    -e 's/\x03/./g' \
    -e 's/\b([0-9a-fA-F]{2}-){5}[0-9a-fA-F]{2}\b/ID/g' \
    -e 's/\b([0-9a-fA-F]{8}-)([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b/ID/g' \
    -e 's/\b[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{0,4}){3,7}/ID/g' \
    -e 's/\b(fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3}):[0-9a-f:]*:[0-9a-f]{1,4}\b/ADDRESS/gI' \
    -e 's/\bHOST(\.[A-Za-z0-9-]+)+/HOST/g'
}

# anonymous    both: what is known first, since the domain is found behind the name of the host
anonymous() { without_known | without_any; }

# --- the file --------------------------------------------------------------------------------------------------------------

# versions    of smbd, and of its programs
versions() {
  local program name
  # Also if another user has the checkout.
  local git=(git --no-optional-locks -c "safe.directory=$checkout" -C "$checkout")
  if name=$("${git[@]}" rev-parse HEAD 2>/dev/null); then
    echo "commit = $(toml "$name")"
    if "${git[@]}" diff --quiet HEAD 2>/dev/null; then echo "changed = false"; else echo "changed = true"; fi
  else
    echo "commit = $(toml "unknown: no checkout of git")"
  fi
  echo "built_here = $built"
  printf '\n[programs]\n'
  for program in "${needed[@]}"; do
    echo "$program = $(toml "sha256:$(sha256sum "$programs/$program" | cut -d' ' -f1)")"
  done
}

# head_of STATE    which version this is, and how the parts ended
head_of() {
  local name result seconds said
  cat <<'TEXT'
# A report of smbd on an RDMA device (conformance/devices/report).
# Down to the line of logs this is TOML. Names of the host and of users, IP and MAC addresses and GUIDs are replaced.
TEXT
  echo "format = 1"
  echo "state = $(toml "$1")"
  echo "date = $(toml "$(date -u +%Y-%m-%d)")"
  cat "$work/versions"
  [ ! -s "$work/host.toml" ] || { echo && cat "$work/host.toml"; }
  while IFS=$'\t' read -r name result seconds said; do
    printf '\n[[part]]\nname = %s\nresult = %s\nseconds = %s\nsaid = %s\n' "$(toml "$name")" "$(toml "$result")" "$seconds" "$(toml "$said" | anonymous)"
    [ "$name" = host ] || [ ! -s "$work/$name.toml" ] || anonymous <"$work/$name.toml"
  done <"$work/played"
  for name in "${parts[@]}"; do
    grep -q "^$name"$'\t' "$work/played" || printf '\n[[part]]\nname = %s\nresult = "not played"\n' "$(toml "$name")"
  done
}

# log_of NAME    the log of a part; of a long one begin and end
log_of() {
  local size
  size=$(stat -c %s "$1")
  if [ "$size" -le $((log_begin + log_end)) ]; then cat "$1"; else
    head -c "$log_begin" "$1"
    printf '\n... %s bytes are left out ...\n' $((size - log_begin - log_end))
    tail -c "$log_end" "$1"
  fi
}

# compose STATE    writes the file, whole or not at all
compose() {
  local name
  {
    # What host and device are is looked for by what is known only: versions of firmware have four numbers, as addresses do.
    head_of "$1" | without_known
    printf '\n# ---------------------------------------- logs ----------------------------------------\n'
    for name in "${parts[@]}"; do
      [ -e "$work/$name.log" ] || continue
      printf '\n# ---- %s ----\n' "$name"
      # Control characters are of no use to a reader.
      log_of "$work/$name.log" | tr -d '\000-\010\013-\037\177' | anonymous
    done
  } >"$out.new" && mv "$out.new" "$out"
}

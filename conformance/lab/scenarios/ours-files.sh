# shellcheck shell=bash
about="smbd-cp copies files to and from ksmbd over SMB Direct, and over TCP"
guests=1
limit=900
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

resumes() {
  head -c 3000000 /dev/urandom >"$SHARE/long" && head -c 1000000 "$SHARE/long" >/run/part &&
    cp_says resumed get "$url/long" /run/part --resume && cmp "$SHARE/long" /run/part &&
    grep -q '3000000 bytes, 1000000 of them were there' "$OUT/resumed"
}

directories() {
  cp_says made mkdir "$url/dir" && cp_says made put /run/file /run/part "$url/dir/" && cp_says listed ls "$url/dir" &&
    grep -q ' 3000000 .* part$' "$OUT/listed" && [ "$(wc -l <"$OUT/listed")" = 2 ] &&
    cp_says made rm "$url/dir/part" "$url/dir/file" && cp_says made rm --directory "$url/dir" && [ ! -e "$SHARE/dir" ]
}

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && ksmbd_start || return
  local url=rdma://tester@$ADDRESS/share options=() size
  export SMBD_PASSWORD=test123
  for size in 0 1 4096 4097 65537 1048577 3000001; do
    check "a file of $size bytes is the same on both sides, by RDMA" file_matches "$size" rdma
  done
  check "a copy is resumed" resumes
  check "directories are made, listed and removed" directories
  check "a file that is not there is told" cp_fails 1 STATUS_OBJECT_NAME_NOT_FOUND get "$url/none" /run/none
  SMBD_PASSWORD=wrong check "a wrong password is told" cp_fails 1 STATUS_LOGON_FAILURE ls "$url"
  # ksmbd answers TREE_CONNECT with more than it has signed then.
  check "a share that is not there is told, though not as sure" \
    cp_fails 1 'cannot connect the share: .* it says STATUS_BAD_NETWORK_NAME, which nothing verifies' ls "${url%share}none"
  # ksmbd has no RDMA transforms.
  other_ways_match 'rdma messages signed'
}

# shellcheck shell=bash
about="smbd-cp to ksmbd, encrypted, by RDMA transforms: files of 0 bytes to 16 MiB with each cipher, decrypted by another library"
native="siw rxe"
guests=1
limit=900
whole=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# Besides those of `edges`: multiples of 8, and last pieces of a file around the threshold, up to which they go in messages.
edges+=(7 8 9 4103 4104 4105 131071 131072 131073 1052671 1052672 1052673 8388607 8388608 8388609 16777215)

# moved    what ksmbd says in the kernel's log that it has moved by RDMA since that was cleared: `READ 1`, with a transform or (0) without
moved() {
  dmesg | sed -nE 's/.*RDMA WRITE transfer completed: .* transformed=([01]) .*/WRITE \1/p
    s/.*RDMA READ transfer completed: .* transform=0$/READ 0/p; s/.*RDMA READ transfer completed: .* transform=[1-9].*/READ 1/p' |
    sort | uniq -c | awk '{ print $2, $3, $1 }'
}

# all_moved_so TRANSFORMED OPTION ...    three pieces each way go by RDMA, with a transform (1) or without (0), as ksmbd says itself: on a
# device of which nothing can be captured, too
all_moved_so() {
  dmesg -C && head -c 3000001 /dev/urandom >/run/file && rm -rf /run/back && cp_says said put /run/file "$url/up" "${@:2}" &&
    cp_says said get "$url/up" /run/back "${@:2}" && cmp /run/file /run/back &&
    [ "$(moved)" = "$(printf 'READ %s 3\nWRITE %s 3' "$1" "$1")" ] || complain "$(moved | tr '\n' ' ')"
}

# others_decrypt CIPHER    another library decrypts what went by RDMA, and its capture has no part of the file in clear
others_decrypt() {
  others_verify "$1" --encrypt --cipher "$1" || return
  [ "$(in_clear /run/file "$OUT/$1.pcap")" = 0 ] || complain "parts of the file are in the capture"
}

# is_in_clear    without encryption, a capture has nearly all parts: so they would be found
is_in_clear() {
  local found
  capture_start clear && cp_says said put /run/file "$url/up" && capture_stop && found=$(in_clear /run/file "$OUT/clear.pcap") &&
    [ "$found" -gt 90 ] || complain "$found of 100 parts are in the capture"
}

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-cp" ] || { skip "smbd-cp" "it is not among the programs" && return; }
  linux_is 7 3 || { skip "RDMA transforms" "ksmbd of Linux $(uname -r) has none" && return; }
  local url cipher options ciphers=(aes-128-gcm aes-256-gcm aes-128-ccm aes-256-ccm)
  rdma_loopback "$KIND" 1024 && ksmbd_start && kernel_log && edges_made || return
  url=rdma://tester@$ADDRESS/share
  export SMBD_PASSWORD=test123
  for cipher in "${ciphers[@]}"; do
    options=(--encrypt --cipher "$cipher")
    check "$cipher: files of 0 bytes to 16 MiB are the same on both sides" edges_match 'rdma encrypted' 3.1.1 "$cipher"
    check "$cipher: ksmbd moves all pieces with a transform" all_moved_so 1 "${options[@]}"
  done
  check "without encryption ksmbd moves them without" all_moved_so 0
  if has_other_library "another library"; then
    for cipher in "${ciphers[@]}"; do
      check "$cipher: another library decrypts the capture, and nothing of it is in clear" others_decrypt "$cipher"
    done
    check "without encryption the capture has the file in clear" is_in_clear
  fi
}

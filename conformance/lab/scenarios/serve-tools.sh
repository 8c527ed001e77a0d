# shellcheck shell=bash
about="smbd-serve, used by smbd-cp over SMB Direct and TCP, and by smbclient and smbtorture over TCP"
native="siw rxe"
guests=1
limit=1800
whole=yes
long=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# What smbtorture is expected to fail in. The host's times of creation and of change cannot be set; FilePositionInformation is not kept; and
# what the host can write beyond the longest file of NTFS is written.
torture_failures="smb2.dir.modify smb2.dir.one smb2.read.position smb2.rw.invalid"

# others_verify_all    the same with each algorithm that smbd-cp offers
others_verify_all() {
  local algorithm
  for algorithm in aes-cmac hmac-sha256 aes-gmac; do
    check "what was signed with $algorithm and went by RDMA is verified by another library" \
      others_verify "$algorithm" --sign --signing "$algorithm"
  done
  for algorithm in aes-128-ccm aes-128-gcm aes-256-ccm aes-256-gcm; do
    check "what was encrypted with $algorithm and went by RDMA is decrypted by another library" \
      others_verify "$algorithm" --encrypt --cipher "$algorithm"
  done
}

# client COMMANDS    smbclient carries them out
client() { timeout 120 smbclient -s /run/smb.conf "//$ADDRESS/share" -U tester%test123 "${options[@]}" -c "$1" >>"$OUT/client.log" 2>&1; }

client_copies() {
  head -c 3000001 /dev/urandom >/run/file && rm -f /run/back &&
    client 'mkdir d; put /run/file d\f; rename d\f d\g; get d\g /run/back; ls d\*' && cmp /run/file /run/back &&
    cmp /run/file "$SHARE/d/g" && client 'del d\g; rmdir d' && [ ! -e "$SHARE/d" ]
}

refuses_wrong_password() { ! timeout 60 smbclient -s /run/smb.conf "//$ADDRESS/share" -U tester%wrong -c ls >>"$OUT/client.log" 2>&1; }

# torture TEST    smbtorture's test fails in what it is expected to fail in, and in nothing else
torture() {
  local found wanted
  timeout 300 smbtorture -s /run/smb.conf "//$ADDRESS/share" -U tester%test123 "$1" >"$OUT/$1.log" 2>&1 || true
  found=$(sed -n "s/^\(failure\|error\): \([^ ]*\).*/$1.\2/p" "$OUT/$1.log" | sort | tr '\n' ' ')
  wanted=$(tr ' ' '\n' <<<"$torture_failures" | grep "^$1\." | sort | tr '\n' ' ')
  grep -q '^success: ' "$OUT/$1.log" && [ "$found" = "$wanted" ] || complain "$1: failed in: $found; expected: $wanted"
}

scenario() {
  local programs=${SMBD_LIVE%/*} url options=() size test
  [ -x "$programs/smbd-serve" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "smbd-serve" "it or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 && serve || return
  : >/run/smb.conf
  export SMBD_PASSWORD=test123
  url=rdma://tester@$ADDRESS/share
  for size in 0 1 4096 4097 65537 1048577 16777216; do
    check "smbd-cp: a file of $size bytes is the same on both sides, by RDMA" file_matches "$size" rdma
  done
  for size in 4097 1048577 16777216; do
    options=(--sign)
    check "smbd-cp, signed: a file of $size bytes is the same on both sides, by RDMA" file_matches "$size" 'rdma signed'
    options=(--encrypt)
    check "smbd-cp, encrypted: a file of $size bytes is the same on both sides, by RDMA" file_matches "$size" 'rdma encrypted'
  done
  options=()
  check "the server has encrypted what went by RDMA" grep -q 'client ended .*encrypted=AES-128-GCM .*rdma_in=[1-9].*rdma_out=[1-9]' "$OUT/serve.log"
  if has_other_library "other libraries"; then others_verify_all; fi
  other_ways_match 'rdma signed'
  if with_samba; then
    samba_programs || return
    check "smbclient: a folder is made, a file written, renamed, read, listed and removed" client_copies
    options=(--client-protection=encrypt)
    check "smbclient, encrypted: the same" client_copies
    check "smbclient: a wrong password is refused" refuses_wrong_password
    if with_smbtorture; then
      for test in smb2.connect smb2.read smb2.rw smb2.dir; do
        check "smbtorture: $test fails in what is known, and in nothing else" torture "$test"
      done
    fi
  fi
  check "it ends in good order" serve_ends
}

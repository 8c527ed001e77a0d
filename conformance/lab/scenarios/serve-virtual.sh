# shellcheck shell=bash
about="files that are on no disk (smbd-serve's example virtual_files): over SMB Direct with the kernel's client and smbd-cp, over TCP with smbclient"
native="siw rxe"
guests=1
limit=240
whole=yes

# shellcheck source=../files.sh
. "$LAB/files.sh"

# squares_match FOLDER    all files have the squares of their names
squares_match() {
  local number
  [ "$(find "$1" -type f | wc -l)" = 100 ] || complain "$1 has not 100 files: $(ls "$1")" || return
  for number in 1 7 100; do
    [ "$(cat "$1/$number.txt")" = $((number * number)) ] || complain "$number.txt: $(cat "$1/$number.txt")" || return
  done
  # In other capitals.
  [ "$(cat "$1/12.TXT")" = 144 ]
}
mounted_matches() {
  cifs_mount "$ADDRESS" /mnt/squares && squares_match /mnt/squares || return
  ! touch /mnt/squares/new 2>/dev/null && ! rm -f /mnt/squares/7.txt 2>/dev/null && umount /mnt/squares
}
copied_matches() {
  cp_says copied ls "rdma://tester@$ADDRESS/share" && [ "$(wc -l <"$OUT/copied")" = 100 ] || return
  cp_says copied get "rdma://tester@$ADDRESS/share/9.txt" /run/nine && [ "$(cat /run/nine)" = 81 ]
}
samba_matches() {
  [ "$(smbclient "//$ADDRESS/share" -U tester%test123 -c 'get 25.txt -' 2>/dev/null)" = 625 ]
}

scenario() {
  local programs=${SMBD_LIVE%/*}
  [ -x "$programs/examples/virtual_files" ] && [ -x "$programs/smbd-cp" ] ||
    { skip "files on no disk" "examples/virtual_files or smbd-cp is not among the programs" && return; }
  rdma_loopback "$KIND" 1024 || return
  export SMBD_PASSWORD=test123
  "$programs/examples/virtual_files" "$ADDRESS" >"$OUT/server.log" 2>&1 &
  await 20 grep -q listening "$OUT/server.log" || return
  check "the kernel's client reads them by SMB Direct, and changes nothing" mounted_matches
  check "smbd-cp lists and copies them by SMB Direct" copied_matches
  with_samba && samba_programs || return 0
  check "smbclient reads them over TCP" samba_matches
}

# shellcheck shell=bash
about="the page smbd-client/README.md and smbd-serve/README.md, word for word, and what README.md has of it: smbd-cp with ksmbd, then smbd-serve with smbd-cp, the kernel's client and smbclient"
guests=1
limit=600
whole=yes
long=yes

root=$LAB/../..

# prepare    what the page takes for granted: the programs, a device at 10.9.0.1, which is called `server`, files to be copied
prepare() {
  local program name
  mkdir -p /run/page /srv/data /mnt || return
  for program in smbd-cp smbd-serve; do cp "${SMBD_LIVE%/*}/$program" /run/page/ || return; done
  ip link add lab0 type veth peer name lab1 && ip link set lab1 up && rdma_over lab0 "$KIND" 1 1024 || return
  echo '10.9.0.1 server' >>/etc/hosts
  for name in a.iso b.iso; do head -c 3000001 /dev/urandom >"/run/page/$name" || return; done
}

# files_of_server    what it has, that the page's commands get
files_of_server() {
  ksmbd_start && head -c 1000 /dev/urandom >"$SHARE/f.bin" && head -c 20000000 /dev/urandom >"$SHARE/big.img" && rm -f /srv/big.img &&
    head -c 5000000 "$SHARE/big.img" >/srv/big.img
}

# part FROM TO PAGE    the lines of a page between these two, which begin with them
part() { awk -v from="$1" -v to="$2" 'index($0, to) == 1 { is_in = 0 } index($0, from) == 1 { is_in = 1 } is_in' "$root/$3"; }

scenario() {
  [ -x "${SMBD_LIVE%/*}/smbd-serve" ] && [ -x "${SMBD_LIVE%/*}/smbd-cp" ] ||
    { skip "the page" "smbd-serve or smbd-cp is not among the programs" && return; }
  ! has_samba || samba_programs || return
  prepare && files_of_server || return
  part '# smbd-client' '## The library' smbd-client/README.md >/run/first && page_plays </run/first || return
  check "what was got is what the server has" cmp "$SHARE/f.bin" /run/page/f.bin
  check "what was resumed is what the server has" cmp "$SHARE/big.img" /srv/big.img
  rm /srv/big.img && part '### Copy files' '### Test an' README.md >/run/front && page_plays </run/front || return
  check "so is what the first page gets" cmp "$SHARE/big.img" /srv/big.img
  check "what was removed is gone, and the other one is there" eval '[ ! -e "$SHARE/images/a.iso" ] && cmp /run/page/b.iso "$SHARE/images/b.iso"'
  ksmbd_stop
  part '# smbd-serve' '## The library' smbd-serve/README.md >/run/second && page_plays </run/second || return
  check "the page had commands" test "$page_blocks" -ge 9
}

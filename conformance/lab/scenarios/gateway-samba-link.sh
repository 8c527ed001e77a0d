# shellcheck shell=bash
# shellcheck source=ours-gateway.sh
. "$LAB/scenarios/ours-gateway.sh"
about="Samba behind smbd-gateway, in two guests: the link goes down under a client that writes; it goes without a word, and comes back"
guests=2
limit=1500
whole=yes
long=yes

# What the gateway documents: keepalive_s, 30 s for the answer, and some for a busy machine.
silence=$((120 + 30 + 20))
outage=10

# link_goes SIDE down|up    of one side, said on both. On siw its interface goes down. On rxe that would end the device with the
# connection (docs/linux-6.12.md): there the interfaces stay, and what is sent does not arrive, either way.
link_goes() {
  if [ "$KIND" = siw ]; then
    [ "$LAB_SIDE" != "$1" ] || ip link set "$NETDEV" "$2"
  elif [ "$2" = down ]; then
    tc qdisc add dev "$NETDEV" root netem loss 100%
  else
    tc qdisc del dev "$NETDEV" root
  fi
}

# clients WORD COUNT    whether so many have connected, or ended
clients() { [ "$(grep -ac "INFO client $1 " "$OUT/gateway.log")" -ge "$2" ]; }

# serves_nobody    whether the gateway has no memory registered. Something of the device is kept for the next client.
serves_nobody() { rdma_counts | grep -q ' mr=0'; }

no_server_connection() { [ -z "$(ss -Htn state established '( dport = :445 )')" ]; }

# all_there COUNT    whether so many files are behind the share as the client has written them
all_there() {
  local number
  for ((number = 0; number < $1; number++)); do
    cmp /out/b/file "$SHARE/file-$number" || return
  done
}

server_side() {
  local before since
  meet listening && meet gone && await "$patience" clients ended 1 && await "$patience" serves_nobody || return
  before=$(rdma_counts)
  meet known && meet written || return
  check "a client is connected" clients connected 2
  meet silent && link_goes b down && since=$SECONDS || return
  check "its silence ends the connection, within $silence s" await "$silence" clients ended 2
  echo "its end came $((SECONDS - since)) s later: $(grep -a 'INFO client ended ' "$OUT/gateway.log" | tail -n 1)"
  check "so has the server's" await "$patience" no_server_connection
  check "the device has what it had" await "$patience" rdma_is_at "$before"
  meet noticed && link_goes b up && meet back || return
  check "it has connected again" clients connected 3
  link_goes a down && meet cut && sleep "$outage" && link_goes a up || return
  meet outage && meet over || return
  check "what was acknowledged is there: $(cat /out/b/written) files" all_there "$(cat /out/b/written)"
}

# write_files FOLDER    one after the other, until it is enough, or another folder's turn. What failed is written again.
write_files() {
  local number
  number=$(cat "$OUT/written") && echo "$1" >/run/folder || return
  until [ -e /run/enough ] || [ "$(cat /run/folder)" != "$1" ]; do
    cp "$OUT/file" "$1/file-$number" 2>>"$OUT/failed" && number=$((number + 1)) &&
      [ "$(cat /run/folder)" = "$1" ] && echo "$number" >"$OUT/written"
  done
}

# goes_on    until five more files are acknowledged
goes_on() { await $((2 * patience)) has_written $(($(cat "$OUT/written") + 5)); }
has_written() { [ "$(cat "$OUT/written")" -ge "$1" ]; }

options=cache=none,vers=3.1.1,rsize=1044480,wsize=1044480

# comes_back NAME    the same. The kernel's client is known to hang now and then: then a new mount, with a connection of its own, goes on.
comes_back() {
  goes_on && check "$1" true && return
  if ! ps -eo stat=,comm= | grep -q '^D.*cifsd'; then
    check "$1" goes_on
    return
  fi
  skip "$1" "(cifsd hung when its connection ended, as it is known to)"
  echo w >/proc/sysrq-trigger
  hangs=$((hangs + 1))
  check "a new mount goes on" write_anew "/mnt/share-$hangs"
}
hangs=0
write_anew() {
  cifs_mount "$PEER" "$1" "$options,nosharesock" || return
  write_files "$1" &
  goes_on
}

client_side() {
  meet listening && cifs_mount "$PEER" /mnt/share "$options" && umount /mnt/share && meet gone && meet known || return
  check "cifs mounts" cifs_mount "$PEER" /mnt/share "$options" || return
  head -c 300000 /dev/urandom >"$OUT/file" && echo 0 >"$OUT/written" || return
  write_files /mnt/share &
  check "files are written" goes_on
  meet written || return
  link_goes b down && meet silent && meet noticed && link_goes b up && await_host "$PEER" || return
  comes_back "the mount comes back by itself"
  meet back && link_goes a down && meet cut && meet outage && link_goes a up && await_host "$PEER" || return
  comes_back "it goes on behind an outage of $outage s"
  touch /run/enough
  meet over
}

scenario() {
  with_samba || return 0
  if [ "$LAB_SIDE" = a ]; then
    ip link set lo up && samba_start && rdma_link "$KIND" 4096 && start_gateway && server_side
  else
    rdma_link "$KIND" 4096 && client_side
  fi
}

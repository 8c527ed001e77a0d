# shellcheck shell=bash
# What others make of the captures of a run. Runs on this machine.

# check_capture SMBD_SIM FILE    both decoders have to understand all of it, and it has to hold SMB Direct
check_capture() {
  local wireshark smbd_sim
  if wireshark=$(by_wireshark "$2") && smbd_sim=$(by_smbd_sim "$1" "$2"); then
    echo "test capture $(basename "$2") ... ok ($wireshark; $smbd_sim)"
  else
    echo "test capture $2 ... FAILED: ${smbd_sim:-$wireshark}"
    return 1
  fi
}

by_wireshark() {
  local fields malformed
  # Port 5445 is registered to something else: only the heuristic finds iWARP there. The heuristic of RPC over RDMA takes
  # the last packet of a long message for one of its own.
  fields=$(tshark -r "$1" -o tcp.try_heuristic_first:TRUE --disable-protocol rpcordma -Y 'smb_direct || _ws.malformed' \
    -T fields -e frame.number -e _ws.malformed -e _ws.expert.message 2>/dev/null) || { echo "tshark cannot read it" && return 1; }
  # The security blob in ksmbd's Negotiate Protocol Response is wrong in its BER; that is above SMB Direct.
  malformed=$(awk -F '\t' '$2 != "" && $3 !~ /BER Error/ { print $1 }' <<<"$fields" | head -n 5 | tr '\n' ' ')
  [ -z "$malformed" ] || { echo "tshark: malformed frames: $malformed" && return 1; }
  [ -n "$fields" ] || { echo "tshark finds no SMB Direct in it" && return 1; }
  echo "tshark: $(wc -l <<<"$fields") frames"
}

by_smbd_sim() {
  local summary count
  summary=$("$1" decode --json "$2" 2>&1 | tail -n 1)
  [[ $summary == *'"type":"summary"'* ]] || { echo "smbd-sim decode: $summary" && return 1; }
  for count in broken_frames cut_frames not_understood malformed bad_checksums receiver_not_ready; do
    if grep -qE "\"$count\":[1-9]" <<<"$summary"; then
      echo "smbd-sim decode: $(grep -oE "\"$count\":[0-9]+" <<<"$summary" | tr '\n' ' ')" && return 1
    fi
  done
  count=$(grep -oE '"messages":[0-9]+' <<<"$summary" | head -n 1)
  [ "$count" != '"messages":0' ] || { echo "smbd-sim decode finds no SMB Direct in it" && return 1; }
  echo "smbd-sim: ${count#*:} messages"
}

# shellcheck shell=bash
# shellcheck source=gateway-ways.sh
. "$LAB/scenarios/gateway-ways.sh"
about="smbd-cp to Samba through smbd-gateway on smbd-broker, in every dialect, with every signing algorithm and cipher: files of all sizes"
guests=1
limit=5400
whole=yes
long=yes
# shellcheck disable=SC2034
has_broker=true

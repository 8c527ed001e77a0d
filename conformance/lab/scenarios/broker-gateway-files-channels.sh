# shellcheck shell=bash
# shellcheck source=gateway-files-multichannel.sh
. "$LAB/scenarios/gateway-files-multichannel.sh"
about="smbd-cp copies over two connections of one session of Samba, TCP and SMB Direct through smbd-gateway on smbd-broker, which is lost amid a copy"
guests=1
limit=1800
whole=yes
long=yes
# shellcheck disable=SC2034
has_broker=true

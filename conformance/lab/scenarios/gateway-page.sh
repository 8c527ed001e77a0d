# shellcheck shell=bash
about="the page docs/gateway.md, word for word: from nothing to a share of Samba that is mounted by RDMA"
guests=1
limit=600
whole=yes
long=yes

# prepare    what packages and the page's first commands leave: programs, Samba's folders, something that starts services
prepare() {
  mkdir -p /etc/samba /var/lib/samba/private /var/cache/samba /var/log/samba /run/samba /run/page || return
  cp "${SMBD_LIVE%/*}/smbd-gateway" /run/page/ && ip link set lo up || return
  # A guest has no systemd. Like it, this comes back when the service is there.
  cat >/run/page/systemctl <<'TEXT'
#!/bin/sh
if [ "$*" = "restart smbd" ]; then
  smbd --daemon && until [ -n "$(ss -Hltn 'sport = :445')" ]; do sleep 0.1; done
  exit
fi
echo "no systemd here, and no stand-in for: systemctl $*" >&2
exit 1
TEXT
  chmod +x /run/page/systemctl
}

scenario() {
  [ "$KIND" = siw ] || { skip "the page" "it is about a device of siw" && return; }
  with_samba || return 0
  samba_programs && prepare && page_plays <"$LAB/../../docs/gateway.md" || return
  check "the page had commands" test "$page_blocks" -ge 10
}

# shellcheck shell=bash
about="the page docs/gateway.md, word for word: from nothing to a share of Samba that is mounted by RDMA"
guests=1
limit=600
whole=yes
long=yes

PAGE=$LAB/../../docs/gateway.md

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

# blocks    into `hows` and `blocks` the commands that the page says were tried, and how: once, or until they succeed
blocks() {
  local line how='' is_in=false
  hows=() blocks=()
  while IFS= read -r line; do
    case "$line" in
      '<!-- try'*) how=${line#<!-- } && how=${how% -->} ;;
      '```sh') [ -z "$how" ] || { is_in=true && hows+=("$how") && blocks+=('') && how=''; } ;;
      '```') is_in=false ;;
      *) ! $is_in || blocks[-1]+=$line$'\n' ;;
    esac
  done <"$PAGE"
}

# commands TEXT    a block as somebody types it; the first command that fails ends it
commands() { (cd /run/page && PATH=/run/page:$PATH bash -ec "$1"); }

scenario() {
  local at name
  [ "$KIND" = siw ] || { skip "the page" "it is about a device of siw" && return; }
  with_samba || return 0
  samba_programs && prepare && blocks || return
  for at in "${!blocks[@]}"; do
    name="${blocks[at]%%$'\n'*}"
    if [ "${hows[at]}" = try ]; then
      check "$name" commands "${blocks[at]}" || return
    else
      check "$name" await "$patience" commands "${blocks[at]}" || return
    fi
  done
  check "the page had commands" test "${#blocks[@]}" -ge 10
}

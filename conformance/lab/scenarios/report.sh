# shellcheck shell=bash
about="the report of a device that is sent (conformance/devices/report), and what it says of trouble"
guests=1
limit=5400
whole=yes
long=yes

# What must not be in a file: a host, its user.
host=secret-host user=secret-user

# report FILE OPTION ...    as a user with no more rights than any; what it says is in FILE.said
report() {
  local file=$1
  shift
  rm -f "$home/report.txt"
  # Reset: what runs in the background ignores SIGINT otherwise.
  (cd "$home" && exec env --default-signal=INT HOME="$home" USER=$user LOGNAME=$user TMPDIR="$home" PATH="$PATH" \
    setpriv --reuid 60002 --regid 60002 --clear-groups --inh-caps=-all --bounding-set=-all \
    bash "$LAB/../devices/report" --programs "$programs" --out "$home/report.txt" "$@") >"$OUT/$file.said" 2>&1
}

# reports STATUS FILE OPTION ...    it ends with this status, and the file is kept, if there is one
reports() {
  local wanted=$1 file=$2 status=0
  shift 2
  report "$file" "$@" || status=$?
  rm -f "$OUT/$file.txt"
  [ ! -e "$home/report.txt" ] || cp "$home/report.txt" "$OUT/$file.txt" || return
  [ "$status" = "$wanted" ] || complain "status $status and not $wanted: $(tail -n 3 "$OUT/$file.said")"
}

# refused FILE TEXT OPTION ...    it ends with 2, says this, and there is no file
refused() {
  local file=$1 text=$2
  shift 2
  reports 2 "$file" "$@" || return
  grep -q -- "$text" "$OUT/$file.said" || complain "it says: $(cat "$OUT/$file.said")" || return
  [ ! -e "$OUT/$file.txt" ]
}

# has FILE PYTHON    this holds for the head of a file, which has to be TOML: `r` is it, `part` has its parts by name
has() {
  python3 -c '
import sys, tomllib
head = open(sys.argv[1]).read().split("\n# ----------------------------------------", 1)[0]
r = tomllib.loads(head)
part = {one["name"]: one for one in r["part"]}
if not eval("(" + sys.argv[2] + ")"): sys.exit("%s does not hold for\n%s" % (sys.argv[2], head))
' "$OUT/$1.txt" "$2"
}

# anonymous FILE    nothing of this host is in it
anonymous() {
  local text file
  {
    printf '%s\n' "$host" "$user" "$home" "$ADDRESS" "${ADDRESS6:-$ADDRESS}" "$programs"
    cat /sys/class/net/*/address /sys/class/infiniband/*/node_guid /sys/class/infiniband/*/ports/1/gids/0
  } | sort -u | grep -vE '^[0:]*$' >/run/secrets
  tr -d : </run/secrets | grep -E '^[0-9a-f]{12,}$' >/run/secrets.plain
  cat /run/secrets.plain >>/run/secrets
  [ "$(wc -l </run/secrets)" -ge 8 ] || complain "only these are known: $(tr '\n' ' ' </run/secrets)" || return
  while read -r text; do
    ! grep -qiF -- "$text" "$OUT/$1.txt" || complain "$text is in it: $(grep -iF -- "$text" "$OUT/$1.txt" | head -n 3)" || return
  done </run/secrets
}

# only_sections    of what the fake program says, numbers of sections are left
only_sections() {
  ! grep -E '77$|77 |example' "$OUT/trouble.txt" && grep -q 'HOST of USER at ADDRESS is broken, 3.1.5.9' "$OUT/trouble.txt"
}

# other_programs    a folder with the programs, of which some can be others
other_programs() {
  rm -rf /run/others && mkdir /run/others && ln -s "${SMBD_LIVE%/*}"/smbd-* /run/others/ && programs=/run/others
}

# fake PROGRAM    the standard input is it, but for --help
fake() {
  rm "/run/others/$1" && { printf '#!/bin/bash\n[ "$1" != --help ] || exit 0\n' && cat; } >"/run/others/$1" && chmod 755 "/run/others/$1"
}

nothing_runs() { ! pgrep -u 60002 -l; }

# interrupted    Ctrl-C amid a part
interrupted() {
  local status=0 pid
  report interrupted --parts host,device,kit &
  pid=$!
  # Digests of programs with all that a debugger wants take their time.
  await 600 pgrep -u 60002 -f 'smbd-live run kit::' && pkill -INT -u 60002 -f devices/report || return
  wait "$pid" || status=$?
  [ "$status" = 130 ] && cp "$home/report.txt" "$OUT/interrupted.txt" && await 10 nothing_runs &&
    has interrupted 'r["state"] == "interrupted" and part["device"]["result"] == "passed"
      and part["kit"]["said"] == "interrupted"' || complain "status $status: $(cat "$OUT/interrupted.said")"
}

scenario() {
  programs=$(dirname "$SMBD_LIVE") home=/run/$user
  echo "$host" >/proc/sys/kernel/hostname
  echo "$user:x:60002:60002::$home:/bin/bash" >>/etc/passwd && mkdir "$home" && chown 60002:60002 "$home" && chmod 755 /run || return
  check "without any device it says so, and ends with 2" refused none 'this host has no RDMA device'
  rdma_loopback "$KIND" 4096 || return
  local before
  before=$(rdma_counts)
  check "of a device that is not there it says so, and which there is" refused other "no RDMA device mlx5_9; this host has $RDMA_DEVICE" --device mlx5_9
  check "wrong usage ends with 2" refused usage "there is no part 'kitt'" --parts device,kitt
  # All cases of the suite are those of the scenario `suite`.
  check "all parts pass, as a user without rights" reports 0 all --limit 900 --cases closing::
  check "the file has each part, as TOML" has all 'r["state"] == "complete" and
    [(p["name"], p["result"]) for p in r["part"]] == [(n, "passed") for n in ["host", "device", "kit", "ours", "suite", "perf"]]'
  check "it says what the device and the programs are" has all "r['device']['name'] == '$RDMA_DEVICE' and r['host']['as_root'] == 'no'
    and r['host']['ipc_lock'] == 'no' and part['device']['quirks'] == '$KIND' and len(r['programs']) == 5 and len(r['commit']) == 40"
  check "it has the ratios to perftest" has all 'len(part["perf"]["measured"]) == 7 and "ratio" in part["perf"]["measured"][0]'
  check "nothing that identifies the host is in it" anonymous all
  check "nothing is left on the device" await "$patience" rdma_is_at "$before"
  check "nothing is left running" await "$patience" nothing_runs

  other_programs || return
  fake smbd-live <<'TEXT'
echo "kit::every_line FAILED 1.0 s  $HOSTNAME.example.org of $USER at 10.9.0.9 is broken, 3.1.5.9"
echo "10.77.1.2 2001:db8::77 fe80::77 aa:bb:cc:dd:ee:77 aabb:ccdd:eeff:0077 9f1c2d3e-0000-4000-8000-000000000077"
echo "0 passed, 1 failed, 0 skipped"
exit 1
TEXT
  # It does not end when it is told to, nor does what it has started, in a group of its own.
  fake smbd-conformance <<<'trap "" TERM INT; set -m; sleep 4000 & sleep 4000; sleep 4000'
  check "parts that fail or hang are told, and end no other" reports 1 trouble --parts device,kit,suite,perf --limit 20
  check "the one that fails" has trouble 'part["kit"]["result"] == "failed" and part["kit"]["failed_tests"] == ["kit::every_line"]'
  check "the one that hangs" has trouble 'part["suite"]["result"] == "failed" and "did not end within 20 s" in part["suite"]["said"]'
  check "the others" has trouble 'part["device"]["result"] == "passed" and part["perf"]["result"] == "failed"'
  check "what they say identifies nobody either" anonymous trouble
  check "nor do addresses that no host here has; sections stay" only_sections
  programs=$(dirname "$SMBD_LIVE")
  check "Ctrl-C leaves a file of what was done" interrupted
  rm -f /usr/bin/ib_*
  check "without perftest there are no ratios, and it says why" reports 0 unrelated --parts device,perf --limit 200
  check "and the others are measured" has unrelated '"perftest is not installed" in part["perf"]["said"]'
  ip address flush dev "$NETDEV"
  check "a device without an address is a failure, and the rest is skipped" reports 1 addressless --parts host,device,kit,ours,suite,perf
  check "and says why" has addressless '"no address" in part["device"]["said"] and
    [part[n]["result"] for n in ["kit", "ours", "suite", "perf"]] == ["skipped"] * 4'
}

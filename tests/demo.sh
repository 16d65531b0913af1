#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# demo: the main job, end to end: two ordinary programs, their bytes in memory.
#
# usage: make demo            (builds first)
#        tests/demo.sh        (DEMO_MB=512 for a file of another size)
#
# Needs no root and no RDMA. It makes a device smc_r0 in a database and a run
# directory of its own, lets an unmodified web server send a file to an
# unmodified curl, first over TCP, then over SMC, then with SMC switched off at
# one end. It fails when the second transfer was not on SMC, when the third
# was, or when a byte is wrong.
set -u
cd "$(dirname "$0")/.." || exit 2

top=$PWD
PATH=$top/build/bin:$PATH
megabytes=${DEMO_MB:-512}
# Another demo may run. The names of sockets have 108 bytes; a deep checkout
# needs a shorter place.
work=$top/build/demo.$$
[ ${#work} -le 60 ] || work=/tmp/smc_r.demo.$$
export ODMDIR=$work/objrepos SMC_R_RUNDIR=$work/run
# The library is that of this build, also where the host has an engine in every
# program.
export SMC_R_LIBRARY=$top/build/lib/libsmc_r.so
unset SMC_R LD_PRELOAD http_proxy HTTP_PROXY all_proxy ALL_PROXY
servers=()
made=
time_tcp=() time_smc=()

say() { printf '\n%s\n' "$*"; }
show() { # a command as an operator types it, and what it says
	printf '# %s\n' "$*"
	"$@"
}
fail() {
	printf '\ndemo: FAILED: %s\n' "$*" >&2
	exit 1
}
cleanup() {
	local pid
	for pid in ${servers[@]+"${servers[@]}"}; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	# Takes the BPF programs out of the kernel, too.
	[ -z "$made" ] || rmdev -dl smc_r0 >/dev/null 2>&1
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

for program in python3 curl sha256sum; do
	command -v $program >/dev/null ||
		fail "$program is not installed: tests/install-deps.sh demo"
done
ip -brief address show dev lo 2>/dev/null | grep -q 127.0.0.1 ||
	! command -v ip >/dev/null ||
	fail "the loopback interface has no address: ip link set lo up"
mkdir -p "$ODMDIR" "$SMC_R_RUNDIR" "$work/www" ||
	fail "cannot write to $work"

# Two ports that nobody uses: for TCP, and for SMC.
read -r port_tcp port_smc < <(python3 - <<'PYTHON'
import socket
held = [socket.socket() for _ in range(2)]
for s in held:
    s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))
PYTHON
)
head -c "${megabytes}M" /dev/urandom >"$work/www/data"
sum=$(sha256sum <"$work/www/data")

# Starts a web server (the words before "python3" say how) and waits for it.
serve() { # port, words...
	local port=$1 i
	shift
	"$@" python3 -m http.server "$port" --bind 127.0.0.1 \
		--directory "$work/www" >"$work/server.$port.log" 2>&1 &
	servers+=($!)
	for i in $(seq 100); do
		# Seen from outside: a probe would be a connection to count.
		python3 - "$port" <<'PYTHON' && return
import sys
port = "0100007F:%04X" % int(sys.argv[1])
lines = [line.split() for line in open("/proc/net/tcp")]
sys.exit(not any(l[1] == port and l[3] == "0A" for l in lines))
PYTHON
		sleep 0.1
	done
	cat "$work/server.$port.log" >&2
	fail "the web server did not start on port $port (waited $i times)"
}

# Fetches the file and compares it with the one that was sent.
fetch() { # port, words before curl...
	local port=$1
	shift
	"$@" curl -sS --noproxy '*' -o "$work/got" \
		"http://127.0.0.1:$port/data" 2>&1 ||
		fail "curl could not fetch the file from port $port"
	[ "$(sha256sum <"$work/got")" = "$sum" ] ||
		fail "the file that came over port $port is not the one sent"
	rm -f "$work/got"
	echo "$megabytes MB, checksum right"
}

# Prints the time that curl takes for the file.
seconds() { # port, words before curl...
	local port=$1 said
	shift
	said=$("$@" curl -sS --noproxy '*' -o /dev/null \
		-w '%{size_download} %{time_total}' \
		"http://127.0.0.1:$port/data")
	[ "${said% *}" = $((megabytes << 20)) ] ||
		fail "curl could not fetch the whole file from port $port"
	echo "${said#* }"
}

counter() { # name
	entstat -d smc_r0 | sed -n "s/^$1: //p"
}

median() { # of three
	sort -n | sed -n 2p
}

say "1. An SMC-R device, as on AIX"
show mkdev -c tcpip -t smc_r || fail "mkdev"
made=1
show chdev -l smc_r0 -a enabled=1 -a ip_addr_list=127.0.0.1 \
	-a "port_range_list=$port_smc" || fail "chdev"
show lsattr -E -l smc_r0 || fail "lsattr"

say "2. $megabytes MB from python3's web server to curl, over TCP"
serve "$port_tcp"
fetch "$port_tcp"

say "3. The same two programs under smc_run, port $port_smc"
serve "$port_smc" smc_run
fetch "$port_smc" smc_run -v
show entstat smc_r0 || fail "entstat"
smc=$(counter 'SMC-R Connections')
tcp=$(counter 'TCP Connections')
if [ "${smc:-0}" -lt 1 ] || [ "$tcp" != 0 ]; then
	entstat -d smc_r0 | sed -n '/^Reasons for TCP:/,/^$/p'
	fail "the connection was not on SMC"
fi

say "4. The same with SMC off in curl: plain TCP, and the reason"
fetch "$port_smc" env SMC_R=0 smc_run -v
echo "# entstat -d smc_r0"
entstat -d smc_r0 | sed -n '/^Reasons for TCP:/,/^$/p'
[ "$(counter 'SMC-R Connections')" = "$smc" ] ||
	fail "a connection without SMC at one end was on SMC"
[ "$(counter 'PEER_NO_SMC (0x03010000)')" = 1 ] ||
	fail "a connection stayed on TCP, and not for the reason it should"

say "5. Three times each, in turn, to /dev/null"
for round in 1 2 3; do
	time_tcp[round]=$(seconds "$port_tcp") || exit 1
	time_smc[round]=$(seconds "$port_smc" smc_run) || exit 1
done
[ "$(counter 'SMC-R Connections')" -ge $((smc + 3)) ] ||
	fail "a timed connection was not on SMC"
awk -v tcp="$(printf '%s\n' "${time_tcp[@]}" | median)" \
	-v smc="$(printf '%s\n' "${time_smc[@]}" | median)" \
	-v mb="$megabytes" '
	BEGIN {
		printf "TCP  %6.3f s  %5.0f MB/s\n", tcp, mb / tcp
		printf "SMC  %6.3f s  %5.0f MB/s  %.1f times as fast\n",
			smc, mb / smc, tcp / smc
	}'
echo "OK: SMC carried the file; TCP took over where one end had no SMC"

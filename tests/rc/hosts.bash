# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
# hosts: two hosts for the suites of the link service: network namespaces that
# are joined by a veth pair, each with an RDMA core, a run directory, a device
# and a link service of its own. "a" is 10.83.0.1, "b" is 10.83.0.2.
#
# "on HOST COMMAND" runs something there, "smc_on HOST COMMAND" does so under
# smc_run; "begin_on" starts it in the background, and it is gone after the
# test. Where hosts cannot be made, tests are skipped, and WHY says why.

BIN=$(readlink -f "${SMC_R_BUILD:-$BATS_TEST_DIRNAME/../../build}/bin")
export PATH=$BIN:$PATH PYTHONDONTWRITEBYTECODE=1
SERVER=10.83.0.1 # of a
export SERVER

why_not() {
	if [ "$(id -u)" != 0 ]; then
		echo "network namespaces need root"
	elif ! ls /usr/lib/*/libibverbs/librxe-rdmav*.so >/dev/null 2>&1; then
		echo "the rxe provider of libibverbs is missing"
	elif [ ! -x /usr/bin/ibv_devinfo ]; then
		echo "ibv_devinfo is missing"
	elif ! grep -qs cgroup2 /proc/mounts; then
		echo "there is no cgroup2 for the TCP option"
	fi
}

need() { # program...
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null ||
			skip "$program is not installed"
	done
}

# nsenter is used, as "ip netns exec" has another /sys, without cgroups.
on() { # host, command...
	local host=$1
	shift
	nsenter --net="/run/netns/$HOSTS$host" env ODMDIR="$PLACE/$host/odm" \
		SMC_R_RUNDIR="$PLACE/$host/run" SMC_R_HANDSHAKE=4000 "$@"
}

smc_on() { # host, command...
	local host=$1
	shift
	on "$host" timeout 30 "$BIN/smc_run" "$@"
}

begin_on() { # host, name, command...
	local host=$1 name=$2
	shift 2
	setsid nsenter --net="/run/netns/$HOSTS$host" env \
		ODMDIR="$PLACE/$host/odm" SMC_R_RUNDIR="$PLACE/$host/run" \
		SMC_R_HANDSHAKE=4000 "$@" >"$PLACE/$name.log" 2>&1 </dev/null &
	last=$!
	started+=("$last")
}

wait_for() { # command...
	local i
	for ((i = 0; i < 400; i++)); do
		"$@" && return
		sleep 0.05
	done
	echo "never happened: $*" >&2
	return 1
}

listens() { # host, port
	[ -n "$(on "$1" ss -Hltn "sport = :$2")" ]
}

# The core has taken note of the address, and the port is active.
has_gid() { # host, address
	on "$1" "$BIN/ibv_devinfo" -e | grep -q "$2" &&
		on "$1" "$BIN/ofed_run" /usr/bin/ibv_devinfo 2>/dev/null |
		grep -q PORT_ACTIVE
}

make_hosts() {
	local host address=1
	export HOSTS=rc$$x$RANDOM PLACE
	PLACE=$(mktemp -d /tmp/smc_r.rc.XXXXXX)
	chmod 755 "$PLACE"
	: >"$PLACE/ofed.conf"
	export OFED_CORE_RUNDIR=$PLACE OFED_CONF=$PLACE/ofed.conf
	unset SMC_R LD_PRELOAD http_proxy https_proxy all_proxy
	ip netns add "${HOSTS}a"
	ip netns add "${HOSTS}b"
	ip link add ent0 netns "${HOSTS}a" type veth peer name ent0 \
		netns "${HOSTS}b"
	for host in a b; do
		ip -n "$HOSTS$host" addr add "10.83.0.$address/24" dev ent0
		ip -n "$HOSTS$host" link set lo up
		ip -n "$HOSTS$host" link set ent0 mtu 4200 up
		mkdir -p "$PLACE/$host/odm"
		address=$((address + 1))
	done
	for host in a b; do
		setsid nsenter --net="/run/netns/$HOSTS$host" \
			"$BIN/ofed_core" -f >"$PLACE/core_$host.log" 2>&1 &
		echo $! >>"$PLACE/pids"
	done
	address=1
	for host in a b; do
		wait_for has_gid "$host" "ffff:0a53:000$address"
		on "$host" mkdev -q -c tcpip -t smc_r -a enabled=1 \
			-a "ip_addr_list=10.83.0.$address" \
			-a port_range_list=1-65535 -a autosmc=no
		address=$((address + 1))
	done
}

drop_hosts() {
	local host pid
	for host in a b; do
		on "$host" rmdev -q -dl smc_r0 || true
	done
	while read -r pid; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done <"$PLACE/pids"
	sleep 0.3
	ip netns del "${HOSTS}a"
	ip netns del "${HOSTS}b"
	rm -rf "$PLACE"
}

setup_file() {
	WHY=$(why_not)
	export WHY
	[ -n "$WHY" ] || make_hosts
}

teardown_file() {
	[ -n "$WHY" ] || drop_hosts
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	started=()
	before_a=$(counted a smc) before_b=$(counted b smc)
	moved_before=$(($(counted a moved) + $(counted b moved)))
}

teardown() {
	local pid
	for pid in ${started[@]+"${started[@]}"}; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	for pid in ${started[@]+"${started[@]}"}; do
		wait "$pid" 2>/dev/null || true
	done
	[ -n "${BATS_TEST_COMPLETED-}" ] || [ -n "$WHY" ] || {
		tail -n 5 "$PLACE"/*.log
		on a entstat -d smc_r0 | grep -A12 "Reasons for TCP"
		on b entstat -d smc_r0 | grep -A12 "Reasons for TCP"
	}
}

counted() { # host, what
	local line
	case $2 in
	smc) line="SMC-R Connections:" ;;
	moved) line="Connections Moved Back to TCP:" ;;
	active) line="SMC-R Connections Active Now:" ;;
	esac
	on "$1" entstat -d smc_r0 | sed -n "s/^$line *//p"
}

# So many connections of this test, at least, are on SMC at both hosts, and no
# more than so many of them went elsewhere.
all_on_smc() { # how many, how many moved
	local a b moved
	a=$(($(counted a smc) - before_a))
	b=$(($(counted b smc) - before_b))
	moved=$(($(counted a moved) + $(counted b moved) - moved_before))
	echo "smc: $a at a, $b at b, of $1; moved $moved of ${2:-0}"
	[ "$a" -ge "$1" ] && [ "$b" -ge "$1" ] && [ "$moved" -le "${2:-0}" ]
}

# The process of the link service: its listener's credentials tell.
service_of() { # host
	on "$1" python3 -c '
import glob, os, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(glob.glob(os.environ["SMC_R_RUNDIR"] + "/rc.*")[0])
print(struct.unpack("iII", s.getsockopt(1, 17, 12))[0])'
}

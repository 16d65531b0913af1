#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# version1: SMC-R version 1 with a Linux kernel as the peer, both in a virtual
# machine, of which the kernel's side is a second host (neighbour.sh). smc.bats has
# what "make check" runs of it.
# long: 600

bats_require_minimum_version 1.5.0
OFED_A=${OFED_A:-smcv$$x$RANDOM}
load ../ofed/net
load vm
load neighbour

TOP=${SMC_R_BUILD:-$(cd "$BATS_TEST_DIRNAME/../../build" && pwd)}

setup_file() {
	WHY=$(why_not)
	[ -n "$WHY" ] || WHY=$(why_no_vm)
	[ -n "$WHY" ] || [ -n "${SMC_R_LONG-}" ] || WHY="in make check-kernel"
	[ -n "$WHY" ] || [ -e "$IMAGE/smc" ] ||
		WHY="the image has no module rxe_smc ($IMAGE/rxe_smc.log)"
	export WHY OFED_A
	[ -z "$WHY" ] || return 0
	tap_namespace && start_vm smc
	guest "$BATS_TEST_DIRNAME/smc.py pnet eth0 rxe0 &&
		$BATS_TEST_DIRNAME/neighbour.sh"
}

teardown_file() {
	[ -z "$WHY" ] || return 0
	stop_vm
	ip netns del "$A"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
}

# Both roles, over IPv4 and IPv6.
all_ways() { # options, our sum...
	local to

	for to in "$NEIGHBOUR" fd77::77; do
		pair client "$to" "-n 3 -o 3 $1" "-n 3 $1"
		pair_says 3 "${@:2}"
	done
	for to in "$GUEST" fd77::2; do
		pair server "$to" "-n 3 $1" "-n 3 -o 3 $1"
		pair_says 3 "${@:2}"
	done
	on_version1 6 6
}

@test "each way to close" {
	all_ways "" reset=0 bad=0
	all_ways "-x half" reset=0 bad=0
	all_ways "-x abort"
}

@test "rings of all sizes wrap" {
	local size

	for size in 16384 65536 1048576; do
		all_ways "-b 1500000 -s $size" reset=0 bad=0
	done
}

# With our library and link service.
in_machine() { # command
	guest "export PATH=$BIN:\$PATH ODMDIR=/run/p/odm \
		SMC_R_RUNDIR=/run/p/run SMC_R_HANDSHAKE=8000; $1"
}

serve_with() { # command before nginx, address, address
	in_machine "printf '%s\n' 'daemon off; worker_processes 1;' \
		'pid /run/nginx.pid; user root; error_log stderr; events {}' \
		'http { access_log off; server { root /run/p;' \
		'listen $2:8080; listen [$3]:8080; } }' >/run/nginx.conf
		rm -f /run/nginx.pid
		($1 nginx -c /run/nginx.conf >/run/nginx.log 2>&1 &) \
			>/dev/null 2>&1
		until [ -s /run/nginx.pid ]; do sleep 0.1; done"
}

get_with() { # command before curl, address, address
	in_machine "for a in $2 [$3]; do
			$1 timeout 30 curl -s -o /run/got http://\$a:8080/file &&
				cmp /run/got /run/p/file || exit
		done; kill \$(cat /run/nginx.pid)"
}

@test "programs: curl and nginx, either side the server" {
	local kernel="ip netns exec neighbour env \
		LD_PRELOAD=$TOP/obj/plain/tests/kernel/af_smc.so"

	in_machine "mkdir -p /run/p/odm
		head -c 300000 /dev/urandom >/run/p/file
		chmod 755 /run/p
		mkdev -q -c tcpip -t smc_r -a enabled=1 -a autosmc=no \
			-a ip_addr_list=$GUEST,fd77::2 \
			-a port_range_list=1000-65535"
	serve_with "$kernel" "$NEIGHBOUR" fd77::77
	get_with smc_run "$NEIGHBOUR" fd77::77
	serve_with smc_run "$GUEST" fd77::2
	get_with "$kernel" "$GUEST" fd77::2
	in_machine "entstat -d smc_r0" >"$BATS_TEST_TMPDIR/entstat"
	cat "$BATS_TEST_TMPDIR/entstat"
	grep -q "^SMC-R Connections: 4$" "$BATS_TEST_TMPDIR/entstat"
	# All addresses of a host have one group, in each role.
	[ "$(grep -Ec "^[0-9a-f]{16} .* v1 " \
		"$BATS_TEST_TMPDIR/entstat")" = 2 ]
	on_version1 2 2
	in_machine "rmdev -q -dl smc_r0"
}

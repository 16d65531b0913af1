#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# reach: the ways by which programs reach the devices of the core. Linking is in
# samples.bats.

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_core "$A"
}

plain() { # namespace, command...
	local n=$1

	shift
	timeout -k 5 30 ip netns exec "$n" "$@"
}

@test "smc_run shows the devices where a core is loaded" {
	run -0 plain "$A" smc_run ibv_devinfo
	[[ $output == *"hca_id:	ent0"* ]]
	plain "$A" smc_run rping -s -a "$SERVER" -C 10 -V 3>&- &
	wait_for listens "$A"
	plain "$A" smc_run rping -c -a "$SERVER" -C 10 -V
	wait $!
	[ "$(plain "$B" smc_run printenv LD_PRELOAD | grep -c ofed_core)" = 0 ]
}

@test "each library is loaded once, however programs are started" {
	local list

	list=$(plain "$A" smc_run ofed_run smc_run ofed_run printenv LD_PRELOAD)
	[ "$(tr ':' '\n' <<<"$list" | sort | uniq -c | awk '{ print $1 }' |
		xargs)" = "1 1" ]
}

@test "sockets are carried by SMC-R beside the devices" {
	mkdev -c tcpip -t smc_r
	chdev -l smc_r0 -a enabled=1 -a port_range_list=1-65535 \
		-a ip_addr_list=127.0.0.1
	run -0 plain "$A" smc_run -v /usr/bin/python3 -c '
import ctypes, socket
verbs = ctypes.CDLL("libibverbs.so.1")
count = ctypes.c_int()
assert verbs.ibv_get_device_list(ctypes.byref(count)) and count.value == 1
l = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(l.getsockname())
s, _ = l.accept()
c.sendall(b"x" * 100000)
n = 0
while n < 100000:
    n += len(s.recv(65536))
c.close()
assert s.recv(1) == b""'
	[[ $output == *"2 connections: 2 SMC"* ]]
}

@test "iproute2 sees the devices" {
	need rdma
	run -0 in_ns "$A" rdma dev
	[[ $output == *": ent0: node_type ca "* ]]
	run -0 in_ns "$A" rdma link
	[[ $output == *"ent0/1 state ACTIVE physical_state LINK_UP netdev ent0"* ]]
}

@test "ofed_run refuses options and says what it wants" {
	local words
	for words in --no-such-option -x --; do
		run -2 ofed_run $words
		[[ $output == ofed_run:* ]]
	done
	run -0 ofed_run -- echo "a b"
	[ "$output" = "a b" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# counters: what the link service counts, what entstat shows of it, and whom it
# tells what.
# lane: any

load hosts
# shellcheck disable=SC2154 # set by hosts.bash
: "${PLACE-}" "${before_a-}"

need_jq() {
	command -v jq >/dev/null || skip "jq is not installed"
}

of() { # host, words of jq
	on "$1" entstat -j smc_r0 | jq -r "$2"
}

port() { # host, counter
	of "$1" ".roce_interfaces | map(.counters.$2) | add"
}

# 1,000,000 bytes from b to a, and 300,000 back.
talk() { # port
	begin_on a server smc_run python3 -c '
import socket, sys
s = socket.create_server(("10.83.0.1", int(sys.argv[1])))
c, _ = s.accept()
got = 0
while got < 1000000: got += len(c.recv(65536))
c.sendall(b"y" * 300000)
c.recv(1)' "$1"
	wait_for listens a "$1"
	smc_on b python3 -c '
import socket, sys
s = socket.create_connection(("10.83.0.1", int(sys.argv[1])))
s.sendall(b"x" * 1000000)
got = 0
while got < 300000: got += len(s.recv(65536))' "$1"
}

agree() { # counter sent, counter received, ...
	while [ $# -gt 0 ]; do
		[ "$(port a "$1")" = "$(port b "$2")" ] || return
		[ "$(port b "$1")" = "$(port a "$2")" ] || return
		shift 2
	done
}

are_quiet() {
	[ "$(of a '.rdma_link_groups[0].rmbs')" = 0 ] &&
		[ "$(of b '.rdma_link_groups[0].rmbs')" = 0 ] &&
		agree cdc_sent cdc_received
}

@test "what one end has sent the other has received" {
	need_jq
	talk 5010
	[ "$(port b bytes_sent)" = 1000000 ]
	[ "$(port a bytes_received)" = 1000000 ]
	[ "$(port a bytes_sent)" = 300000 ]
	[ "$(port b bytes_received)" = 300000 ]
	wait_for are_quiet
	agree llc_sent.confirm_link llc_received.confirm_link \
		llc_sent.delete_rkey llc_received.delete_rkey \
		llc_sent.add_link llc_received.add_link
	local host
	for host in a b; do
		[ "$(port $host llc_sent.confirm_link)" = 1 ]
		[ "$(port $host llc_received.confirm_link)" = 1 ]
		[ "$(port $host connections)" = 1 ]
		[ "$(port $host registrations)" = 2 ]
		[ "$(port $host writes)" -ge 1 ]
		[ "$(port $host cdc_sent)" -ge "$(port $host writes)" ]
	done
}

@test "both ends have the same link group" {
	need_jq
	local group='.rdma_link_groups[0]'
	[ "$(of a '.rdma_link_groups | length')" = 1 ]
	[ "$(of a "$group.qp")" = "$(of b "$group.peer_qp")" ]
	[ "$(of b "$group.qp")" = "$(of a "$group.peer_qp")" ]
	[ "$(of a "$group.peer_gid")" = ::ffff:10.83.0.2 ]
	[ "$(of a "$group.gid")" = ::ffff:10.83.0.1 ]
	[ "$(of a "$group.role, $group.state" | xargs)" = "server ACTIVE" ]
	[ "$(of b "$group.role, $group.state" | xargs)" = "client ACTIVE" ]
	[ "$(of a "$group.counters.bytes_received")" = 1000000 ]
	[ "$(of a '.roce_interfaces[0].interface')" = ent0 ]
}

@test "entstat -d has one name, colon and number for each counter" {
	on b entstat -d smc_r0 >"$PLACE/out"
	grep -qx 'RoCE Interface ent0, v2:' "$PLACE/out"
	grep -qx 'RDMA Link Groups:' "$PLACE/out"
	grep -qxE 'RDMA Bytes Sent: 1000000 {20,}RDMA Bytes Received: 300000' \
		"$PLACE/out"
	grep -qxE 'LLC Confirm Link Sent: 1 +LLC Confirm Link Received: 1' \
		"$PLACE/out"
	grep -q '^ent0 .* v2  *10.83.0.2 .* ::ffff:10.83.0.2$' "$PLACE/out"
	grep '^[0-9a-f]\{16\} CLNT v2  ACTIVE  ent0 ' "$PLACE/out"
	on b entstat smc_r0 | ( ! grep RDMA )
}

@test "others than root and the owner see no link group, and reset nothing" {
	need_jq
	cat >"$PLACE/ask.py" <<-'END'
		import glob, os, socket, struct, sys
		kind = int(sys.argv[1])
		os.setgroups([])
		os.setuid(int(sys.argv[2]))
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.connect(glob.glob(os.environ["SMC_R_RUNDIR"] + "/rc.*")[0])
		s.settimeout(5)
		s.send(struct.pack("IIII32x", 0x46524353, 1, kind, 0))
		got = s.recv(100000)
		magic, version, *rest = struct.unpack("6I", got[:24])
		print(len(got), *rest, len(s.recv(100)))
	END
	# Bytes, whether it is refused, ports, groups, groups there are, the end.
	[ "$(on a python3 "$PLACE/ask.py" 3 12345)" = "3544 0 1 0 1 0" ]
	[ "$(on a python3 "$PLACE/ask.py" 4 12345)" = "3544 1 1 0 1 0" ]
	[ "$(port a bytes_sent)" = 300000 ]
	[ "$(on a python3 "$PLACE/ask.py" 3 0)" = "3952 0 1 1 1 0" ]
	cp "$BIN/entstat" "$PLACE"
	on a setpriv --reuid 12345 --regid 12345 --clear-groups \
		"$PLACE/entstat" -d smc_r0 >"$PLACE/out"
	grep -qx "RDMA Link Groups Not Shown: 1" "$PLACE/out"
	grep -q "^RDMA Bytes Sent: 300000 " "$PLACE/out"
}

@test "those who ask wrongly, or do not listen, stop nothing" {
	need_jq
	on a python3 -c '
import array, glob, os, socket, struct
name = glob.glob(os.environ["SMC_R_RUNDIR"] + "/rc.*")[0]
def hello(kind, magic=0x46524353):
	return struct.pack("IIII32x", magic, 1, kind, 0)
wrong = [b"", b"x", hello(3)[:-1], hello(3) + b"x", hello(0), hello(5),
	hello(3, 7), hello(1), hello(2)]
kept = []
def channel():
	s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	s.connect(name)
	s.settimeout(5)
	return s
for w in wrong:
	s = channel()
	s.send(w)
	if w: assert s.recv(9) == b"", w
s = channel()
fd = array.array("i", [0])
s.sendmsg([hello(3)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fd)])
assert s.recv(9) == b""
for i in range(300):
	s = channel()
	s.send(hello(3))
	kept.append(s)
'
	[ "$(port a bytes_sent)" = 300000 ]
	talk 5011
	[ "$(port a bytes_sent)" = 600000 ]
}

@test "entstat -r begins anew" {
	need_jq
	wait_for are_quiet
	on a entstat -r smc_r0 >/dev/null
	[ "$(port a bytes_sent)" = 0 ]
	[ "$(port a llc_sent.confirm_link)" = 0 ]
	[ "$(port b bytes_sent)" = 2000000 ]
	talk 5012
	[ "$(port a bytes_sent)" = 300000 ]
	[ "$(port a bytes_received)" = 1000000 ]
	[ "$(port a llc_sent.confirm_link)" = 0 ]
}

memory() { # host
	on "$1" entstat -d smc_r0 | sed -n 's/^RMB Memory in Use (bytes): *//p'
}

no_memory() {
	[ "$(memory a)" = 0 ] && [ "$(memory b)" = 0 ]
}

@test "max_memory counts the rings of services, until they go" {
	wait_for no_memory
	begin_on a server smc_run python3 -c '
import socket
s = socket.create_server(("10.83.0.1", 5011))
c, _ = s.accept()
c.sendall(c.recv(1))
c.recv(1)'
	wait_for listens a 5011
	[ "$(smc_on b python3 -c '
import os, socket, subprocess
s = socket.create_connection(("10.83.0.1", 5011))
s.sendall(b"x")
s.recv(1)
del os.environ["LD_PRELOAD"]
subprocess.run(["entstat", "-d", "smc_r0"])' |
		sed -n 's/^RMB Memory in Use (bytes): *//p')" -gt 32768 ]
	[ "$(counted a smc)" -gt "$before_a" ]
	wait_for no_memory
}

@test "without a link service there is no section for it" {
	need_jq
	on b rmdev -q -l smc_r0
	on b mkdev -q -l smc_r0
	[ "$(of b '.link_service, (.rdma_link_groups | length)' | xargs)" = \
		"true 0" ]
	[ "$(port b bytes_sent)" = 0 ]
	kill -TERM "$(service_of b)"
	wait_for has_no_service b
	on b entstat -d smc_r0 | ( ! grep -e RDMA -e RoCE )
	[ "$(of b '.roce_interfaces')" = "[]" ]
}

has_no_service() { # host
	[ "$(of "$1" .link_service)" = false ]
}

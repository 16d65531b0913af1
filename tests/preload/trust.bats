#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# trust: nothing that another user makes, or connects, counts for what a program
# meant.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}"

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs another user"
}

# The ring's bytes go to a successor without the engine over a relay.
relay() { # way, family
	run timeout 20 "$programs/preload/interloper" "$1" \
		smc_run "$programs/preload/interloper" heir "$2"
	echo "$output"
	[ "$status" = 0 ]
	[[ "$output" == *"interloper: "* ]]
	[[ "$output" == *"what was sent"* ]]
	[[ "$output" != *"what was not"* ]]
}

@test "a relay is not another user's who connects first" {
	need_root
	relay one 4
	relay one 6
}

@test "nor of one who fills its queue" {
	need_root
	relay many 4
	relay many 6
}

@test "nor of one who connects from the same port of another address" {
	need_root
	relay likeness 4
}

@test "connections that go into a sockmap are TCP's from there on" {
	local bytes
	for bytes in 4 8; do
		run "$programs/preload/sockmap" $bytes
		[ "$status" != 77 ] || skip "$output"
		[ "$output" = "one two " ]
		run smc_run "$programs/preload/sockmap" $bytes
		[ "$output" = "one two " ]
	done
	smc_count
	[ "$smc_new" = 8 ]
	[ "$(smc_reason DEMOTED_CALL)" = 4 ]
}

# It is no file of which the kernel can send.
@test "sendfile() of a process's memory gives what it gives on TCP" {
	need python3
	cat >"$place/memory.py" <<-'EOT'
		import ctypes, os, socket
		text = ctypes.create_string_buffer(b"some bytes")
		listener = socket.create_server(("127.0.0.1", 0))
		one = socket.create_connection(listener.getsockname())
		other = listener.accept()[0]
		one.sendall(b"x"), other.recv(1), other.sendall(b"y"), one.recv(1)
		with open("/proc/self/mem", "rb", buffering=0) as memory:
		    for offset in 0, ctypes.addressof(text), None:
		        memory.seek(ctypes.addressof(text))
		        try:
		            n = os.sendfile(one.fileno(), memory.fileno(), offset, 10)
		            print(n, other.recv(n))
		        except OSError as error:
		            print(error)
	EOT
	run smc_run python3 "$place/memory.py"
	[ "$status" = 0 ]
	[ "$output" = "$(python3 "$place/memory.py")" ]
	smc_count
	[ "$smc_new" = 2 ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# promises: a client that was offered SMC sends messages, and whatever the other
# end lacks by then, no program reads one.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${port-}" "${own-}" "${user-}" "${smc_new-}"

setup() {
	smc_begin
	failing=$programs/preload/failing
	failing_library=${SMC_R_BUILD:-build}/inject/lib/libsmc_r.so
}

# Address space for some connections, and not for all of the others.
@test "a server that runs out of address space reads its clients' bytes" {
	need python3
	free_port
	start server smc_run python3 -c '
import resource, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
kept = [listener.accept()[0]]
assert kept[0].recv(32) == b"hello 0"
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, ((pages + 24) * 4096,) * 2)
for i in range(1, 301):
    kept.append(listener.accept()[0])
    assert kept[i].recv(200) == b"hello %d" % i
    kept[i].send(b"ok")
print("all read")
' "$port"
	await_port "$port"
	smc_run python3 -c '
import socket, sys
kept = []
for i in range(301):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    kept.append(s)
    s.sendall(b"hello %d" % i)
    assert i == 0 or s.recv(10) == b"ok"
' "$port"
	await_true grep -q "all read" "$place/server.log"
	[ "$(smc_reason MEMORY)" -ge 2 ]
}

# Each call of the engine that needs memory or a descriptor fails once; where
# there are many, one in two of them unless SMC_R_LONG is set.
fail_each() { # game, the first, one in so many, command that runs it...
	local end
	[ -z "${SMC_R_LONG-}" ] || set -- "$1" 1 1 "${@:4}"
	[ -e "$failing_library" ] || skip "make FLAVOUR=inject library"
	for end in server client; do
		"${@:4}" env LD_PRELOAD="$failing_library" \
			"$failing" $end "$1" "$2" "$3"
	done
}

@test "calls fail where two processes meet" {
	fail_each 0 1 2
	smc_count
	[ "$smc_new" -gt 100 ]
}

@test "calls fail where they share memory already" {
	fail_each 1 1 1
}

@test "calls fail where there is no BPF" {
	own_device
	fail_each 0 2 2 "${user[@]}"
}

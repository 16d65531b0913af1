#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# trust: nothing that another user makes, or connects, counts for what a program
# meant.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${smc_new-}" "${user-}"

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

# ---- channels that somebody else made ----

@test "a client takes no memory and few descriptors of servers that no Accept named" {
	need python3
	local channels spare mapped
	run smc_run python3 "$BATS_TEST_DIRNAME/strangers.py" 300
	echo "$output"
	[ "$status" = 0 ]
	read -r channels _ _ spare _ mapped <<<"$output"
	[ "$channels" -ge 200 ]
	[ "$spare" -le 64 ]
	[ "$mapped" = False ]
	smc_count
	[ "$smc_new" = 6 ]
}

# A stranger fills the queue of its channels; one connection may stay on TCP.
@test "a client whose queue strangers filled goes on with its next servers" {
	need python3
	smc_run python3 "$BATS_TEST_DIRNAME/flooded.py"
	smc_count
	[ "$smc_new" -ge 8 ]
}

# ---- files that somebody else made ----

# What may lie under a name, made by nobody, or by root for nobody.
plant() { # kind, name...
	local kind=$1 name
	shift
	for name in "$@"; do
		rm -rf "$name"
		case $kind in
		fifo) mkfifo "$name" ;;
		link) ln -s /dev/full "$name" ;;
		dangling) ln -s "$place/missing" "$name" ;;
		directory) mkdir "$name" ;;
		device) mknod "$name" c 1 7 ;;
		other | lease) head -c 100000 /dev/zero >"$name" ;;
		esac
		chmod -f 666 "$name" || true
		chown -h 65533 "$name"
	done
	[ "$kind" != lease ] || hold_leases "$@"
}

# The kernel makes a process that opens such a file wait, for lease-break-time.
hold_leases() { # name...
	cat >"$place/leases.py" <<-'EOT'
		import fcntl, os, signal, sys
		signal.signal(signal.SIGIO, signal.SIG_IGN)
		for name in sys.argv[1:]:
		    lease = os.open(name, os.O_RDWR)
		    fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
		print("held", flush=True)
		signal.pause()
	EOT
	: >"$place/leases.log"
	start leases python3 "$place/leases.py" "$@"
	await_true grep -q held "$place/leases.log"
}

# A program with both ends of a connection, and commands.
pair() { # [command that comes before]
	[ "$(timeout -s KILL 5 "$@" smc_run "$programs/preload/interloper" heir 4)" = \
		"what was sent" ]
}

goes_on() { # [command that comes before]
	pair "$@"
	timeout -s KILL 3 "$@" entstat -d smc_r0 >/dev/null
	timeout -s KILL 3 "$@" smc_run -v true 2>/dev/null
	timeout -s KILL 3 "$@" chdev -q -l smc_r0 -a enabled=1
}

@test "what strangers put beside the directories of users holds up nobody" {
	need_root
	need python3
	local kind
	for kind in fifo link dangling directory device other lease; do
		echo "$kind"
		plant "$kind" "$SMC_R_RUNDIR"/users/{x,000000x,0000ff,12345}
		goes_on
	done
	smc_count
	[ "$smc_new" = 14 ]
	[ ! -e "$place/missing" ]
	stop "$last"
	rm -rf "$SMC_R_RUNDIR"/users/{x,000000x,0000ff,12345}
}

@test "nor does what is in the place of a file: the program has TCP" {
	need python3
	own_device
	local kind name
	for name in registry totals; do
		name=users/000000/status/$name
		for kind in fifo link dangling directory device lease; do
			echo "$name $kind"
			plant "$kind" "$SMC_R_RUNDIR/$name"
			goes_on "${user[@]}"
		done
		stop "$last"
		rm -rf "${SMC_R_RUNDIR:?}/$name"
	done
	[ ! -e "$place/missing" ]
	goes_on "${user[@]}"
	[ "$(entstat -j smc_r0 | jq .absolute.smc_connections)" = 2 ]
}

@test "directories that strangers made in the run directory are not used" {
	own_device
	local part
	for part in users users/000000/status; do
		mv "$SMC_R_RUNDIR/$part" "$place/part"
		mkdir "$SMC_R_RUNDIR/$part"
		chmod 1777 "$SMC_R_RUNDIR/$part"
		chown 65533 "$SMC_R_RUNDIR/$part"
		pair "${user[@]}"
		[ -z "$(ls "$SMC_R_RUNDIR/$part")" ]
		rmdir "$SMC_R_RUNDIR/$part"
		mv "$place/part" "$SMC_R_RUNDIR/$part"
	done
}

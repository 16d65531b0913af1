#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# edges: programs that use up what there is, or may use little of it.
# limit: 400

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${own-}" "${user-}" "${place-}" "${port-}" "${last-}" "${smc_new-}" "${tcp_new-}"
: "${smc_before-}"

setup() {
	smc_begin
	free_port
	edges=$programs/preload/edges
	confined=$programs/preload/confined
	victim=$programs/preload/victim
	library=$(readlink -f "${SMC_R_BUILD:-build}/lib/libsmc_r.so")
}

# Plain TCP shows that the program itself is right.
both() { # least number of ends on SMC, argument of edges...
	local least=$1
	shift
	"$edges" "$@"
	smc_run "$edges" "$@"
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ "$smc_new" -ge "$least" ]
}

@test "few descriptors: fewer connections, none of them broken" {
	"$edges" descriptors 40 3
	smc_run "$edges" descriptors 40 100
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ "$smc_new" -ge 100 ]
	smc_before=$(smc_counters)
	both 80 descriptors 200 3
}

@test "a program that uses nearly all that its soft limit allows" {
	both 300 tight 150
}

# Were the bells of each end four descriptors, 100 would be the most.
@test "many connections of few descriptors have one bell for both" {
	both 240 tight 150 1000
}

# A client and its server use up all their numbers, or open files up to the
# limit: within two of what they have without the library, or five while some
# have not ended their handshakes.
@test "the program gets the last descriptors" {
	local what limit less plain ours
	while read -r what limit less; do
		plain=$("$programs/preload/numbers" "$what" "$limit")
		ours=$(smc_run "$programs/preload/numbers" "$what" "$limit")
		echo "$what of $limit: $plain, with the library $ours"
		[ "${ours% *}" -ge $((${plain% *} - less)) ]
		[ "${ours#* }" -ge $((${plain#* } - 2)) ]
	done <<-end
		sockets 64 2
		unread 64 5
		files 64 2
		creat 64 2
		timerfd_create 64 2
		signalfd 64 2
		memfd_create 64 2
		inotify_init1 64 2
		inotify_init 64 2
		sockets 1024 2
		files 1024 2
	end
	smc_count
	[ "$smc_new" -ge 100 ]
	smc_reasons | grep "^DESCRIPTORS "
}

# What a client cannot take for want of descriptors is lost to that link group,
# and to no other. Those before that have to give theirs back.
@test "few descriptors for a while: the connections after that are on SMC" {
	both 40 relief 30
	[ "$tcp_new" -le 20 ]
	smc_reasons | grep "^DESCRIPTORS "
}

# The kernel must let sockets be destroyed: CONFIG_INET_DIAG_DESTROY.
cut() { # log, command...
	local log=$1 number
	shift
	start "$log" "$@"
	await_true grep -q ^port "$place/$log.log"
	number=$(sed -n 's/^port //p' "$place/$log.log")
	await_true asleep "$last"
	ss -K "sport = :$number" >/dev/null 2>&1 || true
	wait "$last"
	sed 1d "$place/$log.log"
}

# All of a process group sleeps.
asleep() { # its leader
	! pgrep -g "$1" -r R,D >/dev/null
}

@test "a connection that is ended from outside, while a call waits with a time-out" {
	[ "$(id -u)" = 0 ] || skip "only root destroys sockets"
	local plain
	plain=$(cut plain "$edges" cut)
	echo "$plain"
	[ "$plain" != "Resource temporarily unavailable" ] ||
		skip "this kernel destroys no sockets"
	[ "$(cut smc smc_run "$edges" cut)" = "$plain" ]
	all_on_smc 1
}

@test "time-outs that no clock reaches" {
	both 2 far
}

@test "sets that do not reach as far as select is told" {
	"$programs/preload/wide"
	smc_run "$programs/preload/wide"
	all_on_smc 1
}

@test "a program that is stopped until the time-out of its poll is over" {
	"$programs/preload/stopped"
	smc_run "$programs/preload/stopped"
	all_on_smc 1
}

@test "a call that is refused changes nothing" {
	both 2 refused
}

@test "two processes that hold a connection and leave at the same moment" {
	both 600 together 1000
}

# Its handshake may be cut off anywhere.
@test "a server that closes what it accepts" {
	both 0 hasty 30
}

# Each of them would wait 0.2 seconds for an acceptor.
@test "a program of one thread that accepts from itself last" {
	both 0 alone 400
}

@test "a program that accepts from itself when it is connected" {
	both 300 beside 150
}

# Programs live off it that the first to write is served first.
@test "several connections of a server have their turns in order" {
	"$programs/preload/turns" 300
	smc_run "$programs/preload/turns" 300
	all_on_smc 306
}

# A script that talks to a busy server by two connections, one of them on TCP,
# relies on it (redis' own test of a script while it loads).
@test "a server that was away is told of a pipe and a connection in order" {
	local away=$BATS_TEST_DIRNAME/away.py timeout wrong
	for timeout in 0 -1; do
		for wrong in "$(python3 "$away" $timeout)" \
			"$(smc_run python3 "$away" $timeout)"; do
			echo "time-out $timeout: $wrong of 20 in the other order"
			[ "$wrong" -le 5 ]
		done
	done
	all_on_smc 4
}

# They hide until somebody accepts them, but not beyond what the program waits.
@test "connections that nobody accepts are told of before a wait is over" {
	local checks=$BATS_TEST_DIRNAME/checks.py
	[ "$(python3 "$checks")" -eq 0 ]
	[ "$(smc_run python3 "$checks")" -eq 0 ]
}

# A server that is told to end would close a connection that has a request.
@test "a pipe and a connection that become ready together are told of together" {
	local way alone
	for way in epoll poll select; do
		for alone in "$(python3 "$BATS_TEST_DIRNAME/together.py" $way)" \
			"$(smc_run python3 "$BATS_TEST_DIRNAME/together.py" $way)"; do
			echo "$way: alone $alone of 200"
			[ "$alone" -le 10 ]
		done
	done
	all_on_smc 3
}

@test "connections that come and go leave nothing behind" {
	both 400 leak 400
}

@test "more children than can be counted, each with a connection" {
	both 60 crowd 90
}

@test "a program that closes all but its connection" {
	both 4 range
}

@test "little address space" {
	local kilobytes
	for kilobytes in 20000 40000 80000 200000; do
		(
			ulimit -v $kilobytes
			LD_PRELOAD=$library "$edges" crowd 20
		)
	done
	smc_count
	[ "$smc_new" -ge 20 ]
}

# A group of this test's, of either version; in $group. Not below our own, which
# may be somebody's to count.
memory_group() { # bytes
	local root
	[ "$(id -u)" = 0 ] || return 1
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		group=$root/smc_r.test.$$
		mkdir "$group" 2>/dev/null || continue
		if echo "$1" >"$group/memory.limit_in_bytes" ||
			echo "$1" >"$group/memory.max"; then
			return 0
		fi 2>/dev/null
		rmdir "$group"
	done
	return 1
}

@test "a control group with little memory: no process is killed" {
	local group failed=0 bytes=5242880
	memory_group $bytes || skip "no memory control group can be made here"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
		smc_run "$edges" relief 60 || failed=1
	grep -h . "$group"/memory.oom_control "$group"/memory.events \
		2>/dev/null || true
	# What has ended may not have left yet.
	await_true rmdir "$group" 2>/dev/null
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ $failed = 0 ]
	[ "$smc_new" -ge 4 ]
	smc_reasons | grep "^MEMORY "
}

# A group that is full does not fail: each page that anybody needs takes one of
# those on disk, which comes back. So its limit is never met.
@test "many connections in such a group never fill it" {
	local group failed=0
	memory_group 25165824 || skip "no memory control group can be made here"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
		smc_run "$programs/preload/numbers" sockets 400 || failed=1
	cat "$group/memory.failcnt" 2>/dev/null >"$place/met" ||
		sed -n 's/^max //p' "$group/memory.events" >"$place/met"
	await_true rmdir "$group" 2>/dev/null
	smc_count
	echo "smc $smc_new tcp $tcp_new, limit met $(cat "$place/met") times"
	[ $failed = 0 ]
	[ "$smc_new" -ge 20 ]
	[ "$(cat "$place/met")" -le 100 ]
	smc_reasons | grep "^MEMORY "
}

@test "a sandbox with no more calls than sshd's" {
	local before
	"$confined" sandbox
	before=$(smc_reason DEMOTED_SANDBOX)
	smc_run "$confined" sandbox
	smc_count
	[ "$smc_new" = 2 ]
	[ "$(smc_reason DEMOTED_SANDBOX)" -gt "$before" ]
}

@test "a server that forks in a directory without /proc" {
	[ "$(id -u)" = 0 ] || skip "only root may change its root"
	mkdir "$place/empty"
	"$confined" chroot "$place/empty"
	smc_run "$confined" chroot "$place/empty"
	all_on_smc 1
}

# Each in its way, and what the client writes first goes.
@test "a server killed between the kernel's accept and its question" {
	local scene
	for scene in waits polls; do
		[ "$("$programs/preload/unasked" $scene)" = alone ]
		[ "$(smc_run "$programs/preload/unasked" $scene)" = asked ]
	done
}

# Each way in which a server may sleep, and a client: two lines say what was left
# of the dead, one that nothing woke it.
@test "what the dead held is given back while the survivor sleeps" {
	need python3
	run smc_run python3 "$BATS_TEST_DIRNAME/bereaved.py"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c "descriptors -*[0-9]* RMBs 0$" <<<"$output")" = 20 ]
	[ "$(grep -c "descriptors [1-9]" <<<"$output")" = 0 ]
	[ "$(grep -c "wakes 0$" <<<"$output")" = 10 ]
}

@test "accept() on what does not listen fails, also beside what is kept for the dead" {
	need python3
	smc_run timeout 10 python3 -c '
import ctypes, errno, os, socket
listener = socket.create_server(("127.0.0.1", 0))
server = os.fork()
if server == 0:
    s = listener.accept()[0]
    s.send(s.recv(1))
    s.recv(1)
    listener.accept()
s = socket.create_connection(listener.getsockname())
s.send(b"x")
assert s.recv(1) == b"x"
s.close()
libc = ctypes.CDLL(None, use_errno=True)
def error(fd):
    assert libc.accept(fd, None, None) == -1
    return errno.errorcode[ctypes.get_errno()]
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
pair = socket.socketpair()
print(error(os.pipe()[0]), error(udp.fileno()), error(pair[0].fileno()))
os.kill(server, 9)
' >"$place/errors"
	[ "$(cat "$place/errors")" = "ENOTSOCK ENOTSUP EINVAL" ]
}

@test "a server that is killed between two requests leaves the end of file" {
	need python3
	local killed=$BATS_TEST_DIRNAME/killed_idle.py
	python3 "$killed" "$port" >"$place/plain"
	smc_run python3 "$killed" "$port" >"$place/smc"
	diff "$place/plain" "$place/smc"
	smc_count
	[ "$smc_new" = 60 ]
}

@test "TCP_ZEROCOPY_RECEIVE copies the program's bytes, and no message of ours" {
	need python3
	local copied=$BATS_TEST_DIRNAME/copied_out.py
	python3 "$copied" "$port" >"$place/plain"
	smc_run python3 "$copied" "$port" >"$place/smc"
	diff "$place/plain" "$place/smc"
	smc_count
	[ "$smc_new" -ge 2 ]
}

@test "a client of a server without the engine asks the kernel now and then" {
	[ "$(id -u)" = 0 ] || skip "without BPF each asks"
	need strace
	need python3
	start server python3 -c '
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listener.accept()[0].close()
' "$port"
	await_port "$port"
	smc_run strace -o "$place/calls" -e trace=connect,setsockopt python3 -c '
import socket, sys
for i in range(1000):
    socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
' "$port"
	[ "$(grep -c '^connect(.*htons('"$port"')' "$place/calls")" -ge 1000 ]
	[ "$(grep -c '^setsockopt(.*0x534d4358' "$place/calls")" -ge 1 ]
	[ "$(grep -c '^setsockopt(.*0x534d4358' "$place/calls")" -lt 1000 ]
}

# In the list, with this port at the other end.
listed() { # port
	entstat -j smc_r0 | jq --argjson port "$1" \
		'[.connections[] | select(.peer.port == $port)] | length'
}

# A child of vfork() has the library's tables, not a copy of them.
@test "children that share their parent's memory close what they inherited" {
	local way said pid
	need python3
	start server python3 -c '
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    end = listener.accept()[0]
    end.sendall(end.recv(1))
    end.recv(1)
    end.close()
' "$port"
	await_port "$port"
	for way in vfork clone; do
		coproc smc_run "$programs/preload/vforked" "$port" "$way"
		pid=$COPROC_PID # which bash forgets with the process
		read -r -t 60 said <&"${COPROC[0]}"
		[ "$said" = open ]
		[ "$(listed "$port")" = 1 ]
		echo >&"${COPROC[1]}"
		read -r -t 60 said <&"${COPROC[0]}"
		[ "$said" = closed ]
		[ "$(listed "$port")" = 0 ]
		echo >&"${COPROC[1]}"
		wait "$pid"
	done
	smc_count
	[ "$tcp_new" = 2 ]
}

@test "threads with the least stack there is" {
	"$confined" stacks
	smc_run "$confined" stacks
	smc_count
	[ "$smc_new" = 8 ]
}

# The kernel makes it larger at once for one thread, and waits for all processors
# where there are more: as long as haproxy's checks of 20 ms last.
@test "the first connection of a program with threads waits for no larger table" {
	"$confined" table
	smc_run "$confined" table
	smc_count
	[ "$smc_new" = 16 ]
}

# Ours is the last constructor, but for the program's own.
@test "a library that does much in its constructor" {
	need cc
	cc -D_GNU_SOURCE -fPIC -shared -o "$place/libbefore.so" \
		"$BATS_TEST_DIRNAME/before.c"
	echo 'int main(void) { return 0; }' >"$place/main.c"
	cc -o "$place/main" "$place/main.c" -L"$place" -Wl,--no-as-needed \
		-lbefore -Wl,-rpath,"$place"
	timeout 20 "$place/main" >"$place/plain"
	[ "$(wc -l <"$place/plain")" -gt 20 ]
	SMC_R=0 timeout 20 "$place/main" >"$place/off"
	diff "$place/plain" "$place/off"
	timeout 20 smc_run "$place/main" >"$place/smc"
	diff "$place/plain" "$place/smc"
}

# Their run-time libraries want to be the first of all.
@test "programs that are built with sanitizers" {
	local kind
	need cc
	cat >"$place/sane.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
			volatile int *p = malloc(4 * sizeof(int));
			p[3] = argc;
			if (argc > 1)
				printf("%d\n", p[atoi(argv[1])]);
			free((void *)p);
			return p == NULL;
		}
	END
	for kind in address thread undefined leak; do
		cc -g -fsanitize=$kind -o "$place/$kind" "$place/sane.c" \
			2>"$place/missing" || continue
		"$place/$kind" >"$place/plain" 2>&1
		smc_run "$place/$kind" >"$place/smc" 2>&1
		diff "$place/plain" "$place/smc"
		[ ! -s "$place/smc" ]
	done
	[ -x "$place/address" ] || skip "there is no libasan"
	run smc_run "$place/address" 4
	[ "$status" -ne 0 ]
	[[ $output == *heap-buffer-overflow* ]]
}

# Other libraries that define malloc, or calls that we define, too.
@test "jemalloc, tcmalloc and ASan, loaded before and after us" {
	local other order tried=0
	export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
	for other in libjemalloc.so.2 libtcmalloc_minimal.so.4 libasan.so.8; do
		LD_PRELOAD=$other true 2>"$place/missing"
		if [ -s "$place/missing" ]; then
			echo "# $other is not installed" >&3
			continue
		fi
		for order in "$library $other" "$other $library"; do
			LD_PRELOAD=$order "$edges" crowd 10
			LD_PRELOAD=$order "$programs/preload/demote" 3
			tried=$((tried + 1))
		done
	done
	[ $tried -gt 0 ] || skip "none of them is installed"
	smc_count
	[ "$smc_new" -ge $((22 * tried)) ]
}

@test "a set-user-id program as the client of one on SMC" {
	local before
	[ "$(id -u)" = 0 ] || skip "only root makes one"
	cp "$victim" "$place/secure"
	chmod 4755 "$place/secure"
	before=$(smc_reason PEER_NO_SMC)
	start server smc_run "$victim" server poll "$port"
	await_port "$port"
	smc_run "$victim" client block "$port" | grep "there and back"
	# The loader takes nothing from the environment there.
	LD_PRELOAD=$library setpriv --reuid 65534 --clear-groups \
		"$place/secure" client block "$port" 2>&1 |
		grep "there and back"
	stop "$last"
	smc_count
	[ "$smc_new" = 2 ]
	[ "$tcp_new" = 1 ]
	[ "$(smc_reason PEER_NO_SMC)" = $((before + 1)) ]
}

# Loaded by /etc/ld.so.preload the library is in set-user-id programs, too.
# What their caller has in the environment must not tell it where to write.
@test "a set-user-id program with the library" {
	local trap=$place/trap
	[ "$(id -u)" = 0 ] || skip "only root makes one"
	cp "$victim" "$place/secure"
	chmod 4755 "$place/secure"
	mkdir -p "$trap"
	cp -r "$SMC_R_RUNDIR/." "$trap"
	chmod -R a+rwX "$trap"
	rm -f "$trap"/users/*/*/*
	cp -a /etc "$place/etc"
	echo "$library" >"$place/etc/ld.so.preload"
	start server smc_run "$victim" server poll "$port"
	await_port "$port"
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m --propagation private sh -c '
		mount --bind "$1" /etc &&
		SMC_R_RUNDIR=$2 exec setpriv --reuid 65534 --clear-groups \
			"$3" client block "$4"' sh \
		"$place/etc" "$trap" "$place/secure" "$port" 2>&1 |
		grep "there and back"
	find "$trap/users" -type f -o -type s | tee "$place/caught"
	[ ! -s "$place/caught" ]
}

# Ends on SMC of the device of the environment.
on_smc() {
	entstat -j smc_r0 | jq .absolute.smc_connections
}

@test "an ordinary user, without BPF" {
	local before
	own_device
	"${user[@]}" smc_run "$edges" leak 1000
	"${user[@]}" smc_run "$edges" crowd 90
	"${user[@]}" smc_run "$programs/preload/demote" 5
	[ "$(on_smc)" -ge 100 ]
	# Descriptors on their way count, for a user without rights.
	before=$(on_smc)
	"${user[@]}" smc_run "$edges" tight 150
	[ $(($(on_smc) - before)) = 300 ]
	# A child accepts; its parent has closed the listener.
	before=$(on_smc)
	"${user[@]}" smc_run "$programs/preload/astray" jump
	[ $(($(on_smc) - before)) = 2 ]
	# What was offered and is not meant is taken back in silence.
	before=$(on_smc)
	"${user[@]}" chdev -q -l smc_r0 -a ip_addr_list=::1
	"${user[@]}" smc_run "$edges" crowd 5
	[ "$(on_smc)" = "$before" ]
	"${user[@]}" rmdev -q -dl smc_r0
}

# Two descriptors, two processes, or none: as many as there are.
@test "a connection on TCP is listed until its last descriptor is closed" {
	need python3
	start server smc_run python3 "$BATS_TEST_DIRNAME/plain.py" "$port"
	await_port "$port"
	python3 - "$port" <<-'EOT'
		import socket, sys
		for i in range(6):
		    peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    while peer.recv(1):
		        pass
	EOT
	gone "$last"
	diff - "$place/server.log" <<-'EOT'
		none 0
		accepted 1
		duplicate 1
		replaced 0
		in the child 1
		child gone 0
		range closed 0
		closed by number 0
		stream closed 0
		the last one 1
	EOT
	smc_count
	[ "$tcp_new" = 6 ]
}

# What TCP takes, the program says; here only SMC is asked.
@test "a writer gets no further ahead than small buffers let it" {
	SMC_R_STALL=0 smc_run "$programs/preload/buffers" >"$place/buffers.log"
	all_on_smc 24 1000000
}

#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# users: several users on one device, each with a directory and an account of
# its own, and what a stranger among them can do to the others: nothing.

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${own-}" "${user-}" "${place-}" "${port-}" "${last-}" "${smc_new-}" "${tcp_new-}" "${started-}"

first=(setpriv --reuid 2001 --regid 2001 --clear-groups)
second=(setpriv --reuid 2002 --regid 2002 --clear-groups)
stranger=(setpriv --reuid 2003 --regid 2003 --clear-groups)

setup_file() {
	smc_device
	chdev -q -l smc_r0 -a max_memory=16
}

setup() {
	[ "$(id -u)" = 0 ] || skip "needs other users"
	smc_begin
	[ "$(stat -c %a "$SMC_R_RUNDIR/users")" = 1733 ]
	has_bpf || skip "there is no BPF program, so there is one user"
	chmod 755 "$place"
	cat >"$place/line.py" <<-'EOT'
		import os, socket, sys, time
		what, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		if what == "serve":
		    listener = socket.create_server(("127.0.0.1", port), backlog=1000)
		    kept = []
		    while True:
		        s = listener.accept()[0]
		        s.sendall(s.recv(1))
		        kept.append(s)
		        if count == 1:
		            kept.clear()
		kept = []
		begin = time.monotonic()
		for i in range(count):
		    s = socket.create_connection(("127.0.0.1", port))
		    s.sendall(b"x")
		    assert s.recv(1) == b"x"
		    kept.append(s)
		    if what == "talk":
		        kept.clear()
		print("ms", int(1000 * (time.monotonic() - begin)), flush=True)
		if what == "keep":
		    time.sleep(60)
	EOT
}

# The option is answered: nothing else tells it to everybody.
has_bpf() {
	/usr/bin/python3 - "$SMC_R_RUNDIR" <<-'EOT'
		import socket, sys
		h = 2166136261
		for part in reversed([p for p in sys.argv[1].split("/") if p]):
		    for byte in ("/" + part).encode():
		        h = (h ^ byte) * 16777619 & 0xffffffff
		s = socket.socket()
		s.getsockopt(0x534d4358, h & 0x7fffffff, 4)
	EOT
}

# A server of root, or of a user, at a port of its own.
serve() { # count, command that comes before...
	local count=$1
	shift
	free_port
	start "server$port" "$@" smc_run /usr/bin/python3 "$place/line.py" \
		serve "$port" "$count"
	await_port "$port"
}

# So many connections of a client, one after another: all on SMC.
talk() { # count, command that comes before...
	local count=$1
	shift
	timeout 20 "$@" smc_run -v /usr/bin/python3 "$place/line.py" talk \
		"$port" "$count" >"$place/out" 2>"$place/err" ||
		{ cat "$place/out" "$place/err"; return 1; }
	cat "$place/out" "$place/err"
	grep -Eqx "smc_run: $count connections?: $count SMC" "$place/err"
	ms=$(sed -n 's/^ms //p' "$place/out")
}

# The memory that a user's processes hold, as entstat says it.
held() { # user
	entstat -j smc_r0 | jq "[.users[] | select(.uid == $1).rmb_bytes] | add // 0"
}

@test "users, and processes in user namespaces of theirs, meet on SMC" {
	serve 1
	talk 2
	talk 2 "${first[@]}"
	talk 2 "${second[@]}"
	# Rootless containers: root inside, or nobody.
	talk 2 "${first[@]}" unshare -Ur
	talk 2 "${second[@]}" unshare -U
	talk 2 "${first[@]}"
	stop "$last"
	serve 1 "${first[@]}" unshare -Ur
	talk 2
	talk 2 "${first[@]}"
	talk 2 "${second[@]}" unshare -U
	smc_count
	[ "$smc_new" = 36 ]
	[ "$tcp_new" = 0 ]
	# One directory for each user, whatever the namespace, and the owner's.
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2001 | wc -l)" = 1 ]
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2002 | wc -l)" = 1 ]
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 0 | wc -l)" -le 2 ]
	# Which the next BPF program knows.
	stop "$last"
	rmdev -q -l smc_r0
	mkdev -q -l smc_r0
	serve 1 "${first[@]}"
	talk 2 "${second[@]}"
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2001 | wc -l)" = 1 ]
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2002 | wc -l)" = 1 ]
}

@test "without BPF the owner of the run directory is served, and others are told" {
	own_device
	free_port
	run "${user[@]}" smc_run -v "$programs/preload/interloper" heir 4
	[[ "$output" == *"1 SMC"* ]] || [[ "$output" == *"2 SMC"* ]]
	run "${first[@]}" smc_run -v "$programs/preload/interloper" heir 4
	echo "$output"
	[[ "$output" == *"what was sent"* ]]
	[[ "$output" == *"no BPF program is attached, so only the owner of $own/run has"* ]]
	"${user[@]}" rmdev -q -dl smc_r0
}

# What it does as another user is in that one's directory, and that one's.
@test "a program that becomes another user stays on SMC" {
	cat >"$place/become.py" <<-'EOT'
		import os, socket, sys
		port, users = int(sys.argv[1]), [int(u) for u in sys.argv[2:]]
		kept = []
		def talk():
		    s = socket.create_connection(("127.0.0.1", port))
		    s.sendall(b"x")
		    assert s.recv(1) == b"x"
		    kept.append(s)
		listener = socket.create_server(("127.0.0.1", 0))
		def serve():
		    own = socket.create_connection(listener.getsockname())
		    other = listener.accept()[0]
		    own.sendall(b"y")
		    assert other.recv(1) == b"y"
		    kept.extend((own, other))
		talk(), serve()
		for user in users:
		    if os.fork():
		        assert os.wait()[1] == 0
		        continue
		    talk(), serve()
		    os.setuid(user)
		    talk(), serve(), serve()
		    sys.exit()
		print("done")
	EOT
	serve 1 "${second[@]}"
	[ "$(timeout 20 smc_run /usr/bin/python3 "$place/become.py" "$port" \
		2001 2006)" = "done" ]
	smc_count
	[ "$smc_new" = 24 ]
	[ "$tcp_new" = 0 ]
	stop "$last"
	[ "$(entstat -j smc_r0 | jq .now.rmb_reserved)" = 0 ]
}

@test "a user sees the own counters only, and nobody's directory" {
	serve 1 "${first[@]}"
	talk 2 "${first[@]}"
	stop "$last"
	cp "$(command -v entstat)" "$place/entstat"
	[ "$("${first[@]}" "$place/entstat" -j smc_r0 |
		jq .absolute.smc_connections)" -ge 4 ]
	[ "$("${stranger[@]}" "$place/entstat" -j smc_r0 |
		jq .absolute.smc_connections)" = 0 ]
	run "${stranger[@]}" ls "$SMC_R_RUNDIR/users"
	[ "$status" != 0 ]
	run "${stranger[@]}" ls "$SMC_R_RUNDIR"/users/*/status
	[ "$status" != 0 ]
	run "${stranger[@]}" ls "$SMC_R_RUNDIR"/users/*/peer
	[ "$status" != 0 ]
}

# All that the stranger can open, by whatever name; root looks them up.
@test "no lock that a stranger takes holds up anybody" {
	serve 1 "${first[@]}"
	talk 20 "${second[@]}"
	cat >"$place/lock.py" <<-'EOT'
		import fcntl, os, sys, time
		kept = []
		for name in open(sys.argv[1]).read().splitlines():
		    try:
		        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
		        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
		        kept.append(fd)
		        print(name)
		    except OSError:
		        pass
		print("locked", flush=True)
		time.sleep(60)
	EOT
	find "$SMC_R_RUNDIR" >"$place/names"
	start locks "${stranger[@]}" /usr/bin/python3 "$place/lock.py" \
		"$place/names"
	await_true grep -q locked "$place/locks.log"
	# Only what is published to everybody.
	run grep -E '/users' "$place/locks.log"
	[ "$status" != 0 ]
	talk 200 "${second[@]}"
	[ "$ms" -le 2000 ]
	talk 200 "${first[@]}"
	[ "$ms" -le 2000 ]
}

@test "100,000 names that a stranger made cost nobody anything" {
	local before
	serve 1 "${first[@]}"
	talk 200 "${second[@]}"
	before=$ms
	cat >"$place/names.py" <<-'EOT'
		import os, sys
		os.chdir(sys.argv[1])
		for i in range(100000):
		    try:
		        os.symlink("x", "%06x" % (i * 167) if i % 2 else "%d.%d" % (i, i))
		    except FileExistsError:
		        pass
	EOT
	"${stranger[@]}" /usr/bin/python3 "$place/names.py" \
		"$SMC_R_RUNDIR/users"
	[ "$(find "$SMC_R_RUNDIR/users" -user 2003 -type l | wc -l)" -ge 99990 ]
	talk 200 "${second[@]}"
	echo "before $before ms, after $ms ms"
	[ "$ms" -le $((2 * before + 100)) ]
	stop "$last"
	# A user who is new, and a server.
	serve 1 setpriv --reuid 2004 --clear-groups
	talk 20 setpriv --reuid 2005 --clear-groups
	timeout 5 entstat -d smc_r0 >/dev/null
	find "$SMC_R_RUNDIR/users" -user 2003 -type l -delete
}

@test "names of the run directory cannot be taken by a stranger" {
	local name
	for name in .smc_r0.new smc_r0 database status peer baseline \
		baseline.1 totals.0 registry.2001; do
		run "${stranger[@]}" ln -sf /dev/null "$SMC_R_RUNDIR/$name"
		[ "$status" != 0 ]
	done
	run "${stranger[@]}" mv "$SMC_R_RUNDIR/users" "$SMC_R_RUNDIR/users2"
	[ "$status" != 0 ]
	# The directory of a user stays where it is, too.
	serve 1
	talk 1 "${first[@]}"
	name=$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2001)
	run "${stranger[@]}" mv "$name" "$name.old"
	[ "$status" != 0 ]
	# The user gives it up, and the stranger is there first.
	rm -rf "$name"
	"${stranger[@]}" mkdir -m 777 "$name" "$name/status" "$name/peer"
	talk 1 "${first[@]}"
	[ "$(find "$name" -type f -o -type s | wc -l)" = 0 ]
	[ "$(find "$SMC_R_RUNDIR"/users/* -maxdepth 0 -user 2001 | wc -l)" = 1 ]
}

@test "one user has half of the memory, and no more by a lie" {
	local half=$((8 << 20))
	serve 400 "${first[@]}"
	start clients "${second[@]}" smc_run /usr/bin/python3 \
		"$place/line.py" keep "$port" 400
	await_true grep -q ms "$place/clients.log"
	held 2001
	[ "$(held 2001)" -le $half ]
	[ "$(held 2001)" -gt $((half * 3 / 4)) ]
	[ "$(smc_reason MEMORY)" -gt 0 ]
	entstat -d smc_r0 | grep -Eqx "2001: [0-9]+"
	# A user who claims 2^40 bytes keeps nobody from any.
	serve 1 "${second[@]}"
	talk 2 "${stranger[@]}"
	printf '\0\0\0\0\0\1\0\0' | dd of="$(find "$SMC_R_RUNDIR"/users \
		-user 2003 -name totals)" bs=1 seek=16 conv=notrunc status=none
	talk 2 "${stranger[@]}"
	stop "$last"
	serve 1 "${second[@]}"
	talk 2
	[ "$(entstat -j smc_r0 | jq .now.rmb_reserved)" -le $((2 * half)) ]
}

@test "memory of the dead comes back, whatever a stranger holds open" {
	serve 400 "${first[@]}"
	start clients "${second[@]}" smc_run /usr/bin/python3 \
		"$place/line.py" keep "$port" 40
	await_true grep -q ms "$place/clients.log"
	[ "$(held 2001)" -gt 0 ]
	run "${stranger[@]}" flock -s "$(find "$SMC_R_RUNDIR"/users \
		-user 2001 -name '[1-9]*.*' | head -n 1)" true
	[ "$status" != 0 ]
	kill -KILL -- "-$last"
	stop "${started[0]}"
	serve 1 "${first[@]}"
	talk 1 "${first[@]}"
	stop "${started[-1]}"
	[ "$(held 2001)" = 0 ]
}

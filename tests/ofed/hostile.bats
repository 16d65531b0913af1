#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# hostile: programs of another user, rings, descriptors and packets that mean
# no good. Nothing of it changes what others have.
# limit: 300

bats_require_minimum_version 1.5.0
load net

USER_ID=54321
PYTHON=/usr/bin/python3

suite_needs() {
	if ! [ -x "$PYTHON" ]; then
		echo "$PYTHON is missing"
	fi
	if ! command -v setpriv >/dev/null; then
		echo "setpriv is missing"
	fi
}

suite_begin() {
	# What the other user may see.
	OPEN=$(mktemp -d /tmp/ofed_open.XXXXXX)
	export OPEN OFED_CORE_RUNDIR=$OPEN/run
	cp -r "$BIN/../bin" "$BIN/../lib" "$BATS_TEST_DIRNAME"/*.py "$OPEN"
	chmod -R a+rX "$OPEN"
}

teardown_file() {
	[ -z "$WHY" ] || return 0
	end_namespaces
	rm -rf "$OPEN"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	: >"$OFED_CONF"
	start_core "$A"
	# In $A, as root or as the other user. No functions: a signal to what
	# runs in the background must reach timeout, which hands it on.
	local words=(timeout -k 5 60 ip netns exec "$A")
	local python=(env PYTHONPATH="$OPEN" PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -)
	AS_OTHER=("${words[@]}" setpriv --reuid "$USER_ID" --regid "$USER_ID"
		--clear-groups)
	BY_OTHER=("${AS_OTHER[@]}" "${python[@]}")
	BY_ROOT=("${words[@]}" "${python[@]}")
}

teardown() {
	[ -n "$WHY" ] || {
		core_is_gone "$A" || stop_core "$A"
		core_is_gone "$B" || stop_core "$B"
	}
}

# A program of root's that holds one of everything, and says what it has and,
# at the end, whether it still is as it was. STAY: its descriptor to end it by.
hold_everything() {
	mkfifo "$BATS_TEST_TMPDIR/stay"
	"${BY_ROOT[@]}" "$BATS_TEST_TMPDIR/stay" 3>&- >"$BATS_TEST_TMPDIR/held" 2>&1 \
		<<-'EOT' &
			import ctypes, node, sys
			n = node.Node().context()
			pd, (cq, ring) = n.pd(), n.cq(10)
			qp, qpn, sq, rq = n.qp(node.RC, pd, cq, 4)
			n.modify(qp, 0x39, node.INIT, access=15)
			memory = ctypes.create_string_buffer(b"as it was", 4096)
			mr, lkey, rkey = n.register(pd, ctypes.addressof(memory), 4096)
			c = node.Node(node.OPEN_CM)
			c.cm_listen("10.77.0.1", 7471)
			print(qpn, ctypes.addressof(memory), rkey, flush=True)
			open(sys.argv[1]).read()
			state = n.command(node.QUERY_QP, node.struct.pack("<QII", 0, qp, 0))
			assert state[108] == node.INIT
			assert memory.value == b"as it was"
			for what, handle in ((node.DESTROY_QP, qp), (node.DESTROY_CQ, cq)):
			    n.command(what, node.struct.pack("<QII", 0, handle, 0))
			n.command(node.DEREG_MR, node.struct.pack("<I", mr))
			n.command(node.DEALLOC_PD, node.struct.pack("<I", pd))
			print("still there")
		EOT
	HOLDER=$!
	wait_for grep -q '[0-9]' "$BATS_TEST_TMPDIR/held"
	read -r QPN ADDRESS RKEY <"$BATS_TEST_TMPDIR/held"
}

everything_is_there() {
	: >"$BATS_TEST_TMPDIR/stay"
	wait "$HOLDER" || {
		cat "$BATS_TEST_TMPDIR/held"
		return 1
	}
	grep -q "still there" "$BATS_TEST_TMPDIR/held"
}

@test "a program of any user is served" {
	run -0 "${AS_OTHER[@]}" "$OPEN/bin/ofed_run" ibv_devinfo
	[[ $output == *"PORT_ACTIVE"* ]]
	"${AS_OTHER[@]}" "$OPEN/bin/ofed_run" ibv_rc_pingpong -g 1 -n 100 -c -e 3>&- &
	wait_for listens "$A"
	in_ns "$A" ibv_rc_pingpong -g 1 -n 100 -c -e "$SERVER"
	wait $!
}

@test "handles of others are nobody's" {
	hold_everything
	"${BY_OTHER[@]}" <<-'EOT'
		import node, struct
		n = node.Node().context()
		refused = 0
		for number in (node.DEALLOC_PD, node.DESTROY_AH, node.DEREG_MR,
		               node.DEALLOC_MW, node.DESTROY_CQ, node.DESTROY_QP,
		               node.DESTROY_SRQ, node.QUERY_QP, node.CREATE_AH):
		    for handle in [*range(64), 1 << 31, 0xffffffff]:
		        for body in (struct.pack("<I", handle),
		                     struct.pack("<QI", 0, handle),
		                     struct.pack("<QQI", 0, 0, handle)):
		            try:
		                n.command(number, body.ljust(80, b"\0"))
		            except node.Refused as e:
		                assert e.errno == 22, e
		                refused += 1
		assert refused == 9 * 66 * 3, refused
		for handle in range(64):
		    try:
		        n.modify(handle, 1, node.ERR)
		        raise SystemExit("modified %d" % handle)
		    except node.Refused:
		        pass
	EOT
	everything_is_there
}

@test "ids of others are nobody's" {
	hold_everything
	"${BY_OTHER[@]}" <<-'EOT'
		import node, struct
		n = node.Node(node.OPEN_CM)
		for number in range(0, 19):
		    if number in (0, 12):
		        continue
		    for i in range(64):
		        for body in (struct.pack("<I", i), struct.pack("<QI", 0, i),
		                     struct.pack("<Q28sI", 0, b"\2", i),
		                     struct.pack("<28s28sI", b"\2", b"\2", i)):
		            try:
		                n.cm(number, body.ljust(300, b"\0"))
		                raise SystemExit("command %d of id %d" % (number, i))
		            except node.Refused:
		                pass
		        try:
		            n.cm_migrate(i, n)
		            raise SystemExit("migrated %d" % i)
		        except node.Refused:
		            pass
	EOT
	ask "$A" listeners | grep -q "^=TCP 7471 "
	everything_is_there
}

@test "keys and numbers of others open nothing" {
	hold_everything
	"${BY_OTHER[@]}" "$QPN" "$ADDRESS" "$RKEY" <<-'EOT'
		import ctypes, node, socket, struct, sys, time
		qpn, address, rkey = map(int, sys.argv[1:])
		own = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("10.77.0.1")
		n = node.Node().context()
		pd = n.pd()
		cq, done = n.cq(64)
		memory = ctypes.create_string_buffer(b"hostile", 4096)
		_, key, _ = n.register(pd, ctypes.addressof(memory), 4096)

		def write(qp, sq, rkey):
		    """The status of a WRITE to the other's memory."""
		    seen = struct.unpack_from("<I", done, 128)[0]
		    node.put_write(sq, 0, 512, rkey, address, 7,
		                   (ctypes.addressof(memory), key))
		    n.send(node.DOORBELL, qp)
		    end = time.monotonic() + 20
		    while struct.unpack_from("<I", done, 128)[0] == seen:
		        assert time.monotonic() < end, "no completion"
		        time.sleep(0.01)
		    return struct.unpack_from("<I", done, 384 + seen * 64 + 8)[0]

		def pair():
		    """Two of our own that are connected."""
		    a, b = (n.qp(node.RC, pd, cq, 4) for _ in "ab")
		    n.connect(a[0], node.RC, b[1], own)
		    n.connect(b[0], node.RC, a[1], own)
		    return a

		# Every key that the other may have had: none is in our domain.
		for guess in range(-8, 9):
		    a = pair()
		    assert write(a[0], a[2], rkey + guess & 0xffffffff) == 10
		# A pair that was never connected to ours does not answer.
		a = n.qp(node.RC, pd, cq, 4)
		n.connect(a[0], node.RC, qpn, own)
		assert write(a[0], a[2], rkey) == 12
	EOT
	everything_is_there
}

@test "rings that change all the time" {
	local pids=()

	for seed in 1 2; do
		"${BY_OTHER[@]}" $seed <<-'EOT' 3>&- &
			import node, os, random, struct, sys, time
			random.seed(int(sys.argv[1]))
			n = node.Node().context()
			pd = n.pd()
			cq, done = n.cq(100)
			pairs = [(k, *n.qp(k, pd, cq, 60)) for k in (2, 3, 4) * 2]
			def connect():
			    for i, (kind, qp, *_) in enumerate(pairs):
			        own = b"\0" * 10 + b"\xff\xff\x0a\x4d\0\1"
			        n.modify(qp, 1, node.RESET)
			        n.connect(qp, kind, pairs[(i + 3) % 6][2], own)
			end = time.monotonic() + 6
			rounds = 0
			while time.monotonic() < end:
			    if rounds % 50 == 0:
			        connect()
			    rounds += 1
			    kind, qp, _, sq, rq = random.choice(pairs)
			    for ring in (sq, rq, done):
			        at = 384 + random.randrange(60) * 512 % (len(ring) - 900)
			        ring[at:at + 512] = os.urandom(512)
			        # An opcode and a number of pieces that may pass.
			        struct.pack_into("<I", ring, at + 12, random.randrange(18))
			        struct.pack_into("<I", ring, at + 196, random.randrange(3))
			        for place in (0, 4, 64, 128, 192, 256, 320):
			            if random.random() < 0.5:
			                struct.pack_into("<I", ring, place,
			                                 random.choice((random.getrandbits(32),
			                                                random.randrange(64))))
			    n.send(node.DOORBELL, qp)
			    if random.random() < 0.1:
			        n.modify(qp, 1, node.ERR)
			assert rounds > 100
		EOT
		pids+=($!)
	done
	while kill -0 "${pids[0]}" 2>/dev/null; do
		same "$A" "ibv_rc_pingpong -g 1 -n 500 -c -e"
	done
	wait "${pids[0]}"
	wait "${pids[1]}"
	same "$A" "ibv_rc_pingpong -g 1 -n 100 -c -e"
}

@test "a ring that is never empty keeps nobody from being served" {
	local flooder

	"${BY_OTHER[@]}" >"$BATS_TEST_TMPDIR/flood" 3>&- <<-'EOT' &
		import node, struct, threading, time
		n = node.Node().context()
		pd = n.pd()
		cq, done = n.cq(4000)
		rings = []
		for kind, state in ((node.RC, node.ERR), (node.UD, node.ERR),
		                    (node.UC, node.RTS), (node.UC, node.ERR)):
		    qp, _, sq, rq = n.qp(kind, pd, cq, 4000)
		    own = b"\0" * 10 + b"\xff\xff\x0a\x4d\0\1"
		    n.connect(qp, kind, 99, own)
		    if state == node.ERR:
		        n.modify(qp, 1, state)
		    rings.append((qp, sq, rq))
		print("begins", flush=True)
		end = time.monotonic() + 20
		while time.monotonic() < end:
		    for _ in range(100):
		        for qp, sq, rq in rings:
		            for ring in (sq, rq):
		                # As full as it can be, wherever the core is.
		                at, = struct.unpack_from("<I", ring, 256)
		                struct.pack_into("<I", ring, 128, at - 1 & 4095)
		    n.send(node.DOORBELL, rings[0][0])
		    n.send(node.DOORBELL, rings[2][0])
	EOT
	flooder=$!
	wait_for grep -q begins "$BATS_TEST_TMPDIR/flood"
	same "$A" "ibv_rc_pingpong -g 1 -n 200 -c -e"
	kill -0 "$flooder"
	kill "$flooder"
	wait "$flooder" || :
}

@test "descriptors that are slow to close hold nobody up" {
	local core owner go=$BATS_TEST_TMPDIR/go

	mkfifo "$go"
	core=$(ask "$A" ping | sed -n 's/^=pid //p')
	"${BY_ROOT[@]}" "$go" >"$BATS_TEST_TMPDIR/out" 3>&- <<-'EOT' &
		import node, os, socket, struct, sys, time
		l = socket.create_server(("127.0.0.1", 0))
		held = []
		def lingering():
		    s = socket.create_connection(l.getsockname())
		    held.append(l.accept()[0])
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
		                 struct.pack("ii", 1, 3600))
		    s.setblocking(False)
		    try:
		        while True:
		            s.send(b"x" * 65536)
		    except BlockingIOError:
		        return s
		n = node.Node().context()
		direct = [lingering() for _ in range(8)]
		hidden = [lingering() for _ in range(8)]
		l.close()
		print("ready", flush=True)
		open(sys.argv[1]).read()
		# The core is stopped: what is on its way to it is not ours any more.
		for s in direct:
		    n.send(node.COMMAND, data=b"\0" * 16, fds=[s.fileno()])
		    s.close()
		for s in hidden:
		    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    socket.send_fds(b, [b"x"], [s.fileno()])
		    n.send(node.COMMAND, data=b"\0" * 16, fds=[a.fileno()])
		    s.close(), a.close(), b.close()
		for f in (open("/dev/zero"), socket.socket(), open("/dev/null", "w")):
		    n.send(node.COMMAND, data=b"\0" * 16, fds=[f.fileno()])
		print("sent", flush=True)
		n.command(node.QUERY_DEVICE, struct.pack("<Q", 0), out=184)
		print("answered", flush=True)
		time.sleep(60)
	EOT
	owner=$!
	wait_for grep -q ready "$BATS_TEST_TMPDIR/out"
	kill -STOP "$core"
	: >"$go"
	wait_for grep -q sent "$BATS_TEST_TMPDIR/out" || {
		kill -CONT "$core"
		return 1
	}
	kill -CONT "$core"
	same "$A" "ibv_rc_pingpong -g 1 -n 100 -c -e"
	wait_for grep -q answered "$BATS_TEST_TMPDIR/out"
	kill "$owner"
	wait "$owner" || :
}

@test "an id that moves takes along what the program has not heard of" {
	"${BY_OTHER[@]}" <<-'EOT'
		import node, struct
		def refused(what, *words):
		    try:
		        what(*words)
		    except node.Refused:
		        return
		    raise SystemExit("not refused")
		one, two, three, client = (node.Node(node.OPEN_CM) for _ in range(4))
		listener = one.cm_listen("10.77.0.1", 7471)
		client.cm_connect("10.77.0.1", 7471)
		assert one.s.recv(1)   # the request has come
		# Nobody can name what it is for.
		for number in range(64):
		    if number != listener:
		        refused(three.cm_migrate, number, one)
		two.cm_migrate(listener, one)
		one.close()
		kind, child = two.cm_event()
		assert kind == node.CONNECT_REQUEST
		two.cm(node.CM_REJECT, struct.pack("<IB", child, 0).ljust(264, b"\0"))
		# Here all goes before the core has heard of it.
		client = node.Node(node.OPEN_CM)
		client.cm_connect("10.77.0.1", 7471)
		assert two.s.recv(1)
		three.cm_migrate(listener, two)
		two.close()
		three.cm(node.CM_DESTROY, struct.pack("<QII", 0, listener, 0))
	EOT
	wait_for has_no_listener
	[[ $(ask "$A" ping) == *ok ]]
}

has_no_listener() {
	! ask "$A" listeners | grep -q "^="
}

@test "memory of a process that its user must not look into is not registered" {
	"${BY_OTHER[@]}" <<-'EOT'
		import ctypes, node
		PR_SET_DUMPABLE = 4
		libc = ctypes.CDLL(None)
		n = node.Node().context()
		pd = n.pd()
		memory = ctypes.create_string_buffer(4096)
		n.register(pd, ctypes.addressof(memory), 4096)
		# As the kernel makes a set-user-id program, or one that was.
		n = node.Node().context()
		pd = n.pd()
		libc.prctl(PR_SET_DUMPABLE, 0)
		try:
		    n.register(pd, ctypes.addressof(memory), 4096)
		    raise SystemExit("registered")
		except node.Refused as e:
		    assert e.errno == 1, e
	EOT
}

@test "without a free descriptor the core refuses, and does not spin" {
	local pid before after

	stop_core "$A"
	(ulimit -n 200 && start_core "$A")
	pid=$(ask "$A" ping | sed -n 's/^=pid //p')
	"${BY_OTHER[@]}" >"$BATS_TEST_TMPDIR/out" 3>&- <<-'EOT' &
		import node, socket, time
		kept = []
		for _ in range(400):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.connect(node.path("verbs"))
		    kept.append(s)
		print("full", flush=True)
		time.sleep(60)
	EOT
	wait_for grep -q full "$BATS_TEST_TMPDIR/out"
	before=$(ticks "$pid")
	sleep 1
	after=$(ticks "$pid")
	[ $((after - before)) -lt 30 ]
	kill $!
	wait $! || :
	wait_for in_ns "$A" ibv_devinfo >/dev/null
}

ticks() { # pid: of processor time
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

@test "control connections of others keep nobody out" {
	local pids=() n

	stop_core "$A"
	(ulimit -n 400 && start_core "$A")
	for n in 1 2 3; do
		timeout -k 5 60 ip netns exec "$A" setpriv \
			--reuid $((USER_ID + n)) --regid "$USER_ID" --clear-groups \
			env PYTHONPATH="$OPEN" PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - \
			>"$BATS_TEST_TMPDIR/out$n" 3>&- <<-'EOT' &
				import node, socket, time
				kept = []
				for _ in range(600):
				    s = socket.socket(socket.AF_UNIX)
				    s.connect(node.path("control"))
				    kept.append(s)
				s.settimeout(20)
				print(s.recv(200).decode(), end="")
				print("full", flush=True)
				time.sleep(60)
			EOT
		pids+=($!)
		wait_for grep -q full "$BATS_TEST_TMPDIR/out$n"
		grep -q "^error 24 this user has as many" "$BATS_TEST_TMPDIR/out$n"
	done
	# Two users have what one may have, the third what is left for him.
	[ "$(statistic "$A" control_connections)" -ge 300 ]
	run -0 ip netns exec "$A" "$OPEN/bin/ofedctrl" -q
	[[ $output == *": loaded"* ]]
	run -1 ip netns exec "$A" setpriv --reuid $((USER_ID + 1)) \
		--regid "$USER_ID" --clear-groups "$OPEN/bin/ofedctrl" -q
	[[ $output == *"this user has as many descriptors as he may have"* ]]
	in_ns "$A" ibv_devinfo
	kill "${pids[@]}"
	wait "${pids[@]}" || :
	wait_for has_one_control_connection
}

has_one_control_connection() {
	[ "$(statistic "$A" control_connections)" = 1 ]
}

@test "who takes all he can get leaves as much for others" {
	local taker

	"${BY_OTHER[@]}" >"$BATS_TEST_TMPDIR/out" 3>&- <<-'EOT' &
		import node, struct, time
		n = node.Node().context()
		pd = n.pd()
		cq, done = n.cq(1)
		pairs = []
		try:
		    while True:
		        pairs.append(n.qp(node.RC, pd, cq, 1))
		except node.Refused as e:
		    print(len(pairs), e.errno, flush=True)
		nodes = []
		try:
		    while len(nodes) < 20000:
		        nodes.append(node.Node())
		except OSError:
		    pass
		print("full", flush=True)
		time.sleep(60)
	EOT
	taker=$!
	wait_for grep -q full "$BATS_TEST_TMPDIR/out"
	read -r pairs error <"$BATS_TEST_TMPDIR/out"
	echo "pairs $pairs error $error"
	[ "$pairs" = 8192 ]
	[ "$error" = 12 ]
	same "$A" "ibv_rc_pingpong -g 1 -n 100 -c -e"
	# All of it comes back.
	kill "$taker"
	wait "$taker" || :
	wait_for has_no_pairs
	run -0 "${AS_OTHER[@]}" "$OPEN/bin/ofed_run" ibv_devinfo
}

has_no_pairs() {
	[ "$(statistic "$A" queue_pairs)" = 0 ]
}

@test "packets that are worth a warning each do not fill the log" {
	local core

	stop_core "$A"
	ip netns exec "$A" "$BIN/ofed_core" -f 2>"$BATS_TEST_TMPDIR/log" 3>&- &
	wait_for core_is_there
	[ "$(ask "$A" "set mad_rcvq_size 16")" = ok ]
	core=$(ask "$A" ping | sed -n 's/^=pid //p')
	# What arrives together has to wait together.
	kill -STOP "$core"
	peer <<-'EOT'
		import roce
		p = roce.Peer("10.77.0.2", "10.77.0.1")
		for n in range(3000):
		    p.send(roce.cm_req("10.77.0.2", "10.77.0.1", 7174, comm_id=n + 1))
	EOT
	kill -CONT "$core"
	wait_for grep -q "queue is full" "$BATS_TEST_TMPDIR/log"
	wait_for has_received_packets 3000
	# At most fifty in a second, and this took a few at most.
	[ "$(wc -l <"$BATS_TEST_TMPDIR/log")" -lt 500 ]
}

core_is_there() {
	! core_is_gone "$A"
}

has_received_packets() { # number
	[ "$(statistic "$A" packets_received)" -ge "$1" ]
}

@test "packets of strangers, with right ICRCs, for numbers that are in use" {
	local pid pids=()

	start_core "$B"
	in_ns "$A" ibv_rc_pingpong -g 1 -n 2000 -c -e >/dev/null 3>&- &
	pids+=($!)
	wait_for listens "$A"
	in_ns "$A" ibv_rc_pingpong -g 1 -n 2000 -c -e "$SERVER" \
		>/dev/null 3>&- &
	pids+=($!)
	wait_for listens_not "$A"
	ip -n "$B" addr add 10.77.0.3/24 dev ent0
	peer <<-'EOT' 3>&- &
		import os, random, time
		import roce
		random.seed(1)
		p = roce.Peer("10.77.0.3", "10.77.0.1", 0)
		for n in range(20000):
		    # Numbers of pairs: slots are low, generations high.
		    qpn = random.randrange(1, 501) << 14 | random.randrange(8)
		    kind = random.choice((0, 0, 0x20, 0x60)) | random.randrange(0x20)
		    if n % 10 == 0:
		        qpn, kind = 1, 0x64
		    body = os.urandom(random.choice((0, 4, 16, 28, 64, 256, 276)))
		    if qpn == 1:
		        body = roce.deth(roce.QKEY_CM, 1) + roce.mad(
		            random.randrange(0x10, 0x19), n, os.urandom(232))
		    p.send(roce.bth(kind, qpn, random.getrandbits(24)) + body)
	EOT
	pids+=($!)
	pair "$B" "rping -s -a $SERVER -p 7500 -C 100 -V" \
		"rping -c -a $SERVER -p 7500 -C 100 -V"
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	ip -n "$B" addr del 10.77.0.3/24 dev ent0
	[ "$(statistic "$A" packets_without_queue_pair)" -gt 1000 ]
	same "$B" "ibv_rc_pingpong -g 1 -n 100 -c -e"
}

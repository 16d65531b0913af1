#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# rules: what a queue pair does with requests that break the rules, its own
# program's and its peer's; and the events that tell of it.

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_core "$A"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	IN_A=(timeout -k 5 60 ip netns exec "$A" env
		PYTHONPATH="$BATS_TEST_DIRNAME" PYTHONDONTWRITEBYTECODE=1
		/usr/bin/python3 -)
}

@test "a completion queue that overflows: one event, and the pair has ended" {
	"${IN_A[@]}" <<-'EOT'
		import node, os, socket, struct, time
		own = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("10.77.0.1")
		n = node.Node().context()
		pd = n.pd()
		small, done = n.cq(1)    # gets the least there is: 15
		large, _ = n.cq(100)
		a = n.qp(node.RC, pd, small, 60)
		b = n.qp(node.RC, pd, large, 8)
		n.connect(a[0], node.RC, b[1], own)
		n.connect(b[0], node.RC, a[1], own)
		for slot in range(17):
		    node.put_write(a[2], slot, 512, 0, 0, 0)
		n.send(node.DOORBELL, a[0])
		event = os.read(n.asynchronous, 16)
		assert struct.unpack_from("<I", event, 8)[0] == 0, event   # CQ_ERR
		def state(qp):
		    return n.command(node.QUERY_QP,
		                     struct.pack("<QII", 0, qp, 0))[108]
		assert state(a[0]) == node.ERR
		# What was there is still there, and once.
		assert struct.unpack_from("<I", done, 128)[0] == 15
		assert struct.unpack_from("<I", done, 384 + 8)[0] == 0
		os.set_blocking(n.asynchronous, False)
		time.sleep(0.2)
		try:
		    raise SystemExit(os.read(n.asynchronous, 16))
		except BlockingIOError:
		    pass
	EOT
}

@test "what is in use cannot be destroyed" {
	"${IN_A[@]}" <<-'EOT'
		import node, struct
		n = node.Node().context()
		pd = n.pd()
		cq, _ = n.cq(10)
		qp = n.qp(node.UD, pd, cq, 4)[0]
		def error(number, body):
		    try:
		        n.command(number, body)
		        return 0
		    except node.Refused as e:
		        return e.errno
		assert error(node.DESTROY_CQ, struct.pack("<QII", 0, cq, 0)) == 16
		assert error(node.DEALLOC_PD, struct.pack("<I", pd)) == 16
		assert error(node.DESTROY_QP, struct.pack("<QII", 0, qp, 0)) == 0
		assert error(node.DESTROY_CQ, struct.pack("<QII", 0, cq, 0)) == 0
		assert error(node.DEALLOC_PD, struct.pack("<I", pd)) == 0
		assert error(node.DEALLOC_PD, struct.pack("<I", pd)) == 22
	EOT
}

@test "the wildcards of both families may have one port, if one is asked to keep out" {
	"${IN_A[@]}" <<-'EOT'
		import node, struct
		WILD4 = node.address("0.0.0.0", 7471)
		WILD6 = struct.pack("<H", 10) + struct.pack(">H", 7471) + b"\0" * 24
		def listen(address, v6_only):
		    n = node.Node(node.OPEN_CM)
		    number = n.cm_create()
		    n.cm(node.CM_OPTION, struct.pack("<QIIIII", 0, number, 0, 2, 4, v6_only))
		    n.cm(node.CM_BIND, struct.pack("<Q28sI", 0, address, number))
		    n.cm(node.CM_LISTEN, struct.pack("<II", number, 10))
		    return n
		def refused(*words):
		    try:
		        listen(*words)
		    except node.Refused as e:
		        assert e.errno == 98, e
		        return
		    raise SystemExit("not refused")
		four = listen(WILD4, 0)
		refused(WILD4, 0)
		refused(WILD6, 0)
		six = listen(WILD6, 1)
		refused(WILD6, 1)
		four.close()
		four = listen(WILD4, 0)
	EOT
}

@test "a request waits for a program that may listen, but not for long" {
	"${IN_A[@]}" <<-'EOT'
		import node, os
		def event(n):
		    while True:
		        kind, _ = n.cm_event()
		        if kind > 3:    # not of addresses and routes
		            return kind
		def client(port):
		    n = node.Node(node.OPEN_CM)
		    n.cm_connect("10.77.0.1", port)
		    return n
		# Nobody but itself could listen.
		assert event(client(7471)) == node.REJECTED
		told, tell = os.pipe()
		server = os.fork()
		if not server:
		    n = node.Node(node.OPEN_CM)
		    n.cm_listen("0.0.0.0", 7470)
		    os.write(tell, b"x")
		    # Requests are handled in turn: the first has arrived as well.
		    assert event(n) == node.CONNECT_REQUEST
		    n.cm_listen("0.0.0.0", 7471)
		    assert event(n) == node.CONNECT_REQUEST
		    os.write(tell, b"x")
		    n.s.recv(1)    # until it is killed
		    os._exit(0)
		assert os.read(told, 1) == b"x"
		early = client(7471)
		never = client(7472)
		first = client(7470)
		assert os.read(told, 1) == b"x"
		assert event(never) == node.REJECTED
		os.kill(server, 9)
		os.waitpid(server, 0)
		assert event(client(7471)) == node.REJECTED
	EOT
}

@test "a shared receive queue says once that it runs low" {
	"${IN_A[@]}" <<-'EOT'
		import node, os, socket, struct, time
		own = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("10.77.0.1")
		n = node.Node().context()
		pd = n.pd()
		cq, _ = n.cq(100)
		a = n.command(32, struct.pack("<QQIIII", 0, 7, pd, 10, 1, 3))
		srq, _, _, _, offset, size = struct.unpack_from("<IIIIQI", a)
		ring = n.ring(offset, size)
		struct.pack_into("<I", ring, 128, 6)    # six empty receives
		a = n.command(node.CREATE_QP, struct.pack(
		    "<QQIIIIIIIIIBBBB", 0, 0, pd, cq, cq, srq, 4, 0, 1, 0, 0, 1,
		    node.RC, 1, 0))
		to, number = struct.unpack_from("<II", a)
		sender = n.qp(node.RC, pd, cq, 8)
		n.connect(sender[0], node.RC, number, own)
		n.connect(to, node.RC, sender[1], own)
		for slot in range(5):
		    node.put_write(sender[2], slot, 512, 0, 0, 0)
		    # SEND, not WRITE.
		    struct.pack_into("<I", sender[2], 384 + slot * 512 + 12, 2)
		n.send(node.DOORBELL, sender[0])
		kinds = []
		os.set_blocking(n.asynchronous, False)
		end = time.monotonic() + 10
		while 15 not in kinds:
		    assert time.monotonic() < end, kinds
		    try:
		        kinds.append(struct.unpack_from(
		            "<I", os.read(n.asynchronous, 16), 8)[0])
		    except BlockingIOError:
		        time.sleep(0.01)
		time.sleep(0.2)
		try:
		    raise SystemExit(os.read(n.asynchronous, 16))
		except BlockingIOError:
		    pass
	EOT
}

@test "what is not there, or may not be written, is not registered for that" {
	in_ns "$A" /usr/bin/python3 - <<-'EOT'
		import ctypes, errno, mmap, os, struct
		libc = ctypes.CDLL(None)
		libc.mmap.restype = ctypes.c_void_p
		libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + \
		    [ctypes.c_int] * 3 + [ctypes.c_long]
		libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
		libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
		fd = os.open("/dev/infiniband/uverbs0", os.O_RDWR)
		def command(number, body):
		    answer = ctypes.create_string_buffer(256)
		    words = struct.pack("<Q", ctypes.addressof(answer)) + body
		    os.write(fd, struct.pack("<IHH", number, 2 + len(words) // 4, 64)
		             + words)
		    return struct.unpack_from("<I", answer)[0]
		command(0, b"")      # GET_CONTEXT
		pd = command(3, b"")
		def register(at, length, access):
		    try:
		        command(9, struct.pack("<QQQII", at, length, at, pd, access))
		        return 0
		    except OSError as e:
		        return e.errno
		READ, WRITE, SHARED, PRIVATE = 1, 3, 0x21, 0x22
		LOCAL, BIND = 1, 16
		def area(protection=WRITE, flags=PRIVATE):
		    return libc.mmap(None, 3 * 4096, protection, flags, -1, 0)
		for flags in SHARED, PRIVATE:
		    at = area(READ, flags)
		    assert register(at, 3 * 4096, 0) == 0
		    assert register(at, 3 * 4096, 4) == 0     # REMOTE_READ
		    for access in LOCAL, LOCAL | 2, LOCAL | 8, BIND:
		        assert register(at, 3 * 4096, access) == errno.EFAULT
		at = area()
		assert register(at, 3 * 4096, 15) == 0
		libc.mprotect(at + 4096, 4096, READ)
		assert register(at, 3 * 4096, 0) == 0
		assert register(at, 3 * 4096, 15) == errno.EFAULT
		assert register(at, 4096, 15) == 0
		assert register(at + 4096 - 1, 2, 15) == errno.EFAULT
		libc.mprotect(at + 4096, 4096, 0)
		assert register(at, 3 * 4096, 0) == errno.EFAULT
		libc.munmap(at + 4096, 4096)
		assert register(at, 3 * 4096, 0) == errno.EFAULT
		assert register(at, 3 * 4096, 15) == errno.EFAULT
		assert register(at + 8192, 4096, 15) == 0
		# What is wrong with the request comes first.
		assert register(at, 0, 15) == errno.EINVAL
		assert register(0, 2 ** 64 - 1, 64) == errno.EOPNOTSUPP
	EOT
}

@test "memory that the requester has not any more is no fault of the peer" {
	"${IN_A[@]}" <<-'EOT'
		import ctypes, mmap, node, socket, struct, time
		libc = ctypes.CDLL(None)
		libc.mmap.restype = ctypes.c_void_p
		libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + \
		    [ctypes.c_int] * 3 + [ctypes.c_long]
		libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
		own = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("10.77.0.1")
		n = node.Node().context()
		pd = n.pd()
		def memory():
		    at = libc.mmap(None, 65536, mmap.PROT_READ | mmap.PROT_WRITE,
		                   mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
		    return at, *n.register(pd, at, 65536)[1:]
		def state(qp):
		    return n.command(node.QUERY_QP,
		                     struct.pack("<QII", 0, qp, 0))[108]
		def outcome(opcode, gone):
		    """The status of a request, and the state of the peer."""
		    cq, done = n.cq(10)
		    a = n.qp(node.RC, pd, cq, 4)
		    b = n.qp(node.RC, pd, n.cq(10)[0], 4)
		    n.connect(a[0], node.RC, b[1], own)
		    n.connect(b[0], node.RC, a[1], own)
		    here, there = memory(), memory()
		    # A receive: one piece.
		    struct.pack_into("<QII", b[3], 384, 1, 0, 0)
		    struct.pack_into("<IIIIII", b[3], 384 + 16, 65536, 65536, 0, 1, 0, 0)
		    struct.pack_into("<QII", b[3], 384 + 40, there[0], 65536, there[1])
		    struct.pack_into("<I", b[3], 128, 1)
		    libc.munmap((here, there)[gone][0], 65536)
		    node.put_write(a[2], 0, 512, there[2], there[0], 65536, here[:2])
		    struct.pack_into("<I", a[2], 384 + 12, opcode)
		    n.send(node.DOORBELL, a[0])
		    end = time.monotonic() + 20
		    while not struct.unpack_from("<I", done, 128)[0]:
		        assert time.monotonic() < end, "no completion"
		        time.sleep(0.01)
		    return struct.unpack_from("<I", done, 384 + 8)[0], state(b[0])
		WRITE, SEND, READ = 0, 2, 4
		for opcode in WRITE, SEND, READ:
		    got = outcome(opcode, 0)
		    assert got == (4, node.RTS), (opcode, got)   # LOC_PROT_ERR
		assert outcome(WRITE, 1) == (10, node.ERR)   # REM_ACCESS_ERR
		assert outcome(SEND, 1) == (11, node.ERR)    # REM_OP_ERR
		assert outcome(READ, 1) == (10, node.ERR)
	EOT
}

# Pairs of $A that are connected with 10.77.0.2, where no core runs: a line with
# number, address and key for each in $BATS_TEST_TMPDIR/pairs. At the end of
# the test it must be as it was.
connected_pairs() { # how many
	mkfifo "$BATS_TEST_TMPDIR/stay"
	"${IN_A[@]}" "$1" "$BATS_TEST_TMPDIR/stay" 3>&- \
		>"$BATS_TEST_TMPDIR/pairs" 2>&1 <<-'EOT' &
			import ctypes, node, socket, struct, sys
			peer = b"\0" * 10 + b"\xff\xff" + socket.inet_aton("10.77.0.2")
			n = node.Node().context()
			pd, (cq, _) = n.pd(), n.cq(1000)
			memory = ctypes.create_string_buffer(b"as it was", 8192)
			at = ctypes.addressof(memory) + 4095 & ~4095
			ctypes.memset(at, 0x55, 4096)
			mr, lkey, rkey = n.register(pd, at, 4096)
			pairs = [n.qp(node.RC, pd, cq, 4) for _ in range(int(sys.argv[1]))]
			for i, (qp, number, *_) in enumerate(pairs):
			    n.connect(qp, node.RC, 0x1000 + i, peer)
			    print(number, at, rkey)
			print("ready", flush=True)
			open(sys.argv[2]).read()
			assert ctypes.string_at(at, 4096) == b"\x55" * 4096
			# The last is nobody's victim.
			last = n.command(node.QUERY_QP,
			                 struct.pack("<QII", 0, pairs[-1][0], 0))
			assert last[108] == node.RTS, last[108]
			print("as it was")
		EOT
	PAIRS=$!
	wait_for grep -q ready "$BATS_TEST_TMPDIR/pairs"
}

pairs_are_as_they_were() {
	: >"$BATS_TEST_TMPDIR/stay"
	wait "$PAIRS" || :
	cat "$BATS_TEST_TMPDIR/pairs"
	grep -q "as it was" "$BATS_TEST_TMPDIR/pairs"
}

@test "a peer that breaks the rules gets the NAK for it, and changes nothing" {
	connected_pairs 17
	peer "$BATS_TEST_TMPDIR/pairs" <<-'EOT'
		import struct, sys
		import roce
		pairs = [tuple(map(int, l.split())) for l in open(sys.argv[1])
		         if l[0].isdigit()]
		p = roce.Peer("10.77.0.2", "10.77.0.1", roce.PORT)
		at, key = pairs[0][1:]
		MTU = b"x" * 256
		def atomic(address, key):
		    return struct.pack(">QIQQ", address, key, 1, 1)
		reth = roce.reth
		# Opcode, what follows the BTH, the syndrome that answers; None: none.
		cases = [
		    (0x0a, reth(at, key ^ 1, 4) + b"bad!", 0x62),
		    (0x0a, reth(at, key ^ 0x100, 4) + b"bad!", 0x62),
		    (0x0a, reth(at + 4094, key, 4) + b"bad!", 0x62),
		    (0x0a, reth(at - 2, key, 4) + b"bad!", 0x62),
		    (0x0a, reth(0xfffffffffffffffe, key, 4) + b"bad!", 0x62),
		    (0x0a, reth(at, key, 300) + b"bad!", 0x61),
		    (0x0a, reth(at, key, 2) + b"bad!", 0x61),
		    (0x06, reth(at, key, 600) + b"bad!", 0x61),
		    (0x07, MTU, 0x61),
		    (0x01, MTU, 0x61),
		    (0x0c, reth(at, key, 4097), 0x62),
		    (0x0c, reth(at, key, 0x80000000), 0x61),
		    (0x14, atomic(at + 4, key), 0x61),
		    (0x14, atomic(at + 4096, key), 0x62),
		    (0x04, b"nobody waits", "RNR"),
		    (0x1f, b"bad!", None),
		]
		for (number, _, _), (opcode, body, expected) in zip(pairs, cases):
		    pad = -len(body) % 4
		    p.send(roce.bth(opcode, number, 0, pad=pad) + body + b"\0" * pad)
		    got = [t[12] for t in p.receive(0.1 if expected else 0.4,
		                                    10 if expected else 0)
		           if t[0] == 0x11]
		    if expected == "RNR":
		        assert got and got[0] >> 5 == 1, (hex(opcode), got)
		    elif expected is None:
		        assert not got, (hex(opcode), got)
		    else:
		        assert got[:1] == [expected], (hex(opcode), body[:28], got)
		# Packets that are none.
		number = pairs[16][0]
		for packet in (roce.bth(0x0a, number, 0, version=1) + reth(at, key, 0),
		               roce.bth(0x0a, number, 0, pkey=0x1234) + reth(at, key, 0),
		               roce.bth(0x0a, number, 0, pad=3) + b"xx",
		               roce.bth(0x0a, number, 0)[:8], b""):
		    p.send(packet)
		p.send_raw(b"\xff" * 60)
		assert not list(p.receive(0.4))
	EOT
	pairs_are_as_they_were
}

@test "a gap is complained of once, and what was asked again is answered again" {
	connected_pairs 2
	peer "$BATS_TEST_TMPDIR/pairs" <<-'EOT'
		import struct, sys
		import roce
		number, at, key = map(int, open(sys.argv[1]).readline().split())
		p = roce.Peer("10.77.0.2", "10.77.0.1", roce.PORT)
		def ask(opcode, psn, body=b""):
		    p.send(roce.bth(opcode, number, psn) + body)
		def answers(patience=10):
		    return [(t[0], t[12], int.from_bytes(t[9:12], "big"))
		            for t in p.receive(0.4, patience)]
		empty = roce.reth(0, 0, 0)
		for psn in (5, 6, 7):
		    ask(0x0a, psn, empty)
		assert answers() == [(0x11, 0x60, 0)]
		ask(0x0c, 0, roce.reth(at, key, 700))
		got = answers()
		assert [a[2] for a in got[:3]] == [0, 1, 2], got
		# The gap is now at 3; the READ can be had again, and no more of it.
		ask(0x0c, 1, roce.reth(at + 256, key, 444))
		assert [a[2] for a in answers()][:2] == [1, 2]
		ask(0x0c, 2, roce.reth(at, key, 4096))
		assert not [a for a in answers(0) if a[0] != 0x11]
		for psn in (3, 4):
		    ask(0x0a, psn, empty)
		# What came behind the gap was kept.
		assert answers()[-1][1:] == (0x1f, 7)
		ask(0x0a, 6, empty)
		assert answers()[-1][1:] == (0x1f, 7)
	EOT
	pairs_are_as_they_were
}

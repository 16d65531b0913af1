#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# given_back: the core keeps no descriptor and no memory of what a program gave
# up while it goes on.

bats_require_minimum_version 1.5.0
load net

suite_begin() {
	start_core "$A"
}

setup() {
	[ -z "$WHY" ] || skip "$WHY"
	CORE=$(ask "$A" ping | sed -n 's/^=pid //p')
	IN_A=(timeout -k 5 60 ip netns exec "$A" env
		PYTHONPATH="$BATS_TEST_DIRNAME" PYTHONDONTWRITEBYTECODE=1
		/usr/bin/python3 -)
}

descriptors() {
	find "/proc/$CORE/fd" -mindepth 1 | wc -l
}

has_descriptors() { # at most so many
	[ "$(descriptors)" -le "$1" ]
}

@test "a completion channel that is closed leaves no descriptor" {
	local before

	before=$(descriptors)
	"${IN_A[@]}" "$CORE" <<-'EOT'
		import node, os, struct, sys, time
		core = "/proc/%s/fd" % sys.argv[1]
		n = node.Node().context()
		def has(most):
		    end = time.monotonic() + 20
		    while len(os.listdir(core)) > most:
		        assert time.monotonic() < end, len(os.listdir(core))
		        time.sleep(0.01)
		def channel():
		    n.command(node.CREATE_CHANNEL, struct.pack("<Q", 0))
		    return n.fd
		at_first = len(os.listdir(core))
		for i in range(100):
		    os.close(channel())
		has(at_first)
		# An open one costs one.
		kept = [channel() for i in range(10)]
		assert len(os.listdir(core)) == at_first + 10
		# A queue may outlive its channel.
		a = n.command(node.CREATE_CQ, struct.pack(
		    "<QQIIiI", 0, 0, 10, 0, kept[0], 0), fds=[kept[0]])
		cq, _, offset, size = struct.unpack_from("<IIQI", a)
		n.ring(offset, size)
		for fd in kept:
		    os.close(fd)
		has(at_first + 1)
		n.command(node.DESTROY_CQ, struct.pack("<QII", 0, cq, 0))
		has(at_first)
	EOT
	# A thread opens some of its own when it first has work.
	wait_for has_descriptors $((before + 10))
}

@test "a program that is killed with many channels leaves none" {
	local before pid

	before=$(descriptors)
	"${IN_A[@]}" >"$BATS_TEST_TMPDIR/out" 3>&- <<-'EOT' &
		import node, os, struct, time
		n = node.Node().context()
		for i in range(100):
		    n.command(node.CREATE_CHANNEL, struct.pack("<Q", 0))
		    n.command(node.CREATE_CQ, struct.pack(
		        "<QQIIiI", 0, 0, 10, 0, n.fd, 0), fds=[n.fd])
		print(os.getpid(), flush=True)
		time.sleep(60)
	EOT
	wait_for grep -q . "$BATS_TEST_TMPDIR/out"
	pid=$(cat "$BATS_TEST_TMPDIR/out")
	[ "$(descriptors)" -ge $((before + 100)) ]
	kill -KILL "$pid"
	wait $! || :
	# A thread opens some of its own when it first has work.
	wait_for has_descriptors $((before + 10))
	[[ $(ask "$A" ping) == *ok ]]
}

@test "events of a queue that is destroyed are taken back unread" {
	"${IN_A[@]}" <<-'EOT'
		import node, os, struct, time
		n = node.Node().context()
		pd = n.pd()
		n.command(node.CREATE_CHANNEL, struct.pack("<Q", 0))
		channel = n.fd
		def queue(name):
		    a = n.command(node.CREATE_CQ, struct.pack(
		        "<QQIIiI", 0, name, 10, 0, channel, 0), fds=[channel])
		    return struct.unpack_from("<I", a)[0]
		queues = [queue(name) for name in (71, 72)]
		for cq in queues:
		    qp, _, send, receive = n.qp(node.RC, pd, cq, 4)
		    n.command(node.NOTIFY_CQ, struct.pack("<II", cq, 0))
		    struct.pack_into("<I", receive, 128, 1)   # one is posted
		    n.modify(qp, 1, node.ERR)
		    n.send(node.DOORBELL, qp)
		    n.command(node.DESTROY_QP, struct.pack("<QII", 0, qp, 0))
		def destroy(cq):
		    return struct.unpack_from("<I", n.command(
		        node.DESTROY_CQ, struct.pack("<QII", 0, cq, 0)))[0]
		assert destroy(queues[0]) == 0
		os.set_blocking(channel, False)
		assert struct.unpack("<Q", os.read(channel, 8))[0] == 72
		try:
		    raise SystemExit(os.read(channel, 8))
		except BlockingIOError:
		    pass
		assert destroy(queues[1]) == 1
	EOT
}

@test "the memory of queue pairs that were destroyed goes back" {
	"${IN_A[@]}" "$CORE" <<-'EOT'
		import node, struct, sys
		def memory():
		    """What the core has for itself, kB."""
		    for line in open("/proc/%s/status" % sys.argv[1]):
		        if line.startswith("RssAnon"):
		            return int(line.split()[1])
		n = node.Node().context()
		pd = n.pd()
		cq, _ = n.cq(100000)
		def destroy(qp):
		    n.command(node.DESTROY_QP, struct.pack("<QII", 0, qp, 0))
		def some():
		    """Queue pairs, each with all that it may post flushed."""
		    pairs = []
		    for i in range(200):
		        qp, _, send, _ = n.qp(node.RC, pd, cq, 64)
		        n.modify(qp, 1, node.ERR)
		        struct.pack_into("<I", send, 128, 127)
		        n.send(node.DOORBELL, qp)
		        pairs.append(qp)
		    return pairs
		before = memory()
		for qp in some():
		    destroy(qp)
		# Those that stay keep only what is theirs.
		for qp in some()[:-1]:
		    destroy(qp)
		assert memory() < before + 2000, (before, memory())
	EOT
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# grpc: calls and streams of grpc
# programs: gRPC
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/grpc
# length: long
# gets: smc=1
stranger() {
	cat >server.py <<-'EOT'
		import grpc, sys
		from concurrent import futures
		def up(b, c): return b.upper()
		def many(b, c):
		    for i in range(100): yield b * i
		def add(it, c): return b"%d" % sum(len(b) for b in it)
		h = grpc.method_handlers_generic_handler("s", {
		    "up": grpc.unary_unary_rpc_method_handler(up),
		    "many": grpc.unary_stream_rpc_method_handler(many),
		    "add": grpc.stream_unary_rpc_method_handler(add)})
		s = grpc.server(futures.ThreadPoolExecutor(4)); s.add_generic_rpc_handlers((h,))
		assert s.add_insecure_port("127.0.0.1:" + sys.argv[1]); s.start(); s.wait_for_termination()
	EOT
	cat >client.py <<-'EOT'
		import grpc, sys, hashlib
		with grpc.insecure_channel("127.0.0.1:" + sys.argv[1]) as c:
		    up = c.unary_unary("/s/up"); many = c.unary_stream("/s/many"); add = c.stream_unary("/s/add")
		    print(up(b"hello"), len(up(b"x" * 2000000)))
		    print(hashlib.sha256(b"".join(many(b"abc" * 100))).hexdigest())
		    print(add(iter([b"y" * i for i in range(500)])))
		    fs = [up.future(b"%d" % i) for i in range(50)]
		    print([f.result() for f in fs][-1])
		    try: c.unary_unary("/s/none")(b"")
		    except grpc.RpcError as e: print(e.code())
	EOT
	serve server /usr/bin/python3 server.py "$port"
	await_port "$port"
	ask /usr/bin/python3 client.py "$port"
}

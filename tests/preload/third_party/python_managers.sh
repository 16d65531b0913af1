# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# python_managers: multiprocessing: managers, queues, listeners over TCP
# programs: Python multiprocessing
# needs: /usr/bin/python3
# length: long
# gets: smc=2 may=SAME_PROCESS,TIMEOUT,FORK,CLOSED
stranger() {
	cat >m.py <<-'EOT'
		import multiprocessing as m, sys
		from multiprocessing.managers import BaseManager
		from multiprocessing.connection import Client, Listener
		class M(BaseManager): pass
		q = m.Queue
		M.register("get", callable=lambda d={}: d, exposed=("__setitem__", "__getitem__", "keys"))
		def work(port, i):
		    class W(BaseManager): pass
		    W.register("get")
		    w = W(("127.0.0.1", port), b"key"); w.connect()
		    w.get()["k%d" % i] = b"x" * (i * 50000)
		def answer(port):
		    with Client(("127.0.0.1", port), authkey=b"k") as c:
		        c.send([1, "two", b"3" * 300000])
		        print(c.recv())
		if __name__ == "__main__":
		    a, b = map(int, sys.argv[1:])
		    man = M(("127.0.0.1", a), b"key"); man.start()
		    ps = [m.Process(target=work, args=(a, i)) for i in range(6)]
		    [p.start() for p in ps]; [p.join() for p in ps]
		    d = man.get()
		    for i in range(6):
		        print(i, len(d["k%d" % i]))
		    with Listener(("127.0.0.1", b), authkey=b"k") as l:
		        p = m.Process(target=answer, args=(b,)); p.start()
		        with l.accept() as c:
		            print([len(x) if isinstance(x, bytes) else x for x in c.recv()])
		            c.send("thanks")
		        p.join()
		    man.shutdown()
	EOT
	ask /usr/bin/python3 m.py "$port" "$(another)"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dask: a scheduler and two workers: many small tasks, results of megabytes
# programs: Dask
# needs: /usr/lib/python3/dist-packages/distributed
# length: long
# gets: smc=6 may=TIMEOUT,CLOSED,FORK
stranger() {
	serve scheduler /usr/bin/python3 -m distributed.cli.dask_scheduler --host 127.0.0.1 --port "$port" --no-dashboard
	await_port "$port"
	serve one /usr/bin/python3 -m distributed.cli.dask_worker "tcp://127.0.0.1:$port" --no-dashboard --nthreads 1 --name one --local-directory "$place/one" --no-nanny
	serve two /usr/bin/python3 -m distributed.cli.dask_worker "tcp://127.0.0.1:$port" --no-dashboard --nthreads 1 --name two --local-directory "$place/two" --no-nanny
	cat >c.py <<-'EOT'
		import sys
		from distributed import Client
		c = Client(sys.argv[1]); c.wait_for_workers(2)
		print(sum(c.gather(c.map(lambda x: x * x, range(200)))))
		big = c.scatter(b"x" * 3000000, broadcast=True)
		print(sum(c.gather([c.submit(lambda b, i: len(b) + i, big, i) for i in range(8)])))
		print(c.submit(len, c.submit(lambda: b"y" * 5000000, workers=["one"]), workers=["two"]).result())
		c.close()
	EOT
	ask_limit=60 ask /usr/bin/python3 c.py "tcp://127.0.0.1:$port"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# celery: Celery: workers that fork, and redis between
# programs: Celery
# needs: celery redis-server python3 /usr/lib/python3/dist-packages/redis
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT,FORK
stranger() {
	serve server redis-server --port "$port" --bind 127.0.0.1 --save ''
	await_port "$port"
	cat >work.py <<-EOT
		from celery import Celery
		app = Celery("work", broker="redis://127.0.0.1:$port/0", backend="redis://127.0.0.1:$port/1")
		@app.task
		def twice(x): return x + x
	EOT
	C_FORCE_ROOT=1 serve worker /usr/bin/python3 -m celery -A work worker -c 3 -l warning --without-mingle --without-gossip
	cat >ask.py <<-'EOT'
		import work
		print(work.twice.delay("x" * 5).get(timeout=80))
		print(sum(len(r.get(timeout=80)) for r in [work.twice.delay("x" * i * 50) for i in range(100)]))
	EOT
	ask_limit=90 ask /usr/bin/python3 ask.py
}

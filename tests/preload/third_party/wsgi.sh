# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# wsgi: gunicorn's workers, uwsgi
# programs: gunicorn, uWSGI
# needs: /usr/bin/gunicorn uwsgi curl
# length: long
# gets: smc=4 may=TIMEOUT,CLOSED
stranger() {
	local g u
	g=$(another) u=$(another)
	cat >app.py <<-'EOT'
		def application(env, start):
		    n = int(env.get("CONTENT_LENGTH") or 0)
		    b = env["wsgi.input"].read(n)
		    start("200 OK", [("Content-Type", "text/plain")])
		    return [b.upper(), b"x" * 300000]
	EOT
	serve gunicorn /usr/bin/gunicorn -b "127.0.0.1:$g" -w 2 app:application
	serve uwsgi uwsgi --plugin python3 --http-socket "127.0.0.1:$u" --wsgi-file app.py --master --processes 2 --die-on-term
	await_port "$g" && await_port "$u"
	for i in 1 2 3 4; do
		ask curl -sS -d "hello$i" "http://127.0.0.1:$g/" | digest
		ask curl -sS -d "hello$i" "http://127.0.0.1:$u/" | digest
	done
}

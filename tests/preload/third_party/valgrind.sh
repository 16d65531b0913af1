# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# valgrind: curl and python under valgrind's memcheck
# programs: under valgrind
# needs: valgrind curl python3
# length: long
# gets: smc=2
stranger() {
	mkdir www && data www/file 200000
	serve server python3 -u -m http.server "$port" --bind 127.0.0.1 -d www
	await_port "$port"
	ask valgrind -q --log-file=one.txt --error-exitcode=9 curl -sS "http://127.0.0.1:$port/file" | digest
	ask valgrind -q --log-file=two.txt --tool=callgrind --callgrind-out-file=c curl -sS "http://127.0.0.1:$port/file" | digest
	# What it finds in curl's own libraries is the same.
	grep -c ERROR one.txt
	grep -o 'Invalid.*\|uninit.*' one.txt | sort | uniq -c
}

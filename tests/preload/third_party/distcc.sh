# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# distcc: a compile that a daemon does
# programs: distcc
# needs: distccd distcc gcc
# length: long
# gets: smc=1 must=DEMOTED_EXEC may=DEMOTED_STDIO,DEMOTED_PEER,TIMEOUT,FORK,CLOSED
stranger() {
	local i
	mkdir d && chmod 777 d .
	for i in 1 2 3 4 5; do
		echo "int f$i(int x) { return x * $i; }" >"f$i.c"
	done
	serve server distccd --no-detach --daemon --allow-private --allow 127.0.0.1 \
		--listen 127.0.0.1 --port "$port" --jobs 2 --log-stderr \
		--enable-tcp-insecure --pid-file "$place/d/pid"
	await_port "$port"
	export DISTCC_HOSTS="127.0.0.1:$port" DISTCC_FALLBACK=0 DISTCC_DIR=$place/d HOME=$place
	for i in 1 2 3 4 5; do
		ask distcc gcc -O2 -c "f$i.c" -o "f$i.o"
	done
	cat f?.o | digest
	echo 'int x = "no";' >bad.c
	ask distcc gcc -Werror -c bad.c -o bad.o 2>&1 | grep -c error
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ccache: ccache: results kept in redis
# programs: ccache
# needs: ccache redis-server gcc
# length: long
# gets: smc=4 must=DEMOTED_EXEC may=DEMOTED_PEER,CLOSED,TIMEOUT
stranger() {
	local i
	serve server redis-server --port "$port" --bind 127.0.0.1 --save ''
	await_port "$port"
	printf 'int f(int n) { return n; }\n' >a.c
	export CCACHE_REMOTE_STORAGE=redis://127.0.0.1:$port CCACHE_REMOTE_ONLY=1 CCACHE_DIR=$place/cache CCACHE_CONFIGPATH=/dev/null
	for i in 1 2 3; do ask ccache gcc -g -c a.c -o a$i.o; done
	ask ccache -z
	ask ccache gcc -g -c a.c -o a4.o
	ask ccache -s | grep -i -e hits: | head -n 1
	cmp a1.o a4.o && echo same
}

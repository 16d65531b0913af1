# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# lldb: LLDB: a program under lldb-server
# programs: LLDB
# needs: lldb-14 lldb-server-14 gcc
# length: long
# gets: smc=1 may=CLOSED,TIMEOUT,DEMOTED_AIO,DEMOTED_EXEC,DEMOTED_PEER,FORK
stranger() {
	printf 'int twice(int n) { return 2 * n; }\nint main(void) { int s = 0; for (int i = 0; i < 5; i++) s += twice(i); return s; }\n' >p.c
	gcc -g -O0 -o p p.c
	serve server lldb-server-14 gdbserver "127.0.0.1:$port" ./p
	await_port "$port"
	ask lldb-14 --no-lldbinit -b -o "gdb-remote $port" -o 'breakpoint set -n twice -i 3' -o continue -o 'frame variable n' \
		-o 'memory read -c 4 -f x -s 1 &n' -o 'breakpoint delete -f' -o continue ./p 2>/dev/null | grep -o -e '(int) n = .*' -e 'exited with status = [0-9]*' -e ': 0x0[0-9] .*'
}

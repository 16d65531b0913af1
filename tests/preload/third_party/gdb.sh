# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# gdb: gdbserver and gdb's remote protocol
# programs: gdbserver, gdb
# needs: gdb gdbserver gcc
# length: long
# gets: may=DEMOTED_AIO,DEMOTED_PEER,TIMEOUT,CLOSED,FORK
stranger() {
	cat >p.c <<-'EOT'
		#include <stdio.h>
		int f(int x) { return x * 2; }
		int main(void) { printf("%d\n", f(21)); return 7; }
	EOT
	gcc -g -o p p.c
	serve server gdbserver --once "127.0.0.1:$port" ./p
	await_port "$port"
	ask gdb -nx -batch -ex 'set sysroot /' -ex "target remote 127.0.0.1:$port" \
		-ex 'break f' -ex continue -ex 'print x' -ex 'finish' -ex continue ./p 2>&1 |
		grep -e '^[$]1' -e 'Value returned' -e 'exited' |
		sed 's/process [0-9]*/process/'
	await_true grep -qs 'Child exited' server.log
	grep -o -e '^42' -e 'Child exited' server.log
}

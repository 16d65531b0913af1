# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# jdb: the debugger of Java at a program that waits for it
# programs: Java's debugger
# needs: java javac jdb
# length: long
# gets: smc=1 may=CLOSED
stranger() {
	cat >A.java <<-'EOT'
		public class A {
			static int f(int x) { return x * 2; }
			public static void main(String[] a) {
				int s = 0;
				for (int i = 0; i < 5; i++) s += f(i);
				System.out.println("sum " + s);
			}
		}
	EOT
	javac -g A.java
	serve server java "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:$port" A
	await_port "$port"
	printf '%s\n' 'stop in A.f' run cont 'print x' where 'clear A.f' cont |
		while read -r line; do sleep 0.7; echo "$line"; done |
		ask jdb -attach "127.0.0.1:$port" |
		grep -o -e 'x = [0-9]*' -e 'A.f (A.java:[0-9]*)' -e 'Set breakpoint A.f' | sort -u
	await_true grep -q '^sum 20' server.log
	grep '^sum' server.log
}

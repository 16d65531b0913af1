# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# rsyslog: rsyslog: one that forwards to another one, and loggers
# programs: rsyslog
# needs: rsyslogd logger
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT
stranger() {
	local to i
	to=$(another)
	mkdir work
	cat >to.conf <<-EOT
		global(workDirectory="$place/work" net.enableDNS="off")
		module(load="imtcp")
		input(type="imtcp" port="$to" address="127.0.0.1")
		template(name="t" type="string" string="%msg%\n")
		action(type="omfile" file="$place/out" template="t")
	EOT
	cat >from.conf <<-EOT
		global(workDirectory="$place/work" net.enableDNS="off")
		module(load="imtcp")
		input(type="imtcp" port="$port" address="127.0.0.1")
		action(type="omfwd" target="127.0.0.1" port="$to" protocol="tcp" queue.type="LinkedList" queue.size="100000")
	EOT
	for i in to from; do
		serve "$i" rsyslogd -n -f "$place/$i.conf" -i "$place/$i.pid"
	done
	await_port "$to"
	await_port "$port"
	seq 20000 >lines
	ask logger -n 127.0.0.1 -P "$port" -T -t x -f lines
	ask logger -n 127.0.0.1 -P "$port" -T --octet-count -t x -f lines
	await_true sh -c "[ \$(wc -l <'$place/out') -ge 40000 ]"
	sort out | digest
}

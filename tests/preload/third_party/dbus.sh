# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dbus: a bus over TCP: dbus-send, dbus-monitor
# programs: D-Bus over TCP
# needs: dbus-daemon dbus-send dbus-monitor
# length: long
# gets: smc=2 may=TIMEOUT,DEMOTED_PASSING,DEMOTED_PEER,CLOSED
stranger() {
	cat >bus.conf <<-EOT
		<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
		<busconfig>
		<type>session</type>
		<listen>tcp:host=127.0.0.1,port=$port,family=ipv4</listen>
		<auth>ANONYMOUS</auth><allow_anonymous/>
		<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/></policy>
		</busconfig>
	EOT
	serve server dbus-daemon --config-file=bus.conf --nofork
	await_port "$port"
	export DBUS_SESSION_BUS_ADDRESS="tcp:host=127.0.0.1,port=$port,family=ipv4"
	serve monitor dbus-monitor --session "interface='a.b'"
	await_true grep -qs NameAcquired monitor.log
	ask dbus-send --session --print-reply --dest=org.freedesktop.DBus \
		/org/freedesktop/DBus org.freedesktop.DBus.GetId | grep -c string
	ask dbus-send --session --type=signal / a.b.c string:hello
	await_true grep -qs hello monitor.log
	ask dbus-send --session --print-reply --dest=no.such / a.b.c 2>&1 | sed 's/:1.*//'
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# monit: monit: its HTTP interface, and ports that it looks at
# programs: Monit
# needs: monit curl
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	mkdir state
	cat >monitrc <<-EOT
		set daemon 2
		set pidfile $place/pid
		set statefile $place/state/s
		set idfile $place/state/id
		set httpd port $port and use address 127.0.0.1
			allow localhost
		check file conf with path $place/monitrc
		check host self with address 127.0.0.1
			if failed port $port protocol http then alert
	EOT
	chmod 600 monitrc
	serve server monit -I -c "$place/monitrc"
	await_port "$port"
	await_true sh -c '"$@" | grep -q "response time"' sh "${wrap[@]}" curl -sS "http://127.0.0.1:$port/_status?format=text"
	ask monit -B -c "$place/monitrc" summary | grep -v uptime
	ask curl -sS "http://127.0.0.1:$port/_status?format=xml" | grep -c '<service type'
	ask curl -sS "http://127.0.0.1:$port/" | grep -o '<title>.*</title>'
}

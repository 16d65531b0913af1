# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# telnet: telnetd behind socat, driven by expect
# programs: telnet
# needs: telnet expect socat telnetd
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_PEER,DEMOTED_EXEC,DEMOTED_URGENT,TIMEOUT
stranger() {
	serve server socat "TCP-LISTEN:$port,bind=127.0.0.1,fork" "EXEC:telnetd -E /bin/sh,nofork"
	await_port "$port"
	cat >e <<-'EOT'
		set timeout 10
		log_user 0
		spawn telnet 127.0.0.1 [lindex $argv 0]
		expect -re {[#$] } { send "echo a\$((40+2))b\r" }
		expect "a42b" { puts "answered" } timeout { puts "no answer" }
		send "exit\r"
		expect eof { puts "end" }
	EOT
	ask expect -f e "$port"
}

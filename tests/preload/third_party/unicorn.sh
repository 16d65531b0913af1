# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# unicorn: forked workers, and a new program that gets the listening socket
# programs: unicorn
# needs: unicorn curl
# length: long
# gets: smc=8 may=CLOSED,TIMEOUT
stranger() {
	local i
	echo 'run lambda { |e| [200, {"content-type" => "text/plain"}, [e["rack.input"].read.reverse]] }' >config.ru
	printf 'worker_processes 2\npid "%s/pid"\nlisten "127.0.0.1:%s"\n' "$place" "$port" >u.rb
	serve server unicorn -c u.rb config.ru
	await_port "$port"
	data body 300000
	for i in 1 2 3 4 5 6 7 8; do
		ask curl -sS --data-binary @body "http://127.0.0.1:$port/$i" | digest
		[ "$i" != 4 ] || {
			kill -USR2 "$(cat pid)"
			await_true test -s pid.oldbin
			await_true test -s pid
			kill -QUIT "$(cat pid.oldbin)"
		}
	done
	kill -QUIT "$(cat pid)"
}

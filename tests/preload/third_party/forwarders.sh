# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# forwarders: redir, simpleproxy, pen and 6tunnel before webfs: a process for each, select, poll
# programs: webfs, redir, simpleproxy, pen, 6tunnel
# needs: webfsd redir simpleproxy pen 6tunnel curl
# length: long
# gets: smc=8 may=FORK,TIMEOUT,CLOSED
stranger() {
	local redir simple pen six each
	redir=$(another) simple=$(another) pen=$(another) six=$(another)
	mkdir www && data www/file.txt 3000000 && chmod 755 www
	serve back webfsd -F -4 -i 127.0.0.1 -p "$port" -r www
	serve redir redir -n "127.0.0.1:$redir" "127.0.0.1:$port"
	serve simple simpleproxy -L "127.0.0.1:$simple" -R "127.0.0.1:$port"
	serve pen pen -f -r "127.0.0.1:$pen" "127.0.0.1:$port"
	serve six 6tunnel -1 -d -4 -l 127.0.0.1 "$six" 127.0.0.1 "$port"
	await_port "$port"
	for each in "$redir" "$simple" "$pen" "$six"; do
		await_port "$each"
		ask curl -sS "http://127.0.0.1:$each/file.txt" | digest
	done
	ask curl -sS "http://127.0.0.1:$port/file.txt" "http://127.0.0.1:$port/none" | digest
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# subversion: svnserve, with processes and with threads
# programs: Subversion
# needs: svnserve svn svnadmin
# length: long
# gets: smc=8 may=FORK,CLOSED
stranger() {
	local how
	mkdir home && export HOME=$place/home
	svnadmin create repo
	printf '[general]\nanon-access = write\n' >repo/conf/svnserve.conf
	for how in --foreground --threads; do
		free_port
		serve "server$how" svnserve -d --foreground "$how" \
			--listen-host 127.0.0.1 --listen-port "$port" -r "$place"
		await_port "$port"
		ask svn -q checkout "svn://127.0.0.1:$port/repo" "copy$how"
		data "copy$how/file$how" 3000000
		ask svn -q add "copy$how/file$how"
		ask svn -q commit -m one "copy$how"
		ask svn cat "svn://127.0.0.1:$port/repo/file$how" | digest
		ask svn export -q "svn://127.0.0.1:$port/repo" "export$how"
		cat "export$how"/* | digest
		ask svn log -q "svn://127.0.0.1:$port/repo" | grep -c '^r'
		stop "$last"
	done
}

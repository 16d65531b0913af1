# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# fossil: Fossil: a child for each request; clone, commit, sync
# programs: Fossil
# needs: fossil curl
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_PEER,TIMEOUT,FORK,CLOSED
stranger() {
	export HOME=$place USER=joe FOSSIL_USER=joe
	fossil init --admin-user joe repo >init.log
	mkdir work
	(
		cd work && fossil open --user joe ../repo && data big 500000 && fossil add big &&
			fossil commit -m one --no-warnings
	) >work.log
	fossil user capabilities nobody oig -R repo >/dev/null
	serve server fossil server repo --localhost --port "$port"
	await_port "$port"
	ask fossil clone "http://127.0.0.1:$port/" mine | grep -c -i 'clone done'
	fossil cat -R mine -r trunk big | digest
	ask curl -sS "http://127.0.0.1:$port/doc/trunk/big" | digest
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# rsync: a daemon with its own protocol, delta transfer
# programs: rsync
# needs: rsync
# gets: smc=3 may=TIMEOUT,FORK
stranger() {
	mkdir a b && data a/file 3000000 && data a/other 1000
	cat >conf <<-EOT
		port = $port
		address = 127.0.0.1
		use chroot = no
		pid file = $place/pid
		log file = $place/log
		[m]
		path = $place/a
		uid = root
		gid = root
		read only = no
	EOT
	serve server rsync --daemon --no-detach --config=conf
	await_port "$port"
	ask rsync -a "rsync://127.0.0.1:$port/m/" b/
	diff -r a b
	echo more >>b/file
	ask rsync -a --stats b/ "rsync://127.0.0.1:$port/m/" |
		grep -e 'files transferred' -e 'Literal data'
	diff -r a b
	ask rsync "rsync://127.0.0.1:$port/"
	ask rsync "rsync://127.0.0.1:$port/nosuch/" . 2>&1 | grep -i unknown
}

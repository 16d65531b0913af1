# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# fakeroot: a preload library that asks a server over TCP for each file
# programs: fakeroot-tcp
# needs: fakeroot-tcp tar
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	mkdir tree && data tree/a 1000 && data tree/b 1000
	cat >job.sh <<-'EOT'
		chown 5:6 tree/a && mknod tree/null c 1 3 && chmod 4750 tree/b
		for i in 1 2 3 4 5 6 7 8; do
			(cp tree/a "tree/c$i" && chown "$i:$i" "tree/c$i") &
		done
		wait
		stat -c '%n %u %g %a %F' tree/*
		tar -cf tree.tar tree
	EOT
	ask fakeroot-tcp sh job.sh
	tar -tvf tree.tar --numeric-owner | awk '{ print $1, $2, $NF }' | sort
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# gearman: jobs for two workers, from one client and from many
# programs: gearman
# needs: gearmand gearman
# length: long
# gets: smc=5 may=FORK,CLOSED
stranger() {
	local i
	data file 400000
	seq 60 >lines
	serve server gearmand -L 127.0.0.1 -p "$port" -t 4 -l stderr
	await_port "$port"
	for i in 1 2; do
		serve "worker$i" gearman -h 127.0.0.1 -p "$port" -w -f sort -- sort -r
	done
	ask gearman -h 127.0.0.1 -p "$port" -f sort <file | digest
	ask gearman -h 127.0.0.1 -p "$port" -n -f sort <lines | digest
	ask gearman -h 127.0.0.1 -p "$port" -f sort <file | digest
}

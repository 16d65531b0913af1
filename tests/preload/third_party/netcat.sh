# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# netcat: OpenBSD's nc and ncat: files in both directions, -z, chat
# programs: nc, ncat
# needs: nc.openbsd ncat
# length: long
# gets: smc=3 must=DEMOTED_EXEC may=DEMOTED_STDIO,DEMOTED_PEER,CLOSED,TIMEOUT
stranger() {
	data file 3000000
	serve one nc.openbsd -l -N 127.0.0.1 "$port" <file
	await_port "$port"
	ask nc.openbsd -d 127.0.0.1 "$port" | digest
	free_port
	start two sh -c '"$@" >two.out' sh "${wrap[@]}" nc.openbsd -l 127.0.0.1 "$port"
	await_port "$port"
	ask nc.openbsd -N 127.0.0.1 "$port" <file
	wait "$last"
	digest <two.out
	free_port
	serve three ncat -l 127.0.0.1 "$port" --keep-open --sh-exec "cat $place/file"
	await_port "$port"
	ask ncat --recv-only 127.0.0.1 "$port" </dev/null | digest
	ask nc.openbsd -d 127.0.0.1 "$port" | digest
	free_port
	start four sh -c '"$@" >four.out' sh "${wrap[@]}" ncat -l --recv-only 127.0.0.1 "$port"
	await_port "$port"
	ask ncat --send-only 127.0.0.1 "$port" <file
	wait "$last"
	digest <four.out
	ask nc.openbsd -z 127.0.0.1 "$(another)"
	free_port
	serve six ncat -l 127.0.0.1 "$port" --chat
	await_port "$port"
	ask nc.openbsd -z 127.0.0.1 "$port"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# netcat_traditional: files in both directions, -z, -e
# programs: nc (traditional)
# needs: nc.traditional
# length: long
# gets: smc=2 must=DEMOTED_STDIO may=DEMOTED_PEER,CLOSED,TIMEOUT
stranger() {
	data file 3000000
	start one sh -c '"$@" <file' sh "${wrap[@]}" nc.traditional -l -q 0 -s 127.0.0.1 -p "$port"
	await_port "$port"
	ask nc.traditional 127.0.0.1 "$port" </dev/null | digest
	free_port
	start two sh -c '"$@" >two.out' sh "${wrap[@]}" nc.traditional -l -s 127.0.0.1 -p "$port"
	await_port "$port"
	ask nc.traditional -q 0 127.0.0.1 "$port" <file
	wait "$last"
	digest <two.out
	free_port
	serve three nc.traditional -l -s 127.0.0.1 -p "$port" -c "head -c 1000 | sha256sum"
	await_port "$port"
	head -c 1000 file | ask nc.traditional 127.0.0.1 "$port"
	ask nc.traditional -z 127.0.0.1 "$(another)"
	free_port
	serve four nc.traditional -l -s 127.0.0.1 -p "$port"
	await_port "$port"
	ask nc.traditional -z 127.0.0.1 "$port"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nuttcp: both directions
# programs: nuttcp
# needs: nuttcp
# length: long
# gets: smc=2 must=DEMOTED_STDIO may=DEMOTED_PEER,TIMEOUT,FORK
stranger() {
	local d
	d=$(another)
	serve server nuttcp -S --nofork -P "$port" -p "$d"
	await_port "$port"
	ask nuttcp -n 300 -P "$port" -p "$d" 127.0.0.1 | grep -o '18.7500 MB'
	ask nuttcp -r -n 300 -P "$port" -p "$d" 127.0.0.1 | grep -o '18.7500 MB'
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dns_tcp: NSD, asked and transferred over TCP
# programs: NSD, kdig
# needs: nsd kdig
# length: long
# gets: smc=2 may=TIMEOUT
stranger() {
	serve_nsd 3000
	ask kdig +tcp +short -p "$port" @127.0.0.1 a7.example TXT
	ask kdig +noall +answer -p "$port" @127.0.0.1 example AXFR | digest
	ask kdig +tcp +keepopen +short -p "$port" @127.0.0.1 a1.example TXT a2.example TXT a3.example TXT
}

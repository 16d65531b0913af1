# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# irc: ngIRCd, and clients of Python
# programs: ngIRCd
# needs: ngircd python3
# length: long
# gets: smc=2
stranger() {
	printf '[Global]\nName = irc.test\nPorts = %s\nListen = 127.0.0.1\nServerUID = nobody\nServerGID = nogroup\n[Options]\nDNS = no\nIdent = no\nPAM = no\n' "$port" >conf
	chmod 644 conf
	serve server ngircd -n -f "$place/conf"
	await_port "$port"
	ask python3 "$here/third_party/irc_client.py" "$port" 20
}

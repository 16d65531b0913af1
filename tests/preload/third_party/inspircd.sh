# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# inspircd: InspIRCd, and clients of Python
# programs: InspIRCd
# needs: inspircd python3
# length: long
# gets: smc=2
stranger() {
	cat >conf <<-EOT
		<server name="irc.test" description="x" network="x">
		<admin name="x" nick="x" email="x@x">
		<bind address="127.0.0.1" port="$port" type="clients">
		<connect allow="*" timeout="60" maxchans="20" localmax="100" globalmax="100" resolvehostnames="no" useident="no">
		<pid file="$place/pid">
	EOT
	chmod 644 conf
	serve server inspircd --nofork --runasroot --config "$place/conf"
	await_port "$port"
	ask python3 "$here/third_party/irc_client.py" "$port" 10
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# cups: a print server: a job from a client
# programs: CUPS
# needs: /usr/sbin/cupsd lp lpstat lpadmin
# length: long
# gets: smc=4
stranger() {
	mkdir -p root tmp spool cache/rss state/certs log server/ssl && data file 400000
	chmod -R 777 .
	cat >cupsd.conf <<-EOT
		Listen 127.0.0.1:$port
		LogLevel debug
		MaxLogSize 0
		DefaultAuthType None
		Browsing No
		PreserveJobFiles Yes
		<Location />
		Order allow,deny
		Allow all
		</Location>
		<Policy default>
		<Limit All>
		Order allow,deny
		Allow all
		</Limit>
		</Policy>
	EOT
	cat >cups-files.conf <<-EOT
		FileDevice Yes
		ServerRoot $place
		RequestRoot $place/spool
		CacheDir $place/cache
		StateDir $place/state
		TempDir $place/tmp
		AccessLog $place/log/access
		ErrorLog $place/log/error
		PageLog $place/log/page
		SystemGroup root
	EOT
	serve server cupsd -f -c "$place/cupsd.conf" -s "$place/cups-files.conf"
	await_port "$port"
	ask lpadmin -h "127.0.0.1:$port" -p raw -v file:/dev/null -E
	ask lpstat -h "127.0.0.1:$port" -p raw | cut -c 1-24
	ask lp -h "127.0.0.1:$port" -d raw -o raw file
	digest <spool/d00001-001
	ask lpstat -h "127.0.0.1:$port" -W completed raw | cut -c 1-6
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# icecast: a source that streams, two listeners, and its status page
# programs: Icecast
# needs: icecast2 curl :icecast2 /etc/icecast2/web
# length: long
# gets: smc=3
stranger() {
	mkdir -m 777 log
	cat >conf.xml <<-EOT
		<icecast>
		<limits><burst-size>65535</burst-size><queue-size>524288</queue-size></limits>
		<authentication><source-password>hackme</source-password>
		<admin-user>a</admin-user><admin-password>b</admin-password></authentication>
		<hostname>localhost</hostname>
		<listen-socket><port>$port</port><bind-address>127.0.0.1</bind-address></listen-socket>
		<paths><basedir>/usr/share/icecast2</basedir><logdir>$place/log</logdir>
		<webroot>/etc/icecast2/web</webroot><adminroot>/etc/icecast2/admin</adminroot></paths>
		<logging><accesslog>a</accesslog><errorlog>e</errorlog></logging>
		<security><chroot>0</chroot><changeowner><user>icecast2</user><group>icecast</group></changeowner></security>
		</icecast>
	EOT
	data file 400000
	serve server icecast2 -c "$place/conf.xml"
	await_port "$port"
	ask curl -sS -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/status.xsl"
	serve source curl -sS -u source:hackme -T file --limit-rate 100k \
		-H 'Content-Type: application/ogg-not' "http://127.0.0.1:$port/stream"
	await_true grep -q stream log/e
	ask curl -sS -m 2 -o got "http://127.0.0.1:$port/stream" 2>/dev/null
	# whole lines, one after the other
	sed '1d; $d' got | awk 'NR > 1 && $1 != last + 1 { lost++ }
		{ last = $1 } END { print (NR > 1000), lost + 0 }'
}

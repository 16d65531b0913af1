# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# cvs: CVS: a pserver that inherits its connection from tcpserver
# programs: CVS
# needs: cvs tcpserver perl
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,FORK,CLOSED
stranger() {
	export HOME=$place
	cvs -d "$place/root" init
	echo "joe:$(perl -e 'print crypt("x", "ab")'):nobody" >root/CVSROOT/passwd
	chown -R nobody: root
	serve server tcpserver -RHl0 127.0.0.1 "$port" \
		cvs --allow-root="$place/root" pserver
	await_port "$port"
	export CVSROOT=:pserver:joe:x@127.0.0.1:$port$place/root
	mkdir in && data in/big 400000 && echo one >in/small
	(cd in && ask cvs -Q import -m first part us start)
	ask cvs -Q co part
	cmp in/big part/big
	echo two >>part/small
	ask cvs -Q ci -m second part
	ask cvs -Q co -p part/small
	ask cvs -Q log part/small | grep -e revision: -e ^second
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mercurial: clone, push and pull by hg serve
# programs: Mercurial
# needs: hg
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT
stranger() {
	export HGRCPATH=$place/rc
	printf '[ui]\nusername = a\n[web]\npush_ssl = no\nallow_push = *\n' >rc
	hg init repo && data repo/file 3000000
	hg -R repo commit -q -A -m one -d '0 0'
	serve server hg -R repo serve -a 127.0.0.1 -p "$port"
	await_port "$port"
	ask hg clone -q "http://127.0.0.1:$port/" copy
	digest <copy/file
	data copy/file2 2000000
	hg -R copy commit -q -A -m two -d '0 0'
	ask hg -R copy push
	ask hg -R repo log -q
	ask hg identify "http://127.0.0.1:$port/"
}

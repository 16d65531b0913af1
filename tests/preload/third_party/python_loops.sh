# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# python_loops: asyncio, uvloop, gevent, twisted, tornado, trio, aiohttp
# programs: Python event loops
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/uvloop /usr/lib/python3/dist-packages/gevent /usr/lib/python3/dist-packages/twisted /usr/lib/python3/dist-packages/tornado /usr/lib/python3/dist-packages/trio /usr/lib/python3/dist-packages/aiohttp
# length: long
# gets: smc=20 may=SAME_PROCESS,TIMEOUT,CLOSED
stranger() {
	local i kinds=(asyncio uvloop gevent twisted tornado trio) p
	cp "$here/third_party/python_loops.py" .
	for i in "${kinds[@]}"; do
		p=$(another)
		serve "$i" /usr/bin/python3 python_loops.py "$i" "$p"
		await_port "$p"
		echo "$i"
		ask /usr/bin/python3 python_loops.py client "$p"
		ask /usr/bin/python3 python_loops.py aclient "$p"
		ask /usr/bin/python3 python_loops.py gclient "$p"
	done
	p=$(another)
	serve aiohttp /usr/bin/python3 python_loops.py aiohttp "$p"
	await_port "$p"
	ask /usr/bin/python3 python_loops.py hclient "$p"
	ask curl -sS "http://127.0.0.1:$p/" | digest
}

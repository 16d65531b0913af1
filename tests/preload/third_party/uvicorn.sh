# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# uvicorn: uvicorn: ASGI under asyncio and uvloop
# programs: uvicorn
# needs: uvicorn curl h2load
# length: long
# gets: smc=10 may=CLOSED,TIMEOUT
stranger() {
	local loop p=$port
	cat >app.py <<-'EOT'
		async def app(scope, receive, send):
		    if scope["type"] != "http": return
		    n = 0
		    while True:
		        m = await receive()
		        n += len(m.get("body", b""))
		        if not m.get("more_body"): break
		    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
		    for i in range(5): await send({"type": "http.response.body", "body": b"%d " % n * 1000, "more_body": i < 4})
	EOT
	data body 700000
	for loop in asyncio uvloop; do
		serve "$loop" uvicorn --host 127.0.0.1 --port "$p" --loop "$loop" --no-access-log app:app
		await_port "$p"
		ask curl -sS --data-binary @body "http://127.0.0.1:$p/a" "http://127.0.0.1:$p/b" | digest
		ask h2load --h1 -n 500 -c 10 "http://127.0.0.1:$p/" | grep -e '^requests' -e '^status'
		p=$(another)
	done
}

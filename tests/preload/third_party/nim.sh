# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nim: Nim: asyncdispatch, and its HTTP server
# programs: Nim
# needs: nim curl
# length: long
# gets: smc=7 may=CLOSED,TIMEOUT
stranger() {
	cat >p.nim <<-'EOT'
		import asyncdispatch, asyncnet, asynchttpserver, os, strutils
		let port = Port(parseInt(paramStr(2)))
		proc serve(c: AsyncSocket) {.async.} =
		  while true:
		    let l = await c.recvLine(maxLength = 10000000)
		    if l.len == 0: break
		    await c.send(l & l & "\c\L")
		  c.close()
		proc server() {.async.} =
		  let s = newAsyncSocket(); s.setSockOpt(OptReuseAddr, true)
		  s.bindAddr(port, "127.0.0.1"); s.listen()
		  while true: asyncCheck serve(await s.accept())
		proc client(k: int): Future[string] {.async.} =
		  let s = newAsyncSocket(); await s.connect("127.0.0.1", port)
		  var n = 0
		  for i in 1 .. 60:
		    await s.send(repeat('x', i * 200) & "\c\L")
		    n += (await s.recvLine(maxLength = 10000000)).len
		  s.close(); return $k & " " & $n
		proc http() {.async.} =
		  var h = newAsyncHttpServer()
		  proc cb(req: Request) {.async.} = await req.respond(Http200, req.body & req.url.path)
		  await h.serve(port, cb, "127.0.0.1")
		case paramStr(1)
		of "server": waitFor server()
		of "http": waitFor http()
		else:
		  var fs: seq[Future[string]]
		  for k in 1 .. 6: fs.add client(k)
		  for r in waitFor all(fs): echo r
	EOT
	nim c --hints:off --warnings:off --nimcache:cache -o:p p.nim >nim.txt 2>&1
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
	p=$(another)
	serve http ./p http "$p"
	await_port "$p"
	data body 500000
	ask curl -sS --data-binary @body "http://127.0.0.1:$p/a" "http://127.0.0.1:$p/b" | digest
}

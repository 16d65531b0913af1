# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# node: HTTP server and client, keep-alive, streams
# programs: node
# needs: node curl
# length: long
# gets: smc=4
stranger() {
	serve server node "$here/third_party/http_client.js" server "$port"
	await_port "$port"
	ask node "$here/third_party/http_client.js" client "$port"
	ask curl -sS -d hello "http://127.0.0.1:$port/"
	ask curl -sS "http://127.0.0.1:$port/stream" | digest
}

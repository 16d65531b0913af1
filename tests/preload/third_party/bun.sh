# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# bun: waits by system calls of its own; its peer is curl
# programs: Bun
# needs: bun curl
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	serve server bun "$here/third_party/http_client.js" server "$port"
	await_port "$port"
	ask bun "$here/third_party/http_client.js" client "$port"
	ask curl -sS -d hello "http://127.0.0.1:$port/"
	ask curl -sS "http://127.0.0.1:$port/stream" | digest
}

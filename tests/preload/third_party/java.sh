# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# java: HttpServer, HttpClient, NIO channels, asynchronous close
# programs: Java
# needs: java javac curl
# length: long
# gets: smc=3 may=TIMEOUT,CLOSED
stranger() {
	javac -d . "$here/third_party/Http.java"
	serve server java -cp . Http server "$port"
	await_port "$port"
	ask java -cp . Http client "$port"
	ask curl -sS -d hello "http://127.0.0.1:$port/"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# openssl: s_server and s_client, -WWW, session reuse, DTLS not
# programs: openssl s_server
# needs: openssl curl
# gets: smc=3
stranger() {
	certificate
	data file 2000000
	serve server openssl s_server -quiet -accept "127.0.0.1:$port" \
		-cert cert.pem -key key.pem -WWW
	await_port "$port"
	ask curl -sS --http1.0 --cacert cert.pem "https://127.0.0.1:$port/file" | digest
	(echo "GET /file HTTP/1.0"; echo; sleep 1) |
		ask openssl s_client -quiet -connect "127.0.0.1:$port" \
			-CAfile cert.pem 2>/dev/null | digest
	ask openssl s_client -brief -connect "127.0.0.1:$port" -CAfile cert.pem \
		-verify_return_error </dev/null 2>&1 | grep -e Verif -e Protocol
	free_port
	serve echo openssl s_server -quiet -rev -accept "127.0.0.1:$port" \
		-cert cert.pem -key key.pem
	await_port "$port"
	# The end of its input is the client's end, so not before the answer.
	# shellcheck disable=SC2094 # it is only waited for
	(echo drawer; await_true test -s answer) | ask openssl s_client -quiet \
		-no_ign_eof -connect "127.0.0.1:$port" 2>/dev/null >answer
	cat answer
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# gnutls: gnutls-serv with gnutls-cli and curl
# programs: GnuTLS
# needs: gnutls-serv gnutls-cli openssl curl
# length: long
# gets: smc=2
stranger() {
	certificate
	data file 300000
	serve server gnutls-serv --http --quiet --port "$port" \
		--x509certfile cert.pem --x509keyfile key.pem
	await_port "$port"
	ask curl -sS --cacert cert.pem "https://localhost:$port/" |
		grep -o -e "Session ID" -e "Protocol version" | sort -u
	free_port
	serve echo gnutls-serv --echo --quiet --port "$port" \
		--x509certfile cert.pem --x509keyfile key.pem
	await_port "$port"
	# The end of its input is the client's end, so not before the answer.
	# shellcheck disable=SC2094 # it is only waited for
	(echo mirror; await_true grep -q mirror answer) |
		ask gnutls-cli --logfile=client.log --x509cafile cert.pem \
			-p "$port" localhost >answer
	grep mirror answer
}

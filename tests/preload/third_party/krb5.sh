# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# krb5: a key distribution center on TCP alone, asked for tickets
# programs: MIT Kerberos
# needs: krb5kdc kdb5_util kadmin.local kinit kvno klist
# length: long
# gets: smc=10 may=TIMEOUT
stranger() {
	export KRB5_CONFIG=$place/krb5.conf KRB5_KDC_PROFILE=$place/kdc.conf KRB5CCNAME=FILE:$place/cc
	cat >krb5.conf <<-EOT
		[libdefaults]
		 default_realm = T.EXAMPLE
		 udp_preference_limit = 1
		 dns_lookup_kdc = false
		[realms]
		 T.EXAMPLE = {
		  kdc = 127.0.0.1:$port
		 }
	EOT
	cat >kdc.conf <<-EOT
		[kdcdefaults]
		 kdc_listen = ""
		 kdc_tcp_listen = 127.0.0.1:$port
		[realms]
		 T.EXAMPLE = {
		  database_name = $place/principal
		  key_stash_file = $place/stash
		  acl_file = $place/acl
		 }
	EOT
	kdb5_util create -s -P master >/dev/null 2>&1
	kadmin.local -q 'addprinc -pw secret user' >/dev/null 2>&1
	kadmin.local -q 'addprinc -pw secret host/x' >/dev/null 2>&1
	serve server krb5kdc -n -P "$place/pid"
	await_port "$port"
	echo secret | ask kinit user >/dev/null
	ask kvno host/x
	klist | grep -o 'host/x.*'
	for _ in 1 2 3 4 5 6 7 8; do echo secret | ask kinit user >/dev/null; done
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# openldap: slapd with ldapadd, ldapsearch, StartTLS
# programs: OpenLDAP
# needs: slapd slapadd ldapsearch ldapadd openssl
# length: long
# gets: smc=3 may=DEMOTED_STDIO,DEMOTED_PEER,TIMEOUT,CLOSED
stranger() {
	certificate
	mkdir db
	cat >slapd.conf <<-EOT
		include /etc/ldap/schema/core.schema
		pidfile $place/slapd.pid
		modulepath /usr/lib/ldap
		moduleload back_mdb
		TLSCertificateFile $place/cert.pem
		TLSCertificateKeyFile $place/key.pem
		database mdb
		suffix "dc=x"
		rootdn "cn=root,dc=x"
		rootpw secret
		directory $place/db
	EOT
	export LDAPTLS_CACERT=$place/cert.pem
	serve server slapd -d 0 -f slapd.conf -h "ldap://127.0.0.1:$port"
	await_port "$port"
	{
		printf 'dn: dc=x\nobjectClass: dcObject\nobjectClass: organization\no: x\ndc: x\n\n'
		for i in $(seq 300); do
			printf 'dn: cn=n%s,dc=x\nobjectClass: person\ncn: n%s\nsn: s\n\n' "$i" "$i"
		done
	} >in.ldif
	ask ldapadd -x -H "ldap://127.0.0.1:$port" -D cn=root,dc=x -w secret -f in.ldif | digest
	ask ldapsearch -x -LLL -H "ldap://127.0.0.1:$port" -b dc=x | digest
	ask ldapsearch -x -LLL -ZZ -H "ldap://127.0.0.1:$port" -b dc=x '(cn=n7)' sn
	ask ldapsearch -x -H "ldap://127.0.0.1:$port" -D cn=root,dc=x -w wrong -b dc=x 2>&1 || true
}

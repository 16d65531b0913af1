# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2016,SC2317 # set and called by third_party.sh
# knot: a zone transfer of 20000 records, signed, and its changes
# programs: Knot DNS
# needs: knotd knotc kdig
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	local a=$port b i
	b=$(another)
	{
		echo '$ORIGIN t.'
		echo '@ 60 SOA ns.t. a.t. 1 60 60 9999 60'
		echo '@ 60 NS ns.t.'
		echo 'ns 60 A 127.0.0.1'
		seq 20000 | sed 's/.*/h& 60 TXT "text & & & &"/'
	} >t.zone
	for i in a b; do
		mkdir "$i"
		cat >"$i.conf" <<-EOT
			server:
			    rundir: $place/$i
			    listen: 127.0.0.1@${!i}
			    tcp-workers: 2
			database:
			    storage: $place/$i
			key:
			  - id: k.
			    algorithm: hmac-sha256
			    secret: c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0
			remote:
			  - id: m
			    address: 127.0.0.1@$a
			    key: k.
			  - id: s
			    address: 127.0.0.1@$b
			acl:
			  - id: all
			    address: 127.0.0.1
			    key: k.
			    action: [transfer, notify, update]
			  - id: n
			    address: 127.0.0.1
			    action: notify
			zone:
			  - domain: t.
			    storage: $place/$i
		EOT
	done
	cat >>a.conf <<-EOT
		    file: $place/t.zone
		    notify: s
		    acl: all
		    zonefile-sync: -1
		    journal-content: changes
	EOT
	cat >>b.conf <<-EOT
		    master: m
		    acl: [all, n]
	EOT
	serve a knotd -c a.conf
	serve b knotd -c b.conf
	await_port "$a" && await_port "$b"
	has() { "${wrap[@]}" kdig @127.0.0.1 -p "$b" +tcp +short +timeout=1 SOA t. 2>/dev/null | grep -q " $1 "; }
	await_true has 1
	ask kdig @127.0.0.1 -p "$a" +tcp -y hmac-sha256:k.:c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0 +noall +answer AXFR t. | digest
	ask kdig @127.0.0.1 -p "$b" +tcp -y hmac-sha256:k.:c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0 +noall +answer AXFR t. | sort | digest
	ask knotc -s "$place/a/knot.sock" zone-begin t.
	ask knotc -s "$place/a/knot.sock" zone-set t. new 60 TXT hello
	ask knotc -s "$place/a/knot.sock" zone-commit t.
	await_true has 2
	ask kdig @127.0.0.1 -p "$b" +tcp +keepopen +short TXT new.t. h1.t. TXT h20000.t.
}

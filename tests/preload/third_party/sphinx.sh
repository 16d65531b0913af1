# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# sphinx: Sphinx: searches by its SQL
# programs: Sphinx
# needs: searchd indexer mariadb
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT,FORK
stranger() {
	{
		echo '<?xml version="1.0" encoding="utf-8"?><sphinx:docset><sphinx:schema><sphinx:field name="content"/></sphinx:schema>'
		seq 2000 | sed 's|.*|<sphinx:document id="&"><content>word&0 common text</content></sphinx:document>|'
		echo '</sphinx:docset>'
	} >docs.xml
	cat >conf <<-EOT
		source s {
			type = xmlpipe2
			xmlpipe_command = cat $place/docs.xml
		}
		index i {
			source = s
			path = $place/i
		}
		searchd {
			listen = 127.0.0.1:$port:mysql41
			pid_file = $place/pid
			log = $place/searchd.txt
			workers = threads
			binlog_path =
		}
	EOT
	indexer -c conf --all >indexer.txt 2>&1
	serve server searchd --nodetach -c "$place/conf"
	await_port "$port"
	for word in common word770 none; do
		ask mariadb -h 127.0.0.1 -P "$port" --skip-column-names -e "select id from i where match('$word') limit 500 option max_matches=500" | digest
	done
	ask mariadb -h 127.0.0.1 -P "$port" -e "select nothing from nowhere"
	ask mariadb -h 127.0.0.1 -P "$port" --skip-column-names -e "show tables"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# opendkim: OpenDKIM: a milter and its tester
# programs: OpenDKIM
# needs: opendkim miltertest
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT
stranger() {
	openssl genrsa -out key 1024 2>/dev/null && chmod 600 key
	printf 'Domain example.test\nSelector x\nKeyFile %s/key\nMode s\nSyslog no\nBackground no\nInternalHosts 127.0.0.1\nUserID root\nRequireSafeKeys no\n' "$place" >conf
	serve server opendkim -f -x "$place/conf" -p "inet:$port@127.0.0.1" -P "$place/pid"
	await_port "$port"
	cat >t.lua <<-EOT
		for i = 1, 3 do
		    local c = mt.connect("inet:$port@127.0.0.1")
		    if c == nil then error("no connection") end
		    mt.conninfo(c, "localhost", "127.0.0.1")
		    mt.macro(c, SMFIC_MAIL, "i", "t" .. i)
		    mt.mailfrom(c, "a@example.test")
		    mt.rcptto(c, "b@example.test")
		    mt.header(c, "From", "a@example.test")
		    mt.header(c, "Date", "Mon, 1 Jan 2024 00:00:00 +0000")
		    mt.header(c, "Subject", "x")
		    mt.eoh(c)
		    for j = 1, 20 do mt.bodystring(c, string.rep("line of text\r\n", 2000)) end
		    mt.eom(c)
		    print(i, mt.getreply(c) == SMFIR_ACCEPT, mt.eom_check(c, MT_HDRINSERT, "DKIM-Signature") or mt.eom_check(c, MT_HDRADD, "DKIM-Signature"))
		    mt.disconnect(c)
		end
	EOT
	ask miltertest -s t.lua
}

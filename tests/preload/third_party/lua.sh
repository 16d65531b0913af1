# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# lua: Lua: LuaSocket, blocking and by select
# programs: LuaSocket
# needs: lua5.4 /usr/share/lua/5.4/socket.lua
# length: long
# gets: smc=7 may=CLOSED,TIMEOUT
stranger() {
	cat >p.lua <<-'EOT'
		local socket = require "socket"
		local what, port = arg[1], tonumber(arg[2])
		if what == "server" then
		    local s = assert(socket.bind("127.0.0.1", port, 20))
		    local all = {s}
		    while true do
		        for _, c in ipairs((socket.select(all))) do
		            if c == s then
		                local n = s:accept()
		                n:setoption("tcp-nodelay", true)
		                all[#all + 1] = n
		            else
		                local l, e = c:receive("*l")
		                if l then c:send(l:reverse() .. "\n") else
		                    c:close()
		                    for i = #all, 2, -1 do if all[i] == c then table.remove(all, i) end end
		                end
		            end
		        end
		    end
		end
		local cs = {}
		for k = 1, 6 do
		    cs[k] = assert(socket.connect("127.0.0.1", port))
		    cs[k]:settimeout(20)
		    cs[k]:setoption("tcp-nodelay", true)
		end
		for k = 1, 6 do
		    local n = 0
		    for i = 1, 60 do
		        assert(cs[k]:send(string.rep("x", i * 100 * k) .. "\n"))
		        n = n + #assert(cs[k]:receive("*l"))
		    end
		    print(k, n)
		end
		for k = 1, 6 do cs[k]:shutdown("send") end
		for k = 1, 6 do print(cs[k]:receive("*a")) end
		local c = socket.tcp()
		c:settimeout(0)
		print(c:connect("127.0.0.1", port))
		print(#(select(2, socket.select(nil, {c}, 20))))
		c:settimeout(20)
		print(c:send("abc\n"), c:receive("*l"))
	EOT
	serve server lua5.4 p.lua server "$port"
	await_port "$port"
	ask lua5.4 p.lua client "$port"
}

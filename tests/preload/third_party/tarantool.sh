# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# tarantool: Tarantool: fibers, a replica's protocol, many requests at once
# programs: Tarantool
# needs: tarantool
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	cat >s.lua <<-EOT
		box.cfg{wal_mode = "none", memtx_memory = 64 * 1024 * 1024, work_dir = "$place", log_level = 2}
		box.once("x", function()
		    box.schema.space.create("t"):create_index("p")
		    box.schema.user.grant("guest", "read,write,execute", "universe")
		end)
		box.cfg{listen = "127.0.0.1:$port"}
	EOT
	cat >c.lua <<-EOT
		local fiber, net = require("fiber"), require("net.box")
		local done = fiber.channel(8)
		for k = 1, 8 do
		    fiber.create(function()
		        local c = net.connect("127.0.0.1:$port")
		        for i = 1, 200 do c.space.t:replace{k * 1000 + i, string.rep("x", i * 20)} end
		        c:close()
		        done:put(k)
		    end)
		end
		for k = 1, 8 do done:get() end
		local c = net.connect("127.0.0.1:$port")
		print(c:eval("return box.space.t:len()"))
		local n = 0
		for _, t in ipairs(c.space.t:select({}, {limit = 2000})) do n = n + #t[2] end
		print(n)
		print(pcall(c.eval, c, "error('no')"))
		print(#c:eval("return string.rep('y', 3000000)"))
		os.exit(0)
	EOT
	serve server tarantool s.lua
	await_port "$port"
	ask tarantool c.lua
}

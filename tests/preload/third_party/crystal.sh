# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# crystal: Crystal: fibers, a server that hijacks its connections
# programs: Crystal
# needs: crystal
# length: long
# gets: smc=8 may=CLOSED,TIMEOUT
stranger() {
	cat >p.cr <<-'EOT'
		require "socket"
		port = ARGV[1].to_i
		if ARGV[0] == "server"
		  l = TCPServer.new("127.0.0.1", port)
		  while c = l.accept?
		    spawn { s = c; while x = s.gets; s.puts(x.reverse); s.flush; end; s.close }
		    Fiber.yield
		  end
		end
		ch = Channel(String).new
		8.times do |k|
		  spawn do
		    s = TCPSocket.new("127.0.0.1", port)
		    n = 0
		    100.times { |i| s.puts("x" * (i * 100)); n += s.gets.not_nil!.size }
		    s.read_timeout = 0.05
		    late = begin; s.gets; "no"; rescue IO::TimeoutError; "late"; end
		    s.read_timeout = nil
		    spawn { s.puts("y" * 500000); s.close_write }
		    m = s.gets_to_end.size
		    ch.send("#{k} #{n} #{late} #{m}")
		  end
		end
		a = [] of String
		8.times { a << ch.receive }
		puts a.sort
	EOT
	crystal build --no-color -o p p.cr
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
}

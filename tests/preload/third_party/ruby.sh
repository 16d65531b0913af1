# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ruby: WEBrick and Net::HTTP, TCPServer with threads
# programs: Ruby
# needs: ruby curl
# length: long
# gets: smc=5
stranger() {
	cat >server.rb <<-'EOT'
		require 'socket'
		s = TCPServer.new('127.0.0.1', ARGV[0].to_i)
		loop do
		  Thread.new(s.accept) do |c|
		    while (l = c.gets)
		      c.puts l.chomp.reverse * 100
		    end
		    c.close
		  end
		end
	EOT
	cat >web.rb <<-'EOT'
		require 'webrick'
		WEBrick::HTTPServer.new(Port: ARGV[0].to_i, BindAddress: '127.0.0.1', DocumentRoot: '.', AccessLog: []).start
	EOT
	cat >client.rb <<-'EOT'
		require 'socket'
		require 'net/http'
		t = 6.times.map do |i|
		  Thread.new do
		    s = TCPSocket.new('127.0.0.1', ARGV[0].to_i)
		    n = 100.times.sum { |j| s.puts "line #{i} #{j}"; s.gets.size }
		    s.close_write
		    [n, s.read]
		  end
		end
		p t.map(&:value)
		Net::HTTP.start('127.0.0.1', ARGV[1].to_i) { |h| 5.times { |i| p h.get('/file').body.size } }
	EOT
	local web
	web=$(another)
	data file 500000
	serve server ruby server.rb "$port"
	serve web ruby web.rb "$web"
	await_port "$port" && await_port "$web"
	ask ruby client.rb "$port" "$web"
	ask curl -sS "http://127.0.0.1:$web/file" | digest
}

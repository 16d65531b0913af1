# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# asio: Boost.Asio: threads in one io_context, edges, time-outs, cancelled reads
# programs: Boost.Asio
# needs: g++ /usr/include/boost/asio.hpp
# length: long
# gets: smc=40 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER
stranger() {
	cat >a.cc <<-'EOT'
		#include <boost/asio.hpp>
		#include <iostream>
		#include <thread>
		#include <memory>
		#include <vector>
		#include <atomic>
		using namespace boost::asio; using ip::tcp; using boost::system::error_code;
		struct S : std::enable_shared_from_this<S> {
		  tcp::socket s; steady_timer t; std::vector<char> b = std::vector<char>(70000);
		  strand<any_io_executor> st;
		  S(tcp::socket x) : s(std::move(x)), t(s.get_executor()), st(s.get_executor()) {}
		  void rd() { auto me = shared_from_this(); t.expires_after(std::chrono::seconds(20));
		    t.async_wait(bind_executor(st, [me](error_code e) { if (!e) me->s.cancel(); }));
		    s.async_read_some(buffer(b), bind_executor(st, [me](error_code e, size_t n) { me->t.cancel(); if (!e) me->wr(n); })); }
		  void wr(size_t n) { auto me = shared_from_this(); async_write(s, buffer(b, n), bind_executor(st, [me](error_code e, size_t) { if (!e) me->rd(); })); }
		};
		struct C : std::enable_shared_from_this<C> {
		  tcp::socket s; size_t left, got = 0, total; std::vector<char> o, i = std::vector<char>(30000); std::atomic<size_t> &sum;
		  C(io_context &c, size_t n, std::atomic<size_t> &x) : s(make_strand(c)), left(n), total(n), o(n, 'a'), sum(x) {}
		  void go(tcp::endpoint e) { auto me = shared_from_this(); s.async_connect(e, [me](error_code e) {
		    if (e) { std::cout << e.message() << "\n"; return; }
		    me->s.set_option(tcp::no_delay(true));
		    async_write(me->s, buffer(me->o), [me](error_code e, size_t) { me->s.shutdown(tcp::socket::shutdown_send, e); });
		    me->rd(); }); }
		  void rd() { auto me = shared_from_this(); s.async_read_some(buffer(i), [me](error_code e, size_t n) { me->got += n; me->sum += n;
		    if (e) { if (e != error::eof || me->got != me->total) std::cout << e.message() << me->got << "\n"; return; } me->rd(); }); }
		};
		int main(int c, char **v) {
		  io_context io; tcp::endpoint ep(ip::make_address("127.0.0.1"), atoi(v[2])); std::vector<std::thread> th;
		  std::atomic<size_t> sum{0};
		  tcp::acceptor a(io); std::function<void()> acc;
		  if (*v[1] == 's') { a.open(ep.protocol()); a.set_option(tcp::acceptor::reuse_address(true)); a.bind(ep); a.listen();
		    acc = [&] { a.async_accept(make_strand(io), [&](error_code e, tcp::socket s) { if (!e) std::make_shared<S>(std::move(s))->rd(); acc(); }); }; acc(); }
		  else for (int i = 0; i < 40; i++) std::make_shared<C>(io, 1 + i * 40000, sum)->go(ep);
		  for (int i = 0; i < 4; i++) th.emplace_back([&] { io.run(); });
		  for (auto &t : th) t.join();
		  std::cout << sum << "\n";
		  tcp::socket s(io); io.restart(); s.connect(ep); char b[10]; bool late = false;
		  steady_timer t(io, std::chrono::milliseconds(200)); t.async_wait([&](error_code) { late = true; s.cancel(); });
		  s.async_read_some(buffer(b), [&](error_code e, size_t) { std::cout << late << e.message() << "\n"; });
		  io.run(); write(s, buffer("hello", 5)); s.non_blocking(true); error_code e; std::this_thread::sleep_for(std::chrono::milliseconds(300));
		  std::cout << s.available() << s.read_some(buffer(b), e) << e.message(); std::cout << s.read_some(buffer(b), e) << e.message() << "\n";
		}
	EOT
	g++ -O0 -o a a.cc -pthread
	serve server ./a s "$port"
	await_port "$port"
	ask ./a c "$port"
	ask ./a c "$port"
}

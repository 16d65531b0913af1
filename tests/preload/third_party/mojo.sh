# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mojo: Mojolicious' server and user agent
# programs: Mojolicious
# needs: /usr/bin/hypnotoad perl curl
# length: long
# gets: smc=3 may=TIMEOUT,CLOSED
stranger() {
	cat >app.pl <<-'EOT'
		use Mojolicious::Lite -signatures;
		any '/' => sub ($c) { $c->render(text => uc($c->req->body) . 'z' x 200000) };
		websocket '/ws' => sub ($c) { $c->on(message => sub ($c, $m) { $c->send(scalar reverse $m) }) };
		app->log->level('fatal'); app->start;
	EOT
	cat >client.pl <<-'EOT'
		use Mojo::Base -strict, -signatures; use Mojo::UserAgent; use Mojo::Promise;
		my $u = Mojo::UserAgent->new; my $b = "http://127.0.0.1:$ARGV[0]";
		Mojo::Promise->all(map { $u->post_p($b => 'abc' x $_) } 1..8)->then(sub (@r) { say join ' ', map { length $_->[0]->res->body } @r })->wait;
		$u->websocket("$b/ws" => sub ($u, $tx) { $tx->on(message => sub ($tx, $m) { say $m; $tx->finish }); $tx->on(finish => sub { Mojo::IOLoop->stop }); $tx->send('olleh') });
		Mojo::IOLoop->start;
	EOT
	serve server perl app.pl daemon -l "http://127.0.0.1:$port"
	await_port "$port"
	ask perl client.pl "$port"
	ask curl -sS -d hello "http://127.0.0.1:$port/" | digest
}

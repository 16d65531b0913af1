# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# anyevent: a server and clients on Perl's event loop, which ask for urgent
# data inside the stream
# programs: AnyEvent
# needs: perl /usr/lib/*/perl5/*/AnyEvent.pm
# length: long
# gets: smc=8 may=CLOSED
stranger() {
	cat >server.pl <<-'EOT'
		use strict; use AnyEvent; use AnyEvent::Socket; use AnyEvent::Handle;
		my %all;
		tcp_server '127.0.0.1', $ARGV[0], sub {
			my $h; $h = AnyEvent::Handle->new(fh => $_[0], oobinline => 1,
				on_error => sub { delete $all{0 + $h} });
			$all{0 + $h} = $h;
			$h->on_read(sub { $_[0]->push_read(line => sub { $_[0]->push_write(reverse($_[1]) x 1000 . "\n") }) });
		};
		AnyEvent->condvar->recv;
	EOT
	cat >client.pl <<-'EOT'
		use strict; use AnyEvent; use AnyEvent::Socket; use AnyEvent::Handle;
		my ($done, @all, @said) = (AnyEvent->condvar);
		for my $i (1 .. 8) {
			$done->begin;
			tcp_connect '127.0.0.1', $ARGV[0], sub {
				my $h = AnyEvent::Handle->new(fh => $_[0]); push @all, $h;
				my $left = 20;
				my $turn; $turn = sub {
					$h->push_write("hello $i $left\n");
					$h->push_read(line => sub {
						$said[$i] .= length($_[1]) . substr($_[1], 0, 10);
						--$left ? $turn->() : $done->end });
				};
				$turn->();
			};
		}
		$done->recv; print "$_\n" for @said[1 .. 8];
	EOT
	serve server perl server.pl "$port"
	await_port "$port"
	ask perl client.pl "$port"
}

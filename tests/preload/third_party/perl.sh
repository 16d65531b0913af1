# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# perl: IO::Socket, IO::Select, HTTP::Tiny, a server that forks
# programs: Perl
# needs: perl curl
# gets: smc=10 may=TIMEOUT,FORK,CLOSED
stranger() {
	cat >server.pl <<-'EOT'
		use IO::Socket::INET;
		$SIG{CHLD} = 'IGNORE';
		my $l = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 20, ReuseAddr => 1) or die;
		while (1) {
			my $s = $l->accept or next;
			if (!fork) {
				my ($n, $line) = (0);
				while (defined($line = <$s>) && $line =~ /\S/) { $n++ }
				print $s "HTTP/1.0 200 OK\r\n\r\n", "line $_ of $n\n" x 500 for 1;
				exit;
			}
			close $s;
		}
	EOT
	cat >client.pl <<-'EOT'
		use IO::Socket::INET; use IO::Select; use HTTP::Tiny;
		my $u = HTTP::Tiny->new;
		print length($u->get("http://127.0.0.1:$ARGV[0]/$_")->{content}), " " for 1..10;
		my $sel = IO::Select->new;
		for (1..5) {
			my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ARGV[0]) or die;
			print $s "a\nb\n\n"; $s->flush; $sel->add($s);
		}
		my $total = 0;
		while (my @r = $sel->can_read(5)) {
			for (@r) { if (sysread($_, my $b, 1000)) { $total += length $b } else { $sel->remove($_); close $_ } }
		}
		print "$total\n";
	EOT
	serve server perl server.pl "$port"
	await_port "$port"
	ask perl client.pl "$port"
	ask curl -sS "http://127.0.0.1:$port/" | digest
}

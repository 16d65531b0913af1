# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# starman: Net::Server with workers, PSGI
# programs: Starman
# needs: starman curl
# length: long
# gets: smc=2
stranger() {
	cat >app.psgi <<-'EOT'
		my $app = sub { my $in = '';
			$_[0]{'psgi.input'}->read($in, 1000000);
			[200, ['Content-Type', 'text/plain'], [reverse($in), 'x' x 300000]] };
	EOT
	data body 100000
	serve server starman --listen "127.0.0.1:$port" --workers 3 app.psgi
	await_port "$port"
	ask curl -sS "http://127.0.0.1:$port/" "http://127.0.0.1:$port/" | digest
	ask curl -sS --data-binary @body "http://127.0.0.1:$port/" | digest
}

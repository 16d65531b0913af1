# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# swipl: SWI-Prolog: a threaded HTTP server and its client
# programs: SWI-Prolog
# needs: swipl curl
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	cat >s.pl <<-'EOT'
		:- use_module(library(http/thread_httpd)).
		:- use_module(library(http/http_dispatch)).
		:- use_module(library(http/http_open)).
		:- use_module(library(http/http_client)).
		:- use_module(library(readutil)).
		:- http_handler(root(n), n, []).
		:- http_handler(root(len), len, []).
		n(_) :- format('Content-type: text/plain~n~n'), forall(between(1, 30000, I), format('~w~n', [I])).
		len(R) :- http_read_data(R, D, [to(atom)]), atom_length(D, L), format('Content-type: text/plain~n~n~w~n', [L]).
		serve(P) :- http_server(http_dispatch, [port('127.0.0.1':P), workers(3)]), thread_get_message(_).
		get(P, L) :- format(atom(U), 'http://127.0.0.1:~w/n', [P]), http_open(U, S, []), read_stream_to_codes(S, C), close(S), length(C, L).
		ask(P) :- findall(P, between(1, 6, _), Ps), concurrent_maplist(get, Ps, Ls), print(Ls), nl.
	EOT
	serve server swipl -g "serve($port)" s.pl
	await_port "$port"
	ask swipl -g "ask($port)" -t halt s.pl
	data body 300000
	ask curl -sS -H 'Content-Type: text/plain' --data-binary @body "http://127.0.0.1:$port/len"
	ask curl -sS "http://127.0.0.1:$port/n" "http://127.0.0.1:$port/n" | digest
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# erlang: gen_tcp in all its modes, over its port driver and over its sockets
# programs: Erlang
# needs: erl escript
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER,DEMOTED_AIO
stranger() {
	cat >t.escript <<-'EOT'
		#!/usr/bin/env escript
		main([]) -> [begin io:format("~p~n", [B]), t(B) end || B <- [inet, socket]].
		b(inet) -> []; b(socket) -> [{inet_backend, socket}].
		pair(B, O) ->
		    {ok, L} = gen_tcp:listen(0, b(B) ++ [binary, {active, false}, {ip, {127,0,0,1}} | O]),
		    {ok, P} = inet:port(L),
		    Me = self(),
		    spawn_link(fun() -> {ok, A} = gen_tcp:accept(L), ok = gen_tcp:controlling_process(A, Me), Me ! {a, A} end),
		    {ok, C} = gen_tcp:connect({127,0,0,1}, P, b(B) ++ [binary, {active, false} | O]),
		    A = receive {a, X} -> X end,
		    gen_tcp:close(L), {C, A}.
		t(B) ->
		    {C, A} = pair(B, [{exit_on_close, false}]),
		    Big = binary:copy(<<"0123456789abcdef">>, 200000),
		    Me = self(),
		    spawn_link(fun() -> ok = gen_tcp:send(C, Big), Me ! sent end),
		    {ok, Got} = gen_tcp:recv(A, byte_size(Big)), receive sent -> ok end,
		    io:format("~p~n", [erlang:md5(Got) =:= erlang:md5(Big)]),
		    io:format("~p~n", [gen_tcp:recv(A, 0, 100)]),
		    ok = gen_tcp:shutdown(C, write), io:format("~p~n", [gen_tcp:recv(A, 0, 5000)]),
		    ok = gen_tcp:send(A, <<"back">>), io:format("~p~n", [gen_tcp:recv(C, 4)]),
		    gen_tcp:close(A), io:format("~p~n", [gen_tcp:recv(C, 0)]), gen_tcp:close(C),
		    {C2, A2} = pair(B, [{packet, 4}]),
		    ok = inet:setopts(A2, [{active, 3}]),
		    [ok = gen_tcp:send(C2, binary:copy(<<I>>, I * 1000)) || I <- lists:seq(1, 10)],
		    act(A2, 0), gen_tcp:close(C2),
		    {C3, A3} = pair(B, [{packet, line}, {buffer, 100000}]),
		    ok = inet:setopts(A3, [{active, once}]),
		    ok = gen_tcp:send(C3, "one\ntwo\nthr"), l(A3), ok = gen_tcp:send(C3, "ee\n"), l(A3), l(A3),
		    ok = inet:setopts(C3, [{linger, {true, 0}}]), gen_tcp:close(C3),
		    receive {tcp_closed, A3} -> io:format("closed~n"); {tcp_error, A3, R3} -> io:format("~p~n", [R3]) after 3000 -> io:format("silence~n") end,
		    {C4, A4} = pair(B, []),
		    ok = file:write_file("f", Big),
		    spawn_link(fun() -> io:format("~p~n", [file:sendfile("f", C4)]), gen_tcp:close(C4), Me ! sent end),
		    io:format("~p~n", [drain(A4, 0)]), receive sent -> ok end.
		act(A, N) -> receive
		    {tcp, A, D} -> act(A, N + byte_size(D));
		    {tcp_passive, A} -> io:format("passive ~p~n", [N]), inet:setopts(A, [{active, 3}]), act(A, N);
		    {tcp_closed, A} -> io:format("closed ~p~n", [N])
		    after 500 -> io:format("late ~p~n", [N]) end.
		l(A) -> receive {tcp, A, D} -> io:format("~p~n", [D]), inet:setopts(A, [{active, once}]) after 3000 -> io:format("late~n") end.
		drain(A, N) -> case gen_tcp:recv(A, 0) of {ok, D} -> drain(A, N + byte_size(D)); {error, closed} -> N end.
	EOT
	ask escript t.escript
}

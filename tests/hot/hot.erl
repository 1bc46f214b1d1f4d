% SPDX-License-Identifier: GPL-3.0-or-later
-module(hot). -export([main/0, main/1]).
twice(N,M,S) when N < 2*M -> twice(N+1,M,(S*31+N) band 16#ffffffff); twice(_,_,S) -> S.
once(N,M,S) when N < M -> once(N+1,M,(S*31+N) band 16#ffffffff); once(_,_,S) -> S.
now_us() -> erlang:monotonic_time(microsecond).
loop(0,X,Y) -> {X,Y};
loop(E,X,Y) -> A=now_us(), twice(0,4000000,0), B=now_us(), once(0,4000000,0), C=now_us(), loop(E-1,X+B-A,Y+C-B).
main() -> run(12).
main([N]) -> run(list_to_integer(atom_to_list(N))).
run(N) -> {X,Y} = loop(N,0,0), file:write_file("own", io_lib:format("~p ~p", [X,Y])), io:format("number~n"), halt().

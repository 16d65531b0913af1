# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ocaml: OCaml: a server of threads, select, channels over sockets
# programs: OCaml
# needs: ocamlfind /usr/lib/ocaml/threads
# length: long
# gets: smc=7 may=CLOSED,TIMEOUT
stranger() {
	cat >p.ml <<-'EOT'
		let port = int_of_string Sys.argv.(2)
		let at = Unix.ADDR_INET (Unix.inet_addr_loopback, port)
		let serve c =
		  let i = Unix.in_channel_of_descr c and o = Unix.out_channel_of_descr c in
		  (try while true do
		    let l = input_line i in
		    output_string o (l ^ l ^ "\n"); flush o done with End_of_file -> ());
		  Unix.shutdown c Unix.SHUTDOWN_SEND; close_in i
		let server () =
		  let s = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
		  Unix.setsockopt s Unix.SO_REUSEADDR true;
		  Unix.bind s at; Unix.listen s 20;
		  while true do
		    ignore (Unix.select [s] [] [] (-1.0));
		    let c, _ = Unix.accept s in ignore (Thread.create serve c) done
		let answers = Array.make 7 ""
		let client k =
		  let i, o = Unix.open_connection at in
		  let n = ref 0 in
		  for j = 1 to 60 do
		    output_string o (String.make (j * 200) 'x' ^ "\n"); flush o;
		    n := !n + String.length (input_line i) done;
		  let w = Thread.create (fun () -> output_string o (String.make 700000 'y' ^ "\n"); flush o;
		    Unix.shutdown_connection i) () in
		  n := !n + String.length (input_line i);
		  Thread.join w;
		  let last = try input_line i with End_of_file -> "end" in
		  close_in i;
		  answers.(k) <- Printf.sprintf "%d %d %s" k !n last
		let () =
		  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
		  if Sys.argv.(1) = "server" then server ()
		  else (List.iter Thread.join (List.init 7 (fun k -> Thread.create client k));
		    Array.iter print_endline answers)
	EOT
	ocamlfind ocamlopt -thread -w -a -package unix,threads.posix -linkpkg p.ml -o p >ocaml.txt 2>&1
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
}

# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# freepascal: Free Pascal: its run time makes its own system calls
# programs: Free Pascal
# needs: fpc
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	cat >s.pas <<-'EOT'
		{$mode objfpc}{$H+}
		uses sysutils, classes, ssockets;
		type
		  tserver = class(tinetserver)
		    procedure came(sender: tobject; c: tsocketstream);
		  end;
		procedure tserver.came(sender: tobject; c: tsocketstream);
		var b: array[0..4095] of char; n: longint;
		begin
		  repeat
		    n := c.read(b, sizeof(b));
		    if n > 0 then c.writebuffer(b, n);
		  until n <= 0;
		  c.free;
		end;
		var s: tserver;
		begin
		  s := tserver.create('127.0.0.1', strtoint(paramstr(1)));
		  s.reuseaddress := true;
		  s.onconnect := @s.came;
		  s.startaccepting;
		end.
	EOT
	cat >c.pas <<-'EOT'
		{$mode objfpc}{$H+}
		uses sysutils, classes, ssockets;
		var c: tinetsocket; b: array[0..65535] of char; i, j, n, got: longint;
		begin
		  for i := 1 to 2 do begin
		    c := tinetsocket.create('127.0.0.1', strtoint(paramstr(1)));
		    got := 0;
		    for j := 1 to 20 do begin
		      c.writebuffer(b, j * 500);
		      n := j * 500;
		      c.readbuffer(b, n);
		      got := got + n;
		    end;
		    writeln(i, ' ', got);
		    c.free;
		  end;
		end.
	EOT
	fpc -v0 s.pas >fpc.txt 2>&1 && fpc -v0 c.pas >>fpc.txt 2>&1
	serve server ./s "$port"
	await_port "$port"
	ask ./c "$port"
	ask socat -t 10 - "TCP:127.0.0.1:$port" <<<'hello'
}

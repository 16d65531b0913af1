# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ada: Ada: tasks, GNAT.Sockets with selectors
# programs: GNAT.Sockets
# needs: gnatmake
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT,SAME_PROCESS
stranger() {
	cat >p.adb <<-'EOT'
		with Ada.Command_Line; use Ada.Command_Line;
		with Ada.Streams; use Ada.Streams;
		with Ada.Text_IO; use Ada.Text_IO;
		with GNAT.Sockets; use GNAT.Sockets;
		procedure P is
		   Where : constant Sock_Addr_Type :=
		     (Family_Inet, Inet_Addr ("127.0.0.1"), Port_Type'Value (Argument (2)));
		   procedure Server is
		      L, S : Socket_Type; From : Sock_Addr_Type;
		      Sel : Selector_Type; Rd, Wr : Socket_Set_Type; St : Selector_Status;
		      All_Of : Socket_Set_Type; B : Stream_Element_Array (1 .. 4096); Last, Sent : Stream_Element_Offset;
		   begin
		      Create_Socket (L); Set_Socket_Option (L, Socket_Level, (Reuse_Address, True));
		      Bind_Socket (L, Where); Listen_Socket (L, 20);
		      Create_Selector (Sel); Set (All_Of, L);
		      loop
		         Empty (Rd); Empty (Wr); Copy (All_Of, Rd);
		         Check_Selector (Sel, Rd, Wr, St);
		         loop
		            Get (Rd, S); exit when S = No_Socket;
		            if S = L then Accept_Socket (L, S, From); Set (All_Of, S);
		            else
		               Receive_Socket (S, B, Last);
		               if Last < B'First then Clear (All_Of, S); Close_Socket (S);
		               else
		                  declare First : Stream_Element_Offset := B'First; begin
		                     while First <= Last loop Send_Socket (S, B (First .. Last), Sent); First := Sent + 1; end loop;
		                  end;
		               end if;
		            end if;
		         end loop;
		      end loop;
		   end Server;
		   task type Client (Id : Integer);
		   task body Client is
		      S : Socket_Type; B : Stream_Element_Array (1 .. 2000) := (others => Stream_Element (Id)); N : Integer := 0;
		      Got : Stream_Element_Array (1 .. 2000); Last, Have : Stream_Element_Offset;
		   begin
		      if Argument (1) = "client" then
		         Create_Socket (S); Connect_Socket (S, Where);
		         Set_Socket_Option (S, Socket_Level, (Receive_Timeout, 5.0));
		         for I in 1 .. 200 loop
		            Send_Socket (S, B (1 .. Stream_Element_Offset (I * 10)), Last); Have := 0;
		            while Have < Stream_Element_Offset (I * 10) loop
		               Receive_Socket (S, Got, Last); Have := Have + Last;
		            end loop;
		            N := N + Integer (Have);
		         end loop;
		         Put_Line (N'Image); Close_Socket (S);
		      end if;
		   end Client;
		   C1 : Client (1); C2 : Client (2); C3 : Client (3); C4 : Client (4); C5 : Client (5); C6 : Client (6);
		begin
		   if Argument (1) = "server" then Server; end if;
		end P;
	EOT
	gnatmake -q p.adb >gnat.txt 2>&1
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
}

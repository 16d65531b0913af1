# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mono: sockets, streams, HTTP, by threads, callbacks and Select
# programs: Mono
# needs: mono mcs
# length: long
# gets: smc=5 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER
stranger() {
	cat >a.cs <<-'EOT'
		using System; using System.IO; using System.Net; using System.Net.Sockets; using System.Threading; using System.Threading.Tasks; using System.Collections;
		class A {
		  static async Task Serve(TcpListener l, int n) {
		    for (int i = 0; i < n; i++) { var c = await l.AcceptTcpClientAsync(); var t = Echo(c); }
		  }
		  static async Task Echo(TcpClient c) {
		    var b = new byte[50000]; var s = c.GetStream(); int k;
		    while ((k = await s.ReadAsync(b, 0, b.Length)) > 0) await s.WriteAsync(b, 0, k);
		    c.Close();
		  }
		  static async Task<long> Client(int port) {
		    var c = new TcpClient(); await c.ConnectAsync("127.0.0.1", port);
		    var s = c.GetStream(); var d = new byte[3000000]; new Random(1).NextBytes(d);
		    var w = s.WriteAsync(d, 0, d.Length).ContinueWith(x => c.Client.Shutdown(SocketShutdown.Send));
		    long n = 0; var b = new byte[65536]; int k;
		    while ((k = await s.ReadAsync(b, 0, b.Length)) > 0) { for (int i = 0; i < k; i++) if (b[i] != d[n + i]) throw new Exception("differs"); n += k; }
		    await w; c.Close(); return n;
		  }
		  static void Main(string[] a) {
		    int port = int.Parse(a[0]);
		    var l = new TcpListener(IPAddress.Loopback, port); l.Start();
		    var serve = Serve(l, 4);
		    var ts = new Task<long>[4]; for (int i = 0; i < 4; i++) ts[i] = Client(port);
		    Task.WaitAll(ts); foreach (var t in ts) Console.WriteLine(t.Result);
		    var c1 = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp); c1.Connect(IPAddress.Loopback, port);
		    var c2 = l.AcceptSocket();
		    var r = new ArrayList { c2 }; Socket.Select(r, null, null, 100000); Console.WriteLine(r.Count);
		    c1.Send(new byte[10]); r = new ArrayList { c2 }; Socket.Select(r, null, null, 1000000); Console.WriteLine(r.Count + " " + c2.Available);
		    Console.WriteLine(c2.Poll(1000, SelectMode.SelectRead) + " " + c2.Receive(new byte[20]));
		    c2.ReceiveTimeout = 200; try { c2.Receive(new byte[20]); } catch (SocketException e) { Console.WriteLine(e.SocketErrorCode); }
		    var th = new Thread(() => { try { c2.ReceiveTimeout = 0; Console.WriteLine("got " + c2.Receive(new byte[20])); } catch (SocketException e) { Console.WriteLine(e.SocketErrorCode); } });
		    th.Start(); Thread.Sleep(200); c2.Close(); Console.WriteLine(th.Join(5000));
		    try { for (int i = 0; i < 50; i++) { c1.Send(new byte[10]); Thread.Sleep(10); } } catch (SocketException e) { Console.WriteLine(e.SocketErrorCode); }
		    l.Stop();
		    var h = new HttpListener(); h.Prefixes.Add("http://127.0.0.1:" + (port) + "/"); h.Start();
		    var ht = Task.Run(async () => { for (int i = 0; i < 3; i++) { var x = await h.GetContextAsync(); var m = new MemoryStream(); x.Request.InputStream.CopyTo(m); var o = m.ToArray(); x.Response.OutputStream.Write(o, 0, o.Length); x.Response.Close(); } });
		    for (int i = 0; i < 3; i++) { var w = new WebClient(); Console.WriteLine(w.UploadData("http://127.0.0.1:" + port + "/", new byte[500000 * (i + 1)]).Length); }
		    ht.Wait(); h.Stop();
		  }
		}
	EOT
	mcs a.cs
	ask mono a.exe "$port"
}

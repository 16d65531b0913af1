// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// Http: com.sun.net.httpserver and java.net.http; NIO channels and a selector.
//
// usage: java Http.java server|client PORT
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.concurrent.Executors;

public class Http {
	static void server(int port) throws Exception {
		HttpServer s = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), 0);
		s.createContext("/", e -> {
			byte[] b = e.getRequestBody().readAllBytes();
			for (int i = 0; i < b.length; i++)
				b[i] ^= 1;
			e.sendResponseHeaders(200, b.length == 0 ? -1 : b.length);
			e.getResponseBody().write(b);
			e.close();
		});
		s.setExecutor(Executors.newFixedThreadPool(4));
		s.start();
	}

	static void client(int port) throws Exception {
		HttpClient c = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
		URI u = URI.create("http://127.0.0.1:" + port + "/");
		var jobs = new ArrayList<java.util.concurrent.CompletableFuture<Integer>>();
		for (int i = 1; i < 30; i++) {
			byte[] b = new byte[i * 10000];
			Arrays.fill(b, (byte) i);
			var r = HttpRequest.newBuilder(u).POST(HttpRequest.BodyPublishers.ofByteArray(b)).build();
			jobs.add(c.sendAsync(r, HttpResponse.BodyHandlers.ofByteArray()).thenApply(x -> Arrays.hashCode(x.body())));
		}
		for (var j : jobs)
			System.out.print(j.join() + " ");
		System.out.println();
		SocketChannel ch = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
		Thread t = new Thread(() -> {
			try {
				ch.read(ByteBuffer.allocate(10));
				System.out.println("read something");
			} catch (AsynchronousCloseException e) {
				System.out.println("closed under the reader");
			} catch (Exception e) {
				System.out.println(e);
			}
		});
		t.start();
		Thread.sleep(300);
		ch.close();
		t.join();
		try (Socket s = new Socket("127.0.0.1", port)) {
			s.setSoTimeout(200);
			s.getInputStream().read();
		} catch (java.net.SocketTimeoutException e) {
			System.out.println("time-out");
		}
		try {
			new Socket("127.0.0.1", 1);
		} catch (java.net.ConnectException e) {
			System.out.println(e.getMessage());
		}
	}

	public static void main(String[] a) throws Exception {
		if (a[0].equals("server"))
			server(Integer.parseInt(a[1]));
		else
			client(Integer.parseInt(a[1]));
	}
}

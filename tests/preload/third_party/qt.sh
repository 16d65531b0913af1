# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# qt: Qt: QTcpServer, QTcpSocket, QNetworkAccessManager, WebSockets
# programs: Qt
# needs: /usr/lib/python3/dist-packages/PyQt5/QtWebSockets.abi3.so
# length: long
# gets: smc=20 may=CLOSED,TIMEOUT
stranger() {
	cat >s.py <<-'EOT'
		import sys
		from PyQt5.QtCore import *; from PyQt5.QtNetwork import *; from PyQt5.QtWebSockets import *
		a = QCoreApplication([])
		t = QTcpServer(); t.setMaxPendingConnections(100)
		def new():
		    while t.hasPendingConnections():
		        s = t.nextPendingConnection(); s.buf = b""
		        def rd(s=s):
		            s.buf += bytes(s.readAll())
		            if b"\r\n\r\n" in s.buf:
		                body = s.buf.split(b" ")[1] * 20000
		                s.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body); s.disconnectFromHost()
		        s.readyRead.connect(rd); keep.append(s)
		keep = []
		t.newConnection.connect(new); t.listen(QHostAddress("127.0.0.1"), int(sys.argv[1]))
		w = QWebSocketServer("x", QWebSocketServer.NonSecureMode)
		def neww():
		    c = w.nextPendingConnection(); keep.append(c)
		    c.textMessageReceived.connect(lambda m: c.sendTextMessage(m.upper()))
		    c.binaryMessageReceived.connect(lambda m: c.sendBinaryMessage(m + m))
		w.newConnection.connect(neww); w.listen(QHostAddress("127.0.0.1"), int(sys.argv[2]))
		a.exec()
	EOT
	cat >c.py <<-'EOT'
		import sys
		from PyQt5.QtCore import *; from PyQt5.QtNetwork import *; from PyQt5.QtWebSockets import *
		a = QCoreApplication([]); m = QNetworkAccessManager(); left = [30]; n = {}
		def fin(r, i):
		    n[i] = (len(bytes(r.readAll())), r.error()); left[0] -= 1
		    if left[0] == 0:
		        print(sorted(n.items())); sock()
		for i in range(30):
		    r = m.get(QNetworkRequest(QUrl("http://127.0.0.1:%s/%d" % (sys.argv[1], i)))); r.finished.connect(lambda r=r, i=i: fin(r, i))
		def sock():
		    s = QTcpSocket(); s.connectToHost("127.0.0.1", int(sys.argv[1])); print(s.waitForConnected(5000))
		    s.write(b"GET /blocking HTTP/1.1\r\n\r\n"); print(s.waitForBytesWritten(5000))
		    k = 0
		    while s.waitForReadyRead(5000): k += len(bytes(s.readAll()))
		    print(k, s.state(), s.error()); ws()
		got = []
		def ws():
		    global c
		    c = QWebSocket(); c.connected.connect(go)
		    c.textMessageReceived.connect(lambda m: step(len(m))); c.binaryMessageReceived.connect(lambda m: step(len(m)))
		    c.disconnected.connect(lambda: (print(got), a.quit())); c.open(QUrl("ws://127.0.0.1:%s/" % sys.argv[2]))
		def go():
		    for i in range(40): c.sendTextMessage("x" * i * 500); c.sendBinaryMessage(b"y" * i * 3000)
		def step(l):
		    got.append(l)
		    if len(got) == 80: c.close()
		QTimer.singleShot(25000, lambda: (print("late", len(got), n), a.exit(3))); sys.exit(a.exec())
	EOT
	local port2
	port2=$(another)
	serve server /usr/bin/python3 s.py "$port" "$port2"
	await_port "$port"
	await_port "$port2"
	ask /usr/bin/python3 c.py "$port" "$port2"
}

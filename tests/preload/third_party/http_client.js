// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// http_client: node's HTTP and TCP, server and client.
//
// usage: node http_client.js server|client PORT
const http = require('http'), net = require('net'), crypto = require('crypto');
const port = +process.argv[3];
const sum = (b) => crypto.createHash('sha256').update(b).digest('hex').slice(0, 16);

function server() {
  http.createServer((request, response) => {
    const parts = [];
    request.on('data', (d) => parts.push(d));
    request.on('end', () => {
      const body = Buffer.concat(parts);
      if (request.url === '/stream') {
        for (let i = 0; i < 200; i++) response.write(String(i).repeat(700));
        response.end();
      } else {
        response.end(body.reverse());
      }
    });
  }).listen(port, '127.0.0.1');
}

function ask(agent, path, body) {
  return new Promise((resolve, reject) => {
    const r = http.request({ host: '127.0.0.1', port, path, agent, method: 'POST' }, (response) => {
      const parts = [];
      response.on('data', (d) => parts.push(d));
      response.on('end', () => resolve(sum(Buffer.concat(parts))));
    });
    r.on('error', reject);
    r.end(body);
  });
}

async function client() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  const jobs = [];
  for (let i = 0; i < 40; i++) jobs.push(ask(agent, i % 3 ? '/' : '/stream', Buffer.alloc(i * 20000, i)));
  console.log((await Promise.all(jobs)).join(' '));
  agent.destroy();
  const refused = net.connect(1, '127.0.0.1');
  refused.on('error', (e) => console.log(e.code));
  const s = net.connect(port, '127.0.0.1', () => s.end('GET / HTTP/1.0\r\n\r\n'));
  s.on('data', (d) => console.log(String(d).split('\r\n')[0]));
  s.on('close', (bad) => console.log('closed', bad));
}

({ server, client })[process.argv[2]]();

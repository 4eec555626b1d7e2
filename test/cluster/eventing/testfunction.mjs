/**
 * A function for the activator's tests: its environment controls its behaviour.
 * REPLY_TYPE: answers with an event of this type; empty: with none. Without it: answers with the received request.
 * BROKEN=exit: ends at once. STUBBORN: ignores SIGTERM. READY_AFTER: is ready at the nth probe.
 */
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers';

if (process.env.BROKEN === 'exit') {
  console.log('{"msg":"K_SINK is missing"}');
  process.exit(1);
}

let questions = 0;
let busy = 0;
let maxBusy = 0;

const server = createServer((request, response) => {
  if (request.url === '/health/readiness') {
    questions += 1;
    response.writeHead(questions >= Number(process.env.READY_AFTER ?? 1) ? 200 : 503).end();
    return;
  }
  busy += 1;
  maxBusy = Math.max(maxBusy, busy);
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const { url, method, rawHeaders } = request;
    console.log(JSON.stringify({ msg: 'request', url }));
    if (url === '/hang') return;
    setImmediate(() => {
      busy -= 1;
      if (process.env.REPLY_TYPE === '') {
        response.writeHead(204).end();
        return;
      }
      if (process.env.REPLY_TYPE !== undefined) {
        const event = { 'ce-specversion': '1.0', 'ce-id': 'r', 'ce-source': '/test' };
        response.writeHead(200, { ...event, 'ce-type': process.env.REPLY_TYPE }).end();
        return;
      }
      const seen = { pid: process.pid, questions, maxBusy, url, method, rawHeaders, body, env: process.env };
      response.writeHead(201, { 'X-Step': process.env.STEP ?? '' }).end(JSON.stringify(seen));
    });
  });
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  console.log('SIGTERM');
  if (process.env.STUBBORN !== undefined) return;
  server.close(() => process.exit(0));
  server.closeAllConnections();
});

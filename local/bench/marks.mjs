/**
 * Loaded before a function's own code (`--import`): notes when the process gets how far, and writes it to standard error
 * once the first event is answered, as one line of JSON, milliseconds since the process began.
 */
import http from 'node:http';
import https from 'node:https';
import { performance } from 'node:perf_hooks';

const marks = { node: performance.now() };
const mark = (name) => (marks[name] ??= performance.now());

const { listen } = http.Server.prototype;
http.Server.prototype.listen = function (...options) {
  mark('loaded');
  this.once('listening', () => mark('listening'));
  this.on('request', (_, response) => {
    mark('event');
    response.once('finish', () => {
      mark('answered');
      process.stderr.write(`${JSON.stringify(marks)}\n`);
    });
  });
  return listen.apply(this, options);
};

const { request } = https;
https.request = (...options) => {
  mark('asks');
  const sent = request(...options);
  sent.once('socket', (socket) => socket.once('secureConnect', () => mark('connected')));
  sent.once('response', () => mark('read'));
  return sent;
};

/** The least that answers a request: what a cold start of a function is compared with. Plain JavaScript: as a bundle is. */
import { createServer } from 'node:http';

createServer((request, response) => {
  request.resume().on('end', () => {
    response.statusCode = 204;
    response.end();
  });
}).listen(Number(process.env.PORT));

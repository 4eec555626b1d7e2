/** The least that answers a request: the reference for a function's cold start. JavaScript, as a bundle is. */
import { createServer } from 'node:http';

createServer((request, response) => {
  request.resume().on('end', () => {
    response.statusCode = 204;
    response.end();
  });
}).listen(Number(process.env.PORT));

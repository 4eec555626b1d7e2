/** The smallest HTTP server, as the reference for a function's cold start. It is JavaScript, like a bundle. */
import { createServer } from 'node:http';

createServer((request, response) => {
  request.resume().on('end', () => {
    response.statusCode = 204;
    response.end();
  });
}).listen(Number(process.env.PORT));

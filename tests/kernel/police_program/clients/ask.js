// Asks 127.0.0.1 with Node's own client, as browsers write their heads. Prints the statuses.
const http = require("http");
const agent = new http.Agent({ keepAlive: true });
const headers = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0)", Cookie: "c".repeat(3000), Accept: "text/html,*/*;q=0.8" };
const ask = (method, path, body) => new Promise((resolve, reject) => {
  const request = http.request({ host: "127.0.0.1", path, method, agent, headers }, (reply) => {
    reply.resume();
    reply.on("end", () => resolve(reply.statusCode));
  });
  request.on("error", reject);
  request.end(body);
});
(async () => {
  const statuses = new Set();
  for (let turn = 0; turn < 30; turn++) {
    statuses.add(await ask("GET", "/"));
    statuses.add(await ask("POST", "/put", Buffer.alloc(300000, turn)));
  }
  agent.destroy();
  console.log(JSON.stringify([...statuses]));
})();

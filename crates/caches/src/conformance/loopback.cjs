// Has the suite's server listen on 127.0.0.1 alone: by itself it listens on every address of the machine.
// bakeoff's own; given to node by --require.
const { Server } = require('node:net')
const { listen } = Server.prototype
Server.prototype.listen = function (first, ...rest) {
  if (first !== null && typeof first === 'object') return listen.call(this, first, ...rest)
  const told = rest.filter(word => typeof word === 'function')
  return listen.call(this, { host: '127.0.0.1', port: Number(first) }, ...told)
}

// @ts-check
// Loaded into servers under test by `--import`: while a file says so, what this process sends to some ports gets nowhere, as
// if a cable were cut.
import { readFileSync } from "node:fs"
import { Socket } from "node:net"
import { env, pid } from "node:process"

/** How often is looked whether something is cut (ms). */
const pace = 50

/** The ports that this process does not reach now. @type {ReadonlySet<number>} */
let ports = new Set()

/** @type {Map<Socket, number>} */
const open = new Map()

const look = () => {
  try {
    const said = JSON.parse(readFileSync(env["SKEIN_CRASH_CUT"] ?? "", "utf8"))
    ports = new Set(said.pids.includes(pid) ? said.ports : [])
  } catch {
    // Nothing is cut.
    ports = new Set()
  }
  for (const [socket, port] of open) if (ports.has(port)) socket.destroy(new Error("the connection was cut"))
}

setInterval(look, pace).unref()

const connect = Socket.prototype.connect

/** @this {Socket} @param {...any} args */
function connectUnlessCut(...args) {
  const [first] = args
  const port = Number((Array.isArray(first) ? first[0] : first)?.port ?? first)
  open.set(this, port)
  this.once("close", () => open.delete(this))
  if (!ports.has(port)) return Reflect.apply(connect, this, args)
  process.nextTick(() => this.destroy(new Error("the connection was cut")))
  return this
}

Socket.prototype.connect = /** @type {any} */ (connectUnlessCut)

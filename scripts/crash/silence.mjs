// @ts-check
// A way to PostgreSQL that can fall silent: connections stay open, and nothing arrives any more, as if packets vanished. What
// was sent meanwhile arrives late, as TCP sends it again.
import { once } from "node:events"
import { connect, createServer } from "node:net"

/** @typedef {"both" | "to" | "from"} Direction seen from the server of Skein: `to` PostgreSQL, or `from` it */
/**
 * `only`: the application name of the connections. With `present`, only those that are open when it begins.
 * @typedef {{ readonly direction: Direction, readonly only?: string | undefined, readonly present?: boolean }} Silence
 */
/** @typedef {{ readonly wire: import("node:net").Socket, readonly late: Array<Buffer>, isOver: boolean }} End what is to be sent to one end */

/** What the client calls itself in its first packet. @param {Buffer} data */
const nameIn = (data) => /application_name\0([^\0]*)\0/.exec(data.toString("latin1"))?.[1] ?? ""

/** Starts one to a port of this machine. @param {number} target */
export const startSilence = async (target) => {
  /** @type {Silence | undefined} */
  let silence
  /** How many connections there were, and how many of them are silent at most. */
  let count = 0
  let most = 0
  /** @type {Set<() => void>} */
  const healing = new Set()
  /** @type {Set<import("node:net").Socket>} */
  const wires = new Set()
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1")
    let name = ""
    const number = count++
    const isSilent = (/** @type {Direction} */ way) =>
      silence !== undefined && number < most && (silence.direction === "both" || silence.direction === way) &&
      (silence.only === undefined || silence.only === name)
    /** @param {End} end */
    const flush = (end) => {
      for (const data of end.late.splice(0)) end.wire.write(data)
      if (end.isOver) end.wire.destroy()
    }
    const ends = /** @type {const} */ ([["to", client, upstream], ["from", upstream, client]]).map(
      ([way, from, wire]) => {
        wires.add(from)
        /** @type {End} */
        const end = { wire, late: [], isOver: false }
        const pass = () => void (isSilent(way) || flush(end))
        from.on("data", (data) => {
          if (way === "to" && name === "") name = nameIn(data)
          end.late.push(data)
          pass()
        })
        from.on("error", () => {})
        from.on("close", () => {
          wires.delete(from)
          end.isOver = true
          pass()
        })
        return pass
      }
    )
    const heal = () => ends.forEach((pass) => pass())
    healing.add(heal)
    upstream.on("close", () => client.destroyed && healing.delete(heal))
    client.on("close", () => upstream.destroyed && healing.delete(heal))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    /** @param {Silence} given */
    begin: (given) => {
      silence = given
      most = given.present === true ? count : Number.POSITIVE_INFINITY
    },
    end: () => {
      silence = undefined
      for (const heal of healing) heal()
    },
    close: () => {
      for (const wire of wires) wire.destroy()
      server.close()
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof startSilence>>} SilentWay */

import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { inTransaction, makeOwnConnection, openClient } from "../../src/internal/database.ts"

/** A message of PostgreSQL's protocol. */
const message = (type: string, body = Buffer.alloc(0)) => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const ready = message("Z", Buffer.from("I"))
const welcome = Buffer.concat([message("R", Buffer.alloc(4)), message("K", Buffer.alloc(8)), ready])
const done = Buffer.concat([message("C", Buffer.from("OK\0")), ready])

/** What says how a server treats a statement on one of its connections, which are counted from 1. */
type Treat = (text: string, connection: number) => "answer" | "hang" | "cut"

/** A server that speaks as much of the protocol as statements without parameters need, and notes them. */
const serve = (treat: Treat) =>
  Effect.gen(function*() {
    const statements: Array<string> = []
    const hears: Array<{ readonly text: string; readonly resume: () => void }> = []
    const sockets: Array<Socket> = []
    const hear = (text: string, connection: number, socket: Socket) => {
      statements.push(`${connection}: ${text}`)
      const how = treat(text, connection)
      if (how === "cut") socket.destroy()
      if (how === "answer") socket.write(done)
      for (const each of hears) if (each.text === statements.at(-1)) each.resume()
    }
    const server = createServer((socket) => {
      const connection = sockets.push(socket)
      let isOpen = false
      socket.on("error", () => undefined).on("data", (data) => {
        if (!isOpen) {
          isOpen = true
          socket.write(welcome)
        } else if (data.toString("latin1", 0, 1) === "Q") {
          hear(data.toString("utf8", 5, data.length - 1), connection, socket)
        }
      })
    })
    server.listen(0, "127.0.0.1")
    yield* Effect.promise(() => once(server, "listening"))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    /** Waits for a statement on a connection. */
    const heard = (text: string) =>
      Effect.async<void>((resume) => {
        if (statements.includes(text)) return resume(Effect.void)
        hears.push({ text, resume: () => resume(Effect.void) })
      })
    return {
      statements,
      heard,
      /** Answers what hangs on a connection. */
      answer: (connection: number) => void sockets[connection - 1]?.write(done),
      connections: () => sockets.length,
      url: Redacted.make(`postgres://skein@127.0.0.1:${port}/skein`)
    }
  })

describe("a connection for transactions of its own", () => {
  it.scoped("is used by one transaction after the other", () =>
    Effect.gen(function*() {
      const { statements, url } = yield* serve(() => "answer")
      const within = yield* makeOwnConnection(url, "5 seconds")
      expect([yield* within(Effect.succeed(1)), yield* within(Effect.succeed(2))]).toEqual([1, 2])
      expect(statements).toEqual(["1: SELECT 1", "1: BEGIN", "1: COMMIT", "1: BEGIN", "1: COMMIT"])
    }))

  it.scoped("is replaced after a statement that never ends, and nobody waits longer for that than allowed", () =>
    Effect.gen(function*() {
      const { heard, url } = yield* serve((text, connection) =>
        connection === 1 && text === "COMMIT" ? "hang" : "answer"
      )
      const within = yield* makeOwnConnection(url, "5 seconds")
      const hangs = yield* Effect.fork(Effect.flip(within(Effect.succeed(1))))
      yield* heard("1: COMMIT")
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(hangs)).toMatchObject({ _tag: "SqlError" })
      expect(yield* within(Effect.succeed(2))).toBe(2)
    }))

  it.scoped.each(["BEGIN", "COMMIT"])(
    "is replaced if it is lost at its %s, which fails",
    (at) =>
      Effect.gen(function*() {
        const { statements, url } = yield* serve((text, connection) =>
          connection === 1 && text === at ? "cut" : "answer"
        )
        const within = yield* makeOwnConnection(url, "5 seconds")
        expect(yield* Effect.flip(within(Effect.succeed(1)))).toMatchObject({ _tag: "SqlError" })
        expect(yield* within(Effect.succeed(2))).toBe(2)
        expect(statements.slice(-3)).toEqual(["2: SELECT 1", "2: BEGIN", "2: COMMIT"])
      })
  )

  it.scoped("is replaced after work that fails, so that nothing of it is committed", () =>
    Effect.gen(function*() {
      const { statements, url } = yield* serve(() => "answer")
      const within = yield* makeOwnConnection(url, "5 seconds")
      expect(yield* Effect.flip(within(Effect.fail("no")))).toBe("no")
      expect(yield* within(Effect.succeed(2))).toBe(2)
      expect(statements).toEqual(["1: SELECT 1", "1: BEGIN", "2: SELECT 1", "2: BEGIN", "2: COMMIT"])
    }))
})

describe("a client", () => {
  it.scoped("gives up a connection on which nothing comes, and takes another one", () =>
    Effect.gen(function*() {
      const { heard, statements, url } = yield* serve((text) => text === "SELECT 2" ? "hang" : "answer")
      const sql = yield* openClient(url, { applicationName: "test", maxConnections: 1 })
      const hangs = yield* Effect.fork(Effect.flip(sql.unsafe("SELECT 2")))
      yield* heard("1: SELECT 2")
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(hangs)).toMatchObject({ _tag: "SqlError", cause: { code: "ETIMEDOUT" } })
      yield* sql.unsafe("SELECT 3")
      expect(statements.at(-1)).toBe("2: SELECT 3")
    }))
})

describe("statements of a client that are interrupted", () => {
  it.scoped("are left at once and not cancelled, and keep their connections until they end", () =>
    Effect.gen(function*() {
      const { answer, connections, heard, statements, url } = yield* serve((text) =>
        text === "SELECT 2" ? "hang" : "answer"
      )
      const sql = yield* openClient(url, { applicationName: "test", maxConnections: 2 })
      const asking = yield* Effect.forEach([1, 2], () => Effect.fork(sql.unsafe("SELECT 2")))
      yield* Effect.zipRight(heard("1: SELECT 2"), heard("2: SELECT 2"))
      // Nothing has answered, and no time has passed.
      yield* Fiber.interruptAll(asking)
      const next = yield* Effect.fork(sql.unsafe("SELECT 3"))
      answer(2)
      yield* Fiber.join(next)
      expect(statements.at(-1)).toBe("2: SELECT 3")
      // A request to cancel would come on a connection of its own.
      expect(connections()).toBe(2)
      answer(1)
    }))
})

describe("a transaction of a client", () => {
  it.scoped("fails if its COMMIT does, and does not die of it", () =>
    Effect.gen(function*() {
      const { statements, url } = yield* serve((text) => text === "COMMIT" ? "cut" : "answer")
      const sql = yield* openClient(url, { applicationName: "test", maxConnections: 1 })
      const exit = yield* Effect.exit(inTransaction(sql)(Effect.succeed(1)))
      expect(Exit.isFailure(exit) && Cause.failureOption(exit.cause)).toMatchObject({ value: { _tag: "SqlError" } })
      expect(statements.slice(0, 3)).toEqual(["1: SELECT 1", "1: BEGIN", "1: COMMIT"])
    }))

  it.scoped("is rolled back if its work fails", () =>
    Effect.gen(function*() {
      const { statements, url } = yield* serve(() => "answer")
      const sql = yield* openClient(url, { applicationName: "test", maxConnections: 1 })
      expect(yield* Effect.flip(inTransaction(sql)(Effect.fail("no")))).toBe("no")
      expect(statements).toEqual(["1: SELECT 1", "1: BEGIN", "1: ROLLBACK"])
    }))
})

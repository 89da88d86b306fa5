import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { PassThrough, Writable } from "node:stream"
import { makeStdioTransport } from "../../src/internal/stdioTransport.ts"

it.live("a message to a server that has just died fails with how it ended, and not with a broken pipe", () =>
  Effect.scoped(Effect.gen(function*() {
    const died = yield* Deferred.make<string>()
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const stdin = new Writable({ write: (_, __, done) => done(new Error("write EPIPE")) })
    stdin.on("error", () => {})
    const launched = { stdin, stdout, stderr, ended: Deferred.await(died) }
    const { transport } = yield* makeStdioTransport(launched, { redact: (text) => text })
    const failure = Effect.flip(Effect.tryPromise({
      try: () => transport.send({ jsonrpc: "2.0", method: "notifications/initialized" }),
      catch: (error) => error instanceof Error ? error.message : String(error)
    }))
    const die = Effect.sync(() => {
      stderr.end("there is no database")
      stdout.end()
    }).pipe(Effect.zipRight(Deferred.succeed(died, "exit code 3")))
    const [said] = yield* Effect.zip(failure, die, { concurrent: true })
    expect(said).toContain("it ended with exit code 3")
  })))

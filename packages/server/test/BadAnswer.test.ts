/** Proves that an answer which does not have its own form is a fault of the server: 500, and a line in its log. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { post, send, serving } from "./support/server.ts"

const directory = process.cwd()

it.live("says 500 if its answer does not have the form of the API, and 400 only to a bad request", () => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel.label === "ERROR") logged.push(String(message))
  })
  return Effect.gen(function*() {
    const refused = yield* post("/v1/sessions", { directory, title: 7 })
    expect([refused.status, logged]).toEqual([400, []])
    const answer = yield* post("/v1/sessions", { directory })
    expect(answer.json()).toMatchObject({
      status: 500,
      type: "urn:skein:BadAnswer",
      detail: expect.stringMatching(/^The request is valid .* fault of the server/)
    })
    expect(answer.status).toBe(500)
    expect(logged).toEqual([
      expect.stringMatching(/^The answer to POST \/v1\/sessions does not have the form of the API: projectID: /)
    ])
    expect((yield* send("/v1/sessions?limit=x")).status).toBe(400)
  }).pipe(
    Effect.provide(
      // The name of a project that no schema allows.
      serving({ "*": ["ok"] }, { server: { projectOf: () => Effect.succeed(7 as unknown as string) } })
    ),
    Effect.provide(Logger.replace(Logger.defaultLogger, logger))
  )
})

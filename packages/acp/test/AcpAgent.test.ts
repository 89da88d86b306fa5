/** Proves what a client of the protocol sees of sessions. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { backend, connect } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

it.live("answers a prompt with the text of the model, and says why it ended", () =>
  Effect.gen(function*() {
    const { agent, heard } = yield* connect()
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const answer = await agent.request("session/prompt", { sessionId, prompt: say("Hello") })
      expect(answer).toMatchObject({ stopReason: "end_turn" })
      const chunks = heard.flatMap(({ update }) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : []
      )
      expect(chunks.join("")).toBe("Hello to you")
    })
  }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hello to you"] }))))

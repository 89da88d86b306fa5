/** Proves that a client may cancel at any instant: each prompt is answered once, nothing hangs, and the next one works. */
import type { PromptResponse } from "@agentclientprotocol/sdk/unstable"
import { expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { backend, connect, select } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

/** Numbers from 0 below 1 that a seed gives. */
const randoms = (seed: number) => {
  let state = seed * 2654435761 + 1
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1)
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61)
    return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32
  }
}

const change = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: [], metadata: {} }])
})

const may = { permission: { task: "allow" } } as const

/** Talks, delegates, asks at depth 1 to 3, and waits for a background task. */
const tree = backend({
  // A prompt that was cancelled before its turn began is read with the next one.
  build: ({ messages }) =>
    JSON.stringify(messages.at(-1)).includes("Go") && !JSON.stringify(messages).includes("And now?")
      ? Scripted.text("Let me see", { ...Scripted.tasks({ lead: "Lead" }, { explore: "Look" }), pieces: 3 })
      : Scripted.text("All is done", { pieces: 3 }),
  lead: ({ messages }) => messages.length < 3 ? Scripted.tasks({ hand: "Help" }) : "Lead is done",
  hand: ({ messages }) => messages.length < 3 ? Scripted.call("change", {}) : "Hand is done",
  explore: [Scripted.text("Explored", { pieces: 2 })]
}, { tools: [change], agents: [SkeinTest.agent("lead", may), SkeinTest.agent("hand")] })

it.live.each(
  seeds(1, 500).flatMap((seed, at) => at % 10 === 0 ? [[seed, seeds(1, 500).slice(at, at + 10)] as const] : [])
)(
  "prompts that are cancelled at random, from seed %i",
  ([, block]) =>
    Effect.gen(function*() {
      const { sessions } = yield* Backend
      for (const seed of block) {
        const random = randoms(seed)
        const isNested = random() < 0.5
        const isSlow = random() < 0.5
        const instant = Math.floor(random() * 22)
        const isTwice = random() < 0.3
        yield* Effect.scoped(Effect.gen(function*() {
          const connected = yield* connect({
            capabilities: isNested ? { subagents: {} } : {},
            permit: (_, signal) =>
              isSlow
                ? new Promise((resolve) => signal.addEventListener("abort", () => resolve(select("reject"))))
                : select("once")
          })
          const { agent, frames, untilFrames } = connected
          const { sessionId } = yield* Effect.promise(() => agent.request("session/new", { cwd, mcpServers: [] }))
          const before = frames.length
          const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
          yield* Effect.promise(async () => {
            // The instant may be beyond the end of the turn, or beyond a question that nobody answers.
            const heard = () =>
              frames.length - before > instant
              || frames.slice(before).some(({ frame }) => isSlow && frame.method === "session/request_permission")
            await Promise.race([untilFrames(heard), answer])
            await agent.notify("session/cancel", { sessionId })
            if (isTwice) await agent.notify("session/cancel", { sessionId })
            const { stopReason } = await answer
            expect(["cancelled", "end_turn"], `seed ${seed}`).toContain(stopReason)
          })
          const { status } = yield* sessions.get(SessionID.make(sessionId))
          expect(status.type, `seed ${seed}`).toBe("idle")
          const next = yield* Effect.promise(() =>
            agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("And now?") })
          )
          expect(next, `seed ${seed}`).toMatchObject({ stopReason: "end_turn" })
          const asked = frames.filter(({ frame, from }) => from === "client" && frame.method === "session/prompt")
          const answers = frames.filter(({ frame, from }) =>
            from === "agent" && asked.some((each) => each.frame.id === frame.id) && frame.method === undefined
          )
          expect(answers, `seed ${seed}`).toHaveLength(2)
        }))
      }
    }).pipe(Effect.scoped, Effect.provide(tree)),
  60_000
)

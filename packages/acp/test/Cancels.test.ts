/** Proves that a client may cancel at any instant: each prompt is answered once, nothing hangs, and the next one works. */
import type { PromptResponse } from "@agentclientprotocol/sdk/unstable"
import { expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { setImmediate } from "node:timers/promises"
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

/** Lets the frames of the client arrive that are on their way. */
const pause = Effect.repeatN(Effect.promise(() => setImmediate()), 20)

/** A backend that takes a while to say how a session is, and to stop it, as a server does. */
const slow = (given: Layer.Layer<Backend>): Layer.Layer<Backend> =>
  Layer.map(given, (context) => {
    const local = Context.get(context, Backend)
    const { get, stop } = local.sessions
    const sessions: typeof local.sessions = {
      ...local.sessions,
      get: (id) => Effect.zipRight(pause, get(id)),
      stop: (id, by) => Effect.zipRight(pause, stop(id, by))
    }
    return Context.make(Backend, { ...local, sessions })
  })

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
  seeds(1, 250).flatMap((seed, at) => at % 10 === 0 ? [[seed, seeds(1, 250).slice(at, at + 10)] as const] : [])
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
        // The next prompt does not wait for the answer to the cancelled one.
        const isHasty = random() < 0.5
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
          const ask = () => agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("And now?") })
          const hasty = yield* Effect.promise(async () => {
            // The instant may be beyond the end of the turn, or beyond a question that nobody answers.
            const heard = () =>
              frames.length - before > instant
              || frames.slice(before).some(({ frame }) => isSlow && frame.method === "session/request_permission")
            await Promise.race([untilFrames(heard), answer])
            await agent.notify("session/cancel", { sessionId })
            if (isTwice) await agent.notify("session/cancel", { sessionId })
            const next = isHasty ? ask() : undefined
            const { stopReason } = await answer
            expect(["cancelled", "end_turn"], `seed ${seed}`).toContain(stopReason)
            return await next
          })
          if (!isHasty) {
            const { status } = yield* sessions.get(SessionID.make(sessionId))
            expect(status.type, `seed ${seed}`).toBe("idle")
          }
          const next = hasty ?? (yield* Effect.promise(ask))
          expect(next, `seed ${seed}`).toMatchObject({ stopReason: "end_turn" })
          const asked = frames.filter(({ frame, from }) => from === "client" && frame.method === "session/prompt")
          const answers = frames.filter(({ frame, from }) =>
            from === "agent" && asked.some((each) => each.frame.id === frame.id) && frame.method === undefined
          )
          expect(answers, `seed ${seed}`).toHaveLength(2)
        }))
      }
    }).pipe(Effect.scoped, Effect.provide(slow(tree))),
  60_000
)

it.live("a cancel of nothing holds for no later prompt", () =>
  Effect.gen(function*() {
    const { agent } = yield* connect()
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      await agent.notify("session/cancel", { sessionId })
      expect(await agent.request("session/prompt", { sessionId, prompt: say("Go") })).toMatchObject({
        stopReason: "end_turn"
      })
    })
  }).pipe(Effect.scoped, Effect.provide(slow(tree))))

/** A model whose turn goes on until it is cancelled, unless the prompt is the third. */
const endless = backend({
  build: ({ messages }) => JSON.stringify(messages.at(-1)).includes("three") ? "Done" : Scripted.call("wait", {})
}, { tools: [SkeinTest.tool("wait", () => Effect.never)] })

it.live("a cancel between two prompts cancels the first alone", () =>
  Effect.gen(function*() {
    const { agent, frames, raw, untilFrames } = yield* connect()
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const line = (frame: object) => `${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`
      const asks = (id: string) =>
        line({ id, method: "session/prompt", params: { sessionId, prompt: say(`Prompt ${id}`) } })
      const cancels = line({ method: "session/cancel", params: { sessionId } })
      await raw(asks("one") + cancels + asks("two") + cancels + asks("three"))
      const ends = () =>
        ["one", "two", "three"].map((id) =>
          frames.find(({ frame, from }) => from === "agent" && frame.id === id)?.frame.result?.["stopReason"]
        )
      await untilFrames(() => ends().every((end) => end !== undefined))
      expect(ends()).toEqual(["cancelled", "cancelled", "end_turn"])
    })
  }).pipe(Effect.scoped, Effect.provide(slow(endless))))

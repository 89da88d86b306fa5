import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { SessionID } from "@skein/domain/Id"
import type { ModelInfo } from "@skein/domain/Model"
import { since } from "@skein/domain/Usage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { bounded, madeFor, readIn, tokensOf } from "./support/bounded.ts"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

/** A model that reads 9,000 tokens and writes 1,000. */
const limit = { context: 10_000, output: 1_000 }
const room = 9_000

const read = SkeinTest.tool("read", ({ file }) => Effect.succeed(`contents of ${String(file)}: ${"x".repeat(6_000)}`))

const reading = (file: string) => Scripted.call("read", { file })

/** About 1,500 tokens that pruning cannot remove. */
const telling = (words: string) => `${words} ${"y".repeat(6_000)}`

const use = <A, E>(
  script: Scripted.Scripted,
  program: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>> | Scope.Scope>,
  options: SkeinTest.SkeinTestOptions = {}
) => Effect.provide(Effect.scoped(program), SkeinTest.layer(script, { tools: [read], ...options }))

const made = (scripts: Parameters<typeof Scripted.make>[0], info: Partial<ModelInfo> = { limit }) =>
  Scripted.make(scripts, info)

const talk = Effect.fnUntraced(function*(id: SessionID, prompts: ReadonlyArray<string>) {
  for (const prompt of prompts) yield* Session.prompt(id, prompt)
})

describe("a conversation near the context limit of its model", () => {
  it.effect("is first sent without old tool outputs, which stay stored", () => {
    const files = ["a", "b", "c", "d", "e", "f", "g"]
    const script = made({ build: bounded(room, [...files.map(reading), "done"]) })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        expect((yield* Session.prompt(id, "Read all")).text).toBe("done")
        expect(madeFor(script, "compaction")).toEqual([])
        const last = script.requests.at(-1)
        const text = last === undefined ? "" : readIn(last)
        expect(text).toContain("[The output of read {\\\"file\\\":\\\"a\\\"} (")
        expect(text).not.toContain("contents of a")
        expect(text).toContain("contents of f")
        expect(text).toContain("contents of g")
        expect((yield* callsMade(id)).map(resultOf)).toEqual(
          files.map((file) => expect.stringContaining(`contents of ${file}: xxx`))
        )
      })
    )
  })

  it.effect("is summarised if that is not enough: recent messages stay, and nothing stored changes", () => {
    const script = made({
      build: bounded(room, ["one", "two", "three", "four", "five", "six"].map(telling)),
      compaction: [{ text: "They counted.", tokens: { input: 100, output: 20 } }]
    })
    return use(
      script,
      Effect.gen(function*() {
        const { all } = yield* record()
        const { id } = yield* root()
        yield* talk(id, ["Count to 1", "2", "3", "4", "5"])
        expect(madeFor(script, "compaction")).toEqual([])
        const before = yield* messagesOf(id)
        const used = yield* Effect.map(Session, (session) => session.get(id)).pipe(Effect.flatten)
        const turn = yield* Session.prompt(id, "6")
        expect(turn.text).toBe(telling("six"))
        const [asked, ...others] = madeFor(script, "compaction")
        expect(others).toEqual([])
        expect(asked).toMatchObject({ tools: [], origin: { path: ["compaction"], sessionID: id } })
        const last = script.requests.at(-1)
        const text = last === undefined ? "" : readIn(last)
        expect(text).toContain("They counted.")
        expect(text).toContain("Count to 1")
        expect(text).not.toContain("one yyy")
        expect(text).toContain("five yyy")
        expect(text).toContain("\"6\"")
        // All messages are kept, and there is one more.
        const after = yield* messagesOf(id)
        expect(after.slice(0, before.length)).toEqual(before)
        const message = after.find(({ parts }) => parts.some((part) => part.type === "compaction"))
        expect(message?.info.role).toBe("user")
        expect(message?.parts).toMatchObject([
          { type: "compaction", auto: true, keptFrom: expect.stringMatching(/^msg_/) },
          { type: "text", synthetic: true }
        ])
        // It is published after its message, and before the model is asked again.
        const types = all.flatMap((event) =>
          event.type === "session.compacted" ||
            (event.type === "message.updated" && event.properties.info.id === message?.info.id)
            ? [event.type]
            : []
        )
        expect(types).toEqual(["message.updated", "session.compacted"])
        const published = all.find(({ type }) => type === "session.compacted")
        expect(published?.properties).toMatchObject({ messageID: message?.info.id, auto: true })
        expect(
          all.flatMap((event) => event.type === "session.status" ? [event.properties.status.type] : []).slice(-4)
        ).toEqual(["busy", "compacting", "busy", "idle"])
        // Its usage counts, but it is not a step.
        const session = yield* Effect.flatMap(Session, (sessions) => sessions.get(id))
        const cost = since(used.usage.own, session.usage.own)
        expect(cost.steps).toBe(1)
        expect(cost.tokens.input).toBe(100 + (last === undefined ? 0 : tokensOf(last)))
        expect(yield* Effect.flatMap(SessionStorage, (storage) => storage.session(id))).toMatchObject({
          value: { usage: session.usage }
        })
        yield* expectStill(id, script)
      })
    )
  })

  it.effect("is not summarised again until it has grown", () => {
    // The system prompt fills most of the room, and no summary changes that.
    const prompt = "p".repeat(33_000)
    const agents = [SkeinTest.agent("lead", { mode: "primary", prompt, permission: { "*": "deny" } })]
    const script = made({ lead: bounded(room, ["a", "b", "c", "d"].map((each) => each.repeat(500))) })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root({ agent: "lead" })
        yield* talk(id, ["1", "2", "3", "4"])
        expect(script.requests.map(tokensOf).every((tokens) => tokens > room * 0.9)).toBe(true)
        expect(madeFor(script, "compaction")).toEqual([])
      }),
      { agents }
    )
  })

  it.effect("stays as it is if no model can summarise it, and the model is asked anyway", () => {
    const script = made({
      build: bounded(room * 2, ["one", "two", "three", "four", "five", "six"].map(telling)),
      compaction: [Scripted.fault("auth", { message: "No." })]
    })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        yield* talk(id, ["1", "2", "3", "4", "5"])
        expect((yield* Session.prompt(id, "6")).text).toBe(telling("six"))
        expect(madeFor(script, "compaction")).toHaveLength(1)
        expect(JSON.stringify(yield* messagesOf(id))).not.toContain("\"compaction\"")
      })
    )
  })

  it.effect("is summarised in a subagent as well, whose caller reads only its answer", () => {
    const texts = ["one", "two", "three", "four", "five"].map(telling)
    const script = made({
      build: [Scripted.tasks({ worker: "Work" }), "ok"],
      worker: bounded(room, [...texts.map((text) => ({ ...reading("x"), text })), "worked"])
    })
    return use(
      script,
      Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        const [child] = yield* childrenOf(id)
        expect(madeFor(script, "compaction").map(({ origin }) => origin.sessionID)).toEqual([child?.id])
        expect((yield* callsMade(id)).map(resultOf)[0]).toContain("worked")
        const asked = madeFor(script, "turn").find(({ messages, origin }) =>
          origin.sessionID === child?.id && JSON.stringify(messages).includes("What was said.")
        )
        // The task, in the caller's words.
        expect(asked === undefined ? "" : readIn(asked)).toContain("- Work")
        const session = yield* Session
        expect((yield* session.get(id)).usage.subtree.tokens).not.toEqual((yield* session.get(id)).usage.own.tokens)
        yield* expectStill(id, script)
      }),
      { agents: [SkeinTest.agent("worker")], rules: { "*": "allow" } }
    )
  })
})

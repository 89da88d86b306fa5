/** What servers ask people: as questions of the call that runs, and only if somebody is there. */
import { describe, expect, it } from "@effect/vitest"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { makeSilence } from "../src/internal/callTool.ts"
import { fieldsOf, makeAskers } from "../src/internal/elicit.ts"
import { fake, openAsking } from "./support/host.ts"

type Answer = readonly [string, ...ReadonlyArray<string>] | "dismiss"

/** A turn in which a server asks this; a person answers in this order. What was asked, and what the server heard. */
const asked = (
  params: unknown,
  answers: ReadonlyArray<Answer>,
  { asks = "person" as "person" | "nobody", how = "asks" } = {}
) =>
  Effect.gen(function*() {
    const script = Scripted.make({
      build: [Scripted.call("mcp_fake_echo", { words: JSON.stringify(params) }), "done"]
    })
    const heard = yield* Effect.gen(function*() {
      const events = yield* record()
      const questions = yield* Question
      const session = yield* Session
      const { id } = yield* session.create({
        directory: "/tmp",
        title: "Test",
        agent: "build",
        model: { providerID: "scripted", modelID: "model" }
      })
      const turn = yield* Effect.fork(session.prompt(id, "Go"))
      for (const [at, answer] of answers.entries()) {
        yield* Effect.repeat(Effect.promise(() => new Promise(setImmediate)), {
          until: () => events.of("question.asked").length > at
        })
        const request = events.of("question.asked")[at]?.properties
        if (request === undefined) return yield* Effect.dieMessage("nothing was asked")
        yield* answer === "dismiss" ? questions.dismiss(request.id) : questions.reply(request.id, answer)
      }
      yield* Fiber.join(turn)
      return events.of("question.asked").map(({ properties }) => properties)
    }).pipe(Effect.provide(SkeinTest.layer(script, {
      asks,
      rules: { "mcp_*": "allow" },
      toolSource: openAsking({ fake: { command: fake(how), startup_timeout: 60_000 } })
    })))
    const told = script.requests.at(-1)?.messages.flatMap((message) => message.role === "tool" ? message.content : [])
      .map(({ output }) => output.value) ?? []
    return { heard, told: told.map((each) => Either.getOrElse(Either.try(() => JSON.parse(String(each))), () => each)) }
  })

const form = (properties: object, required: ReadonlyArray<string> = []) => ({
  message: "Which\u001b[31m one?",
  requestedSchema: { type: "object", properties, required }
})

const color = { type: "string", title: "Colour", enum: ["red", "blue"] }

describe("a server that asks", () => {
  it.scopedLive("is answered by a person, field by field", () =>
    Effect.gen(function*() {
      const { heard, told } = yield* asked(
        form({ color, count: { type: "integer", minimum: 1 }, note: { type: "string" } }, ["color", "count"]),
        [["blue"], ["many"], ["3"], ["Leave out"]]
      )
      expect(told).toEqual([{ action: "accept", content: { color: "blue", count: 3 } }])
      expect(heard[0]).toMatchObject({
        question: "The MCP server fake asks: Which one?\nColour",
        options: [{ label: "red" }, { label: "blue" }],
        path: ["build"]
      })
      expect(heard[2]?.question).toContain("That answer cannot be used: it must be a number.")
    }))

  it.scopedLive("hears that nobody is there to answer", () =>
    Effect.gen(function*() {
      expect(yield* asked(form({ color }), [], { asks: "nobody" })).toEqual({
        heard: [],
        told: [{ action: "decline" }]
      })
    }))

  it.scopedLive("hears that the person does not want to answer", () =>
    Effect.gen(function*() {
      expect((yield* asked(form({ color }), ["dismiss"])).told).toEqual([{ action: "decline" }])
    }))

  it.scopedLive("hears that no answer was of use", () =>
    Effect.gen(function*() {
      expect((yield* asked(form({ color }, ["color"]), [["a"], ["b"], ["c"]])).told).toEqual([{ action: "cancel" }])
    }))

  it.scopedLive("may ask for no more than consent", () =>
    Effect.gen(function*() {
      expect((yield* asked(form({}), [["Agree"]])).told).toEqual([{ action: "accept", content: {} }])
    }))

  it.scopedLive("may have a page opened that nobody on the way can change", () =>
    Effect.gen(function*() {
      const page = (url: string) => ({ mode: "url", message: "Sign in", elicitationId: "1", url })
      const { heard, told } = yield* asked(page("https://example.com/sign-in"), [["I have opened it"]])
      expect(told).toEqual([{ action: "accept" }])
      expect(heard[0]?.question).toContain("a page of example.com:\nhttps://example.com/sign-in")
      for (
        const url of ["http://example.com/", "file:///etc/passwd", "javascript:alert(1)", "https://a:b@example.com"]
      ) {
        expect(yield* asked(page(url), [])).toEqual({ heard: [], told: [{ action: "decline" }] })
      }
    }))

  it.scopedLive("asks in the same way where it speaks the revision of 2026-07-28", () =>
    Effect.gen(function*() {
      const { told } = yield* asked(form({ color }, ["color"]), [["red"]], { how: "modern" })
      expect(told).toEqual([
        { inputResponses: { which: { action: "accept", content: { color: "red" } } }, requestState: "opaque" }
      ])
    }))
})

it("where calls of several trees run, nobody knows whom a server means", async () => {
  const askers = makeAskers()
  const asks = (rootID: string, name: string) =>
    askers.add({ rootID, ask: () => Promise.resolve({ action: "accept", content: { name } }) })
  const question = { message: "Who?", requestedSchema: { type: "object" as const, properties: {} } }
  expect(await askers.elicit(question)).toEqual({ action: "decline" })
  asks("a", "first")
  asks("a", "second")
  expect(await askers.elicit(question)).toEqual({ action: "accept", content: { name: "second" } })
  const remove = asks("b", "third")
  expect(await askers.elicit(question)).toEqual({ action: "decline" })
  remove()
  expect(await askers.elicit(question)).toMatchObject({ action: "accept" })
})

it("a question that comes with the answer to a call is asked through that call, whatever else runs", async () => {
  const askers = makeAskers()
  const asker = (rootID: string, name: string) => ({
    rootID,
    ask: () => Promise.resolve({ action: "accept" as const, content: { name } })
  })
  const [first, second, third] = [asker("a", "first"), asker("a", "second"), asker("b", "third")]
  for (const each of [first, second, third]) askers.add(each)
  const question = { message: "Who?", requestedSchema: { type: "object" as const, properties: {} } }
  const asked = askers.within(first, async () => {
    await Promise.resolve()
    return await askers.elicit(question)
  })
  expect(await asked).toEqual({ action: "accept", content: { name: "first" } })
  expect(await askers.elicit(question)).toEqual({ action: "decline" })
})

it.scoped("a call is given up for silence, and not while a person is asked", () =>
  Effect.gen(function*() {
    const { heard, paused, watch } = yield* makeSilence(10)
    const answer = yield* Deferred.make<void>()
    const watching = yield* Effect.fork(Effect.exit(watch))
    yield* TestClock.adjust("9 millis")
    heard()
    yield* TestClock.adjust("9 millis")
    const asking = yield* Effect.fork(paused(Deferred.await(answer)))
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.poll(watching)).toEqual(Option.none())
    yield* Deferred.succeed(answer, undefined)
    yield* Fiber.join(asking)
    yield* TestClock.adjust("20 millis")
    expect(yield* Fiber.join(watching)).toEqual(Exit.fail("nothing came for 0.01 s"))
  }))

describe("a field", () => {
  const read = (schema: object, ...answers: ReadonlyArray<string>) => {
    const fields = fieldsOf({ type: "object", properties: { it: schema }, required: ["it"] })
    return Either.isLeft(fields) ? fields.left : Either.merge(fields.right[0]?.read(answers) ?? Either.left("no field"))
  }

  it.each<[object, ReadonlyArray<string>, unknown]>([
    [{ type: "boolean" }, ["Yes"], true],
    [{ type: "boolean" }, ["perhaps"], "it must be one of Yes, No"],
    [{ type: "number", maximum: 2 }, ["2.5"], "it must be 2 or less"],
    [{ type: "integer" }, ["2.5"], "it must be a whole number"],
    [{ type: "string", minLength: 3 }, ["ab"], "it needs 3 characters"],
    [{ type: "string", format: "email" }, ["nobody"], "it must be of the form email"],
    [{ type: "string", format: "date" }, ["2026-02-29x"], "it must be of the form date"],
    [{ type: "string", oneOf: [{ const: "a", title: "First" }] }, ["first"], "a"],
    [{ type: "string", enum: ["a"], enumNames: ["First"] }, ["First"], "a"],
    [{ type: "array", items: { anyOf: [{ const: "a", title: "A" }, { const: "b" }] } }, ["A", "b"], ["a", "b"]],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["a", "b"], "choose 1 or fewer"],
    [{ type: "array", items: { type: "object" } }, ["a"], "its form has fields that cannot be asked for"],
    [{ type: "object" }, ["a"], "its form has fields that cannot be asked for"]
  ])("%j answered with %j is %j", (schema, answers, meant) => {
    expect(read(schema, ...answers)).toEqual(meant)
  })
})

/** Proves that a runner lists no questions of trees that it does not work in, and none twice. */
import { expect, it } from "@effect/vitest"
import { keyCursor } from "@skein/core/Page"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { LoggedEvent } from "@skein/core/StorageFilter"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { heldAsks, type Listed, mergedAsks } from "../../src/internal/asks.ts"

const [here, first, second] = ["http://10.0.0.1:1", "http://10.0.0.2:1", "http://10.0.0.3:1"] as const

/** The trees, and who works in them. */
const trees: Readonly<Record<string, string>> = { ses_a: here, ses_b: first, ses_c: second, ses_d: second }

const ask = (id: string, rootID: string, change: object = {}) => ({
  type: "permission",
  id,
  sessionID: rootID,
  rootID,
  path: ["build"],
  permission: "bash",
  patterns: ["rm -rf x"],
  always: [],
  metadata: {},
  ...change
})

const [own, ofB, ofC] = [ask("per_a", "ses_a"), ask("per_b", "ses_b"), ask("per_c", "ses_c")]

/** The journal of each tree has its own question. */
const storage = Layer.effect(
  SessionStorage,
  Effect.map(SessionStorage, (memory) => ({
    ...memory,
    session: (id: SessionID) =>
      Effect.succeed(id in trees ? Option.some({ id, rootID: id } as SessionInfo) : Option.none()),
    events: ({ rootID }: { readonly rootID?: SessionID }) =>
      Effect.succeed(
        [own, ofB, ofC].filter((each) => each.rootID === rootID).map((properties) =>
          ({ event: { type: "permission.asked", properties } }) as unknown as LoggedEvent
        )
      )
  }))
).pipe(Layer.provide(SessionStorage.layerMemory))

const cluster = { holder: (rootID: SessionID) => Effect.succeed(trees[rootID]) }

const list = (...others: ReadonlyArray<Listed>) => Effect.provide(heldAsks(cluster, [own], others), storage)

it.effect("the questions of all runners are listed", () =>
  Effect.gen(function*() {
    const listed = yield* list({ target: first, items: [ofB] }, { target: second, items: [ofC] })
    expect(listed).toEqual([own, ofB, ofC])
  }))

const harmless = { patterns: ["ls"] }

it.effect.each<[string, object]>([
  ["of a tree of this runner", ask("per_a", "ses_a", harmless)],
  ["of a tree of a third runner", ask("per_c", "ses_c", harmless)],
  ["with the id of one of this runner", ask("per_a", "ses_b", harmless)],
  ["with the id of one of a third runner", ask("per_c", "ses_b", harmless)],
  ["that says it is of another tree", ask("per_x", "ses_b", { rootID: "ses_a" })],
  ["of a tree that does not exist", ask("per_x", "ses_x")],
  ["without the form of a question", { id: "per_x", sessionID: "ses_b", rootID: "ses_b", type: "permission" }]
])("a question %s is not", ([, item]) =>
  Effect.gen(function*() {
    const others = [{ target: first, items: [item, ofB] }, { target: second, items: [ofC] }]
    expect(yield* list(...others)).toEqual([own, ofB, ofC])
  }))

it.effect("a runner lists a question once", () =>
  Effect.gen(function*() {
    expect(yield* list({ target: first, items: [ofB, { ...ofB, ...harmless }] })).toEqual([own, ofB])
  }))

it.effect("a page ends where the first of the runners has more", () =>
  Effect.gen(function*() {
    const all = [own, ofB, ofC]
    const whole = yield* mergedAsks(all, [undefined], 3)
    expect(whole).toEqual({ items: all })
    const cut = yield* mergedAsks(all, ["permission per_c", "permission per_a", undefined], 3)
    expect(cut).toEqual({ items: [own], next: keyCursor.write({ after: "permission per_a" }) })
    const short = yield* mergedAsks([ofC, own, ofB], [undefined], 2)
    expect(short).toEqual({ items: [own, ofB], next: keyCursor.write({ after: "permission per_b" }) })
  }))

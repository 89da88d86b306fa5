import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { type LanguageModel, ModelError, type ModelEvent, Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import type { Event } from "@skein/domain/Event"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { messagesOf, root } from "./support/tree.ts"

const upTo = (most: number) => Random.nextIntBetween(0, most + 1)

/** A client that follows the contract of the events: snapshots replace, deltas append. */
class Client {
  readonly texts = new Map<string, string>()
  /** Its view of prompts is not checked. */
  readonly #asked = new Set<string>()
  /** Whether it was connected from the beginning: if not, it ignores deltas of parts without a snapshot. */
  readonly #early: boolean
  isWhole = false

  constructor(early: boolean) {
    this.#early = early
  }

  see(event: Event): void {
    if (event.type === "message.updated") {
      const { info } = event.properties
      if (info.role === "user") this.#asked.add(info.id)
      else this.isWhole = info.time.completed !== undefined
    } else if (event.type === "message.part.updated") {
      const { part } = event.properties
      if (this.#asked.has(part.messageID) || (part.type !== "text" && part.type !== "reasoning")) return
      this.texts.set(part.id, part.text)
    } else if (event.type === "message.part.delta") {
      const { delta, partID } = event.properties
      const before = this.texts.get(partID)
      if (before !== undefined || this.#early) this.texts.set(partID, (before ?? "") + delta)
    }
  }

  get shown(): ReadonlyArray<string> {
    return [...this.texts.values()].filter((text) => text !== "")
  }
}

/** A model that streams several texts at once, in pieces; some tries break off. Each text names its try. */
const makeTalker = () => {
  const said = new Map<string, string>()
  let tries = 0
  const talk = Effect.fnUntraced(function*(emit: (event: ModelEvent) => void) {
    const attempt = ++tries
    emit({ type: "connected" })
    const parts = Array.from({ length: 1 + (yield* upTo(2)) }, (_, part) => ({
      id: `${part}`,
      key: `${attempt}.${part}:`,
      type: part === 1 ? "reasoning" as const : "text" as const
    }))
    for (const { id, key, type } of parts) {
      emit({ type: `${type}-start`, id })
      said.set(key, "")
    }
    const say = ({ id, key, type }: typeof parts[number], delta: string) => {
      said.set(key, said.get(key) + delta)
      emit({ type: `${type}-delta`, id, delta })
    }
    for (let piece = 0, pieces = yield* upTo(12); piece <= pieces; piece++) {
      if ((yield* upTo(3)) > 0) yield* Effect.sleep(yield* upTo(130))
      for (const part of parts) if (piece === 0 || (yield* upTo(2)) > 0) say(part, piece === 0 ? part.key : `${piece},`)
      if (attempt < 4 && (yield* upTo(14)) === 0) {
        return yield* new ModelError({ reason: "network", retryable: true, message: "cut" })
      }
    }
    for (const { id, type } of parts) emit({ type: `${type}-end`, id })
    yield* Effect.sleep(yield* upTo(300))
    emit({ type: "finish", finish: "stop", tokens: undefined })
  })
  const model: LanguageModel = {
    info: { providerID: "talker", modelID: "model" },
    limitKey: "talker",
    stream: (_, emit) => talk(emit)
  }
  return { said, layer: Provider.layerModels([model]) }
}

/** Storage with slow commits, in order; some fail. `stored` is its content. */
const makeSlowStorage = (failing: boolean) => {
  const stored = new Map<string, string>()
  let isReady = false
  const keep = (write: Write) => {
    if (write._tag === "RemovePart") stored.delete(write.id)
    if (write._tag === "Part" && (write.part.type === "text" || write.part.type === "reasoning")) {
      stored.set(write.part.id, write.part.text)
    }
  }
  const layer = Layer.effect(
    SessionStorage,
    Effect.map(SessionStorage, (inner) => {
      const turn = Effect.unsafeMakeSemaphore(1)
      const commit = Effect.fnUntraced(function*(writes: ReadonlyArray<Write>) {
        if ((yield* upTo(2)) > 0) yield* Effect.sleep(yield* upTo(250))
        if (isReady && failing && (yield* upTo(4)) === 0) {
          return yield* new StorageError({ operation: "commit", reason: "full", message: "The disk is full." })
        }
        const places = yield* inner.commit(writes)
        writes.forEach(keep)
        return places
      })
      return { ...inner, commit: (writes: ReadonlyArray<Write>) => turn.withPermits(1)(commit(writes)) }
    })
  ).pipe(Layer.provide(SessionStorage.layerMemory))
  return { layer, stored, ready: () => isReady = true }
}

/** The number of the try that said this. */
const tryOf = (text: string): number => Number.parseInt(text)

/** One turn, as a client that connects early or late sees it, and perhaps stopped. */
const scene = (seed: number, failing: boolean) => {
  const talker = makeTalker()
  const storage = makeSlowStorage(failing)
  const counts = { deltas: 0, snapshots: 0, retries: 0 }
  // An exception from a listener would end the turn.
  const faults: Array<string> = []
  const hold = (is: boolean | undefined, otherwise: string) => {
    if (is !== true) faults.push(`${seed}: ${otherwise}`)
  }
  const early = seed % 3 > 0
  const client = new Client(early)
  let failed = 0
  const watch = (event: Event) => {
    const before = new Map(client.texts)
    client.see(event)
    if (event.type === "message.part.delta") counts.deltas++
    if (event.type === "message.part.updated") counts.snapshots++
    if (event.type === "session.status" && event.properties.status.type === "retry") {
      counts.retries++
      failed = event.properties.status.attempt
    }
    for (const [part, text] of client.texts) {
      const was = before.get(part) ?? ""
      const whole = talker.said.get(/^\d+\.\d:/.exec(text)?.[0] ?? "")
      hold(text === "" || whole?.startsWith(text), `"${text}" was said as "${whole}"`)
      hold(text === "" || text.startsWith(was), `"${text}" after "${was}"`)
      hold(text === was || text === "" || tryOf(text) > failed, `"${text}" is published after retry ${failed}`)
      const kept = storage.stored.get(part) ?? ""
      const agree = tryOf(kept) !== tryOf(text) || kept.startsWith(text) || text.startsWith(kept)
      hold(agree, `"${text}" is shown, "${kept}" is stored`)
    }
    hold(new Set(client.shown.map(tryOf)).size < 2, `two tries at once: ${client.shown}`)
  }
  const program = Effect.gen(function*() {
    const bus = yield* Bus
    const session = yield* Session
    const { id } = yield* root()
    if (early) yield* bus.listen({ all: true }, watch)
    storage.ready()
    const prompt = yield* Effect.forkScoped(Effect.either(session.prompt(id, "Go")))
    yield* Effect.sleep(yield* upTo(600))
    if (!early) yield* bus.listen({ all: true }, watch)
    if ((yield* upTo(2)) === 0) {
      yield* Effect.sleep(yield* upTo(1_500))
      // A stop that cannot be stored fails.
      yield* failing ? Effect.ignore(session.stop(id)) : session.stop(id)
    }
    const result = yield* prompt.await.pipe(Effect.flatten)
    const wasLost = Either.isLeft(result) && result.left._tag === "StorageError"
    if (wasLost || !client.isWhole) return
    const held = (yield* messagesOf(id)).flatMap(({ info, parts }) =>
      info.role === "user" ?
        [] :
        parts.flatMap((part) =>
          (part.type === "text" || part.type === "reasoning") && part.text !== "" ? [part.text] : []
        )
    )
    expect(client.shown.toSorted(), `${seed}: at the end everything is shown`).toEqual(held.toSorted())
  })
  const layer = SkeinTest.layer({ layer: talker.layer }, {
    storage: storage.layer,
    config: { retry: { attempts: 5, base: 10, max_delay: 400 } }
  })
  simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed })
  expect(faults).toEqual([])
  return counts
}

describe("a client that replaces updated parts and appends their deltas", () => {
  const all = (failing: boolean) => {
    const sum = { deltas: 0, snapshots: 0, retries: 0 }
    for (const seed of seeds(1, 150)) {
      const counts = scene(seed, failing)
      for (const key of ["deltas", "snapshots", "retries"] as const) sum[key] += counts[key]
    }
    return sum
  }

  it("always shows what was said, and nothing else, however long storing takes", () => {
    const { deltas, retries, snapshots } = all(false)
    expect(Math.min(deltas, snapshots, retries)).toBeGreaterThan(share(50))
  }, 30_000)

  it("does so even if storing fails now and then", () => {
    all(true)
  }, 30_000)
})

/** Records what models say in a file, the cassette, and plays it back without a model. */
import * as FileSystem from "@effect/platform/FileSystem"
import { elapsed, now } from "@skein/core/MonotonicClock"
import {
  type LanguageModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  ModelUnavailable,
  Provider
} from "@skein/core/Provider"
import { FinishReason } from "@skein/domain/Message"
import { formatRef, ModelInfo, type ModelRef } from "@skein/domain/Model"
import { Cost, Tokens } from "@skein/domain/Usage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"

const id = { id: Schema.String }
const delta = { ...id, delta: Schema.String }

/** What a provider wants back with something that its model said. */
const metadata = {
  metadata: Schema.optionalWith(
    Schema.Record({ key: Schema.String, value: Schema.Record({ key: Schema.String, value: Schema.Unknown }) }),
    { exact: true }
  )
}

const Event: Schema.Schema<ModelEvent, unknown> = Schema.Union(
  Schema.Struct({ type: Schema.Literal("connected", "activity") }),
  Schema.Struct({ type: Schema.Literal("text-start", "reasoning-start"), ...id }),
  Schema.Struct({ type: Schema.Literal("text-delta", "reasoning-delta"), ...delta }),
  Schema.Struct({ type: Schema.Literal("text-end", "reasoning-end"), ...id, ...metadata }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    ...id,
    name: Schema.String,
    input: Schema.String,
    fault: Schema.optional(Schema.String),
    ...metadata
  }),
  Schema.Struct({ type: Schema.Literal("usage"), tokens: Tokens, cost: Schema.optional(Cost) }),
  Schema.Struct({
    type: Schema.Literal("finish"),
    finish: FinishReason,
    cost: Schema.optional(Cost),
    // JSON has no undefined.
    tokens: Schema.transform(Schema.NullOr(Tokens), Schema.UndefinedOr(Schema.typeSchema(Tokens)), {
      strict: true,
      decode: (tokens) => tokens ?? undefined,
      encode: (tokens) => tokens ?? null
    })
  })
) as Schema.Schema<ModelEvent, unknown>

/** One recorded request. */
const Take = Schema.Struct({
  /** Who asked and in which step; see `keyOf`. */
  key: Schema.String,
  /** Tells requests with one key apart: a hash of the last user message. */
  ask: Schema.String,
  /** The model that answered, as `provider/model`. */
  model: Schema.String,
  events: Schema.Array(Schema.Struct({
    /** Milliseconds since the request began. */
    at: Schema.NonNegative,
    event: Event
  })),
  /** How the request failed, if it did, and when. */
  error: Schema.optional(Schema.Struct({ at: Schema.NonNegative, error: ModelError }))
})
/** The type of a recorded request. */
interface Take extends Schema.Schema.Type<typeof Take> {}

/** A file of recorded requests. */
const Cassette = Schema.parseJson(
  Schema.Struct({
    version: Schema.Literal(1),
    default: Schema.Struct({ providerID: Schema.String, modelID: Schema.String }),
    /** The models that were used. */
    models: Schema.Array(ModelInfo),
    takes: Schema.Array(Take)
  }),
  { space: 2 }
)
/** The type of a file of recorded requests. */
type Cassette = typeof Cassette.Type

/** `build>explore#2` is the third request of an explore agent below a build agent. Titles are marked separately. */
const keyOf = ({ origin: { path, purpose, step } }: ModelRequest): string =>
  `${path.join(">")}#${step}${purpose === "turn" ? "" : ` (${purpose})`}`

/** The same for the same last user message. */
const askOf = ({ messages }: ModelRequest): string => {
  const last = messages.findLast((message) => message.role === "user")
  return createHash("sha256").update(JSON.stringify(last?.content ?? [])).digest("hex").slice(0, 12)
}

/** A cassette cannot be read. */
export class CassetteError extends Schema.TaggedError<CassetteError>()("CassetteError", {
  path: Schema.String,
  message: Schema.String
}) {}

const unwritable = (model: ModelInfo, path: string, cause: { readonly message: string }): ModelError =>
  new ModelError({
    reason: "bad_response",
    retryable: false,
    message: `${formatRef(model)} answered, but the cassette ${path} cannot be written: ${cause.message}`
  })

/**
 * Wraps a provider and records every answer in a cassette, which replaces an existing file. The file is complete after
 * each request. Interrupted requests are left out.
 */
export const record = <E, R>(
  provider: Layer.Layer<Provider, E, R>,
  path: string
): Layer.Layer<Provider, E, R | FileSystem.FileSystem> =>
  Layer.effect(
    Provider,
    Effect.gen(function*() {
      const inner = yield* Provider
      const fileSystem = yield* FileSystem.FileSystem
      const lock = yield* Effect.makeSemaphore(1)
      const takes: Array<Take> = []
      const models = new Map<string, ModelInfo>()

      const write = (info: ModelInfo) =>
        lock.withPermits(1)(Effect.gen(function*() {
          const fallback: ModelRef = yield* Effect.orElseSucceed(inner.defaultModel, () => info)
          const text = yield* Schema.encode(Cassette)({
            version: 1,
            default: { providerID: fallback.providerID, modelID: fallback.modelID },
            models: [...models.values()],
            takes
          })
          yield* fileSystem.writeFileString(`${path}.part`, `${text}\n`)
          yield* fileSystem.rename(`${path}.part`, path)
        })).pipe(Effect.mapError((cause) => unwritable(info, path, cause)))

      const recording = (model: LanguageModel): LanguageModel => ({
        ...model,
        stream: (request, emit) =>
          Effect.gen(function*() {
            const clock = yield* Effect.clock
            const start = elapsed(clock)
            const at = () => elapsed(clock) - start
            const events: Array<Take["events"][number]> = []
            const take = { key: keyOf(request), ask: askOf(request), model: formatRef(model.info), events }
            yield* model.stream(request, (event) => {
              events.push({ at: at(), event })
              emit(event)
            }).pipe(Effect.tapError((error) => {
              takes.push({ ...take, error: { at: at(), error } })
              return write(model.info)
            }))
            takes.push(take)
            yield* write(model.info)
          })
      })

      return {
        ...inner,
        resolve: (ref) =>
          Effect.map(inner.resolve(ref), (model) => {
            models.set(formatRef(model.info), model.info)
            return recording(model)
          })
      }
    })
  ).pipe(Layer.provide(provider))

/** How to play a cassette. */
export interface ReplayOptions {
  /** `instant` (the default) never waits; `recorded` takes as long as the models did. */
  readonly pace?: "instant" | "recorded"
}

/**
 * A provider that answers from a cassette. It finds a request by agent path and step. If several match, it takes the one
 * with the same last user message, else the first unused one. No recording is used twice.
 */
export const layer = (
  path: string,
  { pace = "instant" }: ReplayOptions = {}
): Layer.Layer<Provider, CassetteError, FileSystem.FileSystem> =>
  Layer.effect(
    Provider,
    Effect.gen(function*() {
      const fileSystem = yield* FileSystem.FileSystem
      const cassette = yield* fileSystem.readFileString(path).pipe(
        Effect.flatMap(Schema.decode(Cassette)),
        Effect.mapError((cause) =>
          new CassetteError({ path, message: `The cassette ${path} cannot be read; record it again. ${cause.message}` })
        )
      )
      const left = new Map<string, Array<Take>>()
      for (const take of cassette.takes) left.set(take.key, [...left.get(take.key) ?? [], take])

      const next = (key: string, ask: string): Take | undefined => {
        const takes = left.get(key) ?? []
        const index = Math.max(0, takes.findIndex((take) => take.ask === ask))
        return takes.splice(index, 1)[0]
      }
      const model = (info: ModelInfo): LanguageModel => ({
        info,
        limitKey: `${formatRef(info)}/replay`,
        stream: (request, emit) =>
          Effect.suspend(() => {
            const key = keyOf(request)
            const take = next(key, askOf(request))
            return take === undefined ? Effect.fail(missing(path, key, cassette)) : play(take, pace, emit)
          })
      })

      const known = new Map(cassette.models.map((info) => [formatRef(info), info]))
      return {
        resolve: (ref) => {
          const info = known.get(formatRef(ref))
          return info === undefined ? Effect.fail(unknown(path, ref, cassette)) : Effect.succeed(model(info))
        },
        list: Effect.succeed([...known.values()].map((info) => ({ ...info, available: true }))),
        defaultModel: Effect.succeed(cassette.default)
      } satisfies Context.Tag.Service<typeof Provider>
    })
  )

const play = (
  take: Take,
  pace: "instant" | "recorded",
  emit: Parameters<LanguageModel["stream"]>[1]
): Effect.Effect<void, ModelError> =>
  Effect.gen(function*() {
    const start = yield* now
    const until = (at: number) =>
      pace === "instant"
        ? Effect.void
        : Effect.flatMap(now, (present) => Effect.sleep(start + at - present))
    for (const { at, event } of take.events) {
      yield* until(at)
      emit(event)
    }
    if (take.error === undefined) return
    yield* until(take.error.at)
    return yield* take.error.error
  })

const missing = (path: string, key: string, { takes }: Cassette): ModelError => {
  const recorded = takes.filter((take) => take.key === key).length
  return new ModelError({
    reason: "bad_response",
    retryable: false,
    message: recorded === 0
      ? `The cassette ${path} has no request ${key}. It has ${
        [...new Set(takes.map((take) => take.key))].join(", ") || "none at all"
      }. Record it again.`
      : `The cassette ${path} has ${recorded} requests ${key}, and all were played. Record it again.`
  })
}

const unknown = (path: string, ref: ModelRef, { models }: Cassette): ModelUnavailable =>
  new ModelUnavailable({
    model: formatRef(ref),
    reason: "unknown_model",
    message: `The cassette ${path} was recorded without ${formatRef(ref)}. It has ${
      models.map(formatRef).join(", ") || "no model"
    }.`
  })

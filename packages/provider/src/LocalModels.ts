/** Asks servers on this machine which models they have. */
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import type { ModelInfo } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { findKey } from "./BuiltIn.ts"
import { isLocal } from "./internal/errors.ts"
import { errorLimit, isSuccess, makeSend } from "./internal/http.ts"
import { type Fields, fields, parseJson } from "./internal/json.ts"
import { textFrom } from "./internal/vendor.ts"
import { lookup } from "./Models.ts"
import { type Preset, presets } from "./OpenAiCompatible.ts"

/** How long a server may take; one that does not run refuses at once. */
const patience = "2 seconds"

/** How much of a list to read, in bytes. */
const most = 16 * errorLimit

const known: Readonly<Record<string, Preset>> = presets

/** The size of a context, where a server says it: vLLM, LM Studio and llama.cpp have a name each. */
const contextOf = (model: Fields): number | undefined =>
  [model["max_model_len"], model["context_length"], model["max_context_length"], fields(model["meta"])?.["n_ctx"]]
    .find((size) => typeof size === "number" && Number.isSafeInteger(size) && size > 0) as number | undefined

const modelsIn = (providerID: string, text: string, configs: ProviderConfig["models"]): ReadonlyArray<ModelInfo> => {
  const body = fields(Option.getOrUndefined(parseJson(text)))
  const list = Array.isArray(body?.["data"]) ? body["data"] : []
  return list.flatMap((each) => {
    const { id: modelID, ...model } = fields(each) ?? {}
    if (typeof modelID !== "string" || modelID === "") return []
    const context = contextOf(model)
    const info = lookup(providerID, modelID, configs)
    return [context === undefined || info.limit !== undefined ? info : { ...info, limit: { context, output: context } }]
  })
}

/** The text of an answer; fails if there is none. */
const get = (url: URL, headers: Readonly<Record<string, string>>) =>
  Effect.flatMap(makeSend, (send) =>
    Effect.async<string, Option.Option<unknown>>((resume) => {
      const fail = (cause: unknown) => resume(Effect.fail(Option.some(cause)))
      const { close } = send({ url, method: "GET", headers, body: Buffer.alloc(0) }, {
        connected: () => {},
        failed: fail,
        answered: (incoming) => {
          if (!isSuccess(incoming)) return fail(incoming.statusCode)
          const pieces: Array<Buffer> = []
          let size = 0
          incoming.on("data", (bytes: Buffer) => {
            pieces.push(bytes)
            size += bytes.length
            if (size > most) fail("too long")
          })
          incoming.on("end", () => resume(Effect.succeed(Buffer.concat(pieces).toString())))
          incoming.on("error", fail)
        }
      })
      return Effect.sync(close)
    })).pipe(Effect.scoped)

const ask = Effect.fnUntraced(function*(id: string, config: ProviderConfig) {
  const preset = known[id]
  const fromEnvironment = preset === undefined ? undefined : yield* textFrom(preset.baseUrlName)
  const baseUrl = config.base_url ?? fromEnvironment ?? preset?.baseUrl ?? ""
  if (!isLocal(baseUrl)) return []
  const { key } = yield* findKey(id, config)
  const url = new URL(baseUrl)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/models`
  const headers = key === undefined ? {} : { authorization: `Bearer ${Redacted.value(key)}` }
  const text = yield* get(url, { accept: "application/json", ...headers })
  return modelsIn(id, text, config.models)
})

/** The models of the servers that run on this machine, where the presets and the config expect them. */
export const localModels = (
  configs: Readonly<Record<string, ProviderConfig>>
): Effect.Effect<ReadonlyArray<ModelInfo>> => {
  const ids = new Set([...Object.keys(known).filter((id) => known[id]?.keyless === true), ...Object.keys(configs)])
  return Effect.map(
    Effect.forEach(
      ids,
      (id) =>
        Effect.timeout(ask(id, configs[id] ?? {}), patience).pipe(
          // A server that does not run, or one of another kind, has no models.
          Effect.orElseSucceed((): ReadonlyArray<ModelInfo> => [])
        ),
      { concurrency: "unbounded" }
    ),
    (found) => found.flat()
  )
}

/** Models of any provider package of the AI SDK that the user has installed. */
import type { LanguageModelV3 } from "@ai-sdk/provider"
import { type LanguageModel, ModelUnavailable } from "@skein/core/Provider"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type Fields, fields, parseJson } from "./internal/json.ts"
import { keepsMarked } from "./internal/prompt.ts"
import { fingerprintOf } from "./internal/vendor.ts"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { known, lookup, type ModelConfigs } from "./Models.ts"
import type { Vendor } from "./Vendor.ts"

const conditions = new Set(["import", "node", "module", "default"])

/** What `exports` of a package says of an entry: the first condition that holds, however deep. */
const entryOf = (exported: unknown, entry: string): string | undefined => {
  if (typeof exported === "string") return exported
  if (Array.isArray(exported)) return exported.map((each) => entryOf(each, entry)).find((path) => path !== undefined)
  const found = fields(exported)
  if (found === undefined) return undefined
  if (found[entry] !== undefined) return entryOf(found[entry], entry)
  return Object.entries(found).flatMap(([name, value]) => conditions.has(name) ? entryOf(value, entry) ?? [] : [])[0]
}

/** The manifest of a package that is installed in a directory, and where it is. */
const manifestOf = async (name: string, directory: string): Promise<readonly [string, Fields] | undefined> => {
  const { join } = await import("node:path")
  const { findPackageJSON } = await import("node:module")
  const { readFileSync } = await import("node:fs")
  let manifest: string | undefined
  try {
    manifest = findPackageJSON(name, join(directory, "package.json"))
  } catch {
    // Node throws for a package that is not there.
    return undefined
  }
  if (manifest === undefined) return undefined
  const found = Option.getOrUndefined(parseJson(readFileSync(manifest, "utf8")))
  return [manifest, fields(found) ?? {}]
}

/** The version of an installed package; undefined if it is not installed. A file has none, and is always there. */
const versionOf = async (name: string, directory: string): Promise<string | undefined> => {
  const { isAbsolute } = await import("node:path")
  if (isAbsolute(name)) return ""
  const found = await manifestOf(name, directory)
  return found === undefined ? undefined : String(found[1]["version"] ?? "")
}

/** The module of an entry of an installed package, or the file at an absolute path. */
const locate = async (name: string, directory: string, entry: string): Promise<string | undefined> => {
  const { isAbsolute, dirname, join } = await import("node:path")
  if (isAbsolute(name)) return name
  const found = await manifestOf(name, directory)
  if (found === undefined) return undefined
  const [manifest, { exports, main, module }] = found
  const path = entryOf(exports, entry) ?? [module, main].find((each) => typeof each === "string") ?? "index.js"
  return join(dirname(manifest), String(path))
}

/** Loads what a package exports; undefined if it is not installed there. Rejects with what the package throws. */
const loadInstalled = async (
  name: string,
  directory: string,
  entry = "."
): Promise<Fields | undefined> => {
  const path = await locate(name, directory, entry)
  if (path === undefined) return undefined
  const { pathToFileURL } = await import("node:url")
  const exported: unknown = await import(pathToFileURL(path).href)
  return fields(exported) ?? {}
}

/** A package, and what to set it up with. */
export interface AiSdkPackageOptions {
  /** The part of a model's name before the slash. */
  readonly id: string
  /** The name of the package, or the absolute path of a module. */
  readonly package: string
  /** The directory whose `node_modules` holds the package. */
  readonly directory: string
  readonly apiKey?: Redacted.Redacted | undefined
  /** The variable that holds the key. If set, requests without a key are refused. */
  readonly keyName?: string | undefined
  readonly baseUrl?: string | undefined
  readonly firstEvent?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly models?: ModelConfigs | undefined
  /** Passed on as they are. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
}

/** The releases for AI SDK 6, by package. */
const releases: Readonly<Record<string, number>> = {
  "@ai-sdk/alibaba": 1,
  "@ai-sdk/amazon-bedrock": 4,
  "@ai-sdk/anthropic": 3,
  "@ai-sdk/azure": 3,
  "@ai-sdk/cerebras": 2,
  "@ai-sdk/cohere": 3,
  "@ai-sdk/deepinfra": 2,
  "@ai-sdk/deepseek": 2,
  "@ai-sdk/fireworks": 2,
  "@ai-sdk/gateway": 3,
  "@ai-sdk/google": 3,
  "@ai-sdk/google-vertex": 4,
  "@ai-sdk/groq": 3,
  "@ai-sdk/huggingface": 1,
  "@ai-sdk/mistral": 3,
  "@ai-sdk/moonshotai": 2,
  "@ai-sdk/openai": 3,
  "@ai-sdk/openai-compatible": 2,
  "@ai-sdk/perplexity": 3,
  "@ai-sdk/togetherai": 2,
  "@ai-sdk/vercel": 2,
  "@ai-sdk/xai": 3,
  "@openrouter/ai-sdk-provider": 2
}

/** A command that installs the release that fits. */
const installing = (name: string, directory: string): string => {
  const release = releases[name]
  const command = `npm install --prefix ${directory} ${name}`
  return release === undefined ? `${command}. Choose its release for AI SDK 6.` : `${command}@${release}`
}

/** What is wrong with an installed package, and how to fix it; undefined if it can be loaded. */
export const checkInstalled = (
  name: string,
  directory: string
): Effect.Effect<{ readonly isMissing: boolean; readonly detail: string; readonly fix: string } | undefined> =>
  Effect.map(Effect.promise(() => versionOf(name, directory)), (version) => {
    const fix = installing(name, directory)
    if (version === undefined) return { isMissing: true, detail: `${name} is not installed`, fix }
    const release = releases[name]
    return release === undefined || version.startsWith(`${release}.`)
      ? undefined
      : { isMissing: false, detail: `${name} is version ${version}, which is not for AI SDK 6`, fix }
  })

const secretNames = /key|token|secret|passw|credential|auth/i

/** All values that may be secret. */
const secretsOf = ({ apiKey, headers = {}, options = {} }: AiSdkPackageOptions): ReadonlyArray<Redacted.Redacted> => [
  ...apiKey === undefined ? [] : [apiKey],
  ...[
    ...Object.values(headers),
    ...Object.entries(options).flatMap(([name, value]) =>
      typeof value === "string" && secretNames.test(name) ? [value] : []
    )
  ].map((value) => Redacted.make(value))
]

/** What a package makes of a model's name. */
type MakeModel = (modelID: string) => unknown

/** The function that makes models; a text says what is wrong with the package. */
const toMakeModel = (exported: Fields, options: AiSdkPackageOptions): MakeModel | string => {
  const { apiKey, baseUrl, headers, id } = options
  const create = Object.entries(exported).find(([name, value]) =>
    /^create[A-Z]/.test(name) && typeof value === "function"
  )?.[1]
  if (typeof create !== "function") return "it exports no function whose name begins with create"
  const sdk: unknown = create({
    name: id,
    ...apiKey === undefined ? {} : { apiKey: Redacted.value(apiKey) },
    ...baseUrl === undefined ? {} : { baseURL: baseUrl },
    ...headers === undefined ? {} : { headers },
    ...options.options
  })
  const make = typeof sdk === "function" ? sdk : fields(sdk)?.["languageModel"]
  return typeof make === "function" ? (modelID) => Reflect.apply(make, sdk, [modelID]) : "it makes no language models"
}

const isV3 = (model: unknown): model is LanguageModelV3 =>
  (fields(model) ?? (typeof model === "function" ? model : {}) as Fields)["specificationVersion"] === "v3"

/** The vendor of a package's models. The package is loaded with the first model. */
export const make = (options: AiSdkPackageOptions): Vendor => {
  const { apiKey, directory, id, keyName, models = {}, package: name } = options
  const available = keyName === undefined || apiKey !== undefined
  const made = new Map<string, LanguageModel>()
  const refuse = (modelID: string, message: string, reason: "bad_config" | "no_key" = "bad_config") =>
    new ModelUnavailable({ model: formatRef({ providerID: id, modelID }), reason, message })
  const adapt = (model: LanguageModelV3, modelID: string): LanguageModel => {
    const info = lookup(id, modelID, models)
    return LanguageModelAdapter.make({
      model,
      info,
      limitKey: `${formatRef(info)}/${apiKey === undefined ? "no-key" : fingerprintOf(apiKey)}`,
      secrets: secretsOf(options),
      firstEvent: options.firstEvent,
      ...keyName === undefined ? {} : { keyName },
      ...options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }
    })
  }
  const load = Effect.fnUntraced(function*(modelID: string) {
    const fault = (why: unknown) =>
      refuse(
        modelID,
        `The package ${name} of the provider ${id} cannot be used: ${why instanceof Error ? why.message : why}.`
      )
    // Claude on Vertex has an entry of its own.
    const entry = name === "@ai-sdk/google-vertex" && keepsMarked(modelID) ? "./anthropic" : "."
    const exported = yield* Effect.tryPromise({ try: () => loadInstalled(name, directory, entry), catch: fault })
    if (exported === undefined) {
      return yield* refuse(
        modelID,
        `The provider ${id} needs the package ${name}, which is not installed: ${installing(name, directory)}`
      )
    }
    const result = yield* Effect.try({
      try: () => {
        const makeModel = toMakeModel(exported, options)
        return typeof makeModel === "string" ? makeModel : { model: makeModel(modelID) }
      },
      catch: fault
    })
    if (typeof result === "string") return yield* fault(result)
    if (!isV3(result.model)) {
      return yield* fault(`its models are not of version 3. ${installing(name, directory)}`)
    }
    return adapt(result.model, modelID)
  })
  return {
    id,
    models: known(id, models),
    available,
    model: (modelID) =>
      Effect.suspend(() => {
        const ready = made.get(modelID)
        if (ready !== undefined) return Effect.succeed(ready)
        if (!available) {
          const needs = `${
            formatRef({ providerID: id, modelID })
          } needs a key: set the environment variable ${keyName}.`
          return Effect.fail(refuse(modelID, needs, "no_key"))
        }
        return Effect.tap(load(modelID), (model) => Effect.sync(() => made.set(modelID, model)))
      })
  }
}

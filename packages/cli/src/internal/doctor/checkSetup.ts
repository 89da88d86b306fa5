/** Checks Skein's own setup: its database, its config, and the keys of providers. */
import { DataDirs } from "@skein/config/DataDirs"
import { Config, defaults } from "@skein/core/Config"
import type { ProviderConfig } from "@skein/domain/ConfigInfo"
import { formatRef } from "@skein/domain/Model"
import { checkInstalled } from "@skein/provider/AiSdkPackage"
import { builtIn, keyNames, keyNamesOf, packageOf } from "@skein/provider/BuiltIn"
import { isPostgres, place } from "@skein/storage/PostgresUrl"
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { statSync } from "node:fs"
import { type Settled, settleIn, storage } from "../app.ts"
import { formatBytes } from "../print.ts"
import { chooseModel, fallback, providerCheck } from "../providers.ts"
import { type Check, checkSandbox, unconfined } from "./checkMachine.ts"

const shownDatabase = (database: string): string =>
  isPostgres(database)
    ? place(database)
    : `${database} (${formatBytes(statSync(database, { throwIfNoEntry: false })?.size ?? 0)})`

/** The database: opened as every command opens it, and created if it does not exist. */
export const checkDatabase: Effect.Effect<Check, never, DataDirs> = Effect.gen(function*() {
  const { database } = yield* DataDirs
  const opened = yield* Effect.either(Effect.scoped(Effect.provide(Effect.void, storage)))
  const base = { name: "database", essential: true } as const
  return Either.isRight(opened)
    ? { ...base, state: "ok", detail: `${shownDatabase(database)} can be read and written` } satisfies Check
    : { ...base, state: "broken", detail: opened.left.message } satisfies Check
})

/** The config of the directory. */
export const checkConfig = (directory: string | undefined) =>
  Effect.map(Effect.either(settleIn(directory)), (found): Check => {
    const base = { name: "config", essential: true } as const
    if (Either.isLeft(found)) return { ...base, state: "broken", detail: found.left.message }
    const { files, warnings } = found.right
    const detail = files.length === 0 ? "no file: the defaults apply" : files.join(", ")
    return warnings.length === 0
      ? { ...base, state: "ok", detail }
      // Values that are ignored do not affect the others.
      : {
        ...base,
        essential: false,
        state: "warn",
        detail,
        fix: `${warnings.length} of its values are ignored: see \`skein config --notes\``
      }
  })

/** The sandbox, as configured. */
export const checkConfined = (directory: string | undefined) =>
  Effect.gen(function*() {
    // Another check reports a config that cannot be read.
    const { settings } = yield* Effect.orElseSucceed(
      settleIn(directory),
      (): Pick<Settled, "settings"> => ({ settings: defaults })
    )
    if (settings.sandbox === "off") {
      return {
        name: "sandbox",
        state: "warn",
        essential: false,
        detail: `"sandbox" is "off": ${unconfined}`
      } satisfies Check
    }
    const found: Check = yield* checkSandbox
    return { ...found, essential: settings.sandbox === "on" }
  })

/** The status of a provider's key; or the names of its variables if none of them is set. */
const keyCheck = (
  id: string,
  config: ProviderConfig | undefined,
  variables: Readonly<Record<string, string | undefined>>
): Check | string => {
  const names = keyNamesOf(id, config)
  const base = { name: "key", state: "ok", essential: false } as const
  if (names.length === 0) return { ...base, detail: `${id}: needs none` }
  const set = names.find((name) => (variables[name] ?? "").trim() !== "")
  if (set !== undefined) return { ...base, detail: `${id}: ${set} is set` }
  const unset = names.join(" or ")
  return builtIn[id]?.keyless === true ? { ...base, detail: `${id}: ${unset} is not set, and not needed` } : unset
}

/** The packages of the AI SDK that the config needs, or a key in the environment. */
const packageCheck = (id: string, name: string) =>
  Effect.gen(function*() {
    const { config } = yield* DataDirs
    const base = { name: "package", essential: false } as const
    const fault = yield* checkInstalled(name, config)
    return fault === undefined
      ? { ...base, state: "ok", detail: `${id}: ${name} is installed` } satisfies Check
      : {
        ...base,
        state: fault.isMissing ? "missing" : "broken",
        detail: `${id}: ${fault.detail}`,
        fix: fault.fix
      } satisfies Check
  })

/** What people find out late: that this server cuts long prompts without a word. */
const ollamaCheck: Check = {
  name: "ollama",
  state: "warn",
  essential: false,
  detail: "by default, Ollama drops what a prompt has beyond 4096 tokens, and does not report it",
  fix: "Start it with OLLAMA_CONTEXT_LENGTH=32768 or more: `ollama ps` shows the context of a loaded model"
}

/** The default model, and why it cannot be used; undefined if nothing is set up. */
const usualModel = (settings: Settled["settings"], origins: Settled["origins"]) =>
  Effect.gen(function*() {
    const { model } = yield* Effect.provideService(chooseModel, Config, { settings, origins })
    const whyNot = (yield* providerCheck)(model.providerID, settings.provider?.[model.providerID])
    return model.providerID === fallback.providerID ? undefined : { name: formatRef(model), whyNot }
    // A variable that cannot be read: the check of its provider says it.
  }).pipe(Effect.orElseSucceed(() => undefined))

/** Whether a model is ready: by a key, or because the default one needs none. */
const modelCheck = (isAny: boolean, usual: Effect.Effect.Success<ReturnType<typeof usualModel>>): Check => {
  const base = { name: "model", essential: false } as const
  if (isAny) return { ...base, state: "ok", detail: "there is a key for a model" }
  if (usual !== undefined) {
    const detail = `${usual.name} is the default model`
    return usual.whyNot === undefined
      ? { ...base, state: "ok", detail: `${detail}, and needs no key` }
      : { ...base, state: "warn", detail: `${detail}, and cannot be used: ${usual.whyNot}` }
  }
  return {
    ...base,
    state: "warn",
    detail: "no key is set: offline/survey answers, which is not an AI",
    fix: `Set one of ${keyNames.join(", ")}, or configure your own server: "model" and "provider" in skein.json`
  }
}

/** The keys: whether one is set, never its value. */
export const checkKeys = (directory: string | undefined) =>
  Effect.gen(function*() {
    const variables = yield* environment
    // Another check reports a config that cannot be read.
    const { origins, settings } = yield* Effect.orElseSucceed(
      settleIn(directory),
      (): Pick<Settled, "origins" | "settings"> => ({ origins: {}, settings: defaults })
    )
    const configs = settings.provider ?? {}
    const ids = new Set([...Object.keys(builtIn), ...Object.keys(configs)])
    const found = [...ids].map((id) => keyCheck(id, configs[id], variables))
    const checks = found.filter((check) => typeof check !== "string")
    const unset = found.filter((check) => typeof check === "string")
    // You do not need the keys of all providers.
    const others: ReadonlyArray<Check> = unset.length === 0
      ? []
      : [{ name: "key", state: "ok", essential: false, detail: `not set: ${unset.join(", ")}` }]
    const isSet = (name: string) => (variables[name] ?? "").trim() !== ""
    const packages = yield* Effect.forEach(
      [...ids].flatMap((id) => {
        const name = packageOf(id, configs[id])
        const isMeant = configs[id] !== undefined ||
          [...keyNamesOf(id, undefined), ...builtIn[id]?.signs ?? []].some(isSet)
        return name === undefined || !isMeant ? [] : [[id, name] as const]
      }),
      ([id, name]) => packageCheck(id, name)
    )
    const ollama = configs["ollama"] !== undefined || isSet("OLLAMA_BASE_URL") ? [ollamaCheck] : []
    const isAny = checks.some(({ detail }) => detail.endsWith("is set"))
    return [modelCheck(isAny, yield* usualModel(settings, origins)), ...checks, ...others, ...packages, ...ollama]
  })

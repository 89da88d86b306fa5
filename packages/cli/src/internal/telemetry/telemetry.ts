/** Decides whether traces, metrics and logs are sent, and where: by OpenTelemetry's variables, or else by the user's config. */
import type { TelemetryConfig } from "@skein/domain/ConfigInfo"
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import { UsageError } from "../../ExitCode.ts"
import { Redaction } from "../Redaction.ts"
import type { Target, Watch } from "./open.ts"

type Variables = Readonly<Record<string, string | undefined>>

const kinds = ["traces", "metrics", "logs"] as const

const decoded = (text: string): string => {
  const plain = text.trim()
  return /%[\da-f]{2}/i.test(plain) && !/%(?![\da-f]{2})/i.test(plain) ? decodeURIComponent(plain) : plain
}

/** `a=1,b=2`, as OpenTelemetry writes lists. */
const listed = (text = ""): Record<string, string> =>
  Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=")
      return at > 0 ? [[decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]] : []
    })
  )

const checked = (origin: string, url: string) =>
  /^https?:\/\/[^/]/i.test(url) && URL.canParse(url)
    ? Effect.succeed(url)
    : new UsageError({
      message:
        `${origin}: "${url}" is not a place to send telemetry to. Give the base URL of a collector that takes OTLP over HTTP, such as http://localhost:4318, or unset it.`
    })

/**
 * The target from these variables and this config; undefined if nothing is sent. Has a note if that may be unexpected.
 */
const targetOf = (
  variables: Variables,
  config: TelemetryConfig = {}
): Effect.Effect<Target | string | undefined, UsageError> =>
  Effect.gen(function*() {
    const given = (name: string) => variables[name]?.trim() || undefined
    if (given("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return undefined
    const base = given("OTEL_EXPORTER_OTLP_ENDPOINT")
    const origin = base === undefined ? "telemetry.endpoint" : "OTEL_EXPORTER_OTLP_ENDPOINT"
    const all = base ?? config.endpoint
    const urls: { [K in typeof kinds[number]]?: string } = {}
    for (const kind of kinds) {
      const name = kind.toUpperCase()
      const own = given(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`)
      if (given(`OTEL_${name}_EXPORTER`)?.toLowerCase() === "none") continue
      if (own !== undefined) urls[kind] = yield* checked(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`, own)
      else if (all !== undefined) urls[kind] = `${(yield* checked(origin, all)).replace(/\/+$/, "")}/v1/${kind}`
    }
    if (Object.keys(urls).length === 0) return undefined
    const protocol = given("OTEL_EXPORTER_OTLP_PROTOCOL") ?? "http/json"
    if (protocol !== "http/json") {
      return `Telemetry is off: OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and Skein speaks http/json only. Set it to that for a collector that takes OTLP over HTTP.`
    }
    const attributes = listed(given("OTEL_RESOURCE_ATTRIBUTES"))
    return {
      traces: urls.traces,
      metrics: urls.metrics,
      logs: urls.logs,
      headers: { ...config.headers, ...listed(given("OTEL_EXPORTER_OTLP_HEADERS")) },
      service: given("OTEL_SERVICE_NAME") ?? attributes["service.name"] ?? "skein",
      attributes
    }
  })

/**
 * Sends traces, metrics and logs of the effects that it watches, until its scope closes. Loads nothing if telemetry is
 * off.
 */
export const telemetry = (
  config: TelemetryConfig | undefined,
  note: (line: string) => void,
  /** Where the API of a server of a cluster is: the others know it by that. */
  url?: string
): Effect.Effect<Watch, UsageError, Scope> =>
  Effect.gen(function*() {
    const target = yield* targetOf(yield* environment, config)
    if (typeof target === "string") note(target)
    if (target === undefined || typeof target === "string") return (effect) => effect
    const { hide } = yield* Redaction
    hide(Object.values(target.headers))
    const { open } = yield* Effect.promise(() => import("./open.ts"))
    return yield* open(target, url)
  })

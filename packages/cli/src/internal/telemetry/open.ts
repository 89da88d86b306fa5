/** Sends traces, metrics and logs by OTLP over HTTP, without delaying the work. */
import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import type { OtlpSerialization } from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import type { HttpClient } from "@effect/platform/HttpClient"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { pid } from "node:process"
import { Redaction } from "../Redaction.ts"
import { client } from "./client.ts"
import { serialization } from "./serialization.ts"
import type { Target } from "./target.ts"
import { onlyOurs } from "./tracer.ts"
import type { Watch } from "./watch.ts"

declare const __SKEIN_VERSION__: string | undefined

/** How long the end of the program waits for unsent data, in milliseconds. */
const patience = 1_000

/** The library logs each of its pauses. One line of our own explains why. */
const quietly = Logger.withMinimumLogLevel(LogLevel.Info)

/** Opens the exporters. When its scope closes, they send the rest. */
export const open = (target: Target, serverUrl: string | undefined): Effect.Effect<Watch, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { redact } = yield* Redaction
    const end = { is: false }
    // Close all exporters at the same time, so that the wait is bounded.
    const scopes: Array<Scope.CloseableScope> = []
    const { headers, logs, metrics, traces } = target
    const resource = {
      serviceName: target.service,
      // Servers would otherwise overwrite each other's metrics at the collector.
      attributes: {
        "host.name": hostname(),
        "process.pid": pid,
        "service.instance.id": serverUrl ?? randomUUID(),
        ...target.attributes
      },
      ...(typeof __SKEIN_VERSION__ === "undefined" ? {} : { serviceVersion: __SKEIN_VERSION__ })
    }
    yield* Effect.addFinalizer(() => {
      end.is = true
      const closed = Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), {
        concurrency: "unbounded",
        discard: true
      })
      return quietly(Effect.timeoutOption(Effect.disconnect(Effect.interruptible(closed)), patience))
    })
    const sending = yield* client(end)
    const from = <A>(
      url: string | undefined,
      make: (options: {
        readonly url: string
        readonly resource: typeof resource
        readonly headers: Target["headers"]
        readonly shutdownTimeout: number
      }) => Effect.Effect<A, never, HttpClient | OtlpSerialization | Scope.Scope>
    ): Effect.Effect<A | undefined> =>
      Effect.gen(function*() {
        if (url === undefined) return undefined
        const scope = yield* Scope.make()
        scopes.push(scope)
        return yield* make({ url, resource, headers, shutdownTimeout: patience }).pipe(Scope.extend(scope))
      }).pipe(
        Effect.provide(Layer.merge(sending, serialization(redact))),
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map())),
        quietly
      )
    const logger = yield* from(logs, OtlpLogger.make)
    yield* from(metrics, OtlpMetrics.make)
    const tracer = yield* from(traces, OtlpTracer.make)
    return (effect) => {
      const logged = logger === undefined ? effect : Effect.provide(effect, Logger.add(logger))
      return tracer === undefined ? logged : Effect.withTracer(logged, onlyOurs(tracer))
    }
  })

/** Sends traces, metrics and logs by OTLP over HTTP, without delaying the work. */
import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import { OtlpSerialization } from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { pid } from "node:process"
import { Redaction } from "../Redaction.ts"
import { version } from "../version.ts"

/** Watches what runs in it. */
export type Watch = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The URL for each kind of data. A kind without a URL is not sent. */
export interface Target {
  readonly traces: string | undefined
  readonly metrics: string | undefined
  readonly logs: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly service: string
  readonly attributes: Readonly<Record<string, string>>
}

/** How long a request may take, in milliseconds. */
const limit = 10_000

const reasonOf = (error: HttpClientError.HttpClientError): string => {
  if (error._tag === "ResponseError") return `it answered ${error.response.status}`
  return error.cause instanceof Error ? error.cause.message : error.message
}

/** An HTTP client for telemetry. Once `end.is` is set, it retries nothing. */
const client = (end: { readonly is: boolean }): Effect.Effect<Layer.Layer<HttpClient.HttpClient>> =>
  Effect.map(Redaction, ({ redact }) => {
    let reported = false
    const tell = (error: HttpClientError.HttpClientError) =>
      Effect.suspend(() => {
        if (reported) return Effect.void
        reported = true
        const { origin } = new URL(error.request.url)
        return Effect.logWarning(
          `Telemetry cannot be sent to ${origin}: ${redact(reasonOf(error))}. The run continues without it.`
        )
      })
    const guarded = (http: HttpClient.HttpClient) =>
      HttpClient.transform(http, (sending, request) => {
        const late = () =>
          new HttpClientError.RequestError({
            request,
            reason: "Transport",
            cause: new Error(`no answer in ${limit} ms`)
          })
        // The end of the program does not cut off requests in flight: it waits for them, but no longer than its own
        // limit.
        return Effect.interruptible(sending).pipe(
          Effect.timeoutFail({ duration: limit, onTimeout: late }),
          Effect.uninterruptible,
          Effect.tapError(tell),
          Effect.mapError((error) =>
            end.is ? new HttpClientError.RequestError({ request, reason: "Encode", cause: error }) : error
          )
        )
      })
    const layer = Layer.effect(
      HttpClient.HttpClient,
      Effect.map(HttpClient.HttpClient, (http) => guarded(HttpClient.filterStatusOk(http)))
    )
    return layer.pipe(Layer.provide(NodeHttpClient.layer))
  })

const known = /^(?:gen_ai|skein|service|error)\./

interface Attribute {
  readonly key: string
}

interface SpanData {
  readonly attributes: ReadonlyArray<Attribute>
  readonly status: { readonly code: number; readonly message?: string }
}

interface MetricData {
  readonly name: string
  readonly [kind: string]: unknown
}

const named = (attributes: ReadonlyArray<Attribute>) => attributes.filter(({ key }) => known.test(key))

/** A failed span explains its failure in attributes. The message and the stack of the error are not sent. */
const spanOf = (span: SpanData) => {
  const { attributes, status: { code }, ...rest } = span
  return { ...rest, events: [], attributes: named(attributes), status: { code } }
}

/** The unit is a field of the metric, not a label. */
const metricOf = (metric: MetricData) =>
  Object.fromEntries(
    Object.entries(metric).map(([key, value]) => {
      if (typeof value !== "object" || value === null || !("dataPoints" in value)) return [key, value]
      const points = value.dataPoints as ReadonlyArray<{ readonly attributes: ReadonlyArray<Attribute> }>
      return [key, {
        ...value,
        dataPoints: points.map((point) => ({ ...point, attributes: named(point.attributes) }))
      }]
    })
  )

interface Traces {
  readonly resourceSpans: ReadonlyArray<
    { readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<SpanData> }> }
  >
}

interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<MetricData> }>
  }>
}

/** JSON of what may be sent. */
const serialization = (redact: (text: string) => string): Layer.Layer<OtlpSerialization> => {
  const body = (data: unknown) =>
    HttpBody.text(
      JSON.stringify(data, (_, value: unknown) => typeof value === "string" ? redact(value) : value),
      "application/json"
    )
  return Layer.succeed(OtlpSerialization, {
    traces: (data) =>
      body({
        resourceSpans: (data as Traces).resourceSpans.map((each) => ({
          ...each,
          scopeSpans: each.scopeSpans.map((scope) => ({ ...scope, spans: scope.spans.map(spanOf) }))
        }))
      }),
    metrics: (data) =>
      body({
        resourceMetrics: (data as Metrics).resourceMetrics.map((each) => ({
          ...each,
          scopeMetrics: each.scopeMetrics.map((scope) => ({
            ...scope,
            metrics: scope.metrics.filter(({ name }) => known.test(name)).map(metricOf)
          }))
        }))
      }),
    logs: body
  })
}

const ours = /^(?:Session\.prompt|Step|Task\.run|Tool\..+)$/

/** A span that is not sent. Its children are attached to the next span above it. */
interface Passed extends Tracer.Span {
  readonly isPassed: true
}

const passed = (
  name: string,
  parent: Option.Option<Tracer.AnySpan>,
  kind: Tracer.SpanKind,
  startTime: bigint
): Passed => ({
  _tag: "Span",
  isPassed: true,
  name,
  spanId: Option.match(parent, { onNone: () => "", onSome: (span) => span.spanId }),
  traceId: Option.match(parent, { onNone: () => "", onSome: (span) => span.traceId }),
  parent,
  kind,
  status: { _tag: "Started", startTime },
  context: Context.empty(),
  attributes: new Map(),
  links: [],
  sampled: false,
  attribute: nothing,
  event: nothing,
  addLinks: nothing,
  end: nothing
})

const nothing = () => undefined

const isPassed = (span: Tracer.AnySpan): span is Passed => "isPassed" in span

const sentAbove = (parent: Option.Option<Tracer.AnySpan>): Option.Option<Tracer.AnySpan> =>
  Option.isSome(parent) && isPassed(parent.value) ? sentAbove(parent.value.parent) : parent

/** A tracer that exports only Skein's spans. */
const onlyOurs = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (name, parent, context, links, startTime, kind, options) => {
      const above = sentAbove(parent)
      return ours.test(name)
        ? tracer.span(name, above, context, links, startTime, kind, options)
        : passed(name, above, kind, startTime)
    },
    context: (run, fiber) => tracer.context(run, fiber)
  })

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
      serviceVersion: version,
      // Servers would otherwise overwrite each other's metrics at the collector.
      attributes: {
        "host.name": hostname(),
        "process.pid": pid,
        "service.instance.id": serverUrl ?? randomUUID(),
        ...target.attributes
      }
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
      }) => Effect.Effect<A, never, HttpClient.HttpClient | OtlpSerialization | Scope.Scope>
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

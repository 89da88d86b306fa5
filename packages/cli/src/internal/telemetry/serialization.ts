/**
 * Decides what is sent, in the one place that all of it passes. Spans and metrics carry only Skein's ids, names and
 * figures. Log lines carry what is logged, without secrets.
 */
import { OtlpSerialization } from "@effect/opentelemetry/OtlpSerialization"
import * as HttpBody from "@effect/platform/HttpBody"
import * as Layer from "effect/Layer"

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
export const serialization = (redact: (text: string) => string): Layer.Layer<OtlpSerialization> => {
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

/** An OTLP collector: accepts JSON over HTTP, and records everything. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Value {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values: ReadonlyArray<Value> }
}

interface Attributed {
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Value }>
}

/** A span as received, its attributes by name. */
export interface WireSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number }
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A data point of a metric. */
interface WirePoint {
  readonly name: string
  readonly unit: string
  readonly kind: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly count?: number
  readonly sum?: number
  readonly asDouble?: number
}

/** A log line. */
interface WireLog {
  readonly severityText: string
  readonly body: unknown
  readonly attributes: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly text: string
}

/** How the collector answers a request. */
export type Behaviour = (response: ServerResponse) => void

/** A listening collector. */
export interface Collector {
  readonly url: string
  readonly sent: ReadonlyArray<Sent>
  readonly spans: () => ReadonlyArray<WireSpan>
  /** The last value of each metric and set of attributes. */
  readonly points: () => ReadonlyArray<WirePoint>
  readonly logs: () => ReadonlyArray<WireLog>
  readonly resource: () => Readonly<Record<string, unknown>>
  readonly close: () => Promise<void>
}

const plain = (value: Value): unknown =>
  value.arrayValue === undefined
    ? value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue)
    : value.arrayValue.values.map(plain)

const named = ({ attributes }: Attributed) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)] as const))

// oxlint-disable-next-line typescript/no-explicit-any -- the tests say what they expect of it
type Wire = any

/** Starts one; it answers 200 by default. */
export const startCollector = async (behaviour: Behaviour = (response) => response.end("{}")): Promise<Collector> => {
  const sent: Array<Sent> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    sent.push({ path: request.url ?? "", headers: request.headers, text: Buffer.concat(chunks).toString("utf8") })
    behaviour(response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const bodies = (path: string): ReadonlyArray<Wire> =>
    sent.filter((each) => each.path === path).map(({ text }) => JSON.parse(text))
  const pointsOf = (metric: Wire): ReadonlyArray<WirePoint> =>
    ["sum", "gauge", "histogram"].flatMap((kind) =>
      (metric[kind]?.dataPoints ?? []).map((point: Wire) => ({
        ...point,
        name: metric.name,
        unit: metric.unit,
        kind,
        attributes: named(point)
      }))
    )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    spans: () =>
      bodies("/v1/traces").flatMap(({ resourceSpans: [{ scopeSpans: [{ spans }] }] }) =>
        spans.map((span: Wire) => ({ ...span, attributes: named(span) }))
      ),
    points: () => {
      const [{ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }] = bodies("/v1/metrics").slice(-1)
      return metrics.flatMap(pointsOf)
    },
    logs: () =>
      bodies("/v1/logs").flatMap(({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }) =>
        logRecords.map((line: Wire) => ({ ...line, body: plain(line.body), attributes: named(line) }))
      ),
    resource: () => named(bodies("/v1/traces")[0].resourceSpans[0].resource),
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}

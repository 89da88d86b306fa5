/**
 * Decides which answers of other runners a client may get, and what of them. Answers are not signed: another program that
 * listens where a runner was can only say what a server says, and in its form.
 */
import type { IncomingHttpHeaders } from "node:http"
import { isStream } from "./requests.ts"
import type { Sent } from "./sent.ts"

/** The largest answer that is given on as it comes, in bytes. Streams of events have no end. */
const largestAnswer = 256 * 1024 * 1024

const json = /^application\/(?:problem\+)?json(?:\s*;\s*charset=utf-8)?$/i
const eventStream = /^text\/event-stream(?:\s*;\s*charset=utf-8)?$/i

/** The headers that clients get, and their form. All others, such as cookies and policies, are those of this server. */
const passed: ReadonlyArray<readonly [name: string, form: RegExp]> = [
  ["content-type", /^/],
  ["content-length", /^\d{1,15}$/],
  ["content-disposition", /^attachment; filename="[\w.-]{1,100}"$/],
  ["retry-after", /^\d{1,5}$/],
  // Tells a proxy to pass events on at once.
  ["x-accel-buffering", /^no$/]
]

/** Those of the headers of an answer that clients get. */
export const passedHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(passed.flatMap(([name, form]) => {
    const value = headers[name]
    return typeof value === "string" && form.test(value) ? [[name, value]] : []
  }))

/** How much of what somebody else wrote a message shows, in characters. */
const shown = 200

const quoted = (text: string): string => JSON.stringify(text.slice(0, shown))

/** What is odd about an answer, or how large its body may be, in bytes. */
export type Accepted = { readonly odd: string } | { readonly bound: number }

/** Whether an answer has the form of the API. */
export const acceptAnswer = (
  { method, path }: Pick<Sent, "method" | "path">,
  { headers, statusCode = 0 }: { readonly headers: IncomingHttpHeaders; readonly statusCode?: number | undefined }
): Accepted => {
  if (statusCode >= 300 && statusCode < 400) {
    return { odd: `it answers with a redirect (${statusCode}) to ${quoted(headers.location ?? "")}` }
  }
  if (statusCode < 200 || statusCode > 599) return { odd: `it answers with the status ${statusCode}` }
  const encoding = headers["content-encoding"] ?? "identity"
  if (encoding !== "identity") return { odd: `it answers with the encoding ${quoted(encoding)}` }
  const type = headers["content-type"]
  if (type === undefined) return { bound: 0 }
  if (json.test(type)) return { bound: largestAnswer }
  if (!eventStream.test(type)) return { odd: `it answers with ${quoted(type)}` }
  return isStream({ method, url: path }) && statusCode === 200
    ? { bound: Number.POSITIVE_INFINITY }
    : { odd: "it answers with a stream of events, which was not asked for" }
}

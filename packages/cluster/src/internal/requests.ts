/** Decides what a request is about, and whether it may be made twice. */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Sent } from "./exchange.ts"

const tree = /^\/v1\/(sessions|tasks)\/([^/?]+)(?:[/?]|$)/
const reply = /^\/v1\/asks\/[^/?]+\/reply(?:\?|$)/
const asks = /^\/v1\/asks(?:\?|$)/
const prompt = /\/prompt(?:\?|$)/

/** Requests that do no harm if they are made twice. A prompt gets a key, so that it is stored once. */
const repeatable = /\/(?:prompt|interrupt|resume|stop)(?:\?|$)/

/** What a request is about. */
export type Subject =
  | { readonly _tag: "Tree"; readonly noun: string; readonly id: string }
  | { readonly _tag: "Reply" }
  | { readonly _tag: "Asks" }
  | { readonly _tag: "Other" }

/** Finds out what a request is about. */
export const subjectOf = ({ method, url = "" }: IncomingMessage): Subject => {
  const [, noun, id] = tree.exec(url) ?? []
  if (noun !== undefined && id !== undefined) return { _tag: "Tree", noun, id }
  if (method === "POST" && reply.test(url)) return { _tag: "Reply" }
  return method === "GET" && asks.test(url) ? { _tag: "Asks" } : { _tag: "Other" }
}

/** Whether it may be made again if nobody knows whether it was made. */
export const isRepeatable = ({ method, path }: Sent): boolean => method === "GET" || repeatable.test(path)

/** A request as it is sent on. */
export const sentOf = ({ headers, method = "GET", url = "/" }: IncomingMessage, body: Buffer): Sent => ({
  method,
  path: url,
  headers: method === "POST" && prompt.test(url) && headers["idempotency-key"] === undefined
    ? { ...headers, "idempotency-key": `cluster-${randomUUID()}` }
    : headers,
  body
})

/** Answers with a problem; ends an answer that has begun. */
export const refuse = (response: ServerResponse, status: number, title: string, detail: string): void => {
  if (response.headersSent) return void response.destroy()
  const problem = JSON.stringify({ type: "about:blank", title, status, detail })
  response.writeHead(status, { "Content-Type": "application/problem+json" }).end(problem)
}

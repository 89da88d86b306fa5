/** Decides what a request is about, and whether it may be made twice. */
import * as Option from "effect/Option"
import { randomUUID } from "node:crypto"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

/** A request that a client has sent, with its whole body. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const tree = /^\/v1\/(sessions|tasks)\/([^/?]+)(?:[/?]|$)/
const reply = /^\/v1\/asks\/([^/?]+)\/reply(?:\?|$)/
const asks = /^\/v1\/asks(?:\?|$)/
const project = /^\/v1\/(?:agents|commands|skills|models|instructions|config)(?:[/?])/
const prompt = /\/prompt(?:\?|$)/

const events = /\/events(?:\?|$)/

/** The session whose project a request reads; undefined if it reads none, or that of a directory. */
const projectSession = ({ method, path }: Pick<Sent, "method" | "path">): string | undefined =>
  method === "GET" && project.test(path)
    ? new URL(path, "http://localhost").searchParams.get("session") ?? undefined
    : undefined

const decodeName = Option.liftThrowable(decodeURIComponent)

const begin = /^\/v1\/sessions(?:\?|$)/

/** The directory whose project, or whose project's sessions, a request reads. */
const projectDirectory = ({ method, path }: Pick<Sent, "method" | "path">): string | undefined =>
  method === "GET" && (project.test(path) || begin.test(path))
    ? new URL(path, "http://localhost").searchParams.get("directory") ?? undefined
    : undefined

/** Whether it stays open, and sends events. */
export const isStream = ({ method, url = "" }: Pick<IncomingMessage, "method" | "url">): boolean =>
  method === "GET" && events.test(url)

/** Requests that do no harm if they are made twice. A prompt gets a key, so that it is stored once. */
const repeatable = /\/(?:prompt|interrupt|resume|stop)(?:\?|$)/

/** What a request is about. */
export type Subject =
  | { readonly _tag: "Tree"; readonly noun: string; readonly id: string }
  | { readonly _tag: "Reply"; readonly id: string }
  | { readonly _tag: "Asks" }
  /** Where undefined, the directory is in the body. */
  | { readonly _tag: "Directory"; readonly directory: string | undefined }
  | { readonly _tag: "Other" }

/** Finds out what a request is about. */
export const subjectOf = ({ method, url = "" }: IncomingMessage): Subject => {
  const [, noun, id] = tree.exec(url) ?? []
  if (noun !== undefined && id !== undefined) return { _tag: "Tree", noun, id }
  const session = projectSession({ method: method ?? "", path: url })
  if (session !== undefined) return { _tag: "Tree", noun: "sessions", id: session }
  const directory = projectDirectory({ method: method ?? "", path: url })
  if (directory !== undefined) return { _tag: "Directory", directory }
  if (method === "POST" && begin.test(url)) return { _tag: "Directory", directory: undefined }
  const [, ask] = reply.exec(url) ?? []
  // No question has a name that cannot be decoded: the route says so.
  const asked = ask === undefined ? undefined : Option.getOrUndefined(decodeName(ask))
  if (method === "POST" && asked !== undefined) return { _tag: "Reply", id: asked }
  return method === "GET" && asks.test(url) ? { _tag: "Asks" } : { _tag: "Other" }
}

/** Whether it may be made again if nobody knows whether it was made. */
export const isRepeatable = ({ method, path }: Sent): boolean => method === "GET" || repeatable.test(path)

/** What can be done with a tree without its directory. */
const bodiless = /\/(?:stop|interrupt|fork)(?:\?|$)/

/** Whether it lets agents work, or reads their project, so that the directory of the tree must be there. */
export const needsDirectory = (sent: Pick<Sent, "method" | "path">): boolean =>
  (sent.method === "POST" && !bodiless.test(sent.path)) || projectSession(sent) !== undefined

const beginning = /\/(?:prompt|resume)(?:\?|$)/

/** Whether it makes agents of a tree work that have nothing to do now. */
export const beginsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "POST" && beginning.test(path)

const waiting = /\/(?:turns\/[^/?]+|rest)(?:\?|$)/
const waitingPrompt = /\/prompt\?(?:.*&)?wait=true(?:&|$)/

/** Whether it waits for work in the tree, and so for its host. */
export const awaitsWork = ({ method, path }: Pick<Sent, "method" | "path">): boolean =>
  method === "GET" && waiting.test(path)

/** Whether it is answered only once a turn has ended. */
export const waitsForTurn = (sent: Pick<Sent, "method" | "path">): boolean =>
  awaitsWork(sent) || (sent.method === "POST" && waitingPrompt.test(sent.path))

/** A request as it is sent on. */
export const sentOf = ({ headers, method = "GET", url = "/" }: IncomingMessage, body: Buffer): Sent => ({
  method,
  path: url,
  headers: method === "POST" && prompt.test(url) && headers["idempotency-key"] === undefined
    ? { ...headers, "idempotency-key": `cluster-${randomUUID()}` }
    : headers,
  body
})

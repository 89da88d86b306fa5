/** Sends requests to the server: with the cookie and the key, in JSON, and with errors that say what is wrong. */
import { forget, key } from "./login.ts"

/** The server refused, or did not answer (status 0). */
export class RequestFailed extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The headers of each request. */
export const headers = (): Record<string, string> => ({ "skein-key": key() ?? "" })

/** What is wrong, in the words of the server. */
export const refusal = async (response: Response): Promise<RequestFailed> => {
  if (response.status === 401) forget()
  const problem = await response.json().catch(() => ({})) as { readonly detail?: string }
  return new RequestFailed(response.status, problem.detail ?? `The server answered with ${response.status}.`)
}

/** The options of a request. */
export interface Sent {
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** Makes it safe to repeat. */
  readonly idempotencyKey?: string
}

/** Sends a request, and reads the answer. */
export const ask = async <A>(method: "GET" | "POST", path: string, sent: Sent = {}): Promise<A> => {
  const { body, idempotencyKey, signal } = sent
  const response = await fetch(path, {
    method,
    // No route leads elsewhere: somebody else answers.
    redirect: "error",
    headers: {
      ...headers(),
      ...(method === "POST" ? { "content-type": "application/json" } : {}),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey })
    },
    ...(method === "POST" ? { body: JSON.stringify(body ?? {}) } : {}),
    ...(signal === undefined ? {} : { signal })
  }).catch(() => {
    throw new RequestFailed(0, "The server does not answer.")
  })
  if (!response.ok) throw await refusal(response)
  const text = await response.text()
  return (text === "" ? undefined : JSON.parse(text)) as A
}

/** Reads a list, a page after the other. */
export const askPages = async <P extends { readonly next?: string | undefined }>(
  path: string,
  signal: AbortSignal
): Promise<ReadonlyArray<P>> => {
  const pages = [await ask<P>("GET", path, { signal })]
  for (let cursor = pages[0]?.next; cursor !== undefined; cursor = pages.at(-1)?.next) {
    const query = `${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`
    pages.push(await ask<P>("GET", path + query, { signal }))
  }
  return pages
}

/** Reads all items of a list. */
export const askItems = async <A>(path: string, signal: AbortSignal): Promise<ReadonlyArray<A>> =>
  (await askPages<{ readonly items: ReadonlyArray<A>; readonly next?: string }>(path, signal))
    .flatMap(({ items }) => items)

/** The message of an error. */
export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

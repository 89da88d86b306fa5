/** Writes answers that are decided before a route is reached: problem documents, directly to the connection. */
import { type Problem, problem, problemType } from "@skein/api/Problem"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/** What every response tells browsers: never store it, frame it, run it, or guess its type. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff"
}

/** What the answer to a request is that the server cannot carry out, for a fault of its own. */
export const internal: Problem = problem(
  500,
  "InternalError",
  "Something went wrong in the server. Its log says what."
)

const leavingTag = "ServerLeaving"

/** What a server that stops answers: to requests that come now, or to those that it was working on. */
export const leaving = (reason: "refused" | "cut"): Problem =>
  problem(
    503,
    leavingTag,
    reason === "refused"
      ? "This server is stopping, and did nothing of this request. Send it again in a moment, or to another server of the cluster."
      : "This server is stopping. Turns continue at the next server: ask again in a moment, or ask another server of the cluster. Send a prompt again only with its Idempotency-Key.",
    { reason }
  )

const extraHeaders = ({ status, type }: Problem): Readonly<Record<string, string>> => {
  if (status === 401) return { "WWW-Authenticate": "Bearer" }
  return type.endsWith(`:${leavingTag}`) ? { "Retry-After": "1" } : {}
}

/** Answers with a problem. The rest of the request is not read: the connection ends with the answer. */
export const refuse = (request: IncomingMessage, response: ServerResponse, refused: Problem): void => {
  const body = JSON.stringify(refused)
  response.writeHead(refused.status, {
    ...safeHeaders,
    "Content-Type": problemType,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
    ...extraHeaders(refused)
  })
  response.end(request.method === "HEAD" ? undefined : body, () => request.destroy())
}

const ofParser: Readonly<Record<string, () => Problem>> = {
  HPE_HEADER_OVERFLOW: () => problem(431, "HeadersTooLarge", "The headers of the request are too large."),
  ERR_HTTP_REQUEST_TIMEOUT: () => problem(408, "RequestTimeout", "The request was sent too slowly.")
}

/** Answers something that is not an HTTP request, or that came too slowly, and closes the connection. */
export const refuseSocket = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy()
    return
  }
  answerSocket(socket, ofParser[error.code ?? ""]?.() ?? problem(400, "BadRequest", "This is not an HTTP request."))
}

/** Answers with a problem where there is only a socket, and closes it. */
export const answerSocket = (socket: Duplex, refused: Problem): void => {
  const body = JSON.stringify(refused)
  socket.end(
    `HTTP/1.1 ${refused.status} ${refused.title}\r\nContent-Type: ${problemType}\r\n`
      + `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy()
  )
}

/** Sends a request that names a directory to the first runner that has it, so that any runner takes any request. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isAbsolute } from "node:path"
import type { Cluster } from "../Cluster.ts"
import { peekBody, refuse } from "./bodies.ts"
import { type Answer, exchange } from "./exchange.ts"
import { type Sent, sentOf } from "./requests.ts"

/** How long a runner may take to answer. */
const patience = "10 seconds"

const directoryIn = (body: Buffer): Effect.Effect<Option.Option<string>> =>
  Effect.map(
    Effect.option(Effect.try((): unknown => JSON.parse(body.toString("utf8")))),
    Option.flatMap((parsed) =>
      typeof parsed === "object" && parsed !== null && "directory" in parsed && typeof parsed.directory === "string"
        ? Option.some(parsed.directory)
        : Option.none()
    )
  )

/** A session is begun once, however many runners are asked. */
const withKey = (sent: Sent): Sent =>
  sent.method === "POST" && sent.headers["idempotency-key"] === undefined
    ? { ...sent, headers: { ...sent.headers, "idempotency-key": `cluster-${randomUUID()}` } }
    : sent

type Said = "no" | "unknown" | Answer

const meaningOf = (answer: Answer | undefined): Said => {
  if (answer === undefined || answer.status === 401 || answer.status === 408 || answer.status === 503) return "unknown"
  return answer.status === 422 && answer.body.includes(":NoDirectory\"") ? "no" : answer
}

/** Makes it. `local` answers where a directory is here, or nowhere. */
export const makeToDirectory = Effect.fnUntraced(function*(
  cluster: typeof Cluster.Service,
  signatureOf: (target: string, sent: Sent) => string,
  largestBody: number
) {
  const fileSystem = yield* FileSystem.FileSystem
  const isHere = (directory: string) =>
    Effect.orElseSucceed(Effect.map(fileSystem.stat(directory), ({ type }) => type === "Directory"), () => false)

  const askAt = (target: string, sent: Sent): Effect.Effect<Said> =>
    Effect.map(
      Effect.timeoutOption(exchange(target, sent, signatureOf(target, sent)), patience),
      (answer) => meaningOf(Option.getOrUndefined(answer))
    )

  return Effect.fnUntraced(function*(
    named: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    local: () => void
  ) {
    const body = yield* peekBody(request, response, largestBody)
    if (body === undefined) return
    const directory = named ?? Option.getOrUndefined(yield* directoryIn(body))
    if (directory === undefined || !isAbsolute(directory) || directory.includes("\0")) return local()
    if (yield* isHere(directory)) return local()
    const sent = withKey(sentOf(request, body))
    const silent: Array<string> = []
    for (const { url } of yield* cluster.others) {
      const said = yield* askAt(url, sent)
      if (said === "unknown") silent.push(url)
      else if (said !== "no") {
        // The client may be gone.
        if (!response.headersSent) response.writeHead(said.status, said.headers).end(said.body)
        return
      }
    }
    if (silent.length === 0) return local()
    refuse(
      response,
      503,
      "RunnerLost",
      `The directory ${directory} is not on the machine of this server, and it is unknown whether it is on that of ${
        silent.join(" and of ")
      }, which did not answer. Try again in a moment, with the same Idempotency-Key if there is one.`
    )
  })
})

/** Decides how the API reports errors: as problem details, defined in RFC 9457. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

/** The media type of problem details. */
export const problemType = "application/problem+json"

/** The titles of all problems, by HTTP status. */
export const titles = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Refused",
  404: "Not found",
  405: "Method not allowed",
  408: "Too slow",
  409: "Conflict",
  413: "Too large",
  415: "Not JSON",
  422: "Invalid",
  429: "Too many requests",
  431: "Headers too large",
  500: "Internal error",
  502: "Model failed",
  503: "Not available"
} as const

/** The HTTP status of a problem. */
export type ProblemStatus = keyof typeof titles

const problemOf = <const Status extends ProblemStatus>(status: Status) =>
  Schema.Struct({
    /** Names the kind of problem: `urn:skein:` and a tag, such as `urn:skein:SessionNotFound`. */
    type: Schema.String,
    title: Schema.String,
    status: Schema.Literal(status),
    /** What happened and how to fix it, for people. */
    detail: Schema.String,
    /** The case, for kinds that have several, such as `held` or `rate_limit`. */
    reason: Schema.optional(Schema.String),
    /** The exhausted budget. */
    which: Schema.optional(Schema.String)
  }).annotations({ identifier: `Problem${status}`, ...HttpApiSchema.annotations({ status }) }).pipe(
    HttpApiSchema.withEncoding({ kind: "Json", contentType: problemType })
  )

/** The problems that every route may answer with. */
export const problems = {
  400: problemOf(400),
  401: problemOf(401),
  403: problemOf(403),
  404: problemOf(404),
  405: problemOf(405),
  408: problemOf(408),
  409: problemOf(409),
  413: problemOf(413),
  415: problemOf(415),
  422: problemOf(422),
  429: problemOf(429),
  431: problemOf(431),
  500: problemOf(500),
  502: problemOf(502),
  503: problemOf(503)
} as const

/** A problem. */
export const Problem = Schema.Union(
  problems[400],
  problems[401],
  problems[403],
  problems[404],
  problems[405],
  problems[408],
  problems[409],
  problems[413],
  problems[415],
  problems[422],
  problems[429],
  problems[431],
  problems[500],
  problems[502],
  problems[503]
)
/** The type of a problem. */
export type Problem = typeof Problem.Type

/** Further fields of a problem. */
interface ProblemCase {
  readonly reason?: string
  readonly which?: string
}

/** Makes a problem; `tag` names its kind. */
export const problem = <Status extends ProblemStatus>(
  status: Status,
  tag: string,
  detail: string,
  { reason, which }: ProblemCase = {}
) => ({
  type: `urn:skein:${tag}`,
  title: titles[status],
  status,
  detail,
  ...(reason === undefined ? {} : { reason }),
  ...(which === undefined ? {} : { which })
})

/** Explains the errors of PostgreSQL and of the network to users of Skein. */
import type { SqlError } from "@effect/sql/SqlError"
import { StorageError } from "@skein/core/StorageError"
import * as Predicate from "effect/Predicate"

/** What is known of the error. */
interface Refusal {
  readonly code: string
  readonly detail: string
}

const certificates = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_TLS/

/** The kinds of refusals: how to recognise each, and what to say. */
const kinds: ReadonlyArray<readonly [is: (refusal: Refusal) => boolean, text: (at: string, detail: string) => string]> =
  [
    [
      // The client itself says so where it would need one.
      ({ detail }) => /password must be a (non-empty )?string|empty password/.test(detail),
      (at, detail) =>
        `${at} asks for a password, and there is none (${detail}). Write it into the URL, postgres://USER:PASSWORD@HOST/DATABASE, or set PGPASSWORD.`
    ],
    [
      ({ code, detail }) => code === "28000" && detail.includes("does not exist"),
      (at, detail) =>
        `${at} does not know the user (${detail}). Make it with "createuser", or name another one in the URL.`
    ],
    [
      ({ code, detail }) => code === "28000" && detail.includes("no encryption"),
      (at, detail) =>
        `${at} does not let this user in without TLS (${detail}). Add ?sslmode=verify-full to the URL; with sslmode=no-verify, it trusts any certificate. Or allow the user in pg_hba.conf.`
    ],
    [
      ({ code }) => code === "28000",
      (at, detail) => `${at} does not let this user in from here (${detail}). Allow it in pg_hba.conf of the server.`
    ],
    [
      ({ code, detail }) => code === "28P01" || detail.startsWith("SASL"),
      (at, detail) =>
        `${at} refuses user or password (${detail}). Check both; in the URL, write @ as %40, # as %23, / as %2F, ? as %3F and % as %25.`
    ],
    [
      ({ detail }) => detail.includes("does not support SSL"),
      (at, detail) => `${at} speaks no TLS (${detail}). Remove sslmode from the URL, or turn on ssl at the server.`
    ],
    [
      ({ code }) => certificates.test(code),
      (at, detail) =>
        `The certificate of ${at} is not trusted (${detail}). Name its issuer with &sslrootcert=FILE in the URL; with sslmode=no-verify, any certificate is trusted.`
    ]
  ]

/** Why nobody is accepted; undefined if the error is another one. */
export const whyRefused = (at: string, { code, detail }: Refusal): string | undefined =>
  kinds.find(([is]) => is({ code, detail }))?.[1](at, detail)

type Reason = StorageError["reason"]

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : ""

/** A host with several addresses fails with one error for each, and an empty message. */
const detailOf = (cause: unknown): string =>
  cause instanceof AggregateError && cause.message === ""
    ? detailOf(cause.errors[0])
    : cause instanceof Error
    ? cause.message
    : String(cause)

/** Why there is no connection: the prefix of an SQLSTATE, or a code of Node. */
const lost = [
  "08",
  // It is not known whether the statement was completed.
  "40003",
  // The server is stopping, has crashed, or is starting; it ends an idle session, or has no free connection slot.
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  "25P03",
  "53300",
  "ECONN",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOST",
  "ENET",
  // The socket of a server on this machine.
  "ENOENT",
  "EACCES"
]

/** Messages of the client for a connection that ended, or timed out: they have no code. */
const lostWords = /connection (terminated|timed out|ended|error)|timeout exceeded when trying to connect|not queryable/i

/** Whether the connection was lost, or could not be established. */
export const isLost = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return code === "" ? lostWords.test(detailOf(cause)) : lost.some((each) => code.startsWith(each))
}

/** The server lacks something for a while, such as memory, or its disk fails: the prefix of an SQLSTATE. */
const lacking = ["53", "58"]

const isLacking = (cause: unknown): boolean => lacking.some((each) => codeOf(cause).startsWith(each))

/**
 * The prefix of an SQLSTATE, and its meaning; the first that fits counts. What may pass by itself is `busy`, `full` or
 * `readonly`, together with lost connections: it is tried again for half a minute, and nothing else is (see `retryOutage`).
 */
const meanings: ReadonlyArray<readonly [code: string, reason: Reason]> = [
  ["23", "constraint"],
  // A value that no text of this database can hold, or that is larger than it allows.
  ["22", "constraint"],
  ["54", "constraint"],
  ["53100", "full"],
  ...lacking.map((code) => [code, "busy"] as const),
  ["40", "busy"],
  ["55", "busy"],
  // An earlier interrupted read may cause this too.
  ["57014", "busy"],
  // It was the primary server until now: another one is on its way.
  ["25006", "readonly"],
  // An earlier statement, or a pool of connections, left the connection in another state.
  ["25", "busy"],
  ["26", "busy"],
  ["42501", "readonly"],
  ["XX001", "corrupt"],
  ["XX002", "corrupt"]
]

/** Whether the server answers, and accepts no connection of this user to this database. */
const isRefused = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return code.startsWith("28") || code === "3D000" || whyRefused("", { code, detail: detailOf(cause) }) !== undefined
}

const reasonOf = (operation: string, cause: unknown): Reason => {
  const code = codeOf(cause)
  if (code.startsWith("57P03") || code === "53300") return "busy"
  // A server that was running before is retried; one that never answered has a wrong address.
  // So is one that refuses a user after it accepted connections: a password is changed on one side first.
  if (isLost(cause) || isRefused(cause)) return operation === "open" ? "unreadable" : "busy"
  return meanings.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "other"
}

/** How to fix each reason. */
const sentence = (reason: Reason, at: string, cause: unknown): string => {
  const code = codeOf(cause)
  const detail = detailOf(cause)
  switch (reason) {
    case "busy":
      return code === "53300"
        ? `${at} has accepted no more connections for 30 seconds (${detail}). It runs: raise \`max_connections\` in its config, or the limit of the role with ALTER ROLE … CONNECTION LIMIT, or end other connections. Then try again.`
        : isLost(cause)
        ? `${at} could not be reached for 30 seconds (${detail}). Check that PostgreSQL is running, then try again.`
        : isRefused(cause)
        ? `${
          whyRefused(at, { code, detail }) ?? `${at} refuses the connection (${detail}).`
        } What works with it waits until it accepts connections again.`
        : isLacking(cause)
        ? `${at} could not do its work for 30 seconds (${detail}). See the log of the server, then try again.`
        : `${at} was locked by another process for 30 seconds (${detail}). Find the blocking query in pg_stat_activity, then try again.`
    case "full":
      return `There is no space left for ${at} (${detail}). Free some space, then try again: what was stored before is safe.`
    case "readonly":
      return code === "25006"
        ? `${at} cannot be written (${detail}). Name the primary server.`
        : `${at} does not let this user do it (${detail}). Grant the right, or name another user.`
    case "corrupt":
      return `${at} is damaged (${detail}). Restore a backup.`
    case "unreadable":
      return code === "3D000"
        ? `${at} is not there (${detail}). Make it with "createdb", or name another one.`
        : code === "ENOTFOUND" || code === "EAI_AGAIN"
        ? `The host of ${at} is unknown (${detail}). Check its name in the URL.`
        : isLost(cause)
        ? `Nothing answers at ${at} (${detail}). Start the server, or name another database.`
        : whyRefused(at, { code, detail }) ?? `${at} refuses the connection (${detail}). Check the URL and pg_hba.conf.`
    case "constraint":
      return `The change was refused: something in it is stored already, or belongs to something that is not stored (${detail}).`
    default:
      return `${at} cannot be used (${detail}).`
  }
}

/** Explains an error of a database that is shown as `at`. */
export const explain = (at: string) => (operation: string, { cause }: SqlError): StorageError => {
  const reason = reasonOf(operation, cause)
  return new StorageError({ operation, reason, message: sentence(reason, at, cause) })
}

/** Logs to standard error, without secrets: lines for people, or one JSON object a line for programs. */
import { escapeLine } from "@skein/tui/Escape"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { Stdio } from "../Stdio.ts"
import { isEngine, isNotice } from "./notice.ts"
import { Redaction } from "./Redaction.ts"

/** What is logged, and how. */
export interface LogForm {
  /** Whether everything is logged, not only unhandled errors. */
  readonly verbose: boolean
  /** Whether each line is a JSON object. */
  readonly json: boolean
  /** Whether this is the log of a server: then it has warnings, and what an operator has to know. */
  readonly unwatched?: boolean
}

const messageOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message]).map((each) => Inspectable.toStringUnknown(each, 0)).join(": ")

/** One JSON object a line: time, level and message, annotations, and the cause if there is one. */
const jsonLogger = Logger.make<unknown, string>(({ annotations, cause, date, logLevel, message }) =>
  JSON.stringify({
    ...Object.fromEntries(
      HashMap.toEntries(annotations).map(([key, value]) => [key, Inspectable.toStringUnknown(value, 0)])
    ),
    ...(Cause.isEmpty(cause) ? {} : { cause: Cause.pretty(cause, { renderErrorCause: true }) }),
    time: date.toISOString(),
    level: logLevel._tag.toLowerCase(),
    message: messageOf(message)
  })
)

/** Removes the secrets from the texts of a JSON object, and keeps its shape. */
const redactJson = (redact: (text: string) => string) => (line: string) =>
  JSON.stringify(JSON.parse(line), (_, value: unknown) => typeof value === "string" ? redact(value) : value)

/** The log of this process, which replaces the default logger. */
export const layer = ({ json, unwatched = false, verbose }: LogForm): Layer.Layer<never, never, Stdio> =>
  Layer.unwrapEffect(
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const { redact } = yield* Redaction
      const lines = json
        ? Logger.map(jsonLogger, redactJson(redact))
        : Logger.map(Logger.logfmtLogger, (line) => escapeLine(redact(line)))
      const least = verbose ? LogLevel.All : unwatched ? LogLevel.Info : LogLevel.Error
      const logger = Logger.make<unknown, void>((options) => {
        if (!verbose && isEngine(options.annotations)) return
        if (LogLevel.greaterThanEqual(options.logLevel, least) || isNotice(options.annotations)) {
          stdio.err(lines.log(options))
        }
      })
      return Layer.merge(
        Logger.replace(Logger.defaultLogger, logger),
        Logger.minimumLogLevel(verbose ? LogLevel.Debug : LogLevel.Info)
      )
    })
  )

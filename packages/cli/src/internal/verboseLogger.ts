/** Logs to standard error, without secrets: what `--verbose` turns on. */
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { Stdio } from "../Stdio.ts"
import { escapeLine } from "./escape.ts"

const secretName = /key|token|secret|password|passwd|credential|auth/i

/** The values of variables whose names say that they are secret. */
const secrets = Effect.map(
  environment,
  (variables) =>
    Object.entries(variables).flatMap(([name, value]) =>
      value !== undefined && value.length >= 8 && secretName.test(name) ? [value] : []
    )
)

/** Everything that is logged, one line each, in the place of the default logger. */
export const layer: Layer.Layer<never, never, Stdio> = Layer.unwrapEffect(
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const hidden = yield* secrets
    const redact = (line: string) => hidden.reduce((text, secret) => text.replaceAll(secret, "(hidden)"), line)
    const logger = Logger.map(Logger.logfmtLogger, (line) => stdio.err(escapeLine(redact(line))))
    return Layer.merge(Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(LogLevel.Debug))
  })
)

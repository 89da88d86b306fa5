/** Watches the work of a program if telemetry is on. */
import type { TelemetryConfig } from "@skein/domain/ConfigInfo"
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { UsageError } from "../../UsageError.ts"
import { Redaction } from "../Redaction.ts"
import { targetOf, type Watch } from "./target.ts"

/**
 * Sends traces, metrics and logs of the effects that it watches, until its scope closes. Loads nothing if telemetry is
 * off.
 */
export const telemetry = (
  config: TelemetryConfig | undefined,
  note: (line: string) => void,
  /** Where the API of a server of a cluster is: the others know it by that. */
  url?: string
): Effect.Effect<Watch, UsageError, Scope> =>
  Effect.gen(function*() {
    const target = yield* targetOf(yield* environment, config)
    if (typeof target === "string") note(target)
    if (target === undefined || typeof target === "string") return (effect) => effect
    const { hide } = yield* Redaction
    hide(Object.values(target.headers))
    const { open } = yield* Effect.promise(() => import("./open.ts"))
    return yield* open(target, url)
  })

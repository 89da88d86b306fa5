/** Watches the work of a program, where telemetry is wanted. */
import type { TelemetryConfig } from "@skein/domain/ConfigInfo"
import { environment } from "@skein/tools/Environment"
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { UsageError } from "../../UsageError.ts"
import { Redaction } from "../Redaction.ts"
import { targetOf } from "./target.ts"
import type { Watch } from "./watch.ts"

/** Sends what is seen of the effects that it watches until its scope ends; where nothing is to be sent, nothing is loaded for it. */
export const telemetry = (
  config: TelemetryConfig | undefined,
  note: (line: string) => void
): Effect.Effect<Watch, UsageError, Scope> =>
  Effect.gen(function*() {
    const target = yield* targetOf(yield* environment, config)
    if (typeof target === "string") note(target)
    if (target === undefined || typeof target === "string") return (effect) => effect
    const { hide } = yield* Redaction
    hide(Object.values(target.headers))
    const { open } = yield* Effect.promise(() => import("./open.ts"))
    return yield* open(target)
  })

/** What a session begins with: its facts, and its clock. */
import { Backend } from "@skein/backend/Backend"
import * as Effect from "effect/Effect"
import type { Moment } from "../../LiveView.ts"
import type { SessionRequest } from "../../SessionHost.ts"
import type { Facts } from "../model/Facts.ts"

/** What is known before anything is loaded. */
export const factsOf = (
  { agent, branch, directory, mode = "ask", model }: SessionRequest
): Effect.Effect<Facts, never, Backend> =>
  Effect.map(Backend, ({ where }) => ({
    directory,
    branch,
    server: where._tag === "Server" ? where.url : undefined,
    mode,
    agent,
    model: undefined,
    context: undefined,
    commands: [],
    agents: [],
    files: undefined,
    choice: { agent, model }
  }))

/** What tells the time. */
export const momentOf: Effect.Effect<() => Moment> = Effect.clockWith((clock) =>
  Effect.succeed(() => ({
    now: clock.unsafeCurrentTimeMillis(),
    steady: Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
  }))
)

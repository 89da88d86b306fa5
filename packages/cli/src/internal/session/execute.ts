/** What `skein` does on a terminal: opens a session where the database is held, in this process or on a server. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import type { Stop } from "../../Stop.ts"
import { platform, storage } from "../app.ts"
import { findServer } from "../attach/attach.ts"
import { valueOf } from "../flagValues.ts"
import { runFlags } from "../run/flags.ts"
import { typedMode } from "../run/mode.ts"
import { readModel } from "../run/models.ts"
import type { Opening, SessionInput } from "./ground.ts"
import { terminalOf, variable } from "./terminal.ts"

/** Where a terminal can only print one line below the other, a prompt is run, and there is no session to open. */
const runInstead = ({ flags, operands }: SessionInput) =>
  Effect.gen(function*() {
    const defaults = Object.entries(runFlags).map(([name, flag]) => [name, valueOf(flag, [])])
    const { executeRun } = yield* Effect.promise(() => import("../run/execute.ts"))
    const { resume: _, ...given } = flags
    return yield* executeRun({ operands, flags: { ...Object.fromEntries(defaults), ...given } })
  })

/** Opens it: on a server if one holds the database, else in this process. */
const open = (opening: Opening) =>
  Effect.gen(function*() {
    const notes: Array<string> = []
    const found = yield* findServer(opening.input.flags, (line) => notes.push(line))
    if (found !== undefined) {
      const { openAttached } = yield* Effect.promise(() => import("./attached.ts"))
      return yield* openAttached(opening, found)
    }
    const [{ openHere }, stored] = yield* Effect.zip(
      Effect.promise(() => import("./here.ts")),
      Layer.build(storage)
    )
    return yield* Effect.provide(openHere(opening, notes), stored)
  })

/** Opens a session. */
export const executeSession = (input: SessionInput): Effect.Effect<number, CommandError, Stdio | Stop> =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    if ((yield* variable("TERM")) === "dumb") return yield* runInstead(input)
    const mode = yield* typedMode(flags)
    const model = yield* readModel(flags.model)
    const terminal = yield* terminalOf(stdio)
    return yield* Effect.provide(open({ input, mode, model, terminal }), platform({ database: flags.db }))
  }))

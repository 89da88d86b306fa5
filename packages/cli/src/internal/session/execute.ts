/** What `skein` does on a terminal: opens a session where the database is held, in this process or on a server. */
import * as LayerGraph from "@skein/core/LayerGraph"
import * as Effect from "effect/Effect"
import { Stdio } from "../../Stdio.ts"
import { storage, withSandbox } from "../app.ts"
import { findServerFor } from "../attach/attach.ts"
import { readModel, typedMode } from "../run/choices.ts"
import type { Opening, SessionInput } from "./ground.ts"
import { seatOf, variable } from "./seat.ts"

/** Opens it: on a server if one holds the database, else in this process. */
const open = (opening: Opening) =>
  Effect.gen(function*() {
    const notes: Array<string> = []
    const found = yield* findServerFor(opening.input.flags, (line) => notes.push(line))
    if (found !== undefined) {
      const { openAttached } = yield* Effect.promise(() => import("./attached.ts"))
      return yield* openAttached(opening, found)
    }
    const [{ openHere }, stored] = yield* Effect.zip(
      Effect.promise(() => import("./here.ts")),
      LayerGraph.build(storage)
    )
    return yield* Effect.provide(openHere(opening, notes), stored)
  })

/** Opens a session. */
export const executeSession = (input: SessionInput) =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    const mode = yield* typedMode(flags)
    const model = yield* readModel(flags.model)
    const seat = yield* seatOf(stdio, flags.plain || (yield* variable("TERM")) === "dumb")
    return yield* withSandbox(flags.sandbox)(open({ input, mode, model, seat }))
  }))

/** Opens a session on a server that holds the database. The session continues there when this terminal closes. */
import { Backend } from "@skein/backend/Backend"
import * as LayerGraph from "@skein/core/LayerGraph"
import * as Effect from "effect/Effect"
import { backendOf } from "../attach/attach.ts"
import type { Found } from "../attach/findServer.ts"
import { seesFiles } from "../run/choices.ts"
import { findTarget, onBackend } from "../run/target.ts"
import { type Opening, openOver } from "./ground.ts"

/** Opens it. */
export const openAttached = Effect.fnUntraced(function*(opening: Opening, found: Found) {
  const context = yield* LayerGraph.build(backendOf(found))
  return yield* Effect.provide(
    Effect.gen(function*() {
      const target = yield* findTarget(opening.input.flags, onBackend(yield* Backend))
      const note =
        `Attached to the server at ${found.server.url}: its environment, config and trust apply. --attach=off works without it.`
      return yield* openOver(opening, target, [note], yield* seesFiles(target.session, target.directory))
    }),
    context
  )
})

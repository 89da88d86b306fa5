/** Gives open turns the model that a person names, where that is missing with which they began. */
import type { ModelRef } from "@skein/domain/Model"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { isSize, missingModels } from "../../ModelChoice.ts"
import { Provider } from "../../Provider.ts"
import { lineOf, type Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"

/** Does so for a session and everything below it, before its tree is recovered. Fails if that model is missing as well. */
export const chooseModel = Effect.fnUntraced(function*(live: Live, model: ModelRef) {
  const { info: { rootID }, root } = live
  if (root.isRecovered || isSize(model)) return
  const table = yield* SessionTable
  const missing = yield* table.inProject(live, missingModels(rootID))
  if (missing.length === 0) return
  yield* table.inProject(live, Effect.flatMap(Provider, ({ resolve }) => resolve(model)))
  const found = yield* Effect.forEach(missing, ({ sessionID }) => table.open(sessionID))
  const now = yield* Clock.currentTimeMillis
  const journal = yield* Journal
  yield* journal.commit(
    found.filter((each) => lineOf(each).includes(live)).map((each) => each.record.change(now, { model }))
  )
})

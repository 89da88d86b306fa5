/** Opens a session in this process, over the database and with the config of its directory. */
import * as LocalBackend from "@skein/backend/LocalBackend"
import * as Trust from "@skein/config/Trust"
import * as LayerGraph from "@skein/core/LayerGraph"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ExitCode } from "../../ExitCode.ts"
import { autoNote, checkAuto, limitsOf, manyServices, settle } from "../app.ts"
import { projectOf } from "../place.ts"
import { configOf } from "../providers.ts"
import { findTarget, inStorage } from "../run/target.ts"
import { isOpen, startNotes } from "../startNotes.ts"
import { type Opening, openOver } from "./ground.ts"
import type { Seat } from "./seat.ts"

/**
 * Asks whether to trust what a project's files want beyond what the person grants, unless they declined the same values
 * before. Gives the notes on that; undefined where the person leaves.
 */
const askTrust = Effect.fnUntraced(function*(directory: string, seat: Seat) {
  const options = yield* configOf(directory)
  const items = yield* Trust.review(options)
  const open = items.filter((item) => isOpen(item) && item.noticed !== "declined")
  if (open.length === 0) return []
  const lineOf = ({ file, key, value }: Trust.TrustItem) => `${key} = ${JSON.stringify(value)}  (${file})`
  const leave = { value: "leave", label: "Leave" }
  const answer = yield* seat.ask(
    `Do you trust ${open.length === 1 ? "this value" : `these ${open.length} values`} of the project's files?`,
    ["Files of this project want more than you have granted:", ...open.map(lineOf), ""],
    [
      { value: "no", label: "No, work without them" },
      { value: "yes", label: "Yes, trust them until they change" },
      ...(open.length === 1 ? [] : [{ value: "choose", label: "Choose which to trust" }]),
      leave
    ]
  )
  const chosen = answer === "yes" ? [...open] : []
  for (const [index, item] of (answer === "choose" ? open : []).entries()) {
    const one = yield* seat.ask(`Do you trust value ${index + 1} of ${open.length}?`, [lineOf(item), ""], [
      { value: "no", label: "No, work without it" },
      { value: "yes", label: "Yes, trust it until it changes" },
      leave
    ])
    if (one === "yes") chosen.push(item)
    else if (one !== "no") return undefined
  }
  if (answer !== "yes" && answer !== "no" && answer !== "choose") return undefined
  if (chosen.length > 0) yield* Trust.allow(options, chosen.map(({ id }) => id))
  const declined = open.filter((item) => !chosen.includes(item))
  yield* Trust.notice(declined, "declined")
  return declined.length === 0 ? [] : [
    `Without ${
      declined.length === 1 ? "1 value" : `${declined.length} values`
    } of the project's files. You are asked again if they change; \`skein trust allow all\` trusts them.`
  ]
})

/** Opens it. `notes` are said in it. */
export const openHere = Effect.fnUntraced(function*(opening: Opening, notes: ReadonlyArray<string>) {
  const { input: { flags }, seat } = opening
  const target = yield* findTarget(flags, yield* inStorage)
  const asked = yield* askTrust(target.directory, seat)
  if (asked === undefined) return ExitCode.done
  // The limits of the process are those of the directory that it begins in.
  const overrides = limitsOf(flags)
  const settled = yield* settle(target.directory, overrides)
  const { settings } = settled
  const said = yield* startNotes(settled, true)
  if (opening.mode === "auto") yield* checkAuto(settled)
  const auto = opening.mode === "auto" ? autoNote(settled) : undefined
  const services = manyServices("person", settings, { overrides, saysBroken: true, steps: flags["max-steps"] }).pipe(
    Layer.provide(Watchdog.layerOfStrays)
  )
  const backend = yield* LayerGraph.build(Layer.provide(LocalBackend.layer({ projectOf }), services))
  yield* Effect.forkScoped(
    Effect.flatMap(Effect.promise(() => import("../retention.ts")), ({ forgetDaily }) => forgetDaily)
  )
  return yield* Effect.provide(
    openOver(opening, target, [...notes, ...asked, ...said, ...(auto === undefined ? [] : [auto])]),
    backend
  )
})

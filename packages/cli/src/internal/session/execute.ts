/** What `skein` does on a terminal: opens a session where the database is held, in this process or on a server. */
import { Backend } from "@skein/backend/Backend"
import * as LocalBackend from "@skein/backend/LocalBackend"
import * as Trust from "@skein/config/Trust"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { Mode } from "@skein/domain/Mode"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/BuiltIn"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Input } from "../../CommandSpec.ts"
import { Stdio } from "../../Stdio.ts"
import {
  autoNote,
  checkAuto,
  isOpen,
  limitsOf,
  manyServices,
  settle,
  startNotes,
  storage,
  withSandbox
} from "../app.ts"
import { backendOf, findServerFor, sameWay } from "../attach/attach.ts"
import type { Found } from "../attach/findServer.ts"
import type { sessionFlags } from "../flags.ts"
import { currentDirectory, projectOf } from "../place.ts"
import { configOf, fallback } from "../providers.ts"
import { readModel, seesFiles, typedMode } from "../run/choices.ts"
import { budgetOf } from "../run/prompt.ts"
import { findTarget, forked, inStorage, onBackend, type Target } from "../run/target.ts"
import { makeHost } from "./host.ts"
import { type Seat, seatOf, variable } from "./seat.ts"

/** What was typed behind `skein`. */
type SessionInput = Input<typeof sessionFlags>

/** What is opened. */
interface Opening {
  readonly input: SessionInput
  readonly seat: Seat
  readonly mode: Mode | undefined
  readonly model: ModelRef | undefined
}

const branchOf = (directory: string): string | undefined =>
  Either.getOrUndefined(Either.map(
    Either.try(() => readFileSync(join(directory, ".git", "HEAD"), "utf8")),
    (head) => /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]
  ))

/** Said where no key is set. */
const noKey = [
  `No key of a model is set, so ${formatRef(fallback)} answers: it surveys the project offline, and is not an AI.`,
  `For a model, leave this session, set one of ${keyNames.join(", ")}, and begin again.`,
  "A model of your own machine works without a key: see `skein models` and docs/models.md."
].join("\n")

/** Opens a session over a backend; `isNear` if its directory is on this machine. Says how to come back to it once it was left. */
const openOver = Effect.fnUntraced(function*(
  { input: { flags, operands }, mode, model, seat }: Opening,
  { directory, session }: Pick<Target, "directory" | "session">,
  notes: ReadonlyArray<string>,
  isNear: boolean
) {
  const stdio = yield* Stdio
  const host = yield* makeHost(flags)
  const files = flags.file.length === 0 ? [] : yield* Effect.flatMap(
    Effect.promise(() => import("../run/attachments.ts")),
    ({ attachments }) => Effect.flatMap(currentDirectory, (here) => attachments(here, flags.file))
  )
  const opened = session !== undefined && flags.fork ? yield* forked(session, flags.title) : session
  const left = yield* Effect.scoped(seat.open(host, {
    directory,
    branch: isNear ? branchOf(directory) : undefined,
    session: opened?.id,
    title: flags.title,
    picks: flags.resume,
    prompt: [...(flags.command === undefined ? [] : [`/${flags.command}`]), ...operands].join(" "),
    files,
    budget: budgetOf(flags, flags.timeout),
    mode,
    agent: flags.agent,
    model,
    notes: files.length === 0 ? notes : [...notes, `Attached to your first prompt: ${flags.file.join(", ")}`],
    fallback: { model: formatRef(fallback), note: noKey }
  }))
  if (left.session !== undefined) {
    const goesOn = left.isLeft === true ? " (it continues on the server)" : ""
    stdio.err(
      seat.dim(`session ${left.session}${goesOn}, continue with: skein --session ${left.session}${sameWay(flags)}`)
    )
  }
})

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

/** Opens it in this process, over the database and with the config of its directory. `notes` are said in it. */
const openHere = Effect.fnUntraced(function*(opening: Opening, notes: ReadonlyArray<string>) {
  const { input: { flags }, seat } = opening
  const target = yield* findTarget(flags, yield* inStorage)
  const asked = yield* askTrust(target.directory, seat)
  if (asked === undefined) return
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
    openOver(opening, target, [...notes, ...asked, ...said, ...(auto === undefined ? [] : [auto])], true),
    backend
  )
})

/** Opens it on a server. It continues there when this terminal closes. */
const openAttached = Effect.fnUntraced(function*(opening: Opening, found: Found) {
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

/** Opens a session: on a server if one holds the database, else in this process. */
export const executeSession = (input: SessionInput) =>
  Effect.scoped(Effect.gen(function*() {
    const { flags } = input
    const stdio = yield* Stdio
    const mode = yield* typedMode(flags)
    const model = yield* readModel(flags.model)
    const seat = yield* seatOf(stdio, flags.plain || (yield* variable("TERM")) === "dumb")
    const opening: Opening = { input, mode, model, seat }
    const notes: Array<string> = []
    const found = yield* findServerFor(flags, (line) => notes.push(line))
    yield* found === undefined
      ? Effect.flatMap(LayerGraph.build(storage), (stored) => Effect.provide(openHere(opening, notes), stored))
      : openAttached(opening, found)
  })).pipe(withSandbox(input.flags.sandbox))

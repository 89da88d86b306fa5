/** What a session at the terminal stands on: in this process or on a server, it is opened and left in the same way. */
import type { Mode } from "@skein/domain/Mode"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/BuiltIn"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Input } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { sameWay } from "../attach/attach.ts"
import type { sessionFlags } from "../flags.ts"
import { currentDirectory } from "../place.ts"
import { fallback } from "../providers.ts"
import { budgetOf } from "../run/prompt.ts"
import { forked, type Target } from "../run/target.ts"
import { makeHost } from "./host.ts"
import type { Seat } from "./seat.ts"

/** What was typed behind `skein`. */
export type SessionInput = Input<typeof sessionFlags>

/** What is opened. */
export interface Opening {
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

/** Opens a session over a backend; `seesFiles` if its directory is on this machine. Says how to come back to it once it was left. */
export const openOver = Effect.fnUntraced(function*(
  { input: { flags, operands }, mode, model, seat }: Opening,
  { directory, session }: Pick<Target, "directory" | "session">,
  notes: ReadonlyArray<string>,
  seesFiles = true
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
    branch: seesFiles ? branchOf(directory) : undefined,
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
  return ExitCode.done
})

/** What `skein trust` does. */
import * as Trust from "@skein/config/Trust"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { platform } from "../app.ts"
import { directoryOf } from "../place.ts"
import { configOf } from "../providers.ts"
import { formatTime, printList } from "./print.ts"

interface Place {
  readonly dir: string | undefined
}

const optionsOf = (dir: string | undefined) => Effect.flatMap(directoryOf(dir), configOf)

const shown = (value: unknown): string => JSON.stringify(value) ?? ""

const stateOf = ({ since, state }: Trust.TrustItem): string => {
  switch (state) {
    case "trusted":
      return `trusted since ${formatTime(since ?? 0)}`
    case "gone":
      return "trusted, but no longer in the files"
    case "fixed":
      return "cannot be trusted"
    case "changed":
      return "changed"
    case "untrusted":
      return "not trusted"
  }
}

/** Lists the settings that apply only if you trust them, and those that you trusted. */
export const listTrust = ({ flags }: {
  readonly flags: Place & { readonly format: "default" | "json"; readonly full: boolean }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const items = yield* optionsOf(flags.dir).pipe(Effect.flatMap(Trust.review))
    return yield* printList({
      format: flags.format,
      full: flags.full,
      json: items,
      head: ["ID", "STATE", "FROM", "KEY", "VALUE"],
      rows: items.map((item) => [
        item.id,
        stateOf(item),
        item.line === undefined ? item.file : `${item.file}:${item.line}`,
        item.key,
        shown(item.value)
      ]),
      empty: "This project's files ask for nothing beyond what you grant."
    })
  }).pipe(Effect.provide(platform({})))

const tell = (what: string) => (items: ReadonlyArray<Trust.TrustItem>) =>
  Effect.map(Stdio, (stdio) => {
    for (const { file, key, value } of items) stdio.err(`${what}: ${escapeLine(`${key} = ${shown(value)}  (${file})`)}`)
    return ExitCode.done
  })

interface Chosen {
  readonly flags: Place
  readonly operands: ReadonlyArray<string>
}

/** The ids that a user names; `all` names those of the project that are in one of these states. */
const idsOf = (
  { flags, operands }: Chosen,
  states: ReadonlyArray<Trust.TrustItem["state"]>
) =>
  operands.includes("all")
    ? optionsOf(flags.dir).pipe(
      Effect.flatMap(Trust.review),
      Effect.map((items) => items.flatMap(({ id, state }) => states.includes(state) ? [id] : []))
    )
    : Effect.succeed(operands)

/** Trusts settings: those with these ids, or `all`. */
export const allowTrust = (chosen: Chosen): Effect.Effect<number, CommandError, Stdio> =>
  Effect.zip(optionsOf(chosen.flags.dir), idsOf(chosen, ["untrusted", "changed"])).pipe(
    Effect.flatMap(([options, ids]) => Trust.allow(options, ids)),
    Effect.flatMap(tell("Trusted")),
    Effect.provide(platform({}))
  )

/** Revokes trust in settings: those with these ids, wherever they are, or `all` of this project. */
export const revokeTrust = (chosen: Chosen): Effect.Effect<number, CommandError, Stdio> =>
  idsOf(chosen, ["trusted", "gone"]).pipe(
    Effect.flatMap(Trust.revoke),
    Effect.flatMap(tell("No longer trusted")),
    Effect.provide(platform({}))
  )

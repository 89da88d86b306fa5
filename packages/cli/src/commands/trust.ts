/** `skein trust`: lists, gives and takes back trust in what a project's files say. */
import * as Trust from "@skein/config/Trust"
import * as Effect from "effect/Effect"
import { command, group } from "../CommandSpec.ts"
import { directoryFlags, listingFlags } from "../internal/flags.ts"
import { directoryOf } from "../internal/place.ts"
import { formatTime, printList, tell } from "../internal/print.ts"
import { configOf } from "../internal/providers.ts"

const optionsOf = (dir: string | undefined) => Effect.flatMap(directoryOf(dir), configOf)

const reviewed = (dir: string | undefined) => Effect.flatMap(optionsOf(dir), Trust.review)

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

const list = command({
  name: "list",
  summary: "Lists the settings of a project that apply only if you trust them",
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags }) =>
    Effect.flatMap(reviewed(flags.dir), (items) =>
      printList(flags, {
        items,
        columns: {
          ID: ({ id }) => id,
          STATE: stateOf,
          FROM: ({ file, line }) => line === undefined ? file : `${file}:${line}`,
          KEY: ({ key }) => key,
          VALUE: ({ value }) => shown(value)
        },
        empty: "This project's files ask for nothing beyond what you grant."
      }))
})

/** The ids that a user names; `all` names those of the project that are in one of these states. */
const idsOf = (
  operands: ReadonlyArray<string>,
  dir: string | undefined,
  ...states: ReadonlyArray<Trust.TrustItem["state"]>
) =>
  operands.includes("all")
    ? Effect.map(reviewed(dir), (items) => items.flatMap(({ id, state }) => states.includes(state) ? [id] : []))
    : Effect.succeed(operands)

const tellAll = (what: string, items: ReadonlyArray<Trust.TrustItem>) =>
  Effect.forEach(items, ({ file, key, value }) => tell(`${what}: ${key} = ${shown(value)}  (${file})`), {
    discard: true
  })

const allow = command({
  name: "allow",
  summary: "Trusts a setting until its value changes; `all` trusts all that are listed",
  operands: "ID…",
  flags: directoryFlags,
  run: ({ flags: { dir }, operands }) =>
    Effect.gen(function*() {
      const options = yield* optionsOf(dir)
      yield* tellAll("Trusted", yield* Trust.allow(options, yield* idsOf(operands, dir, "untrusted", "changed")))
    })
})

const revoke = command({
  name: "revoke",
  summary: "Revokes trust; `all` revokes it for all settings of the project",
  operands: "ID…",
  flags: directoryFlags,
  run: ({ flags: { dir }, operands }) =>
    Effect.gen(function*() {
      yield* tellAll("No longer trusted", yield* Trust.revoke(yield* idsOf(operands, dir, "trusted", "gone")))
    })
})

/** Lists, gives and takes back trust. */
export const trust = group([list, allow, revoke], {
  details:
    "These are hooks, base URLs, rules that allow, models of other providers, and other settings that exceed your own.\n`skein run` trusts none of them by default."
})

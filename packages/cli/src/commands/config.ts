/** `skein config`: shows the settings that apply, and the schema of their file. */
import { type ConfigIssue, formatIssue } from "@skein/config/ConfigError"
import { jsonSchema } from "@skein/config/ConfigSchema"
import * as Effect from "effect/Effect"
import { basename } from "node:path"
import { command, group } from "../CommandSpec.ts"
import { describedConfig } from "../internal/describedConfig.ts"
import { directoryFlags, listingFlags } from "../internal/flags.ts"
import { directoryOf } from "../internal/place.ts"
import { printJson, printList, remark, warn } from "../internal/print.ts"

const kinds = {
  broken: "left out",
  note: "note",
  left_out: "left out",
  restriction: "restriction",
  trust: "waits for trust"
} as const

const whereOf = (issue: ConfigIssue): string => formatIssue(issue).slice(0, -issue.message.length - 2)

/**
 * Shows every value with its origin, or the ignored values. In the first case, standard error gets a summary of the
 * latter.
 */
const show = command({
  name: "show",
  summary: "Shows the effective settings, each with its origin",
  flags: {
    ...listingFlags,
    notes: { type: "switch", description: "Lists ignored settings instead, including those of other tools' files" },
    ...directoryFlags
  },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { broken, json, rows } = yield* Effect.flatMap(directoryOf(flags.dir), describedConfig)
      const { instructions, warnings } = json
      if (flags.notes) {
        // Do not truncate the messages: they would lose their meaning.
        yield* printList({ ...flags, full: true }, {
          items: warnings,
          columns: {
            KIND: ({ kind }) => kind === undefined ? "-" : kinds[kind],
            WHERE: whereOf,
            WHAT: ({ message }) => message
          },
          empty: "Nothing in the files of this directory is ignored."
        })
        return yield* warn(...broken)
      }
      yield* remark(warnings)
      yield* warn(...broken)
      yield* printList(flags, {
        items: [
          ...rows,
          ...instructions.map((file) => ({ path: "(instructions)", value: basename(file), origin: file }))
        ],
        json,
        columns: {
          KEY: ({ path }) => path,
          VALUE: ({ value }) => typeof value === "string" ? value : JSON.stringify(value),
          FROM: ({ origin }) => origin
        },
        empty: "Nothing is configured."
      })
    })
})

const schema = command({
  name: "schema",
  summary: "Prints the JSON Schema of skein.json, for editors",
  flags: {},
  run: () => Effect.flatMap(jsonSchema, printJson)
})

/** Shows the effective settings, each with its origin. */
export const config = group([show, schema])

/** Declares `skein config`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const showFlags = {
  ...listingFlags,
  notes: {
    type: "switch",
    description: "Lists ignored settings instead, including those of other tools' files"
  },
  ...directoryFlags,
  ...verboseFlags
} as const

const load = () => import("../internal/list/config.ts")

const show = command({
  name: "show",
  summary: "Shows the effective settings, each with its origin",
  flags: showFlags,
  load: () => load().then(({ showConfig }) => showConfig)
})

const schema = command({
  name: "schema",
  summary: "Prints the JSON Schema of skein.json, for editors",
  flags: verboseFlags,
  load: () => load().then(({ showSchema }) => showSchema)
})

/** Shows the effective settings, each with its origin. */
export const config = command({
  name: "config",
  summary: "Shows the effective settings, each with its origin",
  flags: showFlags,
  commands: [show, schema],
  load: () => load().then(({ showConfig }) => showConfig)
})

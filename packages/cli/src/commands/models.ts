/** Declares `skein models` and its subcommands. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const load = () => import("../internal/list/models.ts").then(({ listModels }) => listModels)

const operands = { usage: "[PROVIDER]", least: 0, most: 1 }

const list = command({
  name: "list",
  summary: "Lists the models, or those of one provider, and which are ready to use",
  operands,
  flags: listFlags,
  load
})

const update = command({
  name: "update",
  summary: "Stores newer limits and prices of models, from a file or a URL",
  details: "The catalogue has the format of https://models.dev/api.json. Skein downloads nothing by itself.",
  operands: { usage: "FILE|URL", least: 1, most: 1 },
  flags: { ...verboseFlags },
  load: () => import("../internal/list/models.ts").then(({ updateModels }) => updateModels)
})

/** Lists the models, and takes newer limits and prices. */
export const models = command({
  name: "models",
  summary: "Lists the models, and updates their limits and prices",
  operands,
  flags: listFlags,
  commands: [list, update],
  load
})

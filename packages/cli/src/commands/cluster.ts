/** Declares `skein cluster`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, listingFlags, verboseFlags } from "../internal/sharedFlags.ts"

const flags = {
  ...listingFlags,
  ...databaseFlags,
  check: {
    type: "switch",
    description: "For monitors: prints a line for each fault, and exits with 1 if there is one"
  },
  attach: { type: "text", value: "URL", description: "Asks this server of the cluster, and not the database" },
  ...verboseFlags
} as const

const load = () => import("../internal/list/cluster.ts").then(({ listRunners }) => listRunners)

const status = command({ name: "status", summary: "Lists the servers that share a PostgreSQL database", flags, load })

/** Shows the servers of a cluster. */
export const cluster = command({
  name: "cluster",
  summary: "Shows the servers that share a PostgreSQL database",
  details: "Start each of them with `skein serve --cluster`. See docs/cluster.md.",
  flags,
  commands: [status],
  load
})

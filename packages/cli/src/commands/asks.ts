/** Declares `skein asks`. */
import { command } from "../CommandSpec.ts"
import { attachFlags, databaseFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const load = () => import("../internal/list/asks.ts")

const flags = { ...listingFlags, ...databaseFlags, ...attachFlags, ...verboseFlags } as const

const list = command({
  name: "list",
  summary: "Lists the questions of agents that wait for you, of all processes that share the database",
  operands: { usage: "[SESSION]", least: 0, most: 1 },
  flags,
  load: () => load().then(({ listAsks }) => listAsks)
})

const answer = command({
  name: "answer",
  summary: "Answers one: once, always or reject where permission is asked, else in your words",
  operands: { usage: "ID ANSWER…", least: 1, most: Infinity },
  flags: {
    message: { type: "text", value: "TEXT", description: "Why you reject it; the agent reads that and continues" },
    project: { type: "switch", description: "Makes `always` hold for the project; by default, for the session's tree" },
    dismiss: { type: "switch", description: "Gives no answer to a question of an agent" },
    ...databaseFlags,
    ...attachFlags,
    ...verboseFlags
  },
  load: () => load().then(({ answerAsk }) => answerAsk)
})

/** Lists and answers questions. */
export const asks = command({
  name: "asks",
  summary: "Lists and answers the questions of agents that wait for you",
  operands: { usage: "[SESSION]", least: 0, most: 1 },
  flags,
  commands: [list, answer],
  load: () => load().then(({ listAsks }) => listAsks)
})

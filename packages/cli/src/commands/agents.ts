/** `skein agents`: lists the agents, and has a model design new ones. */
import { DataDirs } from "@skein/config/DataDirs"
import { agentText, makeFile } from "@skein/config/EditConfig"
import { Agent } from "@skein/core/Agent"
import { Config } from "@skein/core/Config"
import { Governor } from "@skein/core/Governor"
import { Provider } from "@skein/core/Provider"
import { Ids } from "@skein/domain/Id"
import { formatRef, parseRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/BuiltIn"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { join } from "node:path"
import { command, group } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { settle, type Settled, settleIn } from "../internal/app.ts"
import { directoryFlags, formatFlags, listingFlags } from "../internal/flags.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { printList, printResult, remark, warn } from "../internal/print.ts"
import { fallback, providers } from "../internal/providers.ts"
import { hideConfigured } from "../internal/Redaction.ts"
import { readModel } from "../internal/run/choices.ts"

/** Lists the agents. Hidden ones appear only in JSON. Agents whose files cannot be used are named on standard error. */
const list = command({
  name: "list",
  summary: "Lists the agents",
  flags: { ...listingFlags, ...directoryFlags },
  run: ({ flags }) =>
    Effect.gen(function*() {
      const { agents: found, settings, warnings } = yield* settleIn(flags.dir)
      yield* remark(warnings)
      const sorted = found.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      yield* printList(flags, {
        items: sorted.filter(({ hidden }) => !hidden),
        json: sorted,
        columns: {
          AGENT: ({ name }) => name === settings.default_agent ? `${name} (default)` : name,
          MODE: ({ mode }) => mode,
          MODEL: ({ model }) => model.length === 0 ? "-" : model.map(formatRef).join(", "),
          FROM: ({ origin }) => origin,
          DESCRIPTION: ({ description }) => description
        },
        empty: "There are no agents."
      })
    })
})

const namePattern = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u

/** What asking a model needs, and nothing else: no database, no tools. */
const asking = ({ agents: all, origins, permission, settings }: Settled) =>
  Layer.mergeAll(Agent.layer(all, permission), Governor.layer, Ids.layer, providers).pipe(
    Layer.provideMerge(Layer.succeed(Config, { settings, origins }))
  )

/** The model that designs agents: the named or configured one, but never `offline/survey`, which is not an AI. */
const chosen = Effect.fnUntraced(function*(flag: string | undefined) {
  const { settings } = yield* Config
  const provider = yield* Provider
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  const model = (yield* readModel(flag)) ?? configured ?? (yield* provider.defaultModel)
  if (model.providerID !== fallback.providerID) return model
  return yield* new UsageError({
    message: `${formatRef(model)} is not an AI and cannot design an agent. Set one of ${
      keyNames.join(", ")
    }, or name a model with --model.`
  })
})

const create = command({
  name: "create",
  summary: "Has a model design an agent, and writes the file",
  details: "Writes .skein/agent/NAME.md in the project and prints its path. It never overwrites an agent or a file.",
  operands: "PURPOSE…",
  flags: {
    name: { type: "text", value: "NAME", description: "The agent's name; by default the model chooses one" },
    mode: {
      type: "choice",
      choices: ["subagent", "primary", "all"],
      description: "subagent: for tasks of other agents; primary: for people; all: for both"
    },
    user: { type: "switch", description: "Writes it for all projects, next to your own skein.json" },
    model: {
      type: "text",
      short: "m",
      value: "PROVIDER/MODEL",
      description: "The model that designs it; by default the configured one"
    },
    ...formatFlags,
    ...directoryFlags
  },
  run: ({ flags, operands }) =>
    Effect.gen(function*() {
      const dirs = yield* DataDirs
      const description = operands.join(" ").trim()
      if (description === "") {
        return yield* new UsageError({
          message: "Say what the agent is for: skein agents create \"reviews migrations\""
        })
      }
      const directory = yield* directoryOf(flags.dir)
      const settled = yield* settle(directory)
      yield* hideConfigured(settled.settings)
      const home = flags.user ? join(dirs.config, "agent") : join(yield* projectOf(directory), ".skein", "agent")
      if (flags.name !== undefined && !namePattern.test(flags.name)) {
        return yield* new UsageError({
          message: `--name: ${JSON.stringify(flags.name)} is not a valid agent name; use letters, digits and _ . -`
        })
      }
      const before = settled.agents.find((agent) => agent.name === flags.name)
      if (before !== undefined) {
        return yield* new UsageError({
          message: `--name: there is an agent ${before.name} already (${before.origin}). Choose another name.`
        })
      }
      const agent = yield* Effect.gen(function*() {
        const model = yield* chosen(flags.model)
        yield* warn(`${formatRef(model)} designs the agent`)
        return yield* Agent.generate({ description, model })
      }).pipe(Effect.provide(asking(settled)))
      const identifier = flags.name ?? agent.identifier
      const path = yield* makeFile(
        join(home, `${identifier}.md`),
        agentText({ description: agent.whenToUse, mode: flags.mode, prompt: agent.systemPrompt })
      )
      yield* printResult(flags, { ...agent, identifier, mode: flags.mode, path }, `${escapeLine(path)}\n`)
    }).pipe(Effect.scoped)
})

/** Lists the agents, and makes new ones. */
export const agents = group([list, create])

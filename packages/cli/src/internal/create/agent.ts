/** What `skein agents create` does. */
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
import type { CommandError, Input } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, settle, type Settled } from "../app.ts"
import type { createFlags } from "../flags.ts"
import { directoryOf, projectOf } from "../place.ts"
import { fallback, providers } from "../providers.ts"
import { hideConfigured } from "../Redaction.ts"
import { readModel } from "../run/choices.ts"

type CreateInput = Input<typeof createFlags>

const name = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u

/** What asking a model needs, and nothing else: no database, no tools. */
const asking = ({ agents, origins, permission, settings }: Settled) =>
  Layer.mergeAll(Agent.layer(agents, permission), Governor.layer, Ids.layer, providers).pipe(
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

/** Has a model design an agent from its description, and writes the agent's file. */
export const createAgent = ({ flags, operands }: CreateInput): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const dirs = yield* DataDirs
    const description = operands.join(" ").trim()
    if (description === "") {
      return yield* new UsageError({ message: "Say what the agent is for: skein agents create \"reviews migrations\"" })
    }
    const directory = yield* directoryOf(flags.dir)
    const settled = yield* settle(directory)
    yield* hideConfigured(settled.settings)
    const home = flags.user ? join(dirs.config, "agent") : join(yield* projectOf(directory), ".skein", "agent")
    if (flags.name !== undefined && !name.test(flags.name)) {
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
      stdio.err(`skein: ${formatRef(model)} designs the agent`)
      return yield* Agent.generate({ description, model })
    }).pipe(Effect.provide(asking(settled)))
    const identifier = flags.name ?? agent.identifier
    const path = yield* makeFile(
      join(home, `${identifier}.md`),
      agentText({ description: agent.whenToUse, mode: flags.mode, prompt: agent.systemPrompt })
    )
    stdio.out(
      flags.format === "json"
        ? `${JSON.stringify({ ...agent, identifier, mode: flags.mode, path }, undefined, 2)}\n`
        : `${escapeLine(path)}\n`
    )
    return ExitCode.done
  }).pipe(Effect.scoped, Effect.provide(platform({})))

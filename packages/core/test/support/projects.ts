/** Shared parts of the project tests: versions of projects, and tools that tell them apart. */
import { Agent } from "@skein/core/Agent"
import { Hooks, on } from "@skein/core/Hooks"
import { ProjectUnavailable, type ProjectVersion } from "@skein/core/Projects"
import * as Skein from "@skein/core/Skein"
import type { AnyTool } from "@skein/core/Tool"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent, tool } from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"

interface Given {
  readonly agents?: ReadonlyArray<AgentInfo>
  readonly rules?: PermissionConfig
  readonly tools?: ReadonlyArray<AnyTool>
  readonly config?: ConfigInfo
  readonly hooked?: string
}

/** A version of a project; `closed` is called when it closes. */
export const version = (provider: Pick<Scripted.Scripted, "layer">, given: Given, closed: () => void = () => {}) =>
  Layer.merge(
    Skein.project({
      provider: provider.layer,
      agents: Agent.layerWith(given.agents ?? [], fromConfig(given.rules ?? {})),
      tools: Effect.succeed(given.tools ?? []),
      config: given.config ?? {},
      commands: (directory) =>
        Effect.succeed({
          commands: [{ name: "where", template: `This is ${directory}`, origin: "test", hides: [] }],
          broken: []
        }),
      hooks: given.hooked === undefined
        ? Hooks.layerNoop
        : Hooks.layer([on("PostToolUse", ({ output }) => Effect.succeed({ output: `${given.hooked}: ${output}` }))])
    }),
    Layer.scopedDiscard(Effect.addFinalizer(() => Effect.sync(closed)))
  )

/** A project that never changes. */
export const still = (
  layer: ProjectVersion<Skein.ProcessServices>["layer"]
): ProjectVersion<Skein.ProcessServices> => ({
  layer,
  next: Effect.never
})

/** A project that switches to its next version with each `change`. */
export const changing = (
  first: ProjectVersion<Skein.ProcessServices>["layer"],
  ...others: ReadonlyArray<ProjectVersion<Skein.ProcessServices>["layer"]>
) =>
  Effect.map(Effect.forEach(others, () => Deferred.make<void>()), (gates) => {
    const from = (at: number): ProjectVersion<Skein.ProcessServices> => ({
      layer: at === 0 ? first : others[at - 1]!,
      next: gates[at] === undefined ? Effect.never : Effect.as(Deferred.await(gates[at]), from(at + 1))
    })
    let at = 0
    return {
      version: from(0),
      change: Effect.zipRight(Effect.suspend(() => Deferred.succeed(gates[at++]!, undefined)), TestClock.adjust(1))
    }
  })

/** The error of a project that cannot be opened. */
export const unavailable = (directory: string, message: string) => new ProjectUnavailable({ directory, message })

/** The agent of these projects. */
export const main = (permission: PermissionConfig = { ping: "allow" }) => agent("main", { mode: "primary", permission })

/** A tool that answers with this name. */
export const answered = (name: string) => tool("ping", () => Effect.succeed(`pong of ${name}`))

/** A tool that waits in the middle of its call until `go`. */
export const held = (name: string) =>
  Effect.gen(function*() {
    const begun = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const ping = tool("ping", () =>
      Effect.as(Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go)), `pong of ${name}`))
    return { begun: Deferred.await(begun), go: Deferred.succeed(go, undefined), ping }
  })

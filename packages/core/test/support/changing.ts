/** Agents that a config change replaces. */
import { Agent } from "@skein/core/Agent"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { Ruleset } from "@skein/domain/Rule"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Agents, and the rules for all of them. */
export interface Agents {
  readonly agents: ReadonlyArray<AgentInfo>
  readonly rules?: Ruleset
}

/** The service, and an effect that switches it to the next version; the last one stays. */
export const changing = (...versions: ReadonlyArray<Agents>) => {
  let at = 0
  const layer = Layer.effect(
    Agent,
    Effect.map(
      Effect.forEach(versions, ({ agents, rules }) => Effect.provide(Agent, Agent.layerWith(agents, rules))),
      (made) => {
        const now = () => made[at] as Context.Tag.Service<Agent>
        return {
          get all() {
            return now().all
          },
          get: (name: string) => now().get(name),
          rules: (each: AgentInfo) => now().rules(each),
          ceiling: (each: AgentInfo) => now().ceiling(each),
          get shared() {
            return now().shared
          }
        }
      }
    )
  )
  return {
    layer,
    version: () => at,
    change: Effect.sync(() => {
      at = Math.min(at + 1, versions.length - 1)
    })
  }
}

/** One step of a turn: the services that it needs, and what it gives. */
import { Ids } from "@skein/domain/Id"
import type { FinishReason } from "@skein/domain/Message"
import type { ModelRef } from "@skein/domain/Model"
import type { ToolPart } from "@skein/domain/Part"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Bus } from "../../Bus.ts"
import { Config } from "../../Config.ts"
import { Failpoints } from "../../Failpoints.ts"
import type { Restore } from "../../Fibers.ts"
import { Governor } from "../../Governor.ts"
import { Instructions } from "../../Instructions.ts"
import { Journal } from "../../Journal.ts"
import { Provider } from "../../Provider.ts"
import type { Grant } from "../budget/BudgetNode.ts"
import type { LiveMessage } from "../live/History.ts"

/**
 * The services of a turn, looked up once. A turn cannot be interrupted except where it waits with `restore`, so whatever ends
 * a wait is seen where the wait was, and in order.
 */
export interface StepServices {
  readonly agents: Context.Tag.Service<Agent>
  readonly bus: Context.Tag.Service<Bus>
  readonly clock: Clock.Clock
  readonly config: Context.Tag.Service<Config>
  readonly governor: Context.Tag.Service<Governor>
  readonly ids: Context.Tag.Service<Ids>
  readonly instructions: Context.Tag.Service<Instructions>
  readonly journal: Context.Tag.Service<Journal>
  readonly points: Context.Tag.Service<Failpoints>
  readonly provider: Context.Tag.Service<Provider>
  readonly restore: Restore
}

/** Looks them up. */
export const stepServices = (restore: Restore) =>
  Effect.zipWith(
    Effect.context<Agent | Bus | Config | Governor | Ids | Instructions | Journal | Provider>(),
    Effect.clock,
    (context, clock): StepServices => ({
      agents: Context.get(context, Agent),
      bus: Context.get(context, Bus),
      clock,
      config: Context.get(context, Config),
      governor: Context.get(context, Governor),
      ids: Context.get(context, Ids),
      instructions: Context.get(context, Instructions),
      journal: Context.get(context, Journal),
      points: Context.get(context, Failpoints),
      provider: Context.get(context, Provider),
      restore
    })
  )

/** What a model answered. */
export interface Answer {
  readonly message: LiveMessage
  readonly calls: ReadonlyArray<ToolPart>
  readonly finish: FinishReason
  /** The budget that cut it off; undefined if none did. */
  readonly cutBy: Grant["bound"]
}

/** A step that ended well. */
export interface Step extends Answer {
  readonly model: ModelRef
  /** The names of the tools that were offered to the model. */
  readonly offered: ReadonlyArray<string>
  /** Whether this was the last step that the agent may make. */
  readonly last: boolean
}

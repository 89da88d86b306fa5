import { define } from "@skein/core/Tool"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A custom tool: `Skein.layer({ provider, tools: Effect.succeed([clock]) })`. */
export const clock = define({
  name: "clock",
  describe: "Tells the time in UTC.",
  parameters: Schema.Struct({}),
  effect: "safe",
  title: () => "time",
  authorise: () => Effect.succeed([]),
  execute: () => Effect.map(DateTime.now, (now) => ({ title: "time", output: DateTime.formatIso(now), metadata: {} }))
})

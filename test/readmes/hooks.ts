import { Hooks, on } from "@skein/core/Hooks"
import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as NodeTools from "@skein/tools/NodeTools"
import * as Effect from "effect/Effect"

/** No call touches production, and no model reads a key, in subagents too. */
const hooks = Hooks.layer([
  on("PreToolUse", ({ input, path }) =>
    Effect.succeed(
      JSON.stringify(input).includes("production")
        ? { decision: "deny", reason: `${path.join(" > ")} may not touch production.` } as const
        : undefined
    ), { name: "production", matcher: "bash|edit" }),
  on("PostToolUse", ({ output }) => Effect.succeed({ output: output.replaceAll(/sk-\w+/g, "(a key)") }))
])

export const agents = Skein.layer({ provider: OpenAi.layer, tools: NodeTools.tools, hooks })

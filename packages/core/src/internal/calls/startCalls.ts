/** The calls of an answer that can start with it: valid ones that the rules alone permit. */
import type { ToolPart } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Hooks } from "../../Hooks.ts"
import { Leases } from "../../Leases.ts"
import { Permission, type Subject } from "../../Permission.ts"
import { type AnyTool, type ToolCaller, Tools } from "../../Tool.ts"
import type { StructuredOutput } from "../conversation/structuredOutput.ts"
import type { Live } from "../live/Live.ts"
import { editingOf, readingOf } from "../permission/verdict.ts"
import { asHooksSee } from "../sessionHooks.ts"
import { wellFormed } from "../text.ts"
import { type Answered, checkCall } from "./checkCall.ts"
import { isDoomLoop, signature } from "./doomLoop.ts"

/** A started call, with its intent. */
export const begunAs = (part: ToolPart, tool: AnyTool, input: unknown, now: number, epoch: number): ToolPart => ({
  ...part,
  state: { status: "running", input: wellFormed(input), title: wellFormed(tool.title(input)), time: { start: now } },
  intent: { effect: tool.effect, hash: signature(tool.name, input), attempt: 1, epoch }
})

/** The tool of a call, which may be the one for structured output. */
export const toolOf = (
  tools: { readonly get: (name: string) => AnyTool | undefined },
  name: string,
  structuredOutput?: StructuredOutput
) => name === structuredOutput?.tool.name ? structuredOutput.tool : tools.get(name)

/**
 * Starts what can start, so that it is stored together with the answer: that saves one disk flush in every step. Every
 * other call stays as it is, and reports itself what is wrong with it or who must be asked.
 */
export const startCalls = Effect.fnUntraced(function*(
  live: Live,
  answered: Answered,
  subject: Subject,
  caller: ToolCaller,
  structuredOutput: StructuredOutput | undefined
) {
  const context = yield* Effect.context<Tools | Permission | Hooks | Leases>()
  const tools = Context.get(context, Tools)
  const permission = Context.get(context, Permission)
  const hooks = Context.get(context, Hooks)
  const epoch = Context.get(context, Leases).epoch(live.info.rootID)
  const clock = yield* Effect.clock
  const parts = [...answered.calls]
  const history = [...(live.messages ?? []), { parts }]

  const mayBegin = Effect.fnUntraced(function*(part: ToolPart, tool: AnyTool, input: unknown) {
    for (
      const ask of yield* tool.authorise(input, { ...caller, reading: readingOf(subject), editing: editingOf(subject) })
    ) {
      if ((yield* permission.decide(subject, tool, ask)) !== "allow") return part
    }
    return begunAs(part, tool, input, clock.unsafeCurrentTimeMillis(), epoch)
  })

  for (const [at, part] of answered.calls.entries()) {
    const tool = toolOf(tools, part.tool, structuredOutput)
    const input = checkCall(part, answered, tool)
    if (tool === undefined || Either.isLeft(input)) continue
    // Hooks come first, and may take their time.
    const isHooked = hooks.isRegistered("PreToolUse", asHooksSee(tool, input.right).tool)
    if (isHooked && tool !== structuredOutput?.tool) continue
    if (isDoomLoop(live, history, part, input.right)) continue
    parts[at] = yield* mayBegin(part, tool, input.right).pipe(
      Effect.catchTag("ToolError", () => Effect.succeed(part)),
      Effect.catchAllDefect(() => Effect.succeed(part))
    )
    if (parts[at] !== part) live.history.markUnbegun(part.id)
  }
  return parts
})

/** Makes the prompt of a command: fills in its template once. */
import type { PartInput } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { type CommandInfo, CommandInvalid, type CommandRequest, type Expanded, positional } from "../../Commands.ts"
import { Tools } from "../../Tool.ts"
import { type Acting, actingAs, type Live } from "../live/Live.ts"
import { leaveAuto } from "../live/mode.ts"
import { concrete } from "../model/candidates.ts"
import { attach, endsAll } from "./attach.ts"
import { callTool, type UserCall } from "./callTool.ts"
import { shellLine } from "./shellText.ts"
import { completed, filled, type Given, type Piece } from "./template.ts"
import { wordsOf } from "./words.ts"

/** The text after the command. */
export const rawOf = ({ arguments: given = "" }: CommandRequest): string =>
  typeof given === "string" ? given : given.join(" ")

/** The output of a line of shell text, or why there is none. */
const outputOf = Effect.fnUntraced(function*(live: Acting, text: string, { highest, words }: Given) {
  const { command, known, shown } = shellLine(text, words, highest)
  const call: UserCall = {
    tool: "bash",
    input: { command, [positional]: { words, shown, known } },
    hookInput: { command: shown, ...(known ? {} : { description: `with the arguments ${JSON.stringify(words)}` }) },
    changed: (by) =>
      known || !("command" in by) ? by : { ...by, [positional]: { words, shown: String(by.command), known } },
    consented: false
  }
  return yield* callTool(live, call).pipe(
    Effect.map(({ output }) => output.trimEnd()),
    Effect.catchTags({
      ToolError: ({ message }) => Effect.succeed(`[\`${text}\` failed: ${message}]`),
      PermissionDenied: (error) =>
        endsAll(error) ? Effect.fail(error) : Effect.succeed(`[\`${text}\` was not run: ${error.message}]`),
      HookRefused: ({ message }) => Effect.succeed(`[\`${text}\` was not run: ${message}]`)
    })
  )
})

const textOf = Effect.fnUntraced(function*(live: Acting, pieces: ReadonlyArray<Piece>, given: Given) {
  const texts: Array<string> = []
  for (const piece of pieces) {
    texts.push(piece.type === "shell" ? yield* outputOf(live, piece.text, given) : filled([piece], given))
  }
  return texts.join("").trim()
})

const namesIn = (pieces: ReadonlyArray<Piece>, given: Given): ReadonlyArray<string> =>
  [
    ...new Set(pieces.flatMap((piece) => piece.type === "mention" ? [filled(piece.path, given)] : []))
  ].filter((name) => name.trim() !== "")

/** The prompt of a subtask is text only. */
const inWords = (text: string, attached: ReadonlyArray<PartInput>): string =>
  [
    text,
    ...attached.flatMap((part) =>
      part.type === "text"
        ? [part.text]
        : part.type === "file"
        ? [`${part.filename ?? "An image"} could not be handed on here: read it.`]
        : []
    )
  ].join("\n\n")

/** What the prompt of an MCP server says. */
const promptOf = Effect.fnUntraced(function*(
  live: Acting,
  { name, origin, prompt }: CommandInfo,
  words: ReadonlyArray<string>
) {
  yield* Effect.flatMap(Tools, ({ ready }) => ready)
  const invalid = ({ message }: { readonly message: string }) =>
    new CommandInvalid({ name, message: `The command ${name} (${origin}) cannot be used: ${message}` })
  const { attachments = [], output } = yield* callTool(live, {
    tool: "mcp_prompt",
    input: { ...prompt, words },
    consented: true
  }).pipe(Effect.catchTags({ ToolError: invalid, HookRefused: invalid }))
  return { text: output, attached: attachments.map((each): PartInput => ({ type: "file", ...each })) }
})

/** What a template says. */
const templateOf = Effect.fnUntraced(function*(live: Acting, pieces: ReadonlyArray<Piece>, given: Given) {
  const text = yield* textOf(live, pieces, given)
  return { text, attached: yield* attach(live, namesIn(pieces, given), false) }
})

/** Expands a command for a session. */
export const expand = Effect.fnUntraced(function*(live: Live, command: CommandInfo, request: CommandRequest) {
  const agents = yield* Agent
  // An unknown agent is a failure of the subtask: its prompt continues, and the model reads what is wrong.
  const agent = yield* agents.get(command.agent ?? live.info.agent).pipe(
    Effect.catchTag(
      "AgentNotFound",
      (error) =>
        command.agent === undefined || command.subtask === false
          ? error
          : Effect.succeed({ name: command.agent, mode: "subagent", hidden: true } as const)
    )
  )
  const isSubtask = command.subtask ?? agent.mode === "subagent"
  if (agent.hidden && !isSubtask) {
    return yield* new CommandInvalid({
      name: command.name,
      message:
        `The command ${command.name} (${command.origin}) names the agent ${agent.name}, which works behind the scenes. Name another one: \`skein agents\` lists them.`
    })
  }
  // The calling agent gathers what the prompt of a subagent contains.
  yield* leaveAuto(live)
  const acting = isSubtask ? live : actingAs(live, agent.name)
  const raw = rawOf(request)
  const { highest, pieces } = completed(command.template, raw)
  const words = typeof request.arguments === "string" || request.arguments === undefined
    ? wordsOf(raw)
    : request.arguments
  const given: Given = { raw, words, highest }
  const { attached, text } = command.prompt === undefined
    ? yield* templateOf(acting, pieces, given)
    : yield* promptOf(acting, command, words)
  // If no model is available at all, the prompt will say so.
  const named = command.model === undefined ? undefined : yield* Effect.option(concrete(live, command.model))
  const model = named?._tag === "Some" ? { model: named.value } : {}
  if (!isSubtask) {
    return {
      command,
      parts: [{ type: "text", text }, ...attached],
      ...(command.agent === undefined ? {} : { agent: agent.name }),
      ...model
    } satisfies Expanded
  }
  return {
    command,
    parts: [{
      type: "subtask",
      prompt: inWords(text, attached),
      description: command.description ?? command.name,
      agent: agent.name,
      command: `/${command.name}`,
      ...model
    }]
  } satisfies Expanded
})

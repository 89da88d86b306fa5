/**
 * Makes the prompt of a command: fills in its template once, and adds what `@name` means. Calls for it are made outside
 * a turn: their hooks, permission and effect are those of any call.
 */
import { Ids } from "@skein/domain/Id"
import { resourceOf } from "@skein/domain/Mention"
import type { PartInput } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { Agent } from "../../Agent.ts"
import type { PermissionDenied } from "../../Answerer.ts"
import { type CommandInfo, CommandInvalid, type CommandRequest, type Expanded, positional } from "../../Commands.ts"
import { Hooks } from "../../Hooks.ts"
import { Permission } from "../../Permission.ts"
import { cut } from "../../Spill.ts"
import {
  type AnyTool,
  authorised,
  type PermissionAsk,
  resultOf,
  type ToolContext,
  ToolError,
  Tools
} from "../../Tool.ts"
import { callerOf, subjectOf } from "../calls/offer.ts"
import { type Acting, actingAs, type Live } from "../live/Live.ts"
import { leaveAuto } from "../live/mode.ts"
import { concrete } from "../model/candidates.ts"
import { deniesSome, editingOf, readingOf, readsOnly } from "../permission/verdict.ts"
import { afterCall, deniedFirst, insisting, placeOf, withContexts } from "../sessionHooks.ts"
import { completed, filled, type Given, type Piece, shellLine, wordsOf } from "./template.ts"

/** The call to make. */
interface UserCall {
  readonly tool: string
  readonly input: object
  /** The input that hooks see, if that is not all of it. */
  readonly hookInput?: object
  /** Applies a hook's change of that to the input. */
  readonly changed?: (by: object) => object
  /** Whether the person named exactly this: that lifts `ask`, never `deny`. */
  readonly consented: boolean
}

const unknownModel = { providerID: "", modelID: "" }

const whileAsking = <A, E, R>(live: Acting, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => live.clock.beginAsking()),
    () => effect,
    () => Effect.sync(() => live.clock.endAsking())
  )

/** The arguments of a hook that replace the original ones. */
const changedBy = (tool: AnyTool, given: unknown): Effect.Effect<object, ToolError> =>
  Schema.decodeUnknown(tool.parameters)(given, { onExcessProperty: "error" }).pipe(
    Effect.map((decoded) => decoded as object),
    Effect.mapError((error) =>
      new ToolError({
        kind: "invalid_arguments",
        message: `invalid arguments for ${tool.name}, which a hook has changed: ${
          ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message }) => message).join("; ")
        }`
      })
    )
  )

/** Makes the call as the agent of this session; the output is truncated like that of any call. */
const callTool = Effect.fnUntraced(function*(live: Acting, call: UserCall) {
  const tools = yield* Tools
  const permission = yield* Permission
  const hooks = yield* Hooks
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const tool = tools.get(call.tool)
  if (tool === undefined) {
    return yield* new ToolError({ kind: "unknown_tool", message: `This program has no tool "${call.tool}".` })
  }
  const subject = yield* subjectOf(live)
  const rules = permission.atHome(subject)
  const context: ToolContext = {
    ...callerOf(live, live.info.model ?? unknownModel, true),
    messageID: ids.unsafeMake("msg", now),
    partID: ids.unsafeMake("prt", now),
    callID: "",
    readsOnly: readsOnly(subject),
    mode: subject.mode,
    reading: readingOf(rules),
    editing: editingOf(rules),
    deniesSome: deniesSome(subject),
    readAction: permission.readAction(subject),
    // A call of the user is made at once, and recorded nowhere.
    confirm: Effect.succeed(Number.POSITIVE_INFINITY),
    report: () => Effect.void,
    ifCutOff: () => Effect.void,
    tells: () => Effect.void
  }
  const before = hooks.isRegistered("PreToolUse", tool)
    ? yield* hooks.preToolUse(placeOf(live), tool, call.hookInput ?? call.input)
    : undefined
  const by = before?.changed === undefined ? undefined : yield* changedBy(tool, before.changed.input)
  const input = by === undefined ? call.input : call.changed?.(by) ?? by
  const ask = (requested: PermissionAsk) => {
    const each = call.consented ? { ...requested, consented: true } : requested
    return Effect.flatMap(
      permission.decide(subject, tool, each),
      (action) => action === "allow" ? Effect.void : whileAsking(live, permission.authorise(subject, tool, each))
    )
  }
  const { asks: needed, plan } = authorised(yield* tool.authorise(input, context))
  const asks = insisting(needed, tool, input, before)
  for (const each of yield* deniedFirst(asks, (one) => permission.decide(subject, tool, one))) yield* ask(each)
  const result = yield* resultOf(yield* tool.execute(input, context, plan))
  const read = yield* afterCall(hooks, live, tool, by ?? call.hookInput ?? input, result.output)
  const output = withContexts(read.output, before?.contexts)
  return { ...result, output: yield* cut(live.info.id, `${context.partID}.txt`, output) }
})

/** The maximum number of names to look up: a pasted text may be full of them. */
const most = 50

/** The maximum size of the files attached to one prompt, in characters. */
const room = 400_000

const note = (text: string): PartInput => ({ type: "text", text, synthetic: true })

/** A name that is no readable file here is an ordinary word: an @ has many meanings. */
const isWord = new Set(["not_found", "bad_path", "unknown_tool"])

/** A name that can only be a file: with an extension, or a path that begins at a known place. */
const isPath = /\.[A-Za-z][A-Za-z0-9]{0,7}$|^(?:\.{1,2}|~)?\//

/** Whether a person rejected it without a reason: then the whole prompt ends. */
const endsAll = ({ endsTurn }: PermissionDenied): boolean => endsTurn

/** What reads a name: a file, or a resource of an MCP server. */
const readerOf = Effect.fnUntraced(function*(name: string) {
  const resource = resourceOf(name)
  if (resource === undefined) return { tool: "read", input: { filePath: name } }
  // Servers start with the first turn, which this comes before.
  yield* Effect.flatMap(Tools, ({ ready }) => ready)
  return { tool: "mcp_resource", input: resource }
})

const fileOf = Effect.fnUntraced(function*(live: Acting, path: string, consented: boolean) {
  const reader = yield* readerOf(path)
  return yield* callTool(live, { ...reader, consented }).pipe(
    Effect.map(({ attachments = [], output }): ReadonlyArray<PartInput> => [
      note(`@${path}, as the tool ${reader.tool} shows it:\n\n${output}`),
      ...attachments.map((each) => ({ type: "file" as const, ...each }))
    ]),
    Effect.catchTags({
      ToolError: ({ kind, message }) =>
        Effect.succeed(
          isWord.has(kind) && !isPath.test(path) ? [] : [note(`@${path} is not attached: ${message}`)]
        ),
      PermissionDenied: (error) =>
        endsAll(error) ? Effect.fail(error) : Effect.succeed([note(`@${path} is not attached: ${error.message}`)]),
      HookRefused: ({ message }) => Effect.succeed([note(`@${path} is not attached: ${message}`)])
    })
  )
})

/** What these names add, in order; `consented` if a person wrote them. */
export const attach = Effect.fnUntraced(function*(live: Acting, names: ReadonlyArray<string>, consented: boolean) {
  const agents = yield* Agent
  const parts: Array<PartInput> = []
  let left = room
  for (const name of names.slice(0, most)) {
    const agent = agents.all.find((each) => each.name === name && !each.hidden && each.mode !== "primary")
    if (agent !== undefined) {
      parts.push(
        { type: "agent", name },
        note(`The user asks for the subagent ${name}: call task with subagent_type "${name}".`)
      )
      continue
    }
    if (left <= 0) {
      parts.push(note(`@${name} is not attached: the other files are long already. Read it where it is needed.`))
      continue
    }
    const found = yield* fileOf(live, name, consented)
    for (const part of found) {
      left -= part.type === "text" ? part.text.length : 0
      parts.push(part)
    }
  }
  return names.length <= most
    ? parts
    : [...parts, note(`Only the first ${most} names with @ were looked for: read other files where they are needed.`)]
})

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

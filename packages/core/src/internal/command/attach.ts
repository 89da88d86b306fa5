/** Decides what `@name` in a prompt adds to it: a subagent to ask, or the content of a file. */
import { resourceOf } from "@skein/domain/Mention"
import type { PartInput } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import type { PermissionDenied } from "../../PermissionError.ts"
import { Tools } from "../../Tool.ts"
import type { Acting } from "../live/Live.ts"
import { callTool } from "./callTool.ts"

/** The maximum number of names to look up: a pasted text may be full of them. */
const most = 50

/** The maximum size of the files attached to one prompt, in characters. */
const room = 400_000

const note = (text: string): PartInput => ({ type: "text", text, synthetic: true })

/** A name that is no readable file here is an ordinary word: an @ has many meanings. */
const isWord = new Set(["not_found", "bad_path", "unknown_tool"])

/** Whether a person rejected it without a reason: then the whole prompt ends. */
export const endsAll = ({ endsTurn }: PermissionDenied): boolean => endsTurn

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
          isWord.has(kind) ? [] : [note(`@${path} is not attached: ${message}`)]
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

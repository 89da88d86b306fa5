/** Turns what a person typed into a prompt: words with names in them, a command, and what comes with either. */
import type { SessionID } from "@skein/domain/Id"
import type { PartInput } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { Command, type CommandRequest, type ExpandError } from "./Command.ts"
import { Session } from "./Session.ts"
import type { PromptError, PromptOptions } from "./Turn.ts"

/** Why what a person typed has no answer. */
export type PromptFailure = ExpandError | PromptError

/** What a person typed, and what comes with it. */
export interface PersonPrompt {
  /** `@agent` in it asks for that subagent, and `@path` attaches a file. */
  readonly words?: string | undefined
  /** A command instead of words. */
  readonly command?: CommandRequest | undefined
  /** Text that no person wrote, such as what was piped in: names in it are only text. */
  readonly text?: string | undefined
  /** Further parts, such as files. */
  readonly parts?: ReadonlyArray<PartInput> | undefined
}

const isBlank = (text: string): boolean => text.trim() === ""

/** The names in the words that led to nothing, as `Command.mentioned` tells them. */
const notesOf = (parts: ReadonlyArray<PartInput>): ReadonlyArray<string> =>
  parts.flatMap((part) =>
    part.type === "text" && /^@.+ is not attached: /.test(part.text) ? [part.text.split("\n", 1).join("")] : []
  )

/** Prompts a session with it. `onNotes` receives unknown names, before the prompt is stored. */
export const promptWith = Effect.fnUntraced(function*(
  id: SessionID,
  { command, parts = [], text = "", words = "" }: PersonPrompt,
  options: PromptOptions,
  onNotes: (notes: ReadonlyArray<string>) => void
) {
  const commands = yield* Command
  const session = yield* Session
  const isAlone = command === undefined && isBlank(words)
  // Beside words it is marked, so that the words remain what the person typed.
  const texts: ReadonlyArray<PartInput> = isBlank(text)
    ? []
    : [{ type: "text", text: text.toWellFormed(), ...(isAlone ? {} : { synthetic: true }) }]
  if (command !== undefined) return yield* commands.run(id, command, options, [...texts, ...parts])
  if (isAlone) return yield* session.prompt(id, [...texts, ...parts], options)
  const [, ...named] = yield* commands.mentioned(id, words)
  onNotes(notesOf(named))
  const said: PartInput = { type: "text", text: words.toWellFormed() }
  return yield* session.prompt(id, [said, ...texts, ...named, ...parts], options)
})

/** Decides the prompt of a run: words, standard input and attachments, or a command. */
import { Backend } from "@skein/backend/Backend"
import type { NewPrompt } from "@skein/backend/Sessions"
import { Command, type CommandRequest } from "@skein/core/Command"
import type { Budget } from "@skein/domain/Budget"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { isUtf8 } from "node:buffer"
import { fstatSync } from "node:fs"
import type { Input } from "../../CommandSpec.ts"
import { UsageError } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import type { runFlags } from "../flags.ts"
import { currentDirectory } from "../place.ts"
import type { Naming } from "./mistyped.ts"
import { continueText } from "./turn.ts"

/** The maximum size of a prompt, in bytes: far more than any model reads. */
const longest = 32 * 1024 * 1024

/**
 * How long to wait for the first byte of a socket if there is already a prompt, in milliseconds. A parent process may
 * pass a socket that it never writes to or closes, while a shell always closes its pipes.
 */
const grace = 250

const tooLong = new UsageError({
  message: "Standard input is longer than 32 MB. Put it into a file, and name the file in the prompt."
})

const notText = new UsageError({
  message:
    "Standard input is not text in UTF-8. Convert it first, for example with iconv -t utf-8, or attach an image with --file."
})

/** The input as text. Like an attached file, it must not be binary. */
const asText = (bytes: Buffer): Effect.Effect<string, UsageError> =>
  isUtf8(bytes) && !bytes.includes(0) ? Effect.succeed(bytes.toString("utf8")) : notText

/** Reads to the end. `began` completes with the first byte, or at the end. */
const readAll = (stdio: Streams, began: Deferred.Deferred<void>) =>
  Effect.async<string, UsageError>((resume) => {
    const input = stdio.input()
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      Deferred.unsafeDone(began, Effect.void)
      chunks.push(chunk)
      size += chunk.length
      if (size > longest) resume(tooLong)
    }
    const onEnd = () => {
      Deferred.unsafeDone(began, Effect.void)
      resume(Effect.suspend(() => asText(Buffer.concat(chunks))))
    }
    input.on("data", onData)
    // A closed descriptor has no input either.
    input.once("end", onEnd).once("error", onEnd)
    return Effect.sync(() => {
      input.off("data", onData).off("end", onEnd).off("error", onEnd)
      input.pause()
    })
  })

/** The text on standard input; empty if it is a terminal. */
const readStdin = (stdio: Streams, hasPrompt: boolean): Effect.Effect<string, UsageError> =>
  Effect.gen(function*() {
    // An input that is neither a terminal nor readable is /dev/null or similar.
    const kind = stdio.isTerminal.input ? undefined : fstatSync(0)
    if (kind === undefined || kind.isCharacterDevice()) return ""
    const began = yield* Deferred.make<void>()
    const all = readAll(stdio, began)
    if (!hasPrompt || !kind.isSocket()) return yield* all
    const silence = Deferred.await(began).pipe(
      Effect.timeoutTo({ duration: grace, onTimeout: () => true, onSuccess: () => false }),
      Effect.flatMap((isSilent) => isSilent ? Effect.succeed("") : Effect.never)
    )
    return yield* Effect.raceFirst(all, silence)
  })

/** What was typed after `skein run`. */
export type RunInput = Input<typeof runFlags>

/** Whether a prompt is required. */
export type Silence = "may be silent" | "needs a prompt"

/** The sources of a prompt. */
export interface Asked {
  /** The words on the command line, as the shell split them. */
  readonly typed: ReadonlyArray<string>
  readonly piped: string
  readonly files: ReadonlyArray<PartInput>
  /** The command that its flag names. */
  readonly command: string | undefined
}

/** Whether flags say how to answer the prompt. Then there is a prompt, though it has no words. */
const isSaid = ({ agent, model, "budget-tokens": tokens, "budget-usd": usd, "no-wait": noWait }: RunInput["flags"]) =>
  noWait || [agent, model, tokens, usd].some((flag) => flag !== undefined)

const isBlank = (text: string): boolean => text.trim() === ""

/** Reads it; undefined if a session continues without a prompt. */
export const readPrompt = Effect.fnUntraced(function*({ flags, operands }: RunInput, silence: Silence) {
  const stdio = yield* Stdio
  const { command } = flags
  const mayBeSilent = silence === "may be silent"
  const piped = yield* readStdin(stdio, operands.length > 0 || mayBeSilent || command !== undefined)
  const files = flags.file.length === 0
    ? []
    : yield* Effect.flatMap(
      Effect.promise(() => import("./attachments.ts")),
      ({ attachments }) => Effect.flatMap(currentDirectory, (directory) => attachments(directory, flags.file))
    )
  const asked: Asked = { typed: operands, piped, files, command }
  if (command !== undefined || files.length > 0 || !isBlank(piped) || !isBlank(operands.join(""))) return asked
  if (mayBeSilent) return isSaid(flags) ? { ...asked, typed: [continueText] } : undefined
  return yield* new UsageError({
    message: "There is no prompt. Write it after `skein run`, or pipe it in: skein run \"What does this project do?\""
  })
})

/** The command that a prompt asks for: the one in the flag, or an existing one after a slash. */
export const commandOf = Effect.fnUntraced(
  function*({ command, typed }: Asked, place: Naming, note: (line: string) => void) {
    const [first = "", ...rest] = typed
    const { directory, projects } = place
    if (command !== undefined) {
      const { name } = yield* projects.command(directory, command)
      const words = [first, ...rest]
      return { name, arguments: words.length === 1 && first === "" ? [] : words } satisfies CommandRequest
    }
    const [, written, behind = ""] = /^\/(\S+)(?:\s+([^]*))?$/.exec(first) ?? []
    if (written === undefined || !(yield* isCommand(written, place))) {
      const { checkNames, checkSlash } = yield* Effect.promise(() => import("./mistyped.ts"))
      if (written !== undefined) yield* checkSlash(written, place)
      yield* checkNames(typed.join(" "), place, note)
      return undefined
    }
    const { name } = yield* projects.command(directory, written)
    const words = rest.length === 0 ? behind : behind === "" ? rest : [behind, ...rest]
    return { name, arguments: words } satisfies CommandRequest
  }
)

const isCommand = Effect.fnUntraced(function*(written: string, { directory, projects }: Naming) {
  const { broken, items } = yield* projects.commands(directory)
  return Command.matching(written, { commands: items, broken }).length > 0
})

/** The budget that flags set; undefined if none does. */
export const budgetOf = (
  { "budget-tokens": tokens, "budget-usd": usd }: Pick<RunInput["flags"], "budget-tokens" | "budget-usd">,
  time?: number
): Budget | undefined =>
  tokens === undefined && usd === undefined && time === undefined ? undefined : {
    ...(tokens === undefined ? {} : { tokens }),
    ...(usd === undefined ? {} : { usd }),
    ...(time === undefined ? {} : { time })
  }

/** How a prompt is answered. */
export type Answering = Pick<NewPrompt, "agent" | "budget" | "model" | "unattended">

/** Prompts a session with it. */
export const prompt = Effect.fnUntraced(function*(
  { id }: SessionInfo,
  { files, piped, typed }: Asked,
  command: CommandRequest | undefined,
  answering: Answering,
  note: (line: string) => void
) {
  const { sessions } = yield* Backend
  const { notes, turn } = yield* sessions.prompt(id, {
    ...answering,
    ...(command === undefined ? { words: typed.join(" ") } : { command }),
    text: piped,
    parts: files
  })
  for (const line of notes) note(line)
  return yield* turn
})

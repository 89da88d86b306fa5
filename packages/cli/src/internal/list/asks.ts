/** What `skein asks` does, and how the questions look in lists. */
import { Backend } from "@skein/backend/Backend"
import { allPages } from "@skein/backend/Sessions"
import { PermissionReply } from "@skein/domain/Event"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { askText, visible } from "@skein/tui/AskText"
import { dialogOf } from "@skein/tui/Dialog"
import { escapeLine } from "@skein/tui/Escape"
import { colourless } from "@skein/tui/Style"
import { subjectOf } from "@skein/view/AskFacts"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import type { AttachFlags } from "../attach/attach.ts"
import { withBackend } from "../attach/database.ts"
import { among, sessionOn } from "../ids.ts"
import { formatTime } from "./print.ts"
import { holderText, howToResume } from "./where.ts"

/** How many lines of a question are shown on a terminal without `--full`. */
const mostLines = 40

const wide = 1_000

/** How it is answered, and what an answer would store. */
const answers = (ask: PendingAsk): ReadonlyArray<string> => {
  const how = `skein asks answer ${ask.id}`
  if (ask.type === "question") {
    const options = ask.options.map(({ description, label }) =>
      `  - ${visible(label)}${description === undefined ? "" : `: ${visible(description)}`}`
    )
    return [...options, `  Answer with: ${how} ${ask.options.length === 0 ? "WORDS" : "OPTION, or other words"}`]
  }
  const rules = ask.always.map((pattern) => `${visible(ask.permission)} ${visible(pattern)}`).join(", ")
  return [
    `  Answer with: ${how} once${ask.always.length === 0 ? "" : "|always"}|reject`,
    ...(rules === "" ? [] : [`  \`always\` allows in this session tree, or with --project in the project: ${rules}`])
  ]
}

/** A question as the terminal asks it, with who holds it and how it is answered. */
export const askLines = (ask: PendingAsk, full: boolean, { isTerminal, size }: Streams): ReadonlyArray<string> => {
  const { abandoned, holder } = ask
  const { body, header } = askText(dialogOf(ask), {
    columns: isTerminal.output ? size().columns : wide,
    count: 1,
    style: colourless,
    task: ask.description
  })
  const more = body.length - mostLines
  const isCut = isTerminal.output && !full && more > 0
  return [
    ...header,
    ...(isCut
      ? [...body.slice(0, mostLines), `  … ${more} more lines: see them with --full before you answer.`]
      : body),
    `  ${ask.since === undefined ? "" : `since ${formatTime(ask.since)}, `}in ${ask.rootID}${
      abandoned === true
        ? `. No process asks it now: resume it with \`${howToResume(ask.rootID)}\``
        : holder === undefined
        ? ""
        : `, held by ${holderText(holder)}`
    }`,
    ...answers(ask)
  ]
}

/** Lists them. */
export const listAsks = ({ flags, operands: [given] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json"; readonly full: boolean }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withBackend(
    flags,
    Effect.gen(function*() {
      const backend = yield* Backend
      const stdio = yield* Stdio
      const session = given === undefined ? undefined : yield* sessionOn(backend, given)
      const asks = yield* allPages((page) => backend.asks.pending(session?.id, page))
      if (flags.format === "json") stdio.out(`${JSON.stringify(asks, undefined, 2)}\n`)
      else if (asks.length === 0) stdio.err("No question waits for you.")
      else stdio.out(`${asks.map((ask) => askLines(ask, flags.full, stdio).join("\n")).join("\n\n")}\n`)
      return ExitCode.done
    })
  )

/** Answers one. */
export const answerAsk = ({ flags, operands: [given = "", ...words] }: {
  readonly flags: AttachFlags & {
    readonly message: string | undefined
    readonly project: boolean
    readonly dismiss: boolean
  }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withBackend(
    flags,
    Effect.gen(function*() {
      const { asks } = yield* Backend
      const pending = yield* allPages((page) => asks.pending(undefined, page))
      const id = (yield* among(given, pending.map((each) => each.id))) ?? given
      const ask = pending.find((each) => each.id === id)
      if (ask === undefined) {
        return yield* new UsageError({ message: `No question ${escapeLine(given)} waits. See \`skein asks\`.` })
      }
      if (ask.type === "question") {
        if (flags.dismiss) yield* asks.dismiss(ask.id)
        else if (Arr.isNonEmptyReadonlyArray(words)) yield* asks.answer(ask.id, [words.join(" ")])
        else return yield* new UsageError({ message: "Write your answer behind the id, or --dismiss." })
      } else {
        const [reply, ...more] = words
        if (!Schema.is(PermissionReply)(reply) || more.length > 0) {
          return yield* new UsageError({ message: "Write once, always or reject behind the id: permission is asked." })
        }
        yield* asks.reply(ask.id, reply, {
          ...(flags.message === undefined ? {} : { message: flags.message }),
          ...(flags.project ? { scope: "project" } : {})
        })
      }
      const stdio = yield* Stdio
      const what = ask.type === "question" ? ask.question : `${ask.permission} ${subjectOf(ask)}`
      stdio.err(`Answered: ${ask.id}  ${escapeLine(what)}`)
      return ExitCode.done
    })
  )

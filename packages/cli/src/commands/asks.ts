/** `skein asks`: lists and answers the questions of agents. */
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
import { command, group } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { withBackend } from "../internal/attach/database.ts"
import { listingFlags, placeFlags } from "../internal/flags.ts"
import { among, sessionOn } from "../internal/ids.ts"
import { formatTime, printJson, tell } from "../internal/print.ts"
import { holderText, howToResume } from "../internal/where.ts"
import { Stdio, type Streams } from "../Stdio.ts"

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

const list = command({
  name: "list",
  summary: "Lists the questions of agents that wait for you, of all processes that share the database",
  operands: "[SESSION]",
  flags: { ...listingFlags, ...placeFlags },
  run: ({ flags, operands: [given] }) =>
    withBackend(
      flags,
      Effect.gen(function*() {
        const backend = yield* Backend
        const session = given === undefined ? undefined : yield* sessionOn(backend, given)
        const stdio = yield* Stdio
        const pending = yield* allPages((page) => backend.asks.pending(session?.id, page))
        if (flags.format === "json") yield* printJson(pending)
        else if (pending.length === 0) stdio.err("No question waits for you.")
        else stdio.out(`${pending.map((ask) => askLines(ask, flags.full, stdio).join("\n")).join("\n\n")}\n`)
      })
    )
})

const answer = command({
  name: "answer",
  summary: "Answers one: once, always or reject where permission is asked, else in your words",
  operands: "ID [ANSWER…]",
  flags: {
    message: { type: "text", value: "TEXT", description: "Why you reject it; the agent reads that and continues" },
    project: { type: "switch", description: "Makes `always` hold for the project; by default, for the session's tree" },
    dismiss: { type: "switch", description: "Gives no answer to a question of an agent" },
    ...placeFlags
  },
  run: ({ flags, operands: [given = "", ...words] }) =>
    withBackend(
      flags,
      Effect.gen(function*() {
        const { asks: all } = yield* Backend
        const pending = yield* allPages((page) => all.pending(undefined, page))
        const id = (yield* among(given, pending.map((each) => each.id))) ?? given
        const ask = pending.find((each) => each.id === id)
        if (ask === undefined) {
          return yield* new UsageError({ message: `No question ${escapeLine(given)} waits. See \`skein asks\`.` })
        }
        if (ask.type === "question") {
          if (flags.dismiss) yield* all.dismiss(ask.id)
          else if (Arr.isNonEmptyReadonlyArray(words)) yield* all.answer(ask.id, [words.join(" ")])
          else return yield* new UsageError({ message: "Write your answer behind the id, or --dismiss." })
        } else {
          const [reply, ...more] = words
          if (!Schema.is(PermissionReply)(reply) || more.length > 0) {
            return yield* new UsageError({
              message: "Write once, always or reject behind the id: permission is asked."
            })
          }
          yield* all.reply(ask.id, reply, {
            ...(flags.message === undefined ? {} : { message: flags.message }),
            ...(flags.project ? { scope: "project" } : {})
          })
        }
        const what = ask.type === "question" ? ask.question : `${ask.permission} ${subjectOf(ask)}`
        yield* tell(`Answered: ${ask.id}  ${what}`)
      })
    )
})

/** Lists and answers questions. */
export const asks = group([list, answer], { operands: "[SESSION]" })

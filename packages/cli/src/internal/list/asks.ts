/** What `skein asks` does, and how the questions look in lists. */
import { Backend } from "@skein/backend/Backend"
import { allPages } from "@skein/backend/Sessions"
import { PermissionReply } from "@skein/domain/Event"
import type { PendingAsk } from "@skein/domain/TreeSnapshot"
import { escapeLine } from "@skein/tui/Escape"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import type { AttachFlags } from "../attach/attach.ts"
import { withBackend } from "../attach/database.ts"
import { among, sessionOn } from "../ids.ts"
import { formatTime, printList } from "./print.ts"
import { holderText } from "./where.ts"

/** What is asked, in a line. */
export const askText = (ask: PendingAsk): string =>
  ask.type === "question" ? ask.question : `${ask.permission} (${ask.patterns.join(", ")})`

const heldBy = ({ abandoned, holder }: PendingAsk): string =>
  abandoned === true ? "no process: resume the session" : holder === undefined ? "" : holderText(holder)

/** Lists them. */
export const listAsks = ({ flags, operands: [given] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json"; readonly full: boolean }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withBackend(
    flags,
    Effect.gen(function*() {
      const backend = yield* Backend
      const session = given === undefined ? undefined : yield* sessionOn(backend, given)
      const asks = yield* allPages((page) => backend.asks.pending(session?.id, page))
      return yield* printList({
        format: flags.format,
        full: flags.full,
        json: asks,
        head: ["ID", "SINCE", "SESSION", "AGENT", "ASKS", "HELD BY"],
        rows: asks.map((ask) => [
          ask.id,
          ask.since === undefined ? "" : formatTime(ask.since),
          ask.rootID,
          ask.path.join(" > "),
          askText(ask),
          heldBy(ask)
        ]),
        empty: "No question waits for you."
      })
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
      stdio.err(`Answered: ${ask.id}  ${escapeLine(askText(ask))}`)
      return ExitCode.done
    })
  )

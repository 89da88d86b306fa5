/**
 * Prompts as front ends send them: turns what a person typed into a prompt, begins it so that it continues whether or not its
 * sender waits, and finds the turn that answers it, whichever process began it.
 */
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { Part, PartInput } from "@skein/domain/Part"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import { add, none } from "@skein/domain/Usage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Answerer } from "./Answerer.ts"
import { Bus } from "./Bus.ts"
import { Command, type CommandRequest, type ExpandError } from "./Command.ts"
import { deadly, diedTooOften } from "./internal/conversation/closeTurn.ts"
import { answerOf, Session } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { StorageError } from "./StorageError.ts"
import { type PromptError, type PromptOptions, stoppedBefore, type Turn } from "./Turn.ts"

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

/** The names that led to nothing, as `Command.mentioned` and the expansion of a command tell them. */
const notesOf = (parts: ReadonlyArray<PartInput>): ReadonlyArray<string> =>
  parts.flatMap((part) => {
    const text = part.type === "text" ? part.text : part.type === "subtask" ? part.prompt : ""
    return text.match(/^@.+ is not attached: .*$/gm) ?? []
  })

/** Prompts a session with it. `onNotes` receives unknown names, before the prompt is stored. */
const promptWith = Effect.fnUntraced(function*(
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
  if (command !== undefined) {
    return yield* commands.run(id, command, options, [...texts, ...parts], (made) => onNotes(notesOf(made)))
  }
  if (isAlone) return yield* session.prompt(id, [...texts, ...parts], options)
  const [, ...named] = yield* commands.mentioned(id, words)
  onNotes(notesOf(named))
  const said: PartInput = { type: "text", text: words.toWellFormed() }
  return yield* session.prompt(id, [said, ...texts, ...named, ...parts], options)
})

/** A prompt that is stored. */
export interface BegunPrompt {
  /** The message that it becomes. */
  readonly messageID: MessageID
  /** The names in its words that led to nothing, each as a sentence. */
  readonly notes: ReadonlyArray<string>
  /** Waits for the turn that answers it. To stop waiting stops nothing. */
  readonly turn: Effect.Effect<Turn, PromptFailure>
}

/** What to begin. */
export interface Beginning {
  readonly id: SessionID
  readonly rootID: SessionID
  readonly prompt: PersonPrompt
  readonly options: Omit<PromptOptions, "onStored" | "onStoring">
  /** Denies questions until the turn has ended, or until nothing of the session runs. */
  readonly unattended: "turn" | "tree" | undefined
  /** The turn runs in it. */
  readonly scope: Scope.Scope
  /** Called in one step with the storing, and as soon as the turn has ended. */
  readonly onStored?: (messageID: MessageID, turn: BegunPrompt["turn"]) => void
  readonly onEnd?: (messageID: MessageID) => void
}

/** Denies what would be asked in a tree during an effect, if nobody attends. */
export const attended = <A, E, R>(rootID: SessionID, isAttended: boolean, effect: Effect.Effect<A, E, R>) =>
  isAttended ? effect : Effect.scoped(Effect.zipRight(Answerer.set(rootID, "nobody"), effect))

/**
 * Begins it; ends once it is stored. Until storing it begins, the prompt goes away with its sender. After that, nobody
 * can tell whether it will have been stored: it is answered, as its sender finds when it repeats it.
 */
export const beginPrompt = Effect.fnUntraced(function*(beginning: Beginning) {
  const { id, options, prompt, rootID, scope, unattended } = beginning
  const session = yield* Session
  const stored = yield* Deferred.make<MessageID, PromptFailure>()
  const turn = yield* Deferred.make<Turn, PromptFailure>()
  let notes: ReadonlyArray<string> = []
  let messageID: MessageID | undefined
  let isStoring = false
  const onStoring = () => {
    isStoring = true
  }
  const onStored = (message: MessageID) => {
    messageID = message
    beginning.onStored?.(message, Deferred.await(turn))
    Deferred.unsafeDone(stored, Exit.succeed(message))
  }
  const prompting = promptWith(id, prompt, { ...options, onStored, onStoring }, (found) => notes = found).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        if (messageID !== undefined) beginning.onEnd?.(messageID)
        Deferred.unsafeDone(turn, exit)
        if (Exit.isFailure(exit)) Deferred.unsafeDone(stored, Exit.failCause(exit.cause))
      })
    ),
    Effect.exit
  )
  const rested = unattended === "tree" ? Effect.exit(session.untilIdle(id)) : Effect.void
  const fiber = yield* Effect.forkIn(
    attended(rootID, unattended === undefined, Effect.zipRight(prompting, rested)),
    scope
  )
  const begun = yield* Effect.onInterrupt(
    Deferred.await(stored),
    () => Effect.asVoid<unknown, never, never>(isStoring ? Effect.exit(Deferred.await(stored)) : Fiber.interrupt(fiber))
  )
  return { messageID: begun, notes, turn: Deferred.await(turn) } satisfies BegunPrompt
})

/** The turn ended without an answer; this is what is stored of the reason. */
export class TurnFailed extends Schema.TaggedError<TurnFailed>()("TurnFailed", {
  /** The tag of the error that ended it. */
  tag: Schema.String,
  message: Schema.String,
  /** The exhausted budget. */
  which: Schema.optional(Schema.Literal("steps", "tokens", "usd", "time", "tasks"))
}) {}

/** Whether a message is the prompt of this id: it may have got another one when it was read. */
export const isPrompt = (info: Message, id: MessageID): boolean =>
  info.id === id || (info.role === "user" && info.promptID === id)

/** Whether the answer to a message is still to come. */
const isOpen = Effect.fnUntraced(function*({ id, turn }: SessionInfo, messageID: MessageID) {
  const session = yield* Session
  const storage = yield* SessionStorage
  const { rows } = yield* storage.inbox(id)
  if (rows.some((each) => each.id === messageID)) return true
  if (turn === undefined || turn.ended !== undefined) return false
  // A turn that nobody works on waits to be resumed.
  return !isAtRest(yield* session.status(id))
})

/** Whether the turn that answers a message has begun and not ended. */
const isUnended = ({ turn }: SessionInfo, messageID: MessageID): boolean =>
  turn !== undefined && turn.ended === undefined && (turn.first === undefined || messageID >= turn.first)

/** How long to wait for a turn that nobody works on: it may be about to continue, here or in another process. */
const patience = "10 seconds"

const leftUnended = (id: SessionID): StorageError =>
  new StorageError({
    operation: "wait",
    reason: "held",
    message:
      `The turn of the session ${id} has not ended, and this process does not work on it. It may continue in another one: ask again in a moment. If it does not, continue it with \`skein sessions resume ${id}\`.`
  })

/** Waits for the end of the turn that answers a message; background tasks may continue. Fails if nobody works on it. */
const ended = (id: SessionID, messageID: MessageID) =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const session = yield* Session
    const changed = yield* Effect.makeLatch()
    yield* bus.listen({ sessionID: id, deltas: false }, (event) => {
      if (event.type !== "message.part.updated") changed.unsafeOpen()
    })
    for (;;) {
      const info = yield* session.get(id)
      const isAwaited = yield* isOpen(info, messageID)
      if (!isAwaited) {
        if (!isUnended(info, messageID)) return info
        if (diedTooOften({ info, messages: yield* session.messages(id) })) {
          return yield* new TurnFailed({ tag: "died", message: deadly })
        }
      }
      const change = Effect.as(changed.await, true)
      const hasChanged = yield* isAwaited ? change : Effect.timeoutTo(change, {
        duration: patience,
        onSuccess: () => true,
        onTimeout: () => false
      })
      if (!hasChanged) return yield* leftUnended(id)
      changed.unsafeClose()
    }
  }))

const unanswered = ({ id, turn }: SessionInfo) => {
  const { error, how = "stopped", which } = turn?.ended ?? {}
  return error === undefined || how === "stopped"
    ? stoppedBefore(id, "it answered")
    : new TurnFailed({ ...error, ...(which === undefined ? {} : { which }) })
}

/** Whether a stop ended a call. */
const isCutOff = (part: Part): boolean =>
  part.type === "tool" && part.state.status === "error" && part.state.error.tag === "interrupted"

/** Waits for the turn that answers a message, and gives it. */
export const turnAnswering = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const session = yield* Session
  const info = yield* ended(id, messageID)
  const { turn } = info
  const messages = yield* session.messages(id)
  const at = messages.findIndex((each) => isPrompt(each.info, messageID))
  // Only of the last turn is it stored where it began: it answers all messages from there on.
  const isLast = turn?.first !== undefined && (messages[at]?.info.id ?? messageID) >= turn.first
  const next = isLast ? -1 : messages.findIndex((each, index) => index > at && each.info.role === "user")
  const answers = at < 0 ? [] : messages.slice(at + 1, next < 0 ? undefined : next)
  const last = answers.findLast((each) => each.info.role === "assistant")
  if (last?.info.role !== "assistant" || last.info.error !== undefined) return yield* unanswered(info)
  const how = isLast ? turn?.ended?.how : undefined
  // The calls of its last answer were cut off: that answer is none.
  if (how === "stopped" || how === "failed") return yield* unanswered(info)
  if (!isLast && last.parts.some(isCutOff)) return yield* stoppedBefore(id, "it answered")
  return {
    sessionID: id,
    info: last.info,
    parts: last.parts,
    text: answerOf(last.parts),
    end: how === "denied" || how === "steps" ? how : "completed",
    usage: answers.reduce((sum, each) => each.info.role === "assistant" ? add(sum, each.info.usage) : sum, none)
  } satisfies Turn
})

/** Waits until nothing of a session runs, and gives its last turn, whichever process ran it; undefined if none has ended. */
export const restedTurn = Effect.fnUntraced(function*(id: SessionID) {
  const session = yield* Session
  const here = yield* session.untilIdle(id)
  if (here !== undefined) return here
  const { turn } = yield* session.get(id)
  return turn?.ended === undefined || turn.first === undefined ? undefined : yield* turnAnswering(id, turn.first)
})

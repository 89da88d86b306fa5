/** The session service: each operation with the services that it needs. */

import { type MessageID, type SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { Answerer } from "../../Answerer.ts"
import { byHolder } from "../../Control.ts"
import type { Leases } from "../../Leases.ts"
import type { Permission } from "../../Permission.ts"
import { Projects } from "../../Projects.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Following, Newest } from "../../StorageFilter.ts"
import type { ChildOptions, ForkOptions, PromptError, PromptOptions, SessionOptions, Turn } from "../../Turn.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import type { Keyed } from "../../Write.ts"
import { compactNow } from "../compact/compactNow.ts"
import type { Live } from "../live/Live.ts"
import { removeSession } from "../live/removeSession.ts"
import { SessionTable } from "../live/SessionTable.ts"
import type { LoopServices } from "../runner/runner.ts"
import { SessionRunner } from "../runner/SessionRunner.ts"
import { withdrawPrompt } from "../runner/withdrawPrompt.ts"
import { promptHooks } from "../sessionHooks/turnHooks.ts"
import { summarize, summarized } from "../summary/makeSummary.ts"
import { Recovery } from "../tasks/Recovery.ts"
import { servicesForLater } from "../traced.ts"
import { changeMode } from "./changeMode.ts"
import { createChild, createSession } from "./createSession.ts"
import { handOver, isMovable } from "./handOver.ts"
import { leaveTree } from "./leaveTree.ts"
import {
  appendTo,
  forkFrom,
  messagePageOf,
  messagesOf,
  promptSession,
  renameSession,
  resumeSession
} from "./sessionOperations.ts"

type Services =
  | Answerer
  | LoopServices
  | Leases
  | Permission
  | Projects
  | Recovery
  | SessionRunner
  | SessionStorage
  | SessionTable
  | Whereabouts

/** Makes the service. */
export const makeSession = Effect.gen(function*() {
  const table = yield* SessionTable
  const storage = yield* SessionStorage
  const runner = yield* SessionRunner
  const recovery = yield* Recovery
  const whereabouts = yield* Whereabouts
  const { ended, submitted } = promptHooks()
  const context = yield* servicesForLater<Services>()
  const given = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.provide(effect, context)
  const opened = <A, E, R>(id: SessionID, use: (live: Live) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(table.open(id), use)

  yield* Effect.addFinalizer(() => given(ended))

  return {
    create: (options: SessionOptions) => given(createSession(options)),
    createChild: (parentID: SessionID, options: ChildOptions) => given(createChild(parentID, options)),
    get: (id: SessionID) => Effect.map(table.open(id), (live) => live.info),
    list: (filter: { readonly projectID?: string; readonly limit?: number } = {}) =>
      storage.sessions({ ...filter, roots: true }),
    children: (id: SessionID) => Effect.map(storage.sessions({ parentID: id }), (found) => found.rows),
    messages: (id: SessionID, newest?: Newest) => given(messagesOf(id, newest)),
    messagePage: (id: SessionID, page: Following) => given(messagePageOf(id, page)),
    prompt: (id: SessionID, input: string | ReadonlyArray<PartInput>, options: PromptOptions = {}) =>
      given(promptSession(id, input, options, submitted)),
    withdraw: (id: SessionID, messageID: MessageID) => given(table.use(id, (live) => withdrawPrompt(live, messageID))),
    untilIdle: (id: SessionID) =>
      opened(
        id,
        (live) =>
          Effect.flatMap(runner.rest(live), (): Effect.Effect<Turn | undefined, PromptError> =>
            live.run.lastTurn ?? Effect.succeed(undefined))
      ),
    append: (id: SessionID, input: string | ReadonlyArray<PartInput>) => given(appendTo(id, input)),
    resume: (id: SessionID, options?: { readonly anew?: boolean }) => given(resumeSession(id, options?.anew)),
    compact: (id: SessionID, receipt?: Keyed) => given(table.work(id, (live) => compactNow(live, receipt))),
    summarize: (id: SessionID, receipt?: Keyed) => given(table.work(id, (live) => summarize(live, receipt))),
    summarized: (id: SessionID) => opened(id, summarized),
    leave: (id: SessionID) => given(leaveTree(id)),
    handOver: (rootID: SessionID, patience: number) => given(handOver(rootID, patience)),
    isMovable: (rootID: SessionID) => given(isMovable(rootID)),
    stop: (id: SessionID, by?: string) =>
      given(byHolder(
        id,
        { type: "stop", ...(by === undefined ? {} : { by }) },
        opened(id, (live) => recovery.stop(live, by)),
        () => undefined
      )),
    status: (id: SessionID) =>
      Effect.sync(() => whereabouts.awaited(id) ?? table.peek(id)?.status ?? { type: "idle" as const }),
    fork: (id: SessionID, options: ForkOptions = {}) => given(forkFrom(id, options)),
    setMode: (id: SessionID, mode: Mode) =>
      given(byHolder(id, { type: "mode", mode }, changeMode(id, mode), (info) => info as SessionInfo)),
    rename: (id: SessionID, title: string) => given(renameSession(id, title)),
    remove: (id: SessionID) => Effect.withSpan(given(table.use(id, removeSession)), "Session.remove")
  }
})

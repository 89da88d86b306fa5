/** The sessions of this process, as front ends see them. */
import { Session } from "@skein/core/Session"
import { exportTree } from "@skein/core/SessionArchive"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import { listed, shown } from "@skein/core/Snapshots"
import { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { NewSession, Sessions } from "../../Sessions.ts"
import { leave } from "./leave.ts"
import type { Local } from "./Local.ts"
import { makePrompt } from "./prompt.ts"

/** The default number of sessions in a list. */
const usual = 50

/** The tree of a session as a document; refused where rows of it cannot be read. */
const archiveOf = Effect.fnUntraced(function*(id: SessionID) {
  let text = ""
  const { unreadable: [first, ...more] } = yield* exportTree(id, (piece) => Effect.sync(() => text += piece))
  if (first === undefined) return text
  return yield* new StorageError({
    operation: "export",
    reason: "unreadable",
    message:
      `${first.id} and ${more.length} more rows of the tree cannot be read (${first.reason}). \`skein sessions export\` leaves them out.`
  })
})

/** Makes them. */
export const makeSessions = (
  { given, projectOf }: Local,
  session: typeof Session.Service,
  storage: typeof SessionStorage.Service,
  scope: Scope.Scope
): Sessions => {
  const prompt = makePrompt(scope)
  return {
    create: (options: NewSession) =>
      Effect.flatMap(projectOf(options.directory), (projectID) => session.create({ ...options, projectID })),
    get: (id) => given(Effect.flatMap(findSession(id), shown)),
    list: ({ directory, ...filter } = {}) =>
      given(Effect.gen(function*() {
        const ofProject = directory === undefined ? {} : { projectID: yield* projectOf(directory) }
        const { rows } = yield* storage.sessions({ limit: usual, ...ofProject, ...filter, roots: true })
        return yield* Effect.forEach(rows, listed)
      })),
    ids: (of, start, limit) => storage.ids(of, start, limit),
    children: (id) => given(Effect.flatMap(session.children(id), (rows) => Effect.forEach(rows, listed))),
    messages: (id, newest) => session.messages(id, newest),
    archive: (id) => given(archiveOf(id)),
    rename: (id, title) => session.rename(id, title),
    remove: (id) => session.remove(id),
    fork: (id, messageID) => session.fork(id, messageID === undefined ? {} : { messageID }),
    compact: (id) => session.compact(id),
    summarize: (id) => session.summarize(id),
    setMode: (id, mode) => session.setMode(id, mode),
    prompt: (id, input) => given(prompt(id, input)),
    withdraw: (id, messageID) => session.withdraw(id, messageID),
    stop: (id, by) => session.stop(id, by),
    resume: (id) => session.resume(id, { anew: true }),
    rest: (id) => session.untilIdle(id),
    summarized: (id) => session.summarized(id),
    leave: (id) => given(leave(id))
  }
}

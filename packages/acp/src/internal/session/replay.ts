/** Tells a client what was said in a session before it was opened. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { eachPage } from "@skein/backend/Sessions"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts, ToolPart } from "@skein/domain/Part"
import { Todo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { OpenSession } from "./OpenSession.ts"

/** An event as it would have been published. */
const eventOf = (
  session: OpenSession,
  sessionID: SessionID,
  info: MessageWithParts["info"],
  rest:
    | Pick<Event<"message.part.updated">, "properties" | "type">
    | Pick<Event<"message.updated">, "properties" | "type">
): Event =>
  ({
    id: "evt_0" as Event["id"],
    timestamp: info.time.created,
    sessionID,
    rootID: session.root,
    depth: sessionID === session.root ? 0 : 1,
    ...rest
  }) as Event

const isTodos = Schema.is(Schema.Array(Todo))

/** The todos that a call left; undefined if it left none. */
const todosOf = ({ state, tool }: ToolPart): ReadonlyArray<Todo> | undefined => {
  const todos: unknown = tool === "todowrite" && state.status === "completed" ? state.metadata["todos"] : undefined
  return isTodos(todos) ? todos : undefined
}

/** Tells the history of the root, and, where the client knows subagents, that of each where its call is. */
export const replay = (
  backend: typeof Backend.Service,
  session: OpenSession
): Effect.Effect<void, BackendError> => {
  const below = new Map(session.projection.subagents.map((each) => [each.subagent.id, each]))
  const open = new Set(below.keys())
  let todos: ReadonlyArray<Todo> | undefined

  const subagent = (id: SessionID): Effect.Effect<void, BackendError> =>
    Effect.suspend(() => {
      const known = below.get(id)
      if (known === undefined || !open.delete(id)) return Effect.void
      const { subagent: agent, state } = known
      const told = { type: "subagent", session: agent.parentID, subagent: agent } as const
      session.tell({ ...told, isNew: true, state: { type: "running" } })
      const history = session.isNested ? messagesOf(id) : Effect.void
      return Effect.zipRight(
        history,
        Effect.sync(() => {
          if (state.type !== "running") session.tell({ ...told, isNew: false, state })
        })
      )
    })

  const startedBy = (call: ToolPart) =>
    Effect.suspend(() => {
      const child = session.projection.childOf(call)
      return child === undefined ? Effect.void : subagent(child)
    })

  const messagesOf = (id: SessionID): Effect.Effect<void, BackendError> =>
    eachPage(
      (page) => backend.sessions.messages(id, page),
      (messages) =>
        Effect.forEach(messages, ({ info, parts }) =>
          Effect.zipRight(
            Effect.sync(() =>
              session.see(eventOf(session, id, info, { type: "message.updated", properties: { info } }))
            ),
            Effect.forEach(parts, (part) =>
              Effect.zipRight(
                part.type === "tool" ? startedBy(part) : Effect.void,
                Effect.sync(() => {
                  if (id === session.root && part.type === "tool") todos = todosOf(part) ?? todos
                  session.see(eventOf(session, id, info, { type: "message.part.updated", properties: { part } }))
                })
              ), { discard: true })
          ), { discard: true })
    )

  // Some were not started by a call.
  const others = Effect.suspend(() => Effect.forEach([...open], subagent, { discard: true }))
  const tellTodos = Effect.sync(() => {
    if (todos !== undefined) session.tell({ type: "todos", session: session.root, todos })
  })
  return Effect.all([messagesOf(session.root), others, tellTodos], { discard: true })
}

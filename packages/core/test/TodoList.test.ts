import { describe, expect, it } from "@effect/vitest"
import { TodoList } from "@skein/core/TodoList"
import type { ToolCaller } from "@skein/core/Tool"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import { record } from "@skein/testing/RecordedEvents"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { root } from "./support/tree.ts"

const todo = (content: string): Todo => ({ content, status: "pending", priority: "high" })

const callerOf = ({ agent, depth, directory, id, projectID, rootID }: SessionInfo): ToolCaller => ({
  sessionID: id,
  rootID,
  depth,
  projectID,
  directory,
  agent,
  path: [agent],
  model: { providerID: "scripted", modelID: "model" },
  byUser: false,
  consents: new Set()
})

describe("the todos of a session", () => {
  it.scoped("are its own, each update replaces the list, and is published", () =>
    Effect.gen(function*() {
      const todos = yield* TodoList
      const [one, other] = [yield* root(), yield* root()]
      const events = yield* record({ sessionID: one.id })
      expect(yield* todos.get(one.id)).toEqual([])
      yield* todos.set(callerOf(one), [todo("a"), todo("b")])
      yield* todos.set(callerOf(one), [todo("b")])
      yield* todos.set(callerOf(other), [todo("c")])
      expect(yield* todos.get(one.id)).toEqual([todo("b")])
      expect(yield* todos.get(other.id)).toEqual([todo("c")])
      expect(events.of("todo.updated").map((event) => event.properties.todos)).toEqual([
        [todo("a"), todo("b")],
        [todo("b")]
      ])
    }).pipe(Effect.provide(SkeinTest.layer({}))))

  it.effect("may be kept in memory only", () =>
    Effect.gen(function*() {
      const todos = yield* TodoList
      const info = { id: "ses_1", rootID: "ses_1", depth: 0, projectID: "p", directory: "/", agent: "build" }
      const caller = callerOf(info as SessionInfo)
      yield* todos.set(caller, [todo("a")])
      expect(yield* todos.get(caller.sessionID)).toEqual([todo("a")])
    }).pipe(Effect.provide(TodoList.layerMemory)))
})

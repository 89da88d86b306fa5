/** The questions, tasks and projects of a server, as front ends see them. */
import type { ShownConfig } from "@skein/api/Output"
import { largestPage, type Page, type Paging } from "@skein/core/Page"
import type { SessionID } from "@skein/domain/Id"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import type { Asking, TaskControl } from "../../Backend.ts"
import type { ConfigFacts, ProjectFacts } from "../../ProjectFacts.ts"
import { allPages } from "../../Sessions.ts"
import type { Link } from "./Link.ts"

/** The questions and approvals. */
export const makeAsks = ({ call }: Link): Asking => ({
  pending: (session, page) => call("may be sent again", ({ asks }) => asks.list({ urlParams: { session, ...page } })),
  reply: (id, answer, options = {}) =>
    call("may be sent again", ({ asks }) => asks.reply({ path: { id }, payload: { answer, ...options } })),
  answer: (id, answers) => call("may be sent again", ({ asks }) => asks.reply({ path: { id }, payload: { answers } })),
  dismiss: (id) => call("may be sent again", ({ asks }) => asks.reply({ path: { id }, payload: { dismiss: true } })),
  approvals: (projectID, session, page) =>
    call("may be sent again", ({ permissions }) => permissions.list({ urlParams: { projectID, session, ...page } })),
  revoke: (projectID, id) =>
    call("may be sent again", ({ permissions }) => permissions.revoke({ path: { id }, urlParams: { projectID } }))
})

/** The tasks. */
export const makeTaskControl = ({ call }: Link): TaskControl => ({
  list: (session, page) => call("may be sent again", ({ tasks }) => tasks.list({ urlParams: { session, ...page } })),
  newest: (page) => call("may be sent again", ({ tasks }) => tasks.list({ urlParams: page })),
  get: (id) =>
    call(
      "may be sent again",
      ({ tasks }) => Effect.map(tasks.get({ path: { id } }), ({ doing, runs }) => ({ doing, runs }))
    ),
  stop: (id, reason) =>
    call("may be sent again", ({ tasks }) =>
      Effect.map(
        tasks.stop({ path: { id }, payload: reason === undefined ? {} : { reason } }),
        ({ outcomes }) => outcomes
      )),
  message: (id, message) =>
    Effect.suspend(() => {
      const headers = { "idempotency-key": randomUUID() }
      return call("may be sent again", ({ tasks }) => tasks.message({ path: { id }, headers, payload: { message } }))
    }),
  promote: (id) => call("may be sent again", ({ tasks }) => tasks.promote({ path: { id } })),
  wait: (id, timeout) => call("waits for a turn", ({ tasks }) => tasks.wait({ payload: { tasks: [id], timeout } }))
})

/** The value at a path, whose keys may have dots themselves: undefined if there is none. */
const valueAt = (tree: unknown, path: string): unknown => {
  if (typeof tree !== "object" || tree === null) return undefined
  for (const [key, value] of Object.entries(tree)) {
    if (path === key) return value
    if (!path.startsWith(`${key}.`)) continue
    const found = valueAt(value, path.slice(key.length + 1))
    if (found !== undefined) return found
  }
  return undefined
}

const configOf = ({ broken, config, origins, warnings }: ShownConfig): ConfigFacts => ({
  values: Object.entries(origins).map(([key, origin]) => ({ key, value: valueAt(config, key), origin })),
  remarks: [
    ...warnings.map(({ file, line, message }) => `${file}${line === undefined ? "" : `:${line}`}: ${message}`),
    ...broken
  ]
})

/** A list with all its items, and what its first page says besides. */
const whole = <A, P extends Page<A>, E>(read: (page: Paging) => Effect.Effect<P & Page<A>, E>) =>
  Effect.gen(function*() {
    const first = yield* read({ limit: largestPage })
    const items = yield* allPages<A, E>((page) => page.cursor === undefined ? Effect.succeed(first) : read(page))
    return { ...first, items }
  })

/** The projects; those of a session are read where its directory is. */
export const makeProjects = (link: Link, session?: SessionID): ProjectFacts => {
  const { call } = link
  const place = (directory: string) => ({ directory, ...(session === undefined ? {} : { session }) })
  return {
    of: (id) => makeProjects(link, id),
    agents: (directory) =>
      Effect.map(
        whole((page) =>
          call("may be sent again", ({ projects }) =>
            projects.agents({ urlParams: { ...place(directory), hidden: "true", ...page } }))
        ),
        (found) => ({ agents: found.items, defaultAgent: found.default })
      ),
    agent: (directory, name) =>
      call("may be sent again", ({ projects }) => projects.agent({ path: { name }, urlParams: place(directory) })),
    commands: (directory, { servers } = {}) =>
      whole((page) =>
        call("may be sent again", ({ projects }) =>
          projects.commands({
            urlParams: { ...place(directory), ...(servers === true ? { servers: "true" } : {}), ...page }
          }))
      ),
    command: (directory, name) =>
      call("may be sent again", ({ projects }) => projects.command({ path: { name }, urlParams: place(directory) })),
    skills: (directory) =>
      whole((page) =>
        call("may be sent again", ({ projects }) => projects.skills({ urlParams: { ...place(directory), ...page } }))
      ),
    models: (directory) =>
      allPages((page) =>
        call("may be sent again", ({ projects }) => projects.models({ urlParams: { ...place(directory), ...page } }))
      ),
    modelFor: (directory, { agent, model }) =>
      call("may be sent again", ({ projects }) =>
        Effect.map(
          projects.model({
            urlParams: { ...place(directory), agent, ...(model === undefined ? {} : { model: formatRef(model) }) }
          }),
          (choice) => ({ model: choice.model, isUsual: choice.isUsual })
        )),
    config: (directory) =>
      call("may be sent again", ({ host }) => Effect.map(host.config({ urlParams: place(directory) }), configOf)),
    instructions: (directory) =>
      call(
        "may be sent again",
        ({ projects }) => Effect.map(projects.instructions({ urlParams: place(directory) }), ({ text }) => text)
      )
  }
}

/**
 * What the conformance suite of MCP starts as a client: an agent of Skein that calls each tool of the server at the given
 * URL. What the server asks meanwhile is answered with its own defaults.
 */
import { Answerer } from "@skein/core/Answerer"
import { Bus } from "@skein/core/Bus"
import { Permission } from "@skein/core/Permission"
import { Question } from "@skein/core/Question"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import type { QuestionRequest } from "@skein/domain/Event"
import type { McpHost } from "@skein/mcp/McpHost"
import { login } from "@skein/mcp/McpLogin"
import { McpServers } from "@skein/mcp/McpServers"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { argv, env, exit } from "node:process"

/** Calls that a scenario wants, by the names of the server. */
interface Wanted {
  readonly client_id?: string
  readonly toolCalls?: ReadonlyArray<{ readonly name: string; readonly arguments: Record<string, unknown> }>
}

const url = argv.at(-1) ?? ""
const wanted = JSON.parse(env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Wanted

const values: Readonly<Record<string, unknown>> = {
  string: "text",
  number: 5,
  integer: 5,
  boolean: true,
  array: [],
  object: {}
}

/** Arguments that fit a schema as far as that is easy. */
const argumentsFor = (schema: Record<string, unknown>): Record<string, unknown> => {
  const properties = (schema["properties"] ?? {}) as Record<string, { readonly type?: string }>
  return Object.fromEntries(Object.entries(properties).map(([key, { type = "string" }]) => [key, values[type]]))
}

/** The first step calls all tools, the second one ends. */
const provider = Scripted.layer({
  build: ({ messages, tools }) => {
    if (messages.some(({ role }) => role === "assistant")) return "Done"
    const calls = tools.filter(({ name }) => name.startsWith("mcp_suite_")).flatMap(({ inputSchema, name }) => {
      const named = (wanted.toolCalls ?? []).filter((call) => name === `mcp_suite_${call.name}`)
      const inputs = named.length > 0 ? named.map((call) => call.arguments) : [argumentsFor(inputSchema)]
      return inputs.map((input) => ({ tool: name, input }))
    })
    return calls.length === 0 ? "There is nothing to call" : { calls }
  }
})

/** Nothing is filled in, where that is possible. */
const answerOf = ({ options }: QuestionRequest): string => (options.at(-1) ?? options[0])?.label ?? "words"

const program = Effect.scoped(Effect.gen(function*() {
  const bus = yield* Bus
  const permission = yield* Permission
  const question = yield* Question
  const answer = yield* FiberSet.makeRuntime<never>()
  const { id } = yield* Session.create({ directory: "/", agent: "build" })
  yield* Answerer.set(id, "person")
  yield* bus.listen({ rootID: id }, (event) => {
    if (event.type === "permission.asked") {
      answer(Effect.ignoreLogged(permission.reply(event.properties.id, "once")))
    } else if (event.type === "question.asked") {
      answer(Effect.ignoreLogged(question.reply(event.properties.id, [answerOf(event.properties)])))
    }
  })
  const { text } = yield* Session.prompt(id, "Call each tool of the server")
  yield* Effect.log(text)
}))

const kept = new Map<string, string>()

const host: McpHost = {
  version: "0.0.0",
  variables: {},
  readText: (path) => Effect.fail({ message: `${path} is not there` }),
  hide: () => undefined,
  remember: () => () => undefined,
  redact: (text) => text,
  fetch: globalThis.fetch,
  fetchPublic: globalThis.fetch,
  credentials: {
    read: (name) => Effect.sync(() => kept.get(name)),
    write: (name, text) => Effect.sync(() => void kept.set(name, text)),
    remove: (name) => Effect.sync(() => void kept.delete(name))
  },
  launch: () => Effect.fail({ message: "No programs are started here." })
}

const servers = McpServers.layer(host)

const config = {
  url,
  startup_timeout: 20_000,
  ...(wanted.client_id === undefined ? {} : { client_id: wanted.client_id })
}

/** Signs in as a person does who agrees to everything: the page leads back at once. */
const signIn = login(host, { name: "suite", config }, (page) =>
  Effect.sync(() => {
    globalThis.fetch(page).then((response) => response.body?.cancel(), () => undefined)
  }))

const services = Skein.layer({
  provider,
  toolSource: Effect.flatMap(
    McpServers,
    ({ open }) => open({ directory: "/", servers: { suite: config } })
  ),
  permission: { asks: "person" }
}).pipe(Layer.provide(servers))

if (env["MCP_CONFORMANCE_SCENARIO"]?.startsWith("auth/") === true) {
  await Effect.runPromise(
    Effect.catchAll(Effect.timeout(signIn, "15 seconds"), ({ message }) => Effect.logError(message))
  )
}
await Effect.runPromise(Effect.provide(program, services))
// Connections that are kept alive need not be waited for.
exit(0)

/** Reaches a server: fills in its config, connects, and says what it has until the connection ends. */
import { Client, type ClientOptions, type Prompt, type Transport } from "@modelcontextprotocol/client"
import { isSkeinItself, type McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { pathToFileURL } from "node:url"
import type { McpHost } from "../McpHost.ts"
import { cleanLine } from "./content.ts"
import type { Askers } from "./elicit.ts"
import { ServerFailed, wordsOf } from "./failure.ts"
import { cancelTask } from "./followTask.ts"
import { makeHttpTransport } from "./httpTransport.ts"
import type { Listed } from "./listing.ts"
import { isHere, keptLogin, makeAuthFetch, needsLogin } from "./oauth.ts"
import { type ListMethod, passAnswers } from "./passAnswers.ts"
import { passTasks, tasksExtension } from "./serverTask.ts"
import { makeStdioTransport } from "./stdioTransport.ts"

/** A server that was reached. */
export interface Connection {
  readonly client: Client
  /** Ends when the connection has ended, and says why. */
  readonly ended: Effect.Effect<string>
  /** The same, once it has ended. */
  readonly whyEnded: () => string | undefined
  /** Each ends when it says that this list has changed since the last time. */
  readonly changed: { readonly tools: Effect.Effect<void>; readonly prompts: Effect.Effect<void> }
  /** Its tools now, and what was left out of them. */
  readonly tools: Effect.Effect<Listed, ServerFailed>
  /** Its prompts now. */
  readonly prompts: Effect.Effect<ReadonlyArray<Prompt>, ServerFailed>
  /** What was left out of its last list of a kind, and why. */
  readonly leftOut: (method: ListMethod) => ReadonlyArray<string>
}

type Filler = Pick<McpHost, "readText" | "variables">

/** `${V}` and `${V:-default}` as Claude Code has them, `{env:V}` and `{file:PATH}` as Skein and OpenCode have them. */
const placeholder = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\{(env|file):([^{}]*)\}/g

const isSet = (value: string | undefined): value is string => value !== undefined && value !== ""

/** A text with all put in, once: what is put in is not looked at again. */
const filled = Effect.fnUntraced(function*(text: string, { readText, variables }: Filler) {
  let value = ""
  let end = 0
  for (const { 0: whole, 1: name, 2: otherwise, 3: kind, 4: named = "", index } of text.matchAll(placeholder)) {
    value += text.slice(end, index)
    end = index + whole.length
    if (name !== undefined) {
      const found = variables[name]
      // One that is not set and has no default stays as it is written.
      value += otherwise === undefined ? found ?? whole : isSet(found) ? found : otherwise
    } else if (kind === "env") {
      const found = variables[named]
      if (found === undefined) {
        return yield* new ServerFailed({ message: `${whole}: the environment variable ${named} is not set` })
      }
      value += found
    } else {
      const found = yield* Effect.mapError(
        readText(named),
        ({ message }) => new ServerFailed({ message: `${whole}: ${message}` })
      )
      value += found.replace(/(?:\r?\n)+$/, "")
    }
  }
  return value + text.slice(end)
})

const filledRecord = Effect.fnUntraced(function*(texts: Readonly<Record<string, string>>, filler: Filler) {
  const entries = yield* Effect.forEach(
    Object.entries(texts),
    ([key, text]) => Effect.map(filled(text, filler), (value) => [key, value] as const)
  )
  return Object.fromEntries(entries)
})

/** The config of a server with all put in. */
export const fillIn = Effect.fnUntraced(function*(config: McpServerConfig, filler: Filler) {
  const { client_secret, command, env, headers, url } = config
  const words = yield* Effect.forEach(command ?? [], (word) => filled(word, filler))
  const [program, ...rest] = words
  return {
    ...config,
    ...(program === undefined ? {} : { command: [program, ...rest] as const }),
    ...(client_secret === undefined ? {} : { client_secret: yield* filled(client_secret, filler) }),
    ...(url === undefined ? {} : { url: yield* filled(url, filler) }),
    ...(headers === undefined ? {} : { headers: yield* filledRecord(headers, filler) }),
    ...(env === undefined ? {} : { env: yield* filledRecord(env, filler) })
  } satisfies McpServerConfig
})

/**
 * How long a server may take to say which revision it speaks, in milliseconds. An old program may not answer at all; over
 * HTTP every server answers, and a slow one must not be taken for an old one.
 */
const probe = { command: 3_000, url: 30_000 } as const

/** How long it may take to be there, in milliseconds; what waits for it waits no longer than `startup_timeout`. */
const longestStart = 120_000

/** How long it may take to list what it has, in milliseconds. */
const longestList = 60_000

/** What to reach, and from where. */
export interface Target {
  readonly name: string
  /** The directory of the project, absolute. */
  readonly directory: string
  readonly config: McpServerConfig
  readonly host: McpHost
  /** Asks a person what the server wants to know; without it, the server gets the answer that Skein cannot ask anyone. */
  readonly elicit?: Askers["elicit"]
}

/** What hears that lists have changed: one change or many, a list is read once. */
interface Changes {
  readonly tools: Queue.Queue<void>
  readonly prompts: Queue.Queue<void>
}

type Command = readonly [string, ...ReadonlyArray<string>]

/** Nobody checks what a tool answers against its own words: models read it as text. */
const anything: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined })
}

const failed = ({ redact }: McpHost) => (cause: unknown) => new ServerFailed({ message: redact(wordsOf(cause)) })

/** The client, and what hears that a list has changed. */
const makeClient = (
  { config, directory, elicit, host }: Target,
  changes: Changes,
  mode: "auto" | "legacy"
): Client => {
  const heardBy = (queue: Queue.Queue<void>) => ({
    autoRefresh: false,
    debounceMs: 0,
    onChanged: () => void Queue.unsafeOffer(queue, undefined)
  })
  const client = new Client({ name: "skein", version: host.version }, {
    capabilities: {
      roots: {},
      extensions: { [tasksExtension]: {} },
      ...(elicit === undefined ? {} : { elicitation: { form: {}, url: {} } })
    },
    jsonSchemaValidator: anything,
    versionNegotiation: { mode, probe: { timeoutMs: "url" in config ? probe.url : probe.command } },
    listChanged: {
      tools: heardBy(changes.tools),
      prompts: heardBy(changes.prompts),
      // They are listed when a model asks for them; hearing of changes makes the client forget what it has.
      resources: { autoRefresh: false, debounceMs: 0, onChanged: () => undefined }
    }
  })
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(directory).href, name: "project" }] }))
  if (elicit !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => elicit(params))
  return client
}

const connected = Effect.fnUntraced(function*(client: Client, transport: Transport, host: McpHost) {
  yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
  const run = yield* FiberSet.makeRuntime<never>()
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: longestStart }),
    catch: failed(host)
  })
  passTasks(transport, (taskId) => void run(cancelTask(client, taskId)))
  return passAnswers(transport)
})

/** Starts a program and speaks with it. */
const overStdio = Effect.fnUntraced(function*(
  target: Target,
  command: Command,
  changes: Changes,
  mode: "auto" | "legacy"
) {
  const client = makeClient(target, changes, mode)
  const { config, directory, host } = target
  const launched = yield* Effect.mapError(
    host.launch({ command, directory, environment: config.env ?? {} }),
    ({ message }) => new ServerFailed({ message })
  )
  const { ended, isClosed, transport, whyEnded } = yield* makeStdioTransport(launched, host)
  // A client that gives up closes the transport, and then says itself why.
  const gone = Effect.flatMap(ended, (message) => isClosed() ? Effect.never : new ServerFailed({ message }))
  const leftOut = yield* Effect.raceFirst(connected(client, transport, host), gone)
  return { client, leftOut, ended, whyEnded }
})

/**
 * Tries it in a scope of its own. Some old servers end when they are asked what they do not know: these are started again,
 * and asked in the old way.
 */
const overStdioEither = (target: Target, command: Command, changes: Changes) =>
  Effect.gen(function*() {
    const outer = yield* Effect.scope
    const inner = yield* Scope.fork(outer, ExecutionStrategy.sequential)
    return yield* overStdio(target, command, changes, "auto").pipe(
      Scope.extend(inner),
      Effect.catchAll(() =>
        Effect.zipRight(Scope.close(inner, Exit.void), overStdio(target, command, changes, "legacy"))
      )
    )
  })

/** What was reached, whichever way. */
interface Reached {
  readonly client: Client
  /** What was left out of its last list of a kind. */
  readonly leftOut: (method: ListMethod) => ReadonlyArray<string>
  readonly ended: Effect.Effect<string>
  readonly whyEnded: () => string | undefined
}

/** Speaks with a server over HTTP, in this way. */
const overHttp = Effect.fnUntraced(
  function*(target: Target, url: URL, kind: "http" | "sse", changes: Changes) {
    const client = makeClient(target, changes, kind === "sse" ? "legacy" : "auto")
    const { config: { headers = {} }, host, name } = target
    // A token that the user's config has counts, and no login.
    const isGiven = Object.keys(headers).some((key) => key.toLowerCase() === "authorization")
    const login = isGiven ? undefined : yield* keptLogin(host, name, url.href, makeAuthFetch(host, url))
    const { ended, refusal, transport, whyEnded } = yield* makeHttpTransport(host, url, headers, kind, login)
    const leftOut = yield* Effect.mapError(
      connected(client, transport, host),
      (error) => {
        const status = refusal()
        if (status === 401 && !isGiven) return new ServerFailed({ message: needsLogin(name) })
        // What ended the connection says more than that it could not be agreed on a revision.
        const why = whyEnded() ?? error.message
        return new ServerFailed({ message: status === undefined ? why : `${why} (HTTP status ${status})` })
      }
    )
    return { client, leftOut, ended, whyEnded } satisfies Reached
  }
)

/** Some servers are of the older kind, and say so only by refusing the newer one. */
const overHttpEither = (target: Target, url: URL, changes: Changes) =>
  Effect.gen(function*() {
    const outer = yield* Effect.scope
    const inner = yield* Scope.fork(outer, ExecutionStrategy.sequential)
    return yield* overHttp(target, url, "http", changes).pipe(
      Scope.extend(inner),
      Effect.catchAll((first) =>
        overHttp(target, url, "sse", changes).pipe(
          Effect.zipLeft(Scope.close(inner, Exit.void)),
          Effect.mapError(() => first)
        )
      )
    )
  })

const reach = (target: Target, changes: Changes): Effect.Effect<Reached, ServerFailed, Scope.Scope> => {
  const { command, type, url } = target.config
  const [program, ...words] = command ?? []
  if (program !== undefined) return overStdioEither(target, [program, ...words], changes)
  if (url === undefined) return new ServerFailed({ message: "its config names neither a command nor a URL" })
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    return new ServerFailed({ message: `${cleanLine(url, 200)} is no http(s) URL` })
  }
  const where = new URL(url)
  return type === "http" || type === "sse"
    ? overHttp(target, where, type, changes)
    : overHttpEither(target, where, changes)
}

/** What a failure says besides: the variables that the config names, and that are not set. */
const unset = (config: McpServerConfig, { variables }: Filler): string => {
  const named = [...JSON.stringify(config).matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name)
  const missing = [...new Set(named)].filter((name) => variables[name] === undefined)
  return missing.length === 0 ? "" : `. Not set in the environment: ${missing.join(", ")}`
}

/** Reaches a server; when the scope closes, nothing of it is left. */
export const connect = (given: Target): Effect.Effect<Connection, ServerFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const changes = { tools: yield* Queue.sliding<void>(1), prompts: yield* Queue.sliding<void>(1) }
    const config = yield* fillIn(given.config, given.host)
    given.host.hide(config)
    const { client, ended, leftOut, whyEnded } = yield* Effect.mapError(
      reach({ ...given, config }, changes),
      ({ message }) => new ServerFailed({ message: message + unset(given.config, given.host) })
    )
    const isOnThisMachine = config.url === undefined || isHere(new URL(config.url))
    if (isOnThisMachine && client.getServerVersion()?.name === "skein") {
      return yield* new ServerFailed({ message: isSkeinItself })
    }
    return {
      client,
      ended,
      whyEnded,
      leftOut,
      changed: { tools: Queue.take(changes.tools), prompts: Queue.take(changes.prompts) },
      tools: client.getServerCapabilities()?.tools === undefined ?
        Effect.succeed({ tools: [], broken: [] }) :
        Effect.map(
          Effect.tryPromise({
            try: (signal) => client.listTools(undefined, { signal, timeout: longestList, cacheMode: "refresh" }),
            catch: failed(given.host)
          }),
          ({ tools }) => ({ tools, broken: leftOut("tools/list") })
        ),
      prompts: client.getServerCapabilities()?.prompts === undefined ? Effect.succeed([]) : Effect.map(
        Effect.tryPromise({
          try: (signal) => client.listPrompts(undefined, { signal, timeout: longestList }),
          catch: failed(given.host)
        }),
        ({ prompts }) => prompts
      )
    }
  })

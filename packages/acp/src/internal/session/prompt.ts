/** Carries out a prompt of a client, until nothing of the session runs any more, or until the client cancels it. */
import type { ContentBlock, PromptResponse, StopReason } from "@agentclientprotocol/sdk/unstable"
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { NewPrompt, Turn } from "@skein/backend/Sessions"
import type { PartInput } from "@skein/domain/Part"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { type BadRequest, badRequest, type Failure } from "../connection/frames.ts"
import { wireUsage } from "../encode/nested.ts"
import type { Flight, OpenSession } from "./OpenSession.ts"

/** The path of a `file:` URI; undefined for others. */
const pathOf = (uri: string): string | undefined =>
  // A file URL with anything else, such as a host, does not name a file of this machine.
  uri.startsWith("file:///") && URL.canParse(uri) ? fileURLToPath(uri.replace(/[?#].*$/, "")) : undefined

/** A file as a person would name it: `@` attaches it by the tool `read`, with its permission. */
const mention = (uri: string, name: string, directory: string): string => {
  const path = pathOf(uri)
  if (path === undefined) return uri
  const near = relative(directory, path)
  const shown = near.startsWith("..") || near === "" ? path : near
  return /\s/.test(shown) ? `${name} (${shown})` : `@${shown}`
}

const image = (mime: string, data: string, filename: string | undefined): PartInput => ({
  type: "file",
  mime,
  url: `data:${mime};base64,${data}`,
  ...(filename === undefined ? {} : { filename })
})

/** What is read of the blocks: what a person wrote, what came with it, and files. */
interface Read {
  readonly words: Array<string>
  readonly texts: Array<string>
  readonly parts: Array<PartInput>
}

const read = (block: ContentBlock, directory: string, into: Read): BadRequest | undefined => {
  switch (block.type) {
    case "text":
      into.words.push(block.text)
      return undefined
    case "image":
      into.parts.push(image(block.mimeType, block.data, undefined))
      return undefined
    case "resource_link":
      into.words.push(mention(block.uri, block.name, directory))
      return undefined
    case "resource": {
      const { resource } = block
      if ("text" in resource) {
        into.words.push(mention(resource.uri, resource.uri, directory).replace(/^@/, ""))
        into.texts.push(`<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>`)
        return undefined
      }
      if (resource.mimeType?.startsWith("image/") === true) {
        into.parts.push(image(resource.mimeType, resource.blob, resource.uri))
        return undefined
      }
      return badRequest(`${resource.uri} is neither text nor an image. Send a link to it instead.`)
    }
    default:
      return badRequest(`Content of type ${block.type} is not understood. Send text, images, resources or links.`)
  }
}

/** `/name arguments`, as a person writes it at the beginning. */
const slash = /^\/([^\s/]+)(?:\s+([^]*))?$/

/** The prompt, or why there is none. `isCommand` says which names are commands. */
const promptOf = (
  blocks: ReadonlyArray<ContentBlock>,
  directory: string,
  isCommand: (name: string) => boolean
): NewPrompt | BadRequest => {
  const into: Read = { words: [], texts: [], parts: [] }
  for (const block of blocks) {
    const refused = read(block, directory, into)
    if (refused !== undefined) return refused
  }
  const words = into.words.join("")
  if (words.trim() === "" && into.parts.length === 0) return badRequest("The prompt is empty. Write something.")
  const more = {
    ...(into.texts.length === 0 ? {} : { text: into.texts.join("\n\n") }),
    ...(into.parts.length === 0 ? {} : { parts: into.parts })
  }
  const [, name, given = ""] = slash.exec(words.trim()) ?? []
  return name !== undefined && isCommand(name)
    ? { command: { name, arguments: given }, ...more }
    : { words, ...more }
}

/** How long stopping a tree may hold up the answer to a cancelled prompt, in milliseconds. */
const patience = 10_000

/** How often it is tried during a turn whether the client still reads, in milliseconds: a command may say nothing for long. */
const pace = 5_000

const stopReason = ({ end, info }: Turn): StopReason => {
  if (end === "steps") return "max_turn_requests"
  if (info.finish === "length") return "max_tokens"
  return info.finish === "content-filter" ? "refusal" : "end_turn"
}

const isBad = (prompt: ReturnType<typeof promptOf>): prompt is Extract<typeof prompt, { readonly _tag: string }> =>
  "_tag" in prompt

const cancelledResponse: PromptResponse = { stopReason: "cancelled" }

const cancelledExit = Exit.succeed(cancelledResponse)

/** Whether the prompt may be a command at all: only then are the commands looked up. */
const maybeCommand = (blocks: ReadonlyArray<ContentBlock>): boolean => {
  const [first] = blocks
  return first?.type === "text" && /^\s*\/\S/.test(first.text)
}

const commandsFor = (
  { projects }: typeof Backend.Service,
  blocks: ReadonlyArray<ContentBlock>,
  { directory, root }: OpenSession
) =>
  maybeCommand(blocks)
    ? Effect.map(
      projects.of(root).commands(directory),
      ({ broken, items }) => new Set([...broken, ...items].map(({ name }) => name))
    )
    : Effect.succeed(new Set<string>())

/** Prompts, and waits for the turn, and for what the turn has left in the background. */
const work = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>
): Effect.Effect<PromptResponse, Failure> =>
  Effect.gen(function*() {
    const commands = yield* commandsFor(backend, blocks, session)
    const prompt = promptOf(blocks, session.directory, (name) => commands.has(name))
    if (isBad(prompt)) return yield* Effect.fail(prompt)
    const { model, root } = session
    const prompted = yield* session.storing(
      backend.sessions.prompt(root, { ...prompt, ...(model === undefined ? {} : { model }) })
    )
    for (const note of prompted.notes) session.note(note)
    const turn = yield* prompted.turn
    const last = (yield* backend.sessions.rest(root)) ?? turn
    return { stopReason: stopReason(last), usage: wireUsage(turn.usage) }
  })

/** Stops the tree, within a bounded time. */
const stop = ({ sessions }: typeof Backend.Service, { root }: OpenSession): Effect.Effect<void, BackendError> =>
  Effect.asVoid(Effect.timeoutOption(Effect.disconnect(sessions.stop(root, "the user")), patience))

/** What a cancel was stopping is stopped. */
const over = (session: OpenSession, stopped: Deferred.Deferred<void>): Effect.Effect<void> =>
  Effect.suspend(() => {
    session.stopping.delete(stopped)
    return Effect.asVoid(Deferred.succeed(stopped, undefined))
  })

/** Carries out a prompt after what was cancelled `before` it; stops its tree if it is cancelled itself. */
const carryOut = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>,
  { cancelled }: Flight,
  before: ReadonlyArray<Deferred.Deferred<void>>
): Effect.Effect<Exit.Exit<PromptResponse, Failure>> =>
  Effect.gen(function*() {
    const working = Effect.zipRight(
      Effect.forEach(before, (stopped) => Deferred.await(stopped), { discard: true }),
      work(backend, session, blocks)
    )
    // A prompt that is not stored yet goes away with this race; one that is stored is stopped after it.
    const ended = yield* Effect.raceFirst(
      Effect.exit(working),
      Effect.as(Deferred.await(cancelled), cancelledExit)
    )
    if (!(yield* Deferred.isDone(cancelled))) return ended
    yield* Effect.catchAll(stop(backend, session), (error) =>
      Effect.logWarning("A cancelled prompt could not be stopped", error.message))
    return cancelledExit
  })

/** Prompts. A prompt that is cancelled has stopped its tree before it answers, and always answers `cancelled`. */
export const prompt = (
  backend: typeof Backend.Service,
  session: OpenSession,
  blocks: ReadonlyArray<ContentBlock>
): Effect.Effect<PromptResponse, Failure> =>
  Effect.gen(function*() {
    const flight: Flight = { cancelled: yield* Deferred.make<void>(), over: yield* Deferred.make<void>() }
    const before = [...session.stopping]
    session.flights.add(flight)
    const probing = Effect.forever(Effect.delay(Effect.sync(() => session.probe()), pace))
    const ended = yield* Effect.ensuring(
      Effect.raceFirst(carryOut(backend, session, blocks, flight, before), probing),
      Effect.suspend(() => {
        session.flights.delete(flight)
        return over(session, flight.over)
      })
    )
    yield* Effect.catchAll(session.caughtUp, () => Effect.void)
    // Another front end may have stopped it.
    return yield* Effect.catchTag(ended, "SessionStopped", () => Effect.succeed(cancelledResponse))
  })

/** Cancels what runs in a session: the prompts of this client, else what others have begun. Later prompts wait for it. */
export const cancel = (
  backend: typeof Backend.Service,
  session: OpenSession
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    if (session.flights.size > 0) {
      for (const { cancelled, over: stopped } of session.flights) {
        session.stopping.add(stopped)
        yield* Deferred.succeed(cancelled, undefined)
      }
      return
    }
    const stopped = yield* Deferred.make<void>()
    session.stopping.add(stopped)
    const stopping = Effect.flatMap(
      backend.sessions.get(session.root),
      ({ status }) => status.type === "idle" ? Effect.void : stop(backend, session)
    )
    yield* Effect.ensuring(stopping, over(session, stopped))
  })

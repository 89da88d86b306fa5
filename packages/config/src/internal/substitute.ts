/** Substitutes environment variables and files for `{env:X}` and `{file:p}`. */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Env from "effect/Config"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { dirname, join, resolve } from "node:path"
import type { Fault, Located, LocatedEntry, LocatedText } from "./located.ts"
import type { ProjectFiles } from "./projectFiles.ts"
import { isServer, ruleAt } from "./projectTrust.ts"
import { readText } from "./readText.ts"
import { holdsRules, isWhole, type Origin } from "./sourced.ts"

/** The properties of a file that are known before it is read. */
export interface ConfigSource {
  readonly path: string
  /** The user's home, for `~/` in `{file:…}`. */
  readonly home: string
  /** For a project's file, the files of the project; a user's own file has none. */
  readonly project?: ProjectFiles
}

const placeholder = /\{(env|file):([^{}]*)\}/g

/** Substitutes all `{env:…}` and `{file:…}` once: substituted text is not scanned again. `place` is the path of the tree. */
export const substitute = Effect.fnUntraced(function*(
  tree: Located,
  source: ConfigSource,
  place: ReadonlyArray<string> = []
) {
  const faults: Array<Fault> = []
  const refused: Array<Fault> = []

  const fill = Effect.fnUntraced(function*(node: LocatedText, path: ReadonlyArray<string>) {
    const open: LocatedText = { ...node, open: true }
    // Values for servers are substituted when they start, so that a missing one stops only its server.
    if (isServer(path)) return { ...open, value: placedFiles(node.value, source) }
    const { by, project } = source.project === undefined ? { by: undefined, project: undefined } : ruleAt(path)
    // Nobody can trust what they do not see, so this will be ignored.
    if (project === "trust" || project === "never") return open
    const fault = (at: Located["at"], message: string): Fault => ({ at, key: path.join("."), message })
    let value = ""
    let end = 0
    for (const { 0: whole, 1: kind, 2: name = "", index } of node.value.matchAll(placeholder)) {
      const part = yield* Effect.either(
        kind === "env"
          ? variable(name, project === "free" || by === "unset" || by === "own")
          : content(name, { name: source.path, line: node.at.line }, source)
      )
      if (Either.isLeft(part)) {
        const { message, refusal } = part.left
        if (refusal && mayBeLeftOut(path)) {
          refused.push(fault(node.at, `${path.join(".")} is ignored: ${message} (${whole})`))
        } else faults.push(fault(node.at, `${whole}: ${message}`))
        return open
      }
      value += node.value.slice(end, index) + part.right
      end = index + whole.length
    }
    return { ...node, value: value + node.value.slice(end), raw: node.value }
  })

  const walk = (node: Located, path: ReadonlyArray<string>): Effect.Effect<Located, never, FileSystem.FileSystem> => {
    switch (node.kind) {
      case "string":
        return node.value.search(placeholder) < 0 ? Effect.succeed(node) : fill(node, path)
      case "array":
        return Effect.map(
          Effect.forEach(node.items, (item, index) => walk(item, [...path, String(index)])),
          (items) => ({ ...node, items })
        )
      case "object":
        return Effect.map(
          Effect.forEach(
            node.entries,
            (entry) =>
              Effect.map(walk(entry.value, [...path, entry.key]), (value): LocatedEntry => ({ ...entry, value }))
          ),
          (entries) => ({ ...node, entries })
        )
      default:
        return Effect.succeed(node)
    }
  }

  return { tree: yield* walk(tree, place), faults, refused }
})

// A rule needs its action, and a price or a schema its parts: without them nothing useful is left.
const mayBeLeftOut = (path: ReadonlyArray<string>): boolean =>
  path.at(-2) !== "price"
  && path.every((_, index) => !holdsRules(path.slice(0, index + 1)) && !isWhole(path.slice(0, index + 1)))

/** Files named from where the file of config lies, by their whole paths. */
const placedFiles = (text: string, { home, path }: ConfigSource): string =>
  text.replaceAll(placeholder, (whole, kind: string, name: string) => {
    if (kind !== "file") return whole
    return `{file:${/^~(?=\/|$)/.test(name) ? join(home, name.slice(1)) : resolve(dirname(path), name)}}`
  })

interface Unfilled {
  /** Forbidden here, as opposed to impossible. */
  readonly refusal: boolean
  readonly message: string
}

const variable = Effect.fnUntraced(function*(name: string, isText: boolean) {
  if (isText) {
    return yield* Effect.fail<Unfilled>({
      refusal: true,
      message: "a project's file may not put environment variables into texts and names"
    })
  }
  const value = yield* Effect.option(Env.string(name))
  if (Option.isSome(value)) return value.value
  return yield* Effect.fail<Unfilled>({
    refusal: false,
    message: name === "" ? "name the environment variable" : `the environment variable ${name} is not set`
  })
})

const content = Effect.fnUntraced(function*(name: string, by: Origin, { home, path: file, project }: ConfigSource) {
  const path = /^~(?=\/|$)/.test(name) ? join(home, name.slice(1)) : resolve(dirname(file), name)
  const refusal = yield* project?.refusal(path, by) ?? Effect.succeed(undefined)
  if (refusal !== undefined) return yield* Effect.fail<Unfilled>({ refusal: true, message: refusal })
  const text = yield* Effect.mapError(readText(path), ({ line, message }): Unfilled => ({
    refusal: false,
    message: `${path}${line === undefined ? "" : `:${line}`}: ${message}`
  }))
  return text.replace(/(?:\r?\n)+$/, "")
})

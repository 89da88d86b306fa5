/**
 * Watches for protected names that a command makes though nobody approved that: they are taken away at the event, and once
 * more when the command has ended. What is not there cannot be mounted over, and nothing is put in its place.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { join, relative } from "node:path"
import { attempt } from "../processes.ts"
import { aside } from "./aside.ts"

/** How often the same name is kept; what is made after that is removed. */
const mostKept = 3

const isThere = (path: string): boolean => NodeFs.lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** The names that are missing in a directory now, but for what is approved. */
const missingIn = (directory: string, names: ReadonlyArray<string>, isApproved: (path: string) => boolean) =>
  new Set(names.filter((name) => !isThere(join(directory, name)) && !isApproved(join(directory, name))))

/** Watches until the scope closes. Gives what looks a last time and tells what was taken away. */
export const watchProtected = (options: {
  readonly directory: string
  /** The names at its top that are protected. */
  readonly names: ReadonlyArray<string>
  /** Asked at each event: another call may have consent for what appears. */
  readonly isApproved: (path: string) => boolean
}) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { directory, isApproved, names } = options
        const missing = missingIn(directory, names, isApproved)
        const taken = new Map<string, Array<string>>()
        const take = (name: string) => {
          const path = join(directory, name)
          if (!missing.has(name) || !isThere(path) || isApproved(path)) return
          attempt(() => {
            const kept = taken.get(name) ?? []
            taken.set(name, kept)
            if (kept.length < mostKept) kept.push(aside(path))
            else NodeFs.rmSync(path, { recursive: true, force: true })
          }, undefined)
        }
        // Where nothing can be watched the look at the end is what is left.
        const watcher = attempt(
          () => NodeFs.watch(directory, { persistent: false }, (_, name) => name === null ? undefined : take(name)),
          undefined
        )
        watcher?.on("error", () => watcher.close())
        return { directory, missing, take, taken, watcher }
      }),
      ({ watcher }) => Effect.sync(() => watcher?.close())
    ),
    ({ directory, missing, take, taken }) => (): ReadonlyArray<string> => {
      for (const name of missing) take(name)
      return [...taken].map(([name, kept]) =>
        `${name} is protected, and this command was not allowed to make it. What it made is now ${
          kept.map((path) => relative(directory, path)).join(", ")
        }.`
      )
    }
  )

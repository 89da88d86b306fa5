/**
 * Watches for protected names that a command creates without approval. They are moved away when they appear, and once
 * more when the command has ended. What does not exist cannot be mounted over, and these have no placeholder.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { join, relative } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"
import { aside } from "./aside.ts"

/** How often the same name is kept. Later ones are removed. */
const mostKept = 3

const isThere = (path: string): boolean => lstatOf(path) !== undefined

/**
 * The watched paths of this process's commands, and the number of commands for each. What another command is creating
 * counts as missing too, because nobody has approved it.
 */
export class WatchedPaths {
  readonly #counts = new Map<string, number>()

  has(path: string): boolean {
    return this.#counts.has(path)
  }

  add(paths: ReadonlyArray<string>): void {
    for (const path of paths) this.#counts.set(path, (this.#counts.get(path) ?? 0) + 1)
  }

  remove(paths: ReadonlyArray<string>): void {
    for (const path of paths) {
      const left = (this.#counts.get(path) ?? 1) - 1
      if (left === 0) this.#counts.delete(path)
      else this.#counts.set(path, left)
    }
  }
}

/** Watches until the scope closes. Returns the final check, which reports what was moved away. */
export const watchProtected = (options: {
  readonly directory: string
  /** The names at its top that are protected. */
  readonly names: ReadonlyArray<string>
  /** Checked at each event: another call may have approval for what appears. */
  readonly isApproved: (path: string) => boolean
  readonly all: WatchedPaths
}) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { all, directory, isApproved, names } = options
        const missing = new Set(names.filter((name) => {
          const path = join(directory, name)
          return (all.has(path) || !isThere(path)) && !isApproved(path)
        }))
        const paths = [...missing].map((name) => join(directory, name))
        all.add(paths)
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
        // If nothing can be watched, only the final check remains.
        const watcher = attempt(
          () => NodeFs.watch(directory, { persistent: false }, (_, name) => name === null ? undefined : take(name)),
          undefined
        )
        watcher?.on("error", () => watcher.close())
        return { directory, missing, paths, take, taken, watcher }
      }),
      ({ paths, watcher }) =>
        Effect.sync(() => {
          watcher?.close()
          options.all.remove(paths)
        })
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

/** Starts processes that use a database. */
import * as Effect from "effect/Effect"
import * as esbuild from "esbuild"
import { type ChildProcessByStdio, spawn, type SpawnOptions } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Where packages are looked up. */
const modules = at("../../../../node_modules")

/** A directory that is removed with the scope, and that other users may enter. */
export const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = mkdtempSync(join(tmpdir(), "skein-storage-"))
    chmodSync(directory, 0o755)
    return directory
  }),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A process that runs until it ends, is killed, or the scope closes. */
export interface Started {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Ends when the process has written this many lines. */
  readonly lines: (count: number) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
}

/** Bundles the program once; returns a function that starts it with arguments. */
export const program = Effect.gen(function*() {
  const outfile = join(yield* temporary, "program.cjs")
  yield* Effect.promise(() =>
    esbuild.build({
      outfile,
      entryPoints: [fileURLToPath(new URL("./storageProcess.ts", import.meta.url))],
      bundle: true,
      format: "cjs",
      platform: "node",
      external: ["better-sqlite3"],
      logLevel: "warning"
    })
  )
  return (args: ReadonlyArray<string>, options: SpawnOptions = {}) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [outfile, ...args], {
            env: { ...process.env, NODE_PATH: modules },
            ...options,
            stdio: ["pipe", "pipe", "pipe"]
          })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      ),
      (child): Started => {
        const said = { out: "", err: "" }
        child.stdout.setEncoding("utf8").on("data", (text: string) => said.out += text)
        child.stderr.setEncoding("utf8").on("data", (text: string) => said.err += text)
        const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...said })))
        return {
          child,
          lines: (count) =>
            Effect.async<void>((resume) => {
              const look = () => {
                if (said.out.split("\n").length > count) resume(Effect.void)
              }
              child.stdout.on("data", look)
              look()
              return Effect.sync(() => child.stdout.off("data", look))
            }),
          ended: Effect.promise(() => ended)
        }
      }
    )
})

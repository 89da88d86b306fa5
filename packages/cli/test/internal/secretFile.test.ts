/** Only a regular file that nobody else can write keeps a secret. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { getuid } from "node:process"
import { readSecret } from "../../src/internal/serve/access.ts"
import { Stdio } from "../../src/Stdio.ts"

const secret = "s".repeat(40)

/** A directory for files with a secret, how they are read, and what is said of them. */
const world = Effect.gen(function*() {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "skein-secret-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  )
  const said: Array<string> = []
  const stdio = { err: (line: string) => void said.push(line) } as unknown as typeof Stdio.Service
  return {
    said,
    at: (name: string) => join(directory, name),
    make: (name: string, mode: number, text = `${secret}\n`) => {
      const file = join(directory, name)
      writeFileSync(file, text)
      chmodSync(file, mode)
      return file
    },
    read: (file: string) => Effect.provideService(readSecret("--token-file", file), Stdio, stdio)
  }
})

it.scoped("refuses every other file, and says why", () =>
  Effect.gen(function*() {
    const { at, make, read } = yield* world
    spawnSync("mkfifo", [at("pipe")])
    mkdirSync(at("directory"))
    const changed = (file: string) => [file, `${file} can be changed by other users. Run: chmod 600 ${file}.`] as const
    const table: ReadonlyArray<readonly [file: string, why: string]> = [
      [at("pipe"), `${at("pipe")} is a pipe. Give a regular file`],
      ["/dev/zero", "/dev/zero is a device. Give a regular file"],
      [at("directory"), "is a directory. Give a regular file"],
      changed(make("shared", 0o620)),
      changed(make("open", 0o602)),
      [make("long", 0o600, "s".repeat(1_025)), "has to hold a secret of 32 to 1024 visible ASCII characters."]
    ]
    for (const [file, why] of table) {
      const { message } = yield* Effect.flip(read(file))
      expect(message, file).toContain("--token-file: ")
      expect(message, file).toContain(why)
    }
    // Only root can give a file away.
    if (getuid?.() !== 0) return
    chownSync(make("theirs", 0o600), 12_345, 12_345)
    expect((yield* Effect.flip(read(at("theirs")))).message).toContain("belongs to another user (12345)")
  }))

it.scoped("warns of one that others can read, and of no other", () =>
  Effect.gen(function*() {
    const { make, read, said } = yield* world
    expect(yield* read(make("mine", 0o600))).toBe(secret)
    expect(said).toEqual([])
    const shown = make("shown", 0o644)
    expect(yield* read(shown)).toBe(secret)
    expect(said).toEqual([expect.stringContaining(`other users can read ${shown}. Run: chmod 600 ${shown}`)])
  }))

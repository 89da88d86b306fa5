import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { nonceFile, nonceHash, writeNonce } from "../../src/internal/places.ts"

const place = () => mkdtempSync(join(tmpdir(), "skein-nonce-"))

const git = (directory: string, ...args: ReadonlyArray<string>) =>
  spawnSync("git", args, { cwd: directory, encoding: "utf8" }).stdout

const fileOf = (directory: string) =>
  Effect.map(nonceFile(directory), (path) => {
    if (path === undefined) throw new Error("There is no file for it")
    return path
  })

describe("the file that proves a shared directory", () => {
  it.effect("is not listed by git, and only its owner reads it", () =>
    Effect.gen(function*() {
      const root = place()
      git(root, "init", "-q")
      mkdirSync(join(root, "below"))
      const path = yield* fileOf(join(root, "below"))
      const hash = yield* writeNonce(path)
      expect(hash).toMatch(/^[0-9a-f]{64}$/)
      expect(yield* nonceHash(path)).toBe(hash)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(git(root, "status", "--porcelain")).toBe("")
    }))

  it.effect("is not listed either if the repository is made later", () =>
    Effect.gen(function*() {
      const root = place()
      expect(yield* writeNonce(yield* fileOf(root))).toBeDefined()
      git(root, "init", "-q")
      expect(git(root, "status", "--porcelain")).toBe("")
    }))

  it.effect("proves nothing as a copy, or with a second name in another directory", () =>
    Effect.gen(function*() {
      const path = yield* fileOf(place())
      const hash = yield* writeNonce(path)
      const copy = yield* fileOf(place())
      mkdirSync(join(copy, ".."))
      copyFileSync(path, copy)
      expect(readFileSync(copy)).toEqual(readFileSync(path))
      expect(yield* nonceHash(copy)).not.toBe(hash)
      const linked = yield* fileOf(place())
      mkdirSync(join(linked, ".."))
      linkSync(path, linked)
      expect(yield* nonceHash(linked)).toBeUndefined()
      expect(yield* nonceHash(path)).toBeUndefined()
      // Its host writes a new one then.
      expect(yield* nonceHash(linked)).not.toBe(yield* writeNonce(path))
      expect(yield* nonceHash(path)).toMatch(/^[0-9a-f]{64}$/)
    }))

  it.effect("is neither read nor written through a link of the project", () =>
    Effect.gen(function*() {
      const target = join(place(), "target")
      writeFileSync(target, "a".repeat(64))
      const path = yield* fileOf(place())
      mkdirSync(join(path, ".."))
      symlinkSync(target, path)
      expect(yield* nonceHash(path)).toBeUndefined()
      expect(yield* writeNonce(path)).toBeDefined()
      expect(readFileSync(target, "utf8")).toBe("a".repeat(64))

      const elsewhere = place()
      const linked = place()
      symlinkSync(elsewhere, join(linked, ".skein-host"))
      expect(yield* writeNonce(yield* fileOf(linked))).toBeUndefined()
      expect(existsSync(join(elsewhere, "nonce"))).toBe(false)
    }))

  it.effect("is missing where the project itself says where its repository is", () =>
    Effect.gen(function*() {
      const root = place()
      const elsewhere = place()
      git(elsewhere, "init", "-q")
      renameSync(join(elsewhere, ".git"), join(elsewhere, "repository"))
      writeFileSync(join(root, ".git"), `gitdir: ${join(elsewhere, "repository")}\n`)
      expect(yield* nonceFile(root)).toBeUndefined()
    }))
})

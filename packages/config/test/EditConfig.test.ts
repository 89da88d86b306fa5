import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { setValue, valueIn } from "@skein/config/EditConfig"
import * as Effect from "effect/Effect"
import { join } from "node:path"

const server = { command: ["node", "a.mjs"] }

/** A file with this text, if any; what changing it makes of it. */
const edited = (text: string | undefined, keys: ReadonlyArray<string>, value: unknown) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped()
    const path = join(directory, "deep", "skein.json")
    if (text !== undefined) {
      yield* fs.makeDirectory(join(directory, "deep"))
      yield* fs.writeFileString(path, text)
    }
    const result = yield* Effect.either(setValue(path, keys, value))
    const now = yield* Effect.orElseSucceed(fs.readFileString(path), () => undefined)
    const files = yield* Effect.orElseSucceed(fs.readDirectory(join(directory, "deep")), () => [])
    return { result, now, files, value: yield* Effect.either(valueIn(path, keys)) }
  })

layer(NodeFileSystem.layer)("EditConfig", (it) => {
  it.scoped("creates a file with the value", () =>
    Effect.gen(function*() {
      const { files, now, value } = yield* edited(undefined, ["mcp", "a"], server)
      expect(JSON.parse(now ?? "")).toEqual({ mcp: { a: server } })
      expect({ files, value }).toMatchObject({ files: ["skein.json"], value: { right: server } })
    }))

  it.scoped("keeps comments, order, commas at the end and the indentation", () =>
    Effect.gen(function*() {
      const text =
        "// mine\n{\n\t\"model\": \"a/b\", // best\n\t\"mcp\": {\n\t\t/* old */\n\t\t\"b\": { \"url\": \"http://b\" },\n\t},\n}\n"
      const { now } = yield* edited(text, ["mcp", "a"], { url: "http://a" })
      for (const part of ["// mine", "// best", "/* old */", "\n\t\t\"a\": {\n\t\t\t\"url\": \"http://a\""]) {
        expect(now).toContain(part)
      }
      expect(now?.indexOf("model")).toBeLessThan(now?.indexOf("mcp") ?? 0)
    }))

  it.scoped("removes a value, and nothing else", () =>
    Effect.gen(function*() {
      const { now } = yield* edited("{ \"mcp\": { \"a\": {}, \"b\": { \"url\": \"http://b\" } } } // end\n", [
        "mcp",
        "a"
      ], undefined)
      expect(now).toContain("// end")
      expect(now).not.toContain("\"a\"")
      expect(now).toContain("http://b")
    }))

  it.scoped("leaves a file with a mistake as it is, and names the line", () =>
    Effect.gen(function*() {
      const { now, result } = yield* edited("{\n  \"mcp\": [,\n", ["mcp", "a"], server)
      expect(now).toBe("{\n  \"mcp\": [,\n")
      expect(result).toMatchObject({ left: { message: expect.stringContaining("skein.json:2 is not valid JSON") } })
    }))

  it.scoped("leaves a file as it is where the value has no place", () =>
    Effect.gen(function*() {
      const { now, result } = yield* edited("{ \"mcp\": [] }", ["mcp", "a"], server)
      expect(result).toMatchObject({ _tag: "Left" })
      expect(now).toBe("{ \"mcp\": [] }")
    }))

  it.scoped("changes the file that a link leads to, and leaves the link and its mode", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const [target, link] = [join(directory, "dotfiles.json"), join(directory, "skein.json")]
      yield* fs.writeFileString(target, "{}", { mode: 0o600 })
      yield* fs.symlink(target, link)
      yield* setValue(link, ["mcp", "a"], server)
      expect(JSON.parse(yield* fs.readFileString(target))).toEqual({ mcp: { a: server } })
      expect(yield* fs.readLink(link)).toBe(target)
      expect((yield* fs.stat(target)).mode & 0o777).toBe(0o600)
    }))
})

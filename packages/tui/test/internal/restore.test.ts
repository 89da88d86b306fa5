import type { MessageWithParts } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { changedSince, planRestore } from "../../src/internal/session/rewind.ts"
import type { SessionHost } from "../../src/SessionHost.ts"

const call = (tool: string, end: number, metadata: unknown, input: unknown = {}) => ({
  type: "tool",
  tool,
  state: { status: "completed", input, metadata, time: { start: end, end } }
})

const messages = (...parts: ReadonlyArray<unknown>) =>
  [{ info: {}, parts }] as unknown as ReadonlyArray<MessageWithParts>

const plan = (files: Readonly<Record<string, string>>, ...parts: ReadonlyArray<unknown>) => {
  const host = { read: (_: string, name: string) => Effect.succeed(files[name]) } as unknown as SessionHost
  return Effect.runPromise(planRestore(host, "/project", changedSince(messages(...parts), 10).changes))
}

const edit = (end: number, before: string, after: string) =>
  call("edit", end, { filePath: "a.txt", diff: `@@ -1,3 +1,3 @@\n one\n-${before}\n+${after}\n three` })

describe("what tools changed since a prompt", () => {
  it("is taken back from the latest change to the first one, and not further", async () => {
    expect(
      await plan({ "a.txt": "one\nD\nthree\n" }, edit(5, "A", "B"), edit(20, "B", "C"), edit(30, "C", "D"))
    ).toEqual({ files: [{ file: "a.txt", text: "one\nB\nthree\n" }], others: [] })
  })

  it("is left alone where the file was changed by somebody else", async () => {
    expect(await plan({ "a.txt": "one\nmine\nthree\n" }, edit(20, "B", "C"))).toEqual({ files: [], others: ["a.txt"] })
  })

  it("deletes what was created, if it still holds only that", async () => {
    const created = call("write", 20, { filePath: "new", done: "created", diff: "@@ -0,0 +1,1 @@\n+hello" })
    expect(await plan({ new: "hello\n" }, created)).toEqual({ files: [{ file: "new", text: undefined }], others: [] })
    expect(await plan({ new: "hello\nmore\n" }, created)).toEqual({ files: [], others: ["new"] })
  })

  it("brings back what a patch deleted, and takes each of its files on its own", async () => {
    const patch = call("patch", 20, {
      files: ["M a.txt", "D gone.txt"],
      diff: "+++ a.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n+++ gone.txt\n@@ -1,2 +0,0 @@\n-one\n-two"
    })
    expect(await plan({ "a.txt": "y\n" }, patch)).toMatchObject({
      files: [{ file: "a.txt", text: "x\n" }, { file: "gone.txt", text: "one\ntwo\n" }],
      others: []
    })
  })

  it("is not known where the tool cut its diff", async () => {
    const long = call("edit", 20, { filePath: "a.txt", diff: "@@ -1,1 +1,1 @@\n-x\n+y\n… (more is not shown)" })
    expect(await plan({ "a.txt": "y" }, long)).toEqual({ files: [], others: ["a.txt"] })
  })

  it("names the commands, which may have changed anything", () => {
    const ran = (command: string, end: number) => call("bash", end, { exit: 0 }, { command })
    expect(changedSince(messages(ran("npm i", 5), ran("make", 20), ran("make", 30)), 10).commands).toEqual(["make"])
  })
})

/** The built program: exporting, importing and forking sessions. */
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox, type Start } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

/** The package that the program uses; it has no types. */
const Database = createRequire(new URL("../packages/storage/package.json", import.meta.url))("better-sqlite3") as new(
  file: string
) => { readonly prepare: (sql: string) => { readonly run: (id: string) => unknown }; readonly close: () => void }

const world = (): Sandbox => {
  const place = sandbox({ files: { "a.txt": "a" } })
  atEnd(place.remove)
  return place
}

const prompt = (place: Sandbox, args: ReadonlyArray<string>) =>
  place.run(["run", "-m", "offline/survey", "--format", "quiet", ...args])

const list = async (place: Sandbox) => JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)
const show = async (place: Sandbox, id: string) =>
  JSON.parse((await place.run(["sessions", "show", id, "--format", "json"])).stdout)

const sessions = (place: Sandbox, args: ReadonlyArray<string>, start?: Start) => place.run(["sessions", ...args], start)

describe("sessions export and import", () => {
  it("move a tree from one database to another, where it continues", async () => {
    const from = world()
    await prompt(from, ["--title", "Survey", "what is here?"])
    const [{ id }] = await list(from)
    const file = join(from.home, "tree.json")
    const written = await sessions(from, ["export", id, "--output", file])
    expect(written).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/tree\.json: \d+ sessions? with/)
    })
    const { stdout } = await sessions(from, ["export", id])
    const { exported: _, ...archive } = JSON.parse(readFileSync(file, "utf8"))
    expect(JSON.parse(stdout)).toMatchObject(archive)
    expect(archive).toMatchObject({ format: "skein-archive", version: 1, root: id })

    const to = world()
    const taken = await sessions(to, ["import", "-", "--dir", to.project], { input: stdout })
    expect(taken).toMatchObject({ code: 0, stdout: `${id}\n`, stderr: "" })
    expect((await show(to, id)).messages).toEqual((await show(from, id)).messages)
    expect(await sessions(to, ["resume", id, "and now?", "-m", "offline/survey"])).toMatchObject({ code: 0 })
    expect((await show(to, id)).messages.length).toBeGreaterThan((await show(from, id)).messages.length)
  })

  it("let no archive choose a directory or another provider: the command line has to name them", async () => {
    const from = world()
    await prompt(from, ["--title", "Survey", "what is here?"])
    const [{ id }] = await list(from)
    const { stdout } = await sessions(from, ["export", id])
    const to = world()
    const elsewhere = await sessions(to, ["import", "-"], { input: stdout })
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`--dir ${from.project}`) })
    const input = stdout.replaceAll("\"providerID\":\"offline\"", "\"providerID\":\"deepseek\"")
    expect(input).not.toBe(stdout)
    const arguments_ = ["import", "-", "--dir", to.project]
    const strange = await sessions(to, arguments_, { input })
    expect(strange).toMatchObject({ code: 2, stderr: expect.stringContaining("--providers deepseek") })
    expect(await list(to)).toEqual([])
    expect(await sessions(to, [...arguments_, "--providers", "deepseek"], { input })).toMatchObject({ code: 0 })
  })

  it("overwrite nothing: no file, and no session unless it is a copy", async () => {
    const place = world()
    await prompt(place, ["what is here?"])
    const [{ id }] = await list(place)
    const file = join(place.home, "tree.json")
    writeFileSync(file, "mine")
    expect(await sessions(place, ["export", id, "--output", file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("already exists. Name another file")
    })
    expect(readFileSync(file, "utf8")).toBe("mine")
    const { stdout } = await sessions(place, ["export", id])
    writeFileSync(file, stdout)
    expect(await sessions(place, ["import", file])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/stored here already.*--as-copy/)
    })
    const copy = await sessions(place, ["import", file, "--as-copy"])
    expect(copy).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ses_\w+\n$/) })
    expect((await list(place)).map((each: { readonly id: string }) => each.id).toSorted()).toEqual(
      [id, copy.stdout.trim()].toSorted()
    )
  })

  it("report and count what cannot be read, and fail because of it", async () => {
    const place = world()
    await prompt(place, ["what is here?"])
    const [{ id }] = await list(place)
    const database = new Database(place.database)
    database.prepare("UPDATE message SET data = '{' WHERE session_id = ? AND role = 'user'").run(id)
    database.close()
    const { code, stderr, stdout } = await sessions(place, ["export", id])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^skein: msg_\w+ cannot be read: .*\nskein: The archive lacks 1 row, /)
    expect(JSON.parse(stdout).sessions[0].messages.length).toBeGreaterThan(0)
  })

  it("report errors in one line", async () => {
    const place = world()
    const unknown = await sessions(place, ["export", "ses_nowhere", "--output", "out.json"])
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^skein: There is no session ses_nowhere.*\n$/)
    })
    expect(await sessions(place, ["import", "out.json"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^skein: .*out\.json cannot be read.*\n$/)
    })
    for (const [input, says] of [["{\"format\":", "cut off"], ["{}", "no archive"], ["", "empty"]] as const) {
      expect(await sessions(place, ["import", "-"], { input })).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(new RegExp(`^skein: .*${says}.*\n$`))
      })
    }
    expect(await list(place)).toEqual([])
  })
})

describe("forks", () => {
  it("are copies, whole or up to a message, and `run --fork` continues one", async () => {
    const place = world()
    await prompt(place, ["--title", "First", "what is a?"])
    const [{ id }] = await list(place)
    const { messages } = await show(place, id)
    const whole = (await sessions(place, ["fork", id])).stdout.trim()
    expect((await show(place, whole)).session).toMatchObject({ title: "First (fork)", usage: { own: { steps: 0 } } })
    expect((await show(place, whole)).messages).toHaveLength(messages.length)
    const part = (await sessions(place, ["fork", id, "--at", messages[0].info.id])).stdout.trim()
    expect((await show(place, part)).messages).toHaveLength(1)
    expect(await sessions(place, ["fork", id, "--at", "msg_nowhere"])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("has no message msg_nowhere")
    })

    expect(await prompt(place, ["--fork", "-s", id, "--title", "Second", "and b?"])).toMatchObject({ code: 0 })
    const [newest] = await list(place)
    expect(newest.title).toBe("Second")
    const forked = await show(place, newest.id)
    expect(forked.messages[messages.length].parts).toMatchObject([{ text: "and b?" }])
    expect((await show(place, id)).messages).toEqual(messages)
    expect(await prompt(place, ["--fork", "-c", "and c?"])).toMatchObject({ code: 0 })
    expect((await list(place))[0].title).toBe("Second (fork)")
    expect(await prompt(place, ["--fork", "and d?"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("name it with --session ID")
    })
  })
})

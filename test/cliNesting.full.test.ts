/** The built program and values that are nested too deeply for recursion. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { within } from "./support/database.ts"
import { type LlmAnswer, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const deep = (levels: number): string => `{"todos":${"[".repeat(levels)}${"]".repeat(levels)}}`

const world = async (first: LlmAnswer | string) => {
  let asked = 0
  const llm = await startLlm(() => asked++ === 0 ? first : "I go on.")
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  return { llm, place, prompt: (...args: ReadonlyArray<string>) => place.run(["run", "-m", "openai/m", ...args]) }
}

const rootOf = async (place: Sandbox): Promise<string> => {
  const { stdout } = await place.run(["sessions", "--format", "json"])
  const found: ReadonlyArray<{ readonly id: string; readonly title: string }> = JSON.parse(stdout)
  return found.at(-1)?.id ?? ""
}

/** Everything that reads a session's history. */
const goesOn = async (place: Sandbox, id: string, exported = 0) => {
  const model = ["-m", "openai/m"]
  for (
    const args of [
      ["sessions", "show", id],
      ["sessions", "resume", id, ...model],
      ["run", "-s", id, ...model, "--format", "json", "and now?"],
      ["run", "-s", id, "--fork", ...model, "and now?"],
      ["sessions", "export", id, "--output", join(place.home, "tree.json")],
      ["sessions", "import", join(place.home, "tree.json"), "--as-copy"]
    ]
  ) {
    const { code, stderr, stdout } = await place.run(args)
    expect({ args, code }, `${stdout}\n${stderr}`).toEqual({ args, code: args[1] === "export" ? exported : 0 })
  }
}

it("refuses a call whose arguments are nested 2,500 deep, and continues the session", async () => {
  const { place, prompt } = await world({ calls: [{ tool: "todowrite", json: deep(2_500) }] })
  await prompt("Begin.")
  await goesOn(place, await rootOf(place))
})

const levels = 20_000
const states = {
  pending: { status: "pending", input: deep(levels) },
  running: { status: "running", input: "DEEP", time: { start: 1 } },
  completed: {
    status: "completed",
    input: "DEEP",
    output: "o",
    title: "t",
    metadata: { deep: "DEEP" },
    time: { start: 1, end: 2 }
  },
  error: { status: "error", input: "DEEP", error: { tag: "x", message: "m" }, metadata: { deep: "DEEP" } }
}

for (const statuses of [["pending", "running"], ["completed", "error"]] as const) {
  it(`continues a session with stored ${statuses.join(" and ")} calls that are nested 20,000 deep`, async () => {
    const call = { tool: "todowrite", args: { todos: [] } }
    const { place, prompt } = await world({ calls: [call, call] })
    const crash = statuses[0] === "pending" ? { SKEIN_FAILPOINT: "intent_after_commit:1" } : {}
    const { signal } = await place.run(["run", "-m", "openai/m", "Begin."], { env: crash })
    expect(signal).toBe("SKEIN_FAILPOINT" in crash ? "SIGKILL" : null)
    within(place.database, (db) => {
      const rows = db.prepare("SELECT id, data FROM part WHERE type = 'tool' ORDER BY id").all()
      expect(rows).toHaveLength(2)
      for (const [i, row] of rows.entries()) {
        const status = statuses[i] ?? "error"
        const part = JSON.parse(String(row["data"])) as object
        const data = JSON.stringify({ ...part, state: states[status] }).replaceAll("\"DEEP\"", deep(levels))
        db.exec(`UPDATE part SET state = '${status}', data = '${data}' WHERE id = '${String(row["id"])}'`)
      }
    })
    await goesOn(place, await rootOf(place))
    expect(await prompt("-c", "again")).toMatchObject({ code: 0, stdout: "I go on.\n" })
  })
}

const spoilt = {
  "todos, inbox and call": [
    "UPDATE todo SET data = '{}'",
    "INSERT INTO inbox (id, session_id, kind, version, data) SELECT 'msg_x', id, 'prompt', 1, '{' FROM session",
    "UPDATE part SET data = '{}' WHERE type = 'tool'"
  ],
  messages: ["UPDATE message SET data = '[]'"]
}

for (const [what, statements] of Object.entries(spoilt)) {
  it(`continues a session whose ${what} cannot be read`, async () => {
    const { place, prompt } = await world({ calls: [{ tool: "todowrite", args: { todos: [] } }] })
    await prompt("Begin.")
    within(place.database, (db) => {
      for (const sql of statements) db.exec(sql)
    })
    // What is missing in the archive is reported, and makes it a failure.
    await goesOn(place, await rootOf(place), 1)
  })
}

it("refuses an archive that is nested too deeply", async () => {
  const { place, prompt } = await world("Done.")
  await prompt("Begin.")
  const file = join(place.home, "tree.json")
  await place.run(["sessions", "export", await rootOf(place), "--output", file])
  const archive = readFileSync(file, "utf8")
  writeFileSync(file, archive.replace("\"todos\":[]", `"todos":[${deep(20_000)}]`))
  const { code, stderr } = await place.run(["sessions", "import", file, "--as-copy"])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("it is nested more than 512 levels deep")
  })
})

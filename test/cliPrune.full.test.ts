/** The built program and pruning: automatically once a day, and on request. */
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const day = 86_400_000

const world = (): Sandbox => {
  const place = sandbox()
  atEnd(place.remove)
  return place
}

interface Connection {
  readonly prepare: (text: string) => {
    readonly reader: boolean
    readonly all: () => ReadonlyArray<Readonly<Record<string, number>>>
    readonly run: () => unknown
  }
  readonly close: () => void
}

// The storage's own driver, because the test changes ages in the file directly.
const Database: new(file: string) => Connection = createRequire(
  new URL("../packages/storage/package.json", import.meta.url)
)("better-sqlite3")

const sql = (place: Sandbox, text: string): ReadonlyArray<Readonly<Record<string, number>>> => {
  const connection = new Database(place.database)
  const statement = connection.prepare(text)
  const rows = statement.reader ? statement.all() : []
  if (!statement.reader) statement.run()
  connection.close()
  return rows
}

/** Makes everything in the database this old. */
const age = (place: Sandbox, days: number) => {
  sql(place, `UPDATE event SET time = time - ${days * day}`)
  sql(
    place,
    `UPDATE session SET updated = updated - ${days * day},
      data = json_set(data, '$.time.updated', json_extract(data, '$.time.updated') - ${days * day})`
  )
}

const spill = (place: Sandbox, session: string, days: number) => {
  const file = join(dirname(place.database), "spill", session, "prt_a")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, "x".repeat(5_000))
  const time = (Date.now() - days * day) / 1_000
  utimesSync(file, time, time)
  utimesSync(dirname(file), time, time)
  return file
}

const ask = (place: Sandbox, ...more: ReadonlyArray<string>) =>
  place.run(["run", "-m", "offline/survey", "--format", "quiet", "what is here?", ...more])

const events = (place: Sandbox) => sql(place, "SELECT count(*) AS n FROM event")[0]?.["n"] ?? 0

/** Adds current events to a tree that has nothing else, each with this much content. */
const addEvents = (place: Sandbox, count: number, size: number) =>
  sql(
    place,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) INSERT INTO event
      SELECT NULL, 'evt_' || i, 'ses_x', 'ses_x', NULL, 0, 'session.error', ${Date.now()}, NULL,
        json_object('pad', printf('%.${size}c', 'x')), i FROM n`
  )

const prune = async (place: Sandbox, ...args: ReadonlyArray<string>) =>
  JSON.parse((await place.run(["sessions", "prune", "--format", "json", ...args])).stdout)

it("sessions prune removes old events and long texts, and sessions only on request", async () => {
  const place = world()
  await ask(place, "--title", "Old")
  age(place, 100)
  const old = events(place)
  await ask(place, "--title", "New")
  const recent = events(place) - old
  const [{ id: newer }, { id: older }] = JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)
  const files = [spill(place, older, 40), spill(place, "ses_gone", 8), spill(place, older.replace("ses_", "ses_0"), 6)]
  const kept = spill(place, newer, 40)

  expect(await prune(place, "--dry-run", "--older-than", "90d")).toMatchObject({
    dryRun: true,
    sessions: [older],
    events: old,
    texts: { files: 2, bytes: 10_000 }
  })
  expect(events(place)).toBe(old + recent)

  expect(await prune(place)).toMatchObject({ dryRun: false, sessions: [], events: old, texts: { files: 2 } })
  expect(events(place)).toBe(recent)
  expect([...files, kept].map((file) => existsSync(file))).toEqual([false, false, true, true])

  spill(place, older, 0)
  expect(await prune(place, "--older-than", "90d")).toMatchObject({ sessions: [older], texts: { files: 1 } })
  expect(readdirSync(join(dirname(place.database), "spill"))).not.toContain(older)
  expect(JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)).toMatchObject([{ id: newer }])
})

it("events are kept as long as the user's own config says, and no project decides that", async () => {
  const place = world()
  await ask(place)
  age(place, 3)
  const old = events(place)
  writeFileSync(join(place.project, "skein.json"), JSON.stringify({ events: { keep: "1h" } }))
  expect(await prune(place)).toMatchObject({ events: 0 })
  const own = join(place.home, "config", "skein")
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, "skein.json"), JSON.stringify({ events: { keep: "4d" } }))
  expect(await prune(place)).toMatchObject({ events: 0 })
  writeFileSync(join(own, "skein.json"), JSON.stringify({ events: { keep: "2d" } }))
  expect((await place.run(["sessions", "prune"])).stdout).toContain("events are kept for 2 days")
  expect(old).toBeGreaterThan(0)
  expect(events(place)).toBe(0)
  writeFileSync(join(own, "skein.json"), JSON.stringify({ events: { keep: "30m" } }))
  expect(await place.run(["sessions", "prune"])).toMatchObject({ code: 2, stdout: "" })
})

it("sessions prune skips other projects and unsettled runs, and reports what it did", async () => {
  const place = world()
  await ask(place)
  age(place, 100)
  const elsewhere = ["--dir", place.home]
  expect(await prune(place, "--older-than", "12w", ...elsewhere)).toMatchObject({ sessions: [] })
  sql(
    place,
    `INSERT INTO run (id, task_id, parent_id, root_id, state, version, data)
      SELECT 'run_a', id, id, id, 'running', 1, json_object('id', 'run_a', 'taskID', id, 'parentID', id,
      'rootID', id, 'agent', 'explore', 'description', 'a', 'prompt', 'a', 'background', json('false'), 'state', 'running',
      'time', json_object('created', 1)) FROM session`
  )
  expect(await prune(place, "--older-than", "90d")).toMatchObject({ sessions: [] })
  sql(place, "DELETE FROM run")
  const { code, stdout } = await place.run(["sessions", "prune", "--older-than", "90d", "--all", ...elsewhere])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ses_\w+ {2}.*\nRemoved 1 session, \d+ events? and 0 long texts \(0 KB\).*--vacuum/s)

  const { code: refused, stderr } = await place.run(["sessions", "prune", "--older-than", "5m"])
  expect(refused).toBe(2)
  expect(stderr).toContain("--older-than: \"5m\" is not an age of a day or more")
})

it("sessions prune limits the events of one tree, however new they are, oldest first", async () => {
  const place = world()
  await ask(place)
  const others = events(place)
  addEvents(place, 20_007, 1)
  expect(await prune(place)).toMatchObject({ events: 7 })
  expect(events(place)).toBe(others + 20_000)
  expect(sql(place, "SELECT count(*) AS n FROM event WHERE id IN ('evt_7', 'evt_8')")).toEqual([{ n: 1 }])
})

it("sessions prune --vacuum returns the space", async () => {
  const place = world()
  await ask(place)
  addEvents(place, 5_000, 500)
  sql(place, "UPDATE event SET time = 1")
  age(place, 1)
  const full = statSync(place.database).size
  const { stdout } = await place.run(["sessions", "prune", "--vacuum"])
  expect(stdout).toMatch(
    /Removed 0 sessions, 5,?\d+ events.*it was \d+(?:\.\d)? MB, and \d+(?:\.\d)? MB are free again/s
  )
  expect(statSync(place.database).size).toBeLessThan(full / 5)
})

it("run prunes automatically, once a day", async () => {
  const place = world()
  await ask(place)
  age(place, 100)
  sql(place, "UPDATE event SET id = 'evt_old' || position")
  const old = () => sql(place, "SELECT count(*) AS n FROM event WHERE id LIKE 'evt_old%'")[0]?.["n"]
  const stamps = join(place.home, ".local", "state", "skein", "pruned")
  const [stamp = ""] = readdirSync(stamps)
  const before = statSync(join(stamps, stamp)).mtimeMs
  await ask(place)
  expect(old()).toBeGreaterThan(0)
  expect(statSync(join(stamps, stamp)).mtimeMs).toBe(before)

  utimesSync(join(stamps, stamp), (before - day) / 1_000, (before - day) / 1_000)
  await ask(place)
  expect(old()).toBe(0)
  expect(readdirSync(stamps)).toEqual([stamp])
})

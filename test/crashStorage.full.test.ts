/** The built program and a database that is full, locked, shared, damaged, or killed during a migration. */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { integrity, locked, within } from "./support/database.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 90_000 })

const world = async (script: (request: LlmRequest) => LlmAnswer | string | Promise<LlmAnswer | string>) => {
  const llm = await startLlm(script)
  const place: Sandbox = sandbox({ llm: llm.url, files: { "a.txt": "needle\n" } })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

const run = ["run", "-m", "openai/m", "--title", "t", "--auto"]

/** A model that reads a file this many times. */
const steps = (count: number) => ({ messages }: LlmRequest): LlmAnswer | string => {
  const done = messages.filter(({ role }) => role === "tool").length
  return done < count ? { calls: [{ tool: "read", args: { filePath: "a.txt", offset: 1, limit: done + 1 } }] } : "done"
}

describe("a locked database", () => {
  it("is waited for: after three seconds the run continues normally", async () => {
    let requests = 0
    const { place } = await world(async (request) => {
      if (++requests === 2) atEnd(await locked(place.database, 3_000))
      return steps(3)(request)
    })
    const ended = await place.run([...run, "--format", "quiet", "go"])
    expect(ended).toMatchObject({ code: 0, stdout: "done\n", stderr: "" })
  })

  it("is shared by eight parallel runs, and none of them reports a lock", async () => {
    const { place } = await world(steps(20))
    const ended = await Promise.all(
      Array.from({ length: 8 }, () => place.run([...run, "--format", "quiet", "go"]))
    )
    expect(ended).toEqual(ended.map(() => ({ code: 0, signal: null, stdout: "done\n", stderr: "" })))
    expect(integrity(place.database)).toEqual(["ok"])
  })
})

const canInject =
  spawnSync("strace", ["-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO", "true"]).status === 0

describe.skipIf(!canInject)("a disk that fails to flush (needs strace)", () => {
  /** Each call fails in the one thread that flushes, from one to another. */
  const failing = async (calls: string) => {
    const llm = await startLlm((request) => {
      const isChild = JSON.stringify(request.messages.filter(({ role }) => role === "user")).includes("count the files")
      const done = request.messages.filter(({ role }) => role === "tool").length
      if (isChild) {
        return done < 3
          ? { calls: [{ tool: "bash", args: { command: `echo ${done} >> effects.log` } }] }
          : "three"
      }
      return done === 0
        ? {
          calls: [{ tool: "task", args: { description: "count", prompt: "count the files", subagent_type: "general" } }]
        }
        : "done"
    })
    const place = sandbox({
      llm: llm.url,
      through: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `inject=fdatasync:error=EIO:when=${calls}`]
    })
    atEnd(llm.close, place.remove)
    const ended = await place.run([...run, "--format", "quiet", "go"], { env: { UV_THREADPOOL_SIZE: "1" } })
    const runs = within(place.database, (db) => db.prepare("SELECT state, data FROM run").all())
    return { ended, place, runs }
  }

  it("for a moment is waited for: the task completes, and its commands run once", async () => {
    const { ended, place, runs } = await failing("8..14")
    expect(ended).toMatchObject({ code: 0, stdout: "done\n" })
    expect(JSON.parse(String(runs[0]?.["data"]))).toMatchObject({ outcome: { status: "completed", text: "three" } })
    expect(readFileSync(join(place.project, "effects.log"), "utf8")).toBe("0\n1\n2\n")
    expect(integrity(place.database)).toEqual(["ok"])
  })

  it("for longer than half a minute interrupts the run, and is no outcome of the task", async () => {
    const { ended, runs } = await failing("12+")
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/could not be read or written for 30 seconds/)
    expect(runs).toHaveLength(1)
    expect(runs[0]?.["state"]).not.toBe("settled")
  })
})

const mountpoint = mkdtempSync(join(tmpdir(), "skein-full-"))
const mounts = spawnSync("mount", ["-t", "tmpfs", "-o", "size=20m", "none", mountpoint]).status === 0
if (mounts) spawnSync("umount", [mountpoint])
rmSync(mountpoint, { recursive: true, force: true })

describe.skipIf(!mounts)("a disk that is full (needs to mount one)", () => {
  it("ends the turn before a command without a stored intent begins; with room it continues", async () => {
    const disk = mkdtempSync(join(tmpdir(), "skein-full-"))
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=20m", "none", disk]).status).toBe(0)
    atEnd(() => {
      spawnSync("umount", ["-l", disk])
      rmSync(disk, { recursive: true, force: true })
    })
    const database = join(disk, "skein.db")
    const filler = join(disk, "filler")
    let fills = true
    const { place } = await world(({ messages }) => {
      const done = messages.filter(({ role }) => role === "tool").length
      if (done === 5) return "done"
      if (done === 4 && fills) {
        spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"])
        spawnSync("dd", ["if=/dev/zero", `of=${filler}.rest`, "bs=1"])
      }
      const said = done === 4 && fills ? { text: "x".repeat(200_000) } : {}
      return { ...said, calls: [{ tool: "bash", args: { command: `echo ${done} >> effects.log` } }] }
    })
    const ended = await place.run([...run, "--db", database, "--format", "quiet", "go"])
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/full|space/i)
    const effects = () => readFileSync(join(place.project, "effects.log"), "utf8")
    expect(effects()).toBe("0\n1\n2\n3\n")
    fills = false
    for (const name of [filler, `${filler}.rest`]) rmSync(name)
    const [{ id }] = JSON.parse((await place.run(["sessions", "--db", database, "--format", "json"])).stdout)
    const resumed = await place.run(["sessions", "resume", id, "--auto", "--db", database, "--format", "quiet"])
    expect(resumed).toMatchObject({ code: 0, stdout: "done\n" })
    expect(effects()).toBe("0\n1\n2\n3\n4\n")
    expect(integrity(database)).toEqual(["ok"])
  })
})

/** A database with a session in it, of the first schema. */
const older = async () => {
  const { place } = await world(() => "done")
  await place.run([...run, "go"])
  within(place.database, (db) => {
    db.exec("DROP INDEX part_message")
    db.exec("DROP TABLE control")
    db.exec("ALTER TABLE approval DROP COLUMN host")
    db.exec("DROP TABLE ruleset")
    db.exec("ALTER TABLE run DROP COLUMN terms")
    db.exec("DROP TABLE receipt")
    db.exec("DROP INDEX inbox_waiting")
    db.exec("DROP TABLE event_counter")
    db.exec("DROP INDEX event_number")
    db.exec("ALTER TABLE event DROP COLUMN tree_seq")
    db.exec("ALTER TABLE event RENAME COLUMN position TO seq")
    db.exec("CREATE INDEX event_root ON event (root_id, seq)")
    db.exec("DROP INDEX approval_root")
    db.exec("ALTER TABLE approval DROP COLUMN root_id")
    db.exec("DROP TABLE skein_migration")
    db.exec("PRAGMA user_version = 1")
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  })
  return place
}

const hashes = (place: Sandbox) =>
  readdirSync(dirname(place.database)).filter((name) => name.startsWith("skein.db") && !name.endsWith("-shm"))
    .toSorted()
    .map((name) =>
      `${name} ${createHash("sha256").update(readFileSync(join(dirname(place.database), name))).digest("hex")}`
    )

describe("a database of an older version", () => {
  it.each([1, 8, 15])(
    "is migrated by the next start, if the first was killed at statement %i",
    async (step) => {
      const place = await older()
      const { signal } = await place.run(["sessions"], { env: { SKEIN_FAILPOINT: `migration_step:${step}` } })
      expect(signal).toBe("SIGKILL")
      expect(await place.run(["sessions", "--format", "json"])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("\"title\": \"t\"")
      })
      const schema = within(place.database, (db) => db.prepare("PRAGMA user_version").all())
      expect(schema).not.toEqual([{ user_version: 1 }])
      expect(existsSync(`${place.database}.schema-1.bak`)).toBe(true)
      expect(integrity(place.database)).toEqual(["ok"])
    }
  )
})

describe("a file that is not for this program is refused with 2 and stays unchanged:", () => {
  const refused = async (place: Sandbox) => {
    const before = hashes(place)
    const { code, stderr } = await place.run([...run, "go"])
    expect(code).toBe(2)
    expect(stderr).toContain(place.database)
    expect(hashes(place)).toEqual(before)
  }

  it("one of a newer version", async () => {
    const place = await older()
    within(place.database, (db) => db.exec("PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)"))
    await refused(place)
  })

  it("one of another program", async () => {
    const { place } = await world(() => "done")
    mkdirSync(dirname(place.database), { recursive: true })
    within(place.database, (db) => db.exec("CREATE TABLE theirs (id INTEGER)"))
    await refused(place)
  })

  it("one whose log is garbled", async () => {
    const place = await older()
    writeFileSync(`${place.database}-wal`, Buffer.alloc(4_196, 0x5a))
    await refused(place)
  })

  it("a file that is not a database", async () => {
    const { place } = await world(() => "done")
    mkdirSync(dirname(place.database), { recursive: true })
    writeFileSync(place.database, "letters, and no pages of a database\n".repeat(500))
    await refused(place)
  })
})

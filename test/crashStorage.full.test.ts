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

/** A database with a session in it. */
const older = async () => {
  const { place } = await world(() => "done")
  await place.run([...run, "go"])
  within(place.database, (db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"))
  return place
}

const hashes = (place: Sandbox) =>
  readdirSync(dirname(place.database)).filter((name) => name.startsWith("skein.db") && !name.endsWith("-shm"))
    .toSorted()
    .map((name) =>
      `${name} ${createHash("sha256").update(readFileSync(join(dirname(place.database), name))).digest("hex")}`
    )

describe("a new database", () => {
  it.each([1, 8, 15])("appears whole, or not at all if its maker is killed at statement %i", async (step) => {
    const { place } = await world(() => "done")
    const { signal } = await place.run([...run, "go"], { env: { SKEIN_FAILPOINT: `migration_step:${step}` } })
    expect(signal).toBe("SIGKILL")
    expect(existsSync(place.database)).toBe(false)
    expect(await place.run([...run, "--format", "quiet", "go"])).toMatchObject({ code: 0, stdout: "done\n" })
    expect(integrity(place.database)).toEqual(["ok"])
  })
})

describe("an import", () => {
  it("that is killed half way leaves nothing to see, and succeeds when it is repeated", async () => {
    const from = await older()
    const [{ id }] = JSON.parse((await from.run(["sessions", "--format", "json"])).stdout)
    const archive = JSON.parse((await from.run(["sessions", "export", id])).stdout)
    const [top] = archive.sessions
    const [first, ...rest] = top.messages
    // As many messages as several commits take.
    const many = Array.from({ length: 1_500 }, (_, n) => {
      const messageID = `msg_0${String(n).padStart(5, "0")}`
      return {
        info: { ...first.info, id: messageID },
        parts: [{ id: `prt_0${n}`, sessionID: id, messageID, type: "text", text: `${n}` }]
      }
    })
    top.messages = [...many, first, ...rest]
    const file = join(from.home, "large.json")
    writeFileSync(file, JSON.stringify(archive))
    const { place } = await world(() => "done")
    await place.run([...run, "other"])
    const list = async () => JSON.parse((await place.run(["sessions", "--format", "json", "--all"])).stdout)
    const before = await list()
    const killed = await place.run(["sessions", "import", file, "--dir", place.project], {
      env: { SKEIN_FAILPOINT: "draft_page_committed:3" }
    })
    expect(killed.signal).toBe("SIGKILL")
    expect(await list()).toEqual(before)
    expect((await place.run(["sessions", "show", id])).code).toBe(2)
    const stored = () => within(place.database, (db) => db.prepare("SELECT count(*) AS count FROM message").all())
    expect(stored()).not.toEqual([{ count: 2 }])
    const cut = join(from.home, "cut.json")
    writeFileSync(cut, readFileSync(file, "utf8").slice(0, -40))
    expect(await place.run(["sessions", "import", cut, "--dir", place.project])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cut off")
    })
    // It waits until nobody can be at work on what the killed process has left.
    expect(await place.run(["sessions", "import", file, "--dir", place.project])).toMatchObject({
      code: 0,
      stdout: `${id}\n`
    })
    expect(await list()).toHaveLength(before.length + 1)
    const shown = JSON.parse((await place.run(["sessions", "show", id, "--format", "json"])).stdout)
    expect(shown.messages).toEqual(top.messages)
    expect(stored()).toEqual([{ count: top.messages.length + 2 }])
  })
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

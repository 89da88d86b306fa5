/** Servers that share a PostgreSQL database: any of them takes any request, and what one leaves continues at another. */
import type { ClusterStatus } from "@skein/cluster/ClusterStatus"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startCluster } from "./support/cluster.ts"
import { type Sent, startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

const place = (options: Parameters<typeof sandbox>[0] = {}): Sandbox => {
  const made = sandbox(options)
  atEnd(made.remove)
  return made
}

describe("skein serve --cluster refuses", () => {
  const postgres = ["--db", "postgres://skein@127.0.0.1:1/skein"]

  it.each(
    [
      ["a file as its database", ["serve", "--cluster"], "needs a PostgreSQL database"],
      [
        "an address that others cannot reach",
        ["serve", "--cluster", "--hostname", "0.0.0.0", ...postgres],
        "token-file"
      ],
      ["a secret without a cluster", ["serve", "--cluster-secret-file", "secret"], "is for --cluster"],
      ["to describe a cluster in a file", ["cluster", "status"], "shares a PostgreSQL database"]
    ]
  )("%s", async (_, args, words) => {
    const { code, stderr } = await place().run(args)
    expect([code, stderr.includes(words)], stderr).toEqual([2, true])
  })

  it("other machines without a secret for its servers", async () => {
    const token = "0123456789abcdef0123456789abcdef"
    const at = place({ files: { token } })
    const args = ["serve", "--cluster", "--token-file", "token", ...postgres, "--hostname"]
    const open = await at.run([...args, "192.0.2.1"])
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("needs --cluster-secret-file")])
    const nowhere = await at.run([...args, "0.0.0.0"])
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("Name it with --hostname")])
  })
})

await withPostgres((postgres) => {
  const three = () => startCluster(postgres)

  const statusOf = async ({ at }: { readonly at: Sandbox }, db: ReadonlyArray<string>): Promise<ClusterStatus> =>
    JSON.parse((await at.run(["cluster", "status", "--format", "json", ...db])).stdout)

  const isIdle = (session: string) => (event: Sent) => event.type === "session.idle" && event.data.sessionID === session

  /** All events of a tree, as a client of one server gets them that comes again whenever its connection breaks. */
  const eventsAt = async ({ follow }: Awaited<ReturnType<typeof startServer>>, id: string) => {
    const came: Array<Sent> = []
    let last = "0"
    while (!came.some(isIdle(id))) {
      for (const event of await follow(id, last, isIdle(id))) {
        if (event.id === undefined) continue
        came.push(event)
        last = event.id
      }
    }
    return came
  }

  const expectUnbroken = (events: ReadonlyArray<Sent>) =>
    expect(events.map((event) => event.data.seq)).toEqual(events.map((_, index) => index + 1))

  describe("servers of a cluster", () => {
    it("answer for each other: what is asked of one happens where the tree is", async () => {
      const { db, first, id, llm, second, third } = await three()
      const following = eventsAt(second, id)
      const waiting = second.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "And then?" })
      expect(await third.send(`/v1/sessions/${id}/interrupt`, {})).toMatchObject({ status: expect.any(Number) })
      await llm.wasCut
      await waiting
      expectUnbroken(await following)
      const { runners } = await statusOf(first, db)
      expect(runners.map(({ pid, port, state }) => [pid, port, state])).toEqual(
        [first, second, third].map(({ pid, url }) => [pid, Number(new URL(url).port), "alive"])
          .toSorted(([, a], [, b]) => Number(a) - Number(b))
      )
      expect(await second.send("/v1/cluster")).toMatchObject({ status: 200, json: { runners: [{}, {}, {}] } })
    })

    it("are shown only to users of the database who may read their schema", async () => {
      await postgres.create("hidden")
      await postgres.query("hidden", "CREATE SCHEMA skein")
      await postgres.query("hidden", "CREATE ROLE guest LOGIN PASSWORD 'guest'")
      const url = postgres.url("hidden").replace(/\/\/[^@]*@/, "//guest:guest@")
      const { code, stderr, stdout } = await place().run(["cluster", "status", "--db", url])
      expect([code, stdout]).toEqual([2, ""])
      expect(stderr).toContain("may not use the schema skein")
    })

    it("say to one without a secret file that it has none, while they have one", async () => {
      const { project } = place({ files: { secret: "0123456789abcdef0123456789abcdef" } })
      const { db, first } = await startCluster(postgres, ["--cluster-secret-file", join(project, "secret")])
      const { code, stderr } = await place().run(["serve", "--cluster", ...db])
      expect([code, stderr]).toEqual([2, expect.stringContaining(`The server ${first.url}`)])
      expect(stderr).toContain("This one was started without --cluster-secret-file")
    })

    it.each(["--url", "--stop"])("are named by serve %s where another data directory is set", async (flag) => {
      const { db, second } = await three()
      const [named] = (await statusOf(second, db)).runners
      const { code, stderr } = await place().run(["serve", flag, ...db])
      expect([code, stderr]).toEqual([2, expect.stringContaining(`a cluster works on this database: ${named!.url}`)])
      expect(stderr).toContain("and 2 more. `skein cluster status` lists its servers")
    })

    it("show who died, and who took up its trees after how long", async () => {
      const { db, first, id, llm, second } = await three()
      const before = await statusOf(second, db)
      expect(before.runners.map(({ held, trees, url }) => [url === first.url, trees, held.map((tree) => tree.id)]))
        .toEqual(before.runners.map(({ url }) => url === first.url ? [true, 1, [id]] : [false, 0, []]))
      first.child.kill("SIGKILL")
      await first.ended
      await llm.asked(2)
      const { stderr, stdout } = await second.at.run(["cluster", "status", ...db])
      expect(stdout).toMatch(new RegExp(`^${first.url}\\t.*\\t${first.pid}\\tdead\\t0\\t`, "m"))
      expect(stderr).toContain(`${first.url} is dead: its process ${first.pid} on the host `)
      expect(before.runners.map(({ version }) => version)).toEqual(before.runners.map(() => second.version))
      const taken = await until(async () => {
        const { runners, takeovers } = await statusOf(second, db)
        return runners.some(({ load }) => load.takeovers === 1) ? { runners, takeovers } : undefined
      })
      expect(taken.takeovers).toEqual([
        {
          rootID: id,
          why: "died",
          from: first.url,
          to: expect.any(String),
          ago: expect.any(Number),
          took: expect.any(Number)
        }
      ])
      const [{ to, took } = { to: "", took: 0 }] = taken.takeovers
      expect(taken.runners.find(({ url }) => url === to)).toMatchObject({ state: "alive", load: { takeovers: 1 } })
      expect(took).toBeGreaterThan(0)
    })

    it("are named by a run of another program in a session that they work in, with what to do", async () => {
      const { db, first, id, llm } = await three()
      const { code, stderr } = await place({ llm: llm.url }).run(["run", "-s", id, ...db, "And?"])
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`The server at ${first.url} works in the session ${id}. Work through it: `)
      ])
      expect(stderr).toContain(`skein run --attach=${first.url} -s ${id}, with its token in SKEIN_TOKEN`)
    })

    it("refuse one with another secret, and a database that is not there", async () => {
      const { db, second } = await three()
      const at = place({ files: { secret: "0123456789abcdef0123456789abcdef" } })
      const stranger = await at.run(["serve", "--cluster", "--cluster-secret-file", "secret", ...db])
      expect([stranger.code, stranger.stderr]).toEqual([2, expect.stringContaining("has another secret")])
      const none = await second.at.run(["cluster", "status", "--db", postgres.url("nowhere")])
      expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("Make it with \"createdb\"")])
      await postgres.create("empty")
      const again = await second.at.run(["serve", "--cluster", ...db])
      expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("set XDG_DATA_HOME")])
      const quoted = await second.at.run(["cluster", "status", "--db", `'${postgres.url("empty")}'`])
      expect([quoted.code, quoted.stderr]).toEqual([2, expect.stringContaining("Write it without quotes")])
      // As far as a server that is in no cluster makes tables.
      await postgres.create("plain")
      await postgres.query("plain", "CREATE SCHEMA skein CREATE TABLE cluster_failure (root_id TEXT)")
      const plain = await second.at.run(["cluster", "status", "--db", postgres.url("plain")])
      expect([plain.code, plain.stdout + plain.stderr]).toEqual([0, expect.stringContaining("No server is in this")])
      const empty = await second.at.run(["cluster", "status", "--db", postgres.url("empty")])
      expect([empty.code, empty.stdout + empty.stderr]).toEqual([0, expect.stringContaining("No server is in this")])
    })

    it("find unfinished turns without reading all sessions", async () => {
      await postgres.create("indexed")
      await postgres.query("postgres", "ALTER DATABASE indexed SET enable_seqscan = off")
      const at = place()
      const server = await startServer(at, ["--cluster", "--db", postgres.url("indexed")])
      const used = "SELECT idx_scan::integer AS n FROM pg_stat_user_indexes WHERE indexrelname = 'session_open'"
      atEnd(async () => {
        server.child.kill("SIGKILL")
        await server.ended
      })
      await until(async () => (await postgres.query("indexed", used))[0]?.n > 0)
    })

    it("let nobody in who only claims to be one of them", async () => {
      const { first, id } = await three()
      for (const signature of [`${Date.now()}.${"0".repeat(64)}`, "", "1.2"]) {
        const { status } = await fetch(`${first.url}/v1/sessions/${id}`, { headers: { "skein-cluster": signature } })
        expect(status).toBe(401)
      }
    })

    it("take up what a killed one leaves, and events keep their order", async () => {
      const { first, id, llm, second, third } = await three()
      const following = [eventsAt(second, id), eventsAt(third, id)]
      first.child.kill("SIGKILL")
      await llm.asked(2)
      for (const events of await Promise.all(following)) expectUnbroken(events)
      const { json } = await third.send(`/v1/sessions/${id}/messages`)
      expect(JSON.stringify(json)).toContain("All is done.")
    })

    it("take over at once from one that leaves, which ends with 0", async () => {
      const { first, id, llm, second } = await three()
      const following = eventsAt(second, id)
      first.child.kill("SIGTERM")
      const { code, stderr } = await first.ended
      expect(code).toBe(0)
      await llm.asked(2)
      expectUnbroken(await following)
      // No connection to PostgreSQL is used twice at once, here or while the others take over.
      expect(stderr + second.output()).not.toContain("Warning: ")
    })
  })
})

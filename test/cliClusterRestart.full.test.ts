/** Clients of a cluster whose servers go away: they come back at another server, or at theirs, and get their answers. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"
import { withPostgres } from "./support/withPostgres.ts"

vi.setConfig({ testTimeout: 120_000 })

await withPostgres((postgres) => {
  let databases = 0

  const token = "0123456789abcdef0123456789abcdef"

  /** Three servers with one token, whose model answers once `answer` is called, and a place for clients. */
  const world = async () => {
    const database = `restart_${++databases}`
    await postgres.create(database)
    let answer = () => {}
    const answered = new Promise<string>((resolve) => answer = () => resolve("All is done."))
    const llm = await startLlm(() => answered)
    atEnd(llm.close)
    /** Starts a server. It can be started again at its address. */
    const serve = async () => {
      const at = sandbox({ llm: llm.url })
      atEnd(at.remove)
      const file = join(at.home, "token")
      writeFileSync(file, token, { mode: 0o600 })
      const start = (port: string) =>
        startServer(at, ["--cluster", "--token-file", file, "--db", postgres.url(database), "--port", port])
      let server = await start("0")
      const { send, url } = server
      const end = async (signal: NodeJS.Signals) => {
        server.child.kill(signal)
        return (await server.ended).stderr
      }
      atEnd(() => end("SIGKILL"))
      return { at, url, end, send, again: async () => void (server = await start(new URL(url).port)) }
    }
    const servers = [await serve(), await serve(), await serve()] as const
    const client = sandbox({ llm: llm.url })
    atEnd(client.remove)
    const attached = (url: string, args: ReadonlyArray<string>) =>
      client.start(["run", `--attach=${url}`, "-m", "openai/m", ...args], { env: { SKEIN_TOKEN: token } })
    return { servers, attached, llm, answer: () => answer() }
  }

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "a run prints its answer once, though all servers are restarted one after the other (%s)",
    async (signal) => {
      const { answer, attached, llm, servers } = await world()
      const run = attached(servers[0].url, ["Go"])
      await llm.asked(1)
      for (const [at, server] of servers.entries()) {
        // After a third death nobody asks for the same answer again.
        await server.end(at < 2 ? signal : "SIGTERM")
        await server.again()
      }
      answer()
      const { code, stderr, stdout } = await run.ended
      expect([code, stdout], stderr).toEqual([0, "All is done.\n"])
    }
  )

  it("a run ends, and says how to continue, when three servers died while they waited for the same answer", async () => {
    const { attached, llm, servers } = await world()
    const run = attached(servers[0].url, ["Go"])
    for (let died = 1; died <= 3; died++) {
      await llm.asked(died)
      const { json: { items: [{ id }] } } = await servers[0].send("/v1/sessions")
      const { holder } = (await servers[0].send(`/v1/sessions/${id}`)).json
      const server = servers.find(({ url }) => url === holder.url)
      await server?.end("SIGKILL")
      await server?.again()
    }
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(1)
    expect(stderr).toContain("The process died 3 times in a row while it waited for the same answer of the model.")
    expect(stderr).toContain("Continue with `skein sessions resume ")
    expect(llm.requests).toHaveLength(3)
    // The servers leave it alone: they do not try it again, and none calls it stuck.
    const looks = servers.map(async ({ send }) => (await send("/v1/sessions")).json.items[0])
    for (const item of await Promise.all(looks)) {
      expect(item).toMatchObject({ status: { type: "idle" }, unfinished: false })
    }
    expect((await servers[0].send("/v1/cluster")).json.failing).toEqual([])
    const told = []
    for (const server of servers) told.push(await server.end("SIGTERM"))
    expect(told.join("").match(/is left alone/g)).toHaveLength(1)
  })

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "a run continues at another server, and says where it is (%s)",
    async (signal) => {
      const { answer, attached, llm, servers: [first, ...others] } = await world()
      const run = attached(first.url, ["Go"])
      await llm.asked(1)
      await first.end(signal)
      await until(() => run.output().includes("Connected to the server again.") || undefined)
      answer()
      const { code, stderr, stdout } = await run.ended
      expect([code, stdout], stderr).toEqual([0, "All is done.\n"])
      expect(stderr).toContain(
        `The connection to the server at ${first.url} is lost. Reconnecting to it, or to a server of its cluster with the same --token-file; the turn continues.`
      )
      expect(others.map(({ url }) => url)).toContain(/It is (\S+) now\./.exec(stderr)?.[1])
    }
  )

  it("a run does not say that its server is lost when the one goes away that works in the tree", async () => {
    const { answer, attached, llm, servers: [first, second] } = await world()
    const { json: { id } } = await first.send("/v1/sessions", {
      directory: first.at.project,
      title: "t",
      model: { providerID: "openai", modelID: "m" }
    })
    await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await llm.asked(1)
    const run = attached(second.url, ["--session", id, "More"])
    while (!JSON.stringify((await second.send(`/v1/sessions/${id}/tree`)).json.waiting).includes("More"));
    await first.end("SIGKILL")
    await llm.asked(2)
    answer()
    const { code, stderr, stdout } = await run.ended
    expect([code, stdout], stderr).toEqual([0, "All is done.\n"])
    expect(stderr).not.toContain("lost")
  })

  it("a server that takes any free port tells the others which one that is", async () => {
    const { servers: [first, ...others] } = await world()
    const { runners } = (await first.send("/v1/cluster")).json
    expect(runners.map(({ url }: { readonly url: string }) => url)).toEqual(
      [first, ...others].map(({ url }) => url).toSorted((a, b) => Number(new URL(a).port) - Number(new URL(b).port))
    )
  })

  it("a server that is told to stop tells its clients to ask again, and another one answers", async () => {
    const { answer, llm, servers: [first, second] } = await world()
    const { json: { id } } = await first.send("/v1/sessions", {
      directory: first.at.project,
      title: "t",
      model: { providerID: "openai", modelID: "m" }
    })
    const { json: { messageID } } = await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await llm.asked(1)
    const path = `/v1/sessions/${id}/turns/${messageID}`
    const more = (server: typeof first) =>
      server.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "More" }, "POST", { "idempotency-key": "more" })
    const waiting = [first.send(path), first.send(`/v1/sessions/${id}/rest`), more(first)]
    while (!JSON.stringify((await second.send(`/v1/sessions/${id}/tree`)).json.waiting).includes("More"));
    await first.end("SIGTERM")
    for (const { json, retryAfter, status } of await Promise.all(waiting)) {
      expect([status, json.type, retryAfter]).toEqual([503, "urn:skein:ServerLeaving", "1"])
    }
    answer()
    expect(await second.send(path)).toMatchObject({ status: 200, json: { text: "All is done." } })
    expect(await more(second)).toMatchObject({ status: 200, json: { text: "All is done." } })
    const { items } = (await second.send(`/v1/sessions/${id}/messages`)).json
    expect(JSON.stringify(items).split("\"More\"")).toHaveLength(2)
  })
})

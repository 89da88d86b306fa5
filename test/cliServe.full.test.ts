/** `skein serve` holds a database for all programs of its user, and its work survives it. */
import { createHmac } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, startLlm } from "./support/llm.ts"
import { type Sent, serverFile, serversOf, startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

const place = (options: Parameters<typeof sandbox>[0] = {}): Sandbox => {
  const made = sandbox(options)
  atEnd(made.remove)
  return made
}

const serve = async (at: Sandbox, args?: ReadonlyArray<string>) => {
  const server = await startServer(at, args)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return server
}

const model = async (script: Parameters<typeof startLlm>[0]): Promise<Llm> => {
  const llm = await startLlm(script)
  atEnd(llm.close)
  return llm
}

const isIdle = (session: string) => (event: Sent) => event.type === "session.idle" && event.data.sessionID === session

describe("skein serve", () => {
  it("serves a database: its URL on standard output, its token in a file that only the user can read", async () => {
    const at = place()
    const server = await serve(at)
    expect(server.line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{43}$/)
    expect(serverFile(at)).toEqual({
      url: server.line.split("/#")[0],
      pid: server.child.pid,
      version: expect.stringMatching(/^\d/),
      token: expect.stringMatching(/^[0-9a-f]{64}$/)
    })
    for (const name of readdirSync(serversOf(at))) {
      if (name.endsWith(".json")) expect(statSync(join(serversOf(at), name)).mode & 0o777, name).toBe(0o600)
    }
    expect(statSync(serversOf(at)).mode & 0o777).toBe(0o700)
    expect(server.output()).not.toContain(server.token)
    expect(readFileSync(`/proc/${server.pid}/cmdline`, "utf8") + readFileSync(`/proc/${server.pid}/environ`, "utf8"))
      .not.toContain(server.token)

    const created = await server.send("/v1/sessions", { directory: at.project })
    expect(created.json).toMatchObject({ projectID: at.project, agent: "build" })
    const answered = await server.send(`/v1/sessions/${created.json.id}/prompt?wait=true`, { text: "What is here?" })
    expect(answered.json).toMatchObject({ end: "completed" })
    const { json: models } = await server.send(`/v1/models?directory=${at.project}`)
    expect(models.items).toContainEqual(expect.objectContaining({ providerID: "offline" }))
    expect((await server.send("/openapi.json")).json.openapi).toBe("3.1.0")

    const second = await at.run(["serve"])
    expect(second).toMatchObject({ code: 2, stdout: "" })
    expect(second.stderr).toContain(server.url)
    const url = await at.run(["serve", "--url"])
    expect(url.stdout).toMatch(new RegExp(`^${server.url}/#code=[\\w-]{43}\n$`))
    const stopped = await at.run(["serve", "--stop"])
    expect(stopped).toMatchObject({ code: 0, stdout: "" })
    expect(await server.ended).toMatchObject({ code: 0 })
    expect(serverFile(at)).toBeUndefined()
    expect(await at.run(["serve", "--stop"])).toMatchObject({ code: 2 })
    expect(await at.run(["serve", "--url"])).toMatchObject({ code: 2 })
  })

  it("runs in the background, for other programs and until it is stopped", async () => {
    const at = place()
    const started = await at.run(["serve", "--detach"])
    expect(started.code, started.stderr).toBe(0)
    const { url } = serverFile(at) ?? { url: "" }
    atEnd(() => at.run(["serve", "--stop"]))
    expect(started.stdout).toMatch(new RegExp(`^${url}/#code=`))
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    const again = await at.run(["serve", "--detach"])
    expect(again).toMatchObject({ code: 2, stdout: "" })
    expect(again.stderr).toContain(url)
    expect(await at.run(["serve", "--stop"])).toMatchObject({ code: 0 })
    expect(serverFile(at)).toBeUndefined()
  })

  it("refuses to listen for other machines without a token of the user", async () => {
    const at = place()
    const refused = await at.run(["serve", "--hostname", "0.0.0.0"])
    expect(refused).toMatchObject({ code: 2, stdout: "" })
    expect(refused.stderr).toMatch(/--token-file.*TLS/s)
    const short = join(at.home, "token")
    writeFileSync(short, "short\n")
    expect(await at.run(["serve", "--hostname", "0.0.0.0", "--token-file", short])).toMatchObject({ code: 2 })
    writeFileSync(short, `${"t".repeat(40)}\n`)
    const server = await serve(at, ["--hostname", "0.0.0.0", "--token-file", short])
    expect(server.token).toBe("t".repeat(40))
    await until(() => server.output().includes("open to other machines and not encrypted"))
    expect(server.output()).toMatch(/Put a proxy with TLS in front/)
    expect((await fetch(server.url.replace("0.0.0.0", "127.0.0.1") + "/healthz")).status).toBe(200)
  })

  it("does not send its token to a foreign process on its former port", async () => {
    const at = place()
    const server = await serve(at)
    const file = join(serversOf(at), readdirSync(serversOf(at)).find((name) => name.endsWith(".json")) ?? "")
    const kept = readFileSync(file, "utf8")
    expect(await at.run(["serve", "--stop"])).toMatchObject({ code: 0 })
    await server.ended
    const heard: Array<string> = []
    const stranger = createServer((request, response) => {
      heard.push(JSON.stringify(request.headers))
      let body = ""
      request.on("data", (piece) => body += piece).on("end", () => {
        heard.push(body)
        const nonce = /"nonce":"(\w+)"/.exec(body)?.[1] ?? ""
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify({ answer: createHmac("sha256", "guess").update(nonce).digest("hex") }))
      })
    })
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve))
    atEnd(() => void stranger.close())
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    writeFileSync(file, kept.replace(server.url, url))
    expect(await at.run(["serve", "--url"])).toMatchObject({ code: 2, stdout: "" })
    expect(heard.join()).toContain("nonce")
    expect(heard.join()).not.toContain(server.token)
    // The files of a dead server do not block the next one.
    expect((await serve(at)).url).not.toBe(url)
  })

  it("keeps the login of a browser after a restart on the same port", async () => {
    const at = place()
    const first = await serve(at)
    const port = new URL(first.url).port
    const login = await fetch(`${first.url}/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: first.line.split("#code=")[1] })
    })
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? ""
    const { key } = await login.json() as { readonly key: string }
    await at.run(["serve", "--stop"])
    await first.ended
    const second = await serve(at, ["--port", port])
    expect(second.token).not.toBe(first.token)
    const answer = await fetch(`${second.url}/v1/sessions`, { headers: { cookie, "skein-key": key } })
    expect(answer.status).toBe(200)
    expect((await fetch(`${second.url}/v1/sessions`, { headers: { cookie } })).status).toBe(401)
  })
})

describe("a server that ends in the middle of work", () => {
  /** Eight subagents whose first answer never ends; the second one does. */
  const eight = Array.from({ length: 8 }, (_, index) => ({
    tool: "task",
    args: { description: `task ${index}`, prompt: `Look at ${index}`, subagent_type: "explore" }
  }))

  const tree = (isCut: () => boolean) =>
    model(({ messages, user }) => {
      if (user[0]?.startsWith("Look at")) return isCut() ? `found ${user[0]}` : { text: "so far", hangs: true }
      return messages.some(({ role }) => role === "tool") ? "all found" : { calls: eight }
    })

  const unbroken = (events: ReadonlyArray<Sent>) => {
    const ids = events.flatMap(({ id }) => id === undefined ? [] : [Number(id)])
    expect(ids).toEqual(ids.map((_, index) => index + 1))
  }

  const results = (events: ReadonlyArray<Sent>) =>
    events.flatMap(({ data, type }) => type === "subagent.completed" ? [String(data.properties?.["task_id"])] : [])

  it.each(["SIGKILL", "--stop"] as const)(
    "by %s is followed by one that continues it, in one unbroken order of events",
    async (how) => {
      let isCut = false
      const llm = await tree(() => isCut)
      const at = place({ llm: llm.url })
      const first = await serve(at)
      const { json: session } = await first.send("/v1/sessions", {
        directory: at.project,
        model: { providerID: "openai", modelID: "gpt-5" }
      })
      expect(session).toMatchObject({ id: expect.stringMatching(/^ses_/) })
      const before = first.follow(session.id, "0", () => false)
      const prompt = (server: typeof first) =>
        server.send(`/v1/sessions/${session.id}/prompt`, { text: "Find it" }, "POST", { "idempotency-key": "once" })
      const accepted = await prompt(first)
      expect(accepted).toMatchObject({ status: 202 })
      await llm.asked(9)
      isCut = true
      if (how === "SIGKILL") first.child.kill("SIGKILL")
      else expect(await at.run(["serve", "--stop"])).toMatchObject({ code: 0 })
      await first.ended
      const seen = await before
      const second = await serve(at)
      const last = seen.findLast(({ id }) => id !== undefined)?.id
      const after = await second.follow(session.id, last, isIdle(session.id))
      unbroken([...seen, ...after])
      const settled = results([...seen, ...after])
      expect(settled).toHaveLength(8)
      expect(new Set(settled).size).toBe(8)
      const { json: messages } = await second.send(`/v1/sessions/${session.id}/messages`)
      expect(messages.items.at(-1).parts).toContainEqual(expect.objectContaining({ text: "all found" }))
      // The client does not know whether its prompt arrived.
      expect(await prompt(second)).toEqual(accepted)
      const whole = await second.follow(
        session.id,
        "0",
        ({ id }) => id === after.findLast((each) => each.id !== undefined)?.id
      )
      unbroken(whole)
    }
  )

  it("with --no-resume does not continue the work until it is asked to", async () => {
    let isCut = false
    const llm = await model(() => isCut ? "answered" : { text: "so far", hangs: true })
    const at = place({ llm: llm.url })
    const first = await serve(at)
    const { json: session } = await first.send("/v1/sessions", {
      directory: at.project,
      model: { providerID: "openai", modelID: "gpt-5" }
    })
    await first.send(`/v1/sessions/${session.id}/prompt`, { text: "Go" })
    await llm.asked(1)
    isCut = true
    first.child.kill("SIGKILL")
    await first.ended
    const second = await serve(at, ["--no-resume"])
    expect((await second.send(`/v1/sessions/${session.id}`)).json.turn).not.toHaveProperty("ended")
    expect(llm.requests).toHaveLength(1)
    expect(await second.send(`/v1/sessions/${session.id}/resume`, {})).toMatchObject({ status: 202 })
    await second.follow(session.id, undefined, isIdle(session.id))
    expect((await second.send(`/v1/sessions/${session.id}`)).json.turn).toMatchObject({ ended: { how: "completed" } })
  })

  it("with a config that lacks the model of an open turn leaves the turn open, until a model is named", async () => {
    const llm = await model(() => llm.requests.length === 1 ? { hangs: true } : "answered")
    const at = place({ llm: llm.url })
    const directory = join(at.home, "config", "skein")
    mkdirSync(directory, { recursive: true })
    const configure = (settings: object) => writeFileSync(join(directory, "skein.json"), JSON.stringify(settings))
    configure({ model: "corp/m", provider: { corp: { base_url: llm.url, models: { m: {} } } } })
    const first = await serve(at)
    const { json: { id } } = await first.send("/v1/sessions", { directory: at.project })
    await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
    await llm.asked(1)
    first.child.kill("SIGKILL")
    await first.ended
    configure({})
    const missing = "The model corp/m is not set up here"
    for (const args of [["run", "-s", id, "And?"], ["sessions", "resume", id]]) {
      const { code, stderr } = await at.run(args)
      expect([code, stderr]).toEqual([2, expect.stringContaining(missing)])
      expect(stderr).toContain(`skein run -s ${id} --model PROVIDER/MODEL`)
    }
    const second = await serve(at)
    expect(await second.send(`/v1/sessions/${id}/rest`)).toMatchObject({
      status: 502,
      json: { detail: expect.stringContaining(missing) }
    })
    expect((await second.send(`/v1/sessions/${id}`)).json.turn).not.toHaveProperty("ended")
    expect(llm.requests).toHaveLength(1)
    expect(await at.run(["run", "-s", id, "--model", "openai/m", "Go on"])).toMatchObject({ code: 0 })
    expect((await second.send(`/v1/sessions/${id}`)).json.turn).toMatchObject({ ended: { how: "completed" } })
  })

  it("by a signal leaves no file behind", async () => {
    const at = place()
    const server = await serve(at)
    server.child.kill("SIGTERM")
    expect(await server.ended).toMatchObject({ code: 143 })
    expect(await until(() => serverFile(at) === undefined)).toBe(true)
  })
})

it("a server whose port is in use exits with 2, names the port, and says what to do", async () => {
  const first = sandbox()
  const second = sandbox()
  atEnd(first.remove)
  atEnd(second.remove)
  const server = await startServer(first)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const { port } = new URL(server.url)
  expect(await second.run(["serve", "--port", port])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: `skein: The port ${port} of 127.0.0.1 is in use. Choose another one with --port, or leave it out.\n`
  })
})

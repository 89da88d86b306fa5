/** Proves what terminals do whose sessions are on a server: join it, share a session, leave work running. Needs python3. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmAnswer, type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { hasPython, onTerminal, shown, type TypedKey } from "./support/terminal.ts"
import { until } from "./support/until.ts"

if (!hasPython) {
  console.warn("cliSessionAttach.full.test.ts is skipped: python3, whose pty module it needs, is not there.")
}

const lead = { lead: { mode: "subagent", description: "Leads.", permission: { task: "allow" } } }

const world = async (script: Script) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  mkdirSync(join(place.home, "config", "skein"), { recursive: true })
  writeFileSync(join(place.home, "config", "skein", "skein.json"), JSON.stringify({ agent: lead }))
  atEnd(llm.close, place.remove)
  const serve = async () => {
    const server = await startServer(place)
    const kill = async () => {
      server.child.kill("SIGKILL")
      await server.ended
    }
    atEnd(kill)
    return { ...server, kill }
  }
  const open = (keys: ReadonlyArray<TypedKey>, args: ReadonlyArray<string> = [], closes?: string) =>
    onTerminal([process.execPath, program, "-m", "openai/m", ...args], {
      cwd: place.project,
      env: place.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
      keys,
      ...(closes === undefined ? {} : { closes })
    })
  return { llm, place, serve, open, server: await serve() }
}

const ready = "› Write"

/** A tree of three levels, whose leaf writes a file. */
const deep: Script = ({ messages, user }): LlmAnswer | string => {
  if (messages.at(-1)?.role === "tool") return "all done"
  const said = user.at(-1) ?? ""
  const [kind, more] = said.includes("deeper")
    ? ["general", "write"]
    : said.includes("deep")
    ? ["lead", "deeper"]
    : [undefined, ""]
  return kind === undefined
    ? { calls: [{ tool: "write", args: { filePath: "new.txt", content: "text" } }] }
    : { calls: [{ tool: "task", args: { description: more, prompt: more, subagent_type: kind } }] }
}

describe.skipIf(!hasPython)("a session of a server at terminals (needs python3)", () => {
  it("lists what the server has, and not what is configured where the terminal is", async () => {
    const { place, server } = await world(() => "The end.")
    const own = join(place.home, "own", "skein")
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, "skein.json"), JSON.stringify({ agent: { mine: { ...lead.lead, description: "Mine." } } }))
    const full = "\u001b[?1049l"
    const view = (command: string) => ({ after: full, send: `${command}\r` })
    const { code, printed } = await onTerminal(
      [process.execPath, program, "-m", "openai/m", `--attach=${server.url}`],
      {
        cwd: place.project,
        env: place.env({ TERM: "xterm-256color", NO_COLOR: "1", XDG_CONFIG_HOME: join(place.home, "own") }),
        keys: [
          { after: ready, send: "/agents\r" },
          { after: "Leads.", send: "q" },
          view("/config"),
          { after: "agent.lead.description", send: "q" },
          view("/commands"),
          { after: "Commands on the server", send: "q" },
          view("/skills"),
          { after: "There are no skills", send: "q" },
          view("/permissions"),
          { after: "Nothing was allowed", send: "q" },
          view("/quit")
        ]
      }
    )
    expect(code, await shown(printed)).toBe(0)
    expect(printed).not.toContain("Mine.")
    expect(printed).not.toContain("agent.mine")
  })

  it("is joined by two, and both see the question of a grandchild, its answer and what follows", async () => {
    const { open, place, server } = await world(deep)
    const { json: session } = await server.send("/v1/sessions", { directory: place.project })
    const [first, second] = await Promise.all([
      open([
        { after: ready, send: "" },
        { after: `server ${new URL(server.url).host}`, send: "deep\r" },
        { after: "→ once", send: "" },
        { after: "all done", send: "/quit\r" }
      ], ["--session", session.id]),
      open([
        { after: "build > lead > general asks", send: "" },
        { after: "Enter confirms", send: "1" },
        { after: "❯ 1", send: "\r" },
        { after: "all done", send: "/quit\r" }
      ], ["--session", session.id])
    ])
    for (const { code, printed } of [first, second]) {
      const text = await shown(printed)
      expect(code, text).toBe(0)
      expect(text).toContain("Attached to the server")
      expect(text).toContain("? build > lead > general: edit new.txt\n  → once")
      expect(text.split("all done")).toHaveLength(2)
    }
    expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("text")
  })

  it("is left running with Ctrl+C twice, and the next terminal shows the agent at work and all of its answer", async () => {
    let end = () => {}
    const ended = new Promise<void>((resolve) => end = resolve)
    const { llm, open, place, server } = await world(async () => {
      await ended
      return "The first line.\nThe last line."
    })
    const leaving = open([
      { after: ready, send: "begin\r" },
      { after: "thinks", send: "\u0003" },
      { after: "again to quit, with a choice", send: "\u0003" },
      { after: "Stay here", send: "2" },
      { after: "❯ 2 Quit, and leave", send: "\r" }
    ])
    await llm.asked(1)
    const left = await leaving
    expect(left.code, left.plain).toBe(0)
    expect(await shown(left.printed)).toContain("it continues on the server")
    expect((await server.send("/v1/sessions")).json.items[0].status.type).toBe("busy")
    const back = open([
      // A command of the person's own says that the agent was seen at work, so that it may end.
      { after: "thinks", send: "!touch seen\r" },
      { after: "The last line.", send: "/quit\r" }
    ], ["--continue"])
    await until(() => existsSync(join(place.project, "seen")) ? true : undefined)
    end()
    const { code, printed } = await back
    const text = await shown(printed)
    expect(code, text).toBe(0)
    expect(text).toContain("› begin")
    expect(text).toContain("The first line.\nThe last line.")
  })

  it("shows what waits at each terminal, gives it back at any of them, and exports what was said", async () => {
    let end = () => {}
    const ended = new Promise<void>((resolve) => end = resolve)
    const asked: Array<string> = []
    const { llm, open, place, server } = await world(async ({ user }) => {
      asked.push(user.at(-1) ?? "")
      await ended
      return "The answer."
    })
    const { json: session } = await server.send("/v1/sessions", { directory: place.project })
    const first = open([
      { after: ready, send: "begin\r" },
      { after: "thinks", send: "later\t" },
      { after: "sent after the turn (Up edits it): later", send: "" },
      { after: "The answer.", send: "/export said.json\r" },
      { after: "exported to", send: "/quit\r" }
    ], ["--session", session.id])
    await llm.asked(1)
    const second = await open([
      { after: "sent after the turn (Up edits it): later", send: "\u001b[A" },
      { after: "› later", send: "\u0003\u0003\u0003" },
      { after: "Stay here", send: "2" },
      { after: "❯ 2 Quit, and leave", send: "\r" }
    ], ["--session", session.id])
    expect(second.code, second.plain).toBe(0)
    end()
    const { code, printed } = await first
    expect(code, await shown(printed)).toBe(0)
    await server.send(`/v1/sessions/${session.id}/rest`)
    expect(asked).toEqual(["begin"])
    const archive = JSON.parse(readFileSync(join(place.project, "said.json"), "utf8"))
    expect(archive).toMatchObject({ root: session.id, sessions: [{ inbox: [] }] })
    expect(archive.sessions[0].messages).toHaveLength(2)
  })

  it("continues when a terminal is closed, which ends with 129", async () => {
    const { llm, open, server } = await world(() => ({ text: "I begin", hangs: true }))
    const { code } = await open([{ after: ready, send: "begin\r" }], [], "I begin")
    expect(code).toBe(129)
    expect(llm.open()).toBe(1)
    expect((await server.send("/v1/sessions")).json.items[0].status.type).toBe("busy")
  })

  it("is stopped with the terminal where that is chosen", async () => {
    const { llm, open, server } = await world(() => ({ text: "I begin", hangs: true }))
    const { code } = await open([
      { after: ready, send: "begin\r" },
      { after: "I begin", send: "\u0003" },
      { after: "again to quit, with a choice", send: "\u0003" },
      { after: "Stay here", send: "3" },
      { after: "❯ 3 Stop it", send: "\r" }
    ])
    expect(code).toBe(0)
    await llm.wasCut
    expect((await server.send("/v1/sessions")).json.items[0].status.type).toBe("idle")
  })

  it("outlives its server: says that it is away, sends what was typed meanwhile, and loses nothing", async () => {
    const { llm, open, serve, server } = await world(({ user }) => `answer to ${user.at(-1)}`)
    const opened = open([
      { after: ready, send: "one\r" },
      { after: "connection to the server is lost", send: "two\r" },
      { after: "Connected again", send: "" },
      { after: "answer to two", send: "/quit\r" }
    ])
    await llm.asked(1)
    const [{ id }] = (await server.send("/v1/sessions")).json.items
    await server.send(`/v1/sessions/${id}/rest`)
    await server.kill()
    await serve()
    const { code, printed } = await opened
    const text = await shown(printed)
    expect(code, text).toBe(0)
    for (const line of ["› one", "answer to one", "› two", "answer to two"]) {
      expect(text.split(line), text).toHaveLength(2)
    }
  })

  it("works by itself with --attach=off, and refuses a URL where no server answers", async () => {
    const { open, place } = await world(() => "The answer.")
    const alone = await open([
      { after: ready, send: "go\r" },
      { after: "The answer.", send: "/quit\r" }
    ], ["--attach=off", "--db", join(place.home, "other.db")])
    expect(await shown(alone.printed)).not.toContain("server")
    const refused = await open([], ["--attach=http://127.0.0.1:9"])
    expect(refused.code).toBe(2)
  })
})

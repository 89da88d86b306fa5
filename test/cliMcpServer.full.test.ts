/** The official client of MCP delegates into the built program: alone, through a server, and over HTTP. */
import { type CallToolResult, Client, type Progress, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { program, type Sandbox, sandbox } from "./support/cli.ts"
import { type LlmRequest, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

/** What each agent does, by its prompt: some conclude, some ask, one never ends. */
const script = ({ last, messages, user: [prompt = ""] }: LlmRequest) => {
  const isFirst = !messages.some(({ role }) => role === "tool")
  if (last.includes("You are asked to stop")) return "Half of it is done"
  if (prompt.includes("Conclude")) return "The entry is main.ts"
  if (prompt.includes("Coordinate")) {
    const args = { description: "Write it", prompt: "Write it", subagent_type: "general" }
    return isFirst ? { calls: [{ tool: "task", args }] } : "Coordinated"
  }
  if (prompt.includes("Run")) {
    return isFirst
      ? { calls: [{ tool: "bash", args: { command: "setsid sh -c 'echo $$ > pid; exec sleep 60'; true" } }] }
      : "Ran"
  }
  if (prompt.includes("Write")) {
    return isFirst ? { calls: [{ tool: "write", args: { filePath: "a.txt", content: "new" } }] } : "Written"
  }
  return { text: "I began", hangs: true }
}

const setUp = async (files: Readonly<Record<string, string>> = {}) => {
  const llm = await startLlm(script)
  atEnd(llm.close)
  const at = sandbox({ llm: llm.url, files })
  atEnd(at.remove)
  return { at, llm }
}

type Way = "stdio" | "stdio through a server" | "HTTP"
const ways: ReadonlyArray<Way> = ["stdio", "stdio through a server", "HTTP"]
const revisions = ["2025-11-25", "2026-07-28"] as const

const serve = async (at: Sandbox) => {
  const server = await startServer(at)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return server
}

const stdio = (at: Sandbox) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [program, "mcp", "serve"],
    cwd: at.project,
    env: at.env(),
    stderr: "ignore"
  })

/** Connects a client; `answers` has it show forms. */
const connect = async (
  at: Sandbox,
  way: Way,
  options: { readonly revision?: (typeof revisions)[number]; readonly answer?: string } = {}
) => {
  const { answer, revision = "2025-11-25" } = options
  const forms: Array<string> = []
  const client = new Client({ name: "tester", version: "1" }, {
    capabilities: answer === undefined ? {} : { elicitation: { form: {} } },
    versionNegotiation: { mode: revision === "2025-11-25" ? "legacy" : { pin: revision } }
  })
  if (answer !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      forms.push(params.message)
      return { action: "accept", content: { answer } }
    })
  }
  const server = way === "stdio" ? undefined : await serve(at)
  const transport = way === "HTTP" && server !== undefined
    ? new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } }
    })
    : stdio(at)
  await client.connect(transport)
  atEnd(() => client.close())
  const call = async (name: string, args: Record<string, unknown> = {}, more = {}) => {
    const result = await client.callTool({ name, arguments: args }, more)
    const { content, isError } = result as CallToolResult
    return { text: content.map((part) => part.type === "text" ? part.text : "").join("\n"), isError }
  }
  return { call, client, forms, server, transport }
}

describe.each(ways)("a client over %s", (way) => {
  it.each(revisions)(
    "delegates a task by %s, hears how far it is, and asks its user from depth 2",
    async (revision) => {
      const { at } = await setUp()
      const { call, client, forms } = await connect(at, way, { revision, answer: "once" })
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(["task", "task_status", "task_message", "task_stop", "sessions"])
      const heard: Array<Progress> = []
      const args = { agent: "coordinator", prompt: "Coordinate", directory: at.project }
      const done = await call("task", args, { onprogress: (progress: Progress) => heard.push(progress) })
      expect(done.text).toMatch(/^task_id: ses_\w+ \(for .*\)\n\n<task_result>\nCoordinated\n<\/task_result>$/)
      expect(forms).toHaveLength(1)
      expect(forms[0]).toMatch(/^build > coordinator > general asks for permission: edit\n\n.*a\.txt/s)
      expect(heard.some(({ message }) => message === "1 call: task …")).toBe(true)
      expect((await call("task_status")).text).toContain("state: settled, completed")
      const { resources } = await client.listResources()
      const transcript = await client.readResource({
        uri: resources.find(({ title }) => title?.includes("@general"))?.uri ?? ""
      })
      expect(JSON.stringify(transcript.contents)).toContain("Written")
      expect((await call("sessions", { directory: at.project })).text).toContain("Tasks of tester")
    }
  )

  it("stops a task, which gives its partial work", async () => {
    const { at, llm } = await setUp()
    const { call } = await connect(at, way)
    const working = call("task", { agent: "general", prompt: "Never end", directory: at.project })
    await llm.asked(1)
    const id = /ses_\w+/.exec((await call("task_status")).text)?.[0]
    const stopped = call("task_stop", { task_id: id, reason: "enough" })
    await llm.wasCut
    expect((await working).isError).toBe(true)
    expect((await stopped).text).toMatch(/state: stopped.*<task_result>\nHalf of it is done/s)
    expect((await working).text).toContain("The task was stopped by the MCP client")
  })
})

describe("a client that goes away", () => {
  it.each(ways)("takes its tasks with it: over %s", async (way) => {
    const { at, llm } = await setUp()
    const { call, server, transport } = await connect(at, way)
    const abort = new AbortController()
    const working = call("task", { agent: "general", prompt: "Never end", directory: at.project }, {
      signal: abort.signal
    }).catch(() => "gone")
    await llm.asked(1)
    // A killed client can send nothing; over HTTP it says that its session is over.
    if (transport instanceof StdioClientTransport) process.kill(transport.pid ?? 0, "SIGKILL")
    else await transport.terminateSession()
    await llm.wasCut
    if (server === undefined) return abort.abort()
    const { json: { items: [root] } } = await server.send("/v1/sessions")
    const { json: { items: [{ taskID }] } } = await server.send(`/v1/tasks?session=${root.id}`)
    const { json: { settled } } = await server.send("/v1/tasks/wait", { tasks: [taskID] })
    expect(settled).toMatchObject([{ status: "stopped" }])
    abort.abort()
    await working
  })
})

describe("the program", () => {
  it("that is killed leaves no command behind, though no sandbox ends it", async () => {
    const { at } = await setUp()
    const config = join(at.home, "config", "skein")
    mkdirSync(config, { recursive: true })
    writeFileSync(join(config, "skein.json"), JSON.stringify({ sandbox: "off" }))
    const { call, transport } = await connect(at, "stdio", { answer: "once" })
    const working = call("task", { agent: "general", prompt: "Run it", directory: at.project }).catch(() => "gone")
    const file = join(at.project, "pid")
    const pid = await until(() =>
      existsSync(file) && readFileSync(file, "utf8").endsWith("\n") && Number(readFileSync(file))
    )
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    if (transport instanceof StdioClientTransport) process.kill(transport.pid ?? 0, "SIGKILL")
    await until(() => !existsSync(`/proc/${pid}`))
    expect(await working).toBe("gone")
  })
})

describe("two clients", () => {
  it("of one server neither see nor stop each other's tasks", async () => {
    const { at } = await setUp()
    const one = await connect(at, "stdio through a server")
    const two = new Client({ name: "other", version: "1" })
    await two.connect(stdio(at))
    atEnd(() => two.close())
    const { text } = await one.call("task", { agent: "general", prompt: "Conclude" })
    const id = /ses_\w+/.exec(text)?.[0]
    for (const name of ["task_status", "task_stop"]) {
      const result = await two.callTool({ name, arguments: { task_id: id } }) as CallToolResult
      expect(result.isError, name).toBe(true)
      expect(JSON.stringify(result.content), name).toContain("Task not found")
    }
    expect((await one.call("task", { agent: "general", prompt: "Conclude", task_id: id })).text).toContain(String(id))
  })
})

it("works in a project that names Skein as an MCP server itself, which is ignored and said", async () => {
  const server = { command: "npx", args: ["-y", "skein", "mcp", "serve"] }
  const { at } = await setUp({ ".mcp.json": JSON.stringify({ mcpServers: { skein: server } }) })
  const { call } = await connect(at, "stdio")
  const { isError, text } = await call("task", { agent: "general", prompt: "Conclude" })
  expect(text).toContain("The entry is main.ts")
  expect(isError).toBeUndefined()
  for (const command of ["list", "test skein"]) {
    const { stderr } = await at.run(["mcp", ...command.split(" ")])
    expect(stderr, command).toMatch(/\.mcp\.json:1:\d+: mcp\.skein: this server is Skein itself/)
  }
  expect((await at.run(["mcp", "add", "me", "--", "skein", "mcp", "serve"])).stderr).toContain("Skein itself")
})

it("says which MCP servers of a project wait for trust, in every format", async () => {
  const { at } = await setUp({ ".mcp.json": JSON.stringify({ mcpServers: { docs: { command: "docs-server" } } }) })
  for (const format of ["json", "quiet"]) {
    const { stderr } = await at.run(["run", "--format", format, "Conclude"])
    expect(stderr, format).toContain("skein: 1 MCP server waits for trust: docs. `skein trust` shows what they run.")
  }
})

it("refuses a task where no model is set up, unless the user names the one that is not an AI", async () => {
  const at = sandbox({ files: { "package.json": JSON.stringify({ name: "shop" }) } })
  atEnd(at.remove)
  const args = { agent: "explore", prompt: "Survey it" }
  const { call, client } = await connect(at, "stdio")
  const { isError, text } = await call("task", args)
  expect(text).toMatch(/^No model is set up for agents, so this task was not started\. Set one of .*OPENAI_API_KEY/)
  expect(isError).toBe(true)
  await client.close()
  at.configure({ model: "offline/survey" })
  expect((await (await connect(at, "stdio")).call("task", args)).text).toContain("shop")
})

describe("what makes no sense", () => {
  it("is refused with a reason: agents, directories, arguments, tools", async () => {
    const { at } = await setUp({ "ok/a.txt": "a" })
    const wanting = join(at.home, "wanting")
    mkdirSync(wanting)
    writeFileSync(join(wanting, "skein.json"), JSON.stringify({ permission: { bash: "allow" } }))
    symlinkSync(wanting, join(at.project, "link"))
    const { call, client } = await connect(at, "stdio")
    const refused = async (more: Record<string, unknown>) => {
      const { isError, text } = await call("task", {
        agent: "general",
        prompt: "Conclude",
        directory: at.project,
        ...more
      })
      expect(isError, JSON.stringify(more)).toBe(true)
      return text
    }
    expect(await refused({ agent: "nobody" })).toBe("Unknown agent type: nobody is not a valid agent type")
    expect(await refused({ agent: " " })).toContain("task.agent")
    expect(await refused({ prompt: 7 })).toContain("task.prompt")
    expect(await refused({ more: 7 })).toContain("task.more")
    expect(await refused({ task_id: "ses_0" })).toContain("Task not found")
    expect(await refused({ directory: "ok" })).toContain("is no absolute path")
    expect(await refused({ directory: join(at.project, "none") })).toContain("does not exist")
    expect(await refused({ directory: join(at.project, "ok/a.txt") })).toContain("is not a directory")
    expect(await refused({ directory: `${at.project}\0` })).toContain("is no absolute path")
    // By whatever way, it is the directory that it leads to.
    for (const way of [wanting, join(at.project, "link"), `${at.project}/ok/../link`]) {
      expect(await refused({ directory: way })).toContain("want more than its user has granted")
    }
    expect((await call("task", { agent: "general", prompt: "Conclude", directory: `${at.project}/ok/..` })).isError)
      .toBeUndefined()
    await expect(call("nothing")).rejects.toThrow("Unknown tool: nothing")
    await expect(client.readResource({ uri: "skein://sessions/ses_0" })).rejects.toThrow("Resource not found")
    await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow("Resource not found")
  })

  it("gets an error for each frame that is no request, and the connection continues", async () => {
    const { at, llm } = await setUp()
    const running = at.start(["mcp", "serve"], { silent: true })
    const lines: Array<
      { readonly id?: unknown; readonly result?: unknown; readonly error?: { readonly code: number } }
    > = []
    let rest = ""
    running.child.stdout?.on("data", (piece: Buffer) => {
      const whole = `${rest}${piece.toString("utf8")}`.split("\n")
      rest = whole.pop() ?? ""
      for (const line of whole) lines.push(JSON.parse(line))
    })
    const write = (message: unknown) =>
      void running.child.stdin?.write(
        `${typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message as object })}\n`
      )
    const answered = (id: unknown) => until(() => lines.find((line) => line.id === id))
    const info = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }
    write({ id: 1, method: "initialize", params: info })
    await answered(1)
    const refused = async (frame: string, id: unknown, code: number) => {
      const before = lines.length
      write(frame)
      await until(() => lines.length > before || undefined)
      expect(lines.slice(before), frame.slice(0, 50)).toMatchObject([{ id, error: { code } }])
    }
    await refused("{ not json", null, -32_700)
    await refused("[]", null, -32_600)
    await refused("null", null, -32_600)
    await refused("{\"jsonrpc\":\"1.0\",\"id\":55,\"method\":\"ping\"}", 55, -32_600)
    await refused("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", null, -32_600)
    await refused(JSON.stringify("x".repeat(9 * 1024 * 1024)), null, -32_600)
    write({ id: 2, method: "no/such" })
    expect((await answered(2)).error?.code).toBe(-32_601)
    write({ id: 3, method: "tools/call", params: { name: 7 } })
    expect((await answered(3)).error?.code).toBe(-32_602)
    write({ id: 99, result: { answer: "to nothing that was asked" } })
    const task = { name: "task", arguments: { agent: "general", prompt: "Conclude" } }
    write({ id: 4, method: "tools/call", params: task })
    write({ id: 4, method: "tools/call", params: task })
    await until(() => lines.filter(({ id }) => id === 4).length === 2)
    expect(lines.filter(({ id }) => id === 4)).toMatchObject([{ error: { code: -32_600 } }, { result: {} }])
    expect(llm.requests).toHaveLength(1)
    // An id may be used again once its request has been answered.
    write({ id: 4, method: "ping" })
    await until(() => lines.filter(({ id }) => id === 4).length === 3)
    write({ id: 5, method: "ping" })
    expect((await answered(5)).result).toBeDefined()
    running.child.stdin?.end()
    expect((await running.ended).code).toBe(0)
  })
})

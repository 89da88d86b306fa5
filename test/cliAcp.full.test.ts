/** The built program as the agent of clients of the Agent Client Protocol: a foreign one, acpx, and one of these tests. */
import { type Frame, makeChecker } from "@skein/testing/AcpFrames"
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"
import { startAcp } from "./support/acp.ts"
import { atEnd } from "./support/atEnd.ts"
import { program, sandbox } from "./support/cli.ts"
import { type LlmRequest, type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const acpx = fileURLToPath(new URL("../node_modules/acpx/dist/cli.js", import.meta.url))

/** Runs acpx against the program, over a scripted model. */
const run = async (
  script: Script,
  args: ReadonlyArray<string>,
  files: Readonly<Record<string, string>> = {}
) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url, files })
  atEnd(llm.close, place.remove)
  const command = `${process.execPath} ${program} acp -m openai/m`
  const child = spawn(process.execPath, [acpx, "--agent", command, "--format", "json", ...args], {
    cwd: place.project,
    env: place.env(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const code = await new Promise((resolve) => child.once("close", resolve))
  const frames = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Frame)
  return { code, stderr, frames, place, llm }
}

const fromClient = new Set(["initialize", "session/new", "session/prompt", "session/cancel", "session/set_mode"])

/** What is wrong with frames, which acpx prints without saying who sent them. */
const wrongIn = (frames: ReadonlyArray<Frame>): ReadonlyArray<string> => {
  const check = makeChecker(true)
  const asked = new Set<string>()
  return frames.flatMap((frame) => {
    const isClient = frame.method === undefined
      ? !asked.delete(JSON.stringify([frame.id, "client"]))
      : fromClient.has(frame.method)
    if (frame.method !== undefined && isClient) asked.add(JSON.stringify([frame.id, "client"]))
    return check(isClient ? "client" : "agent", frame)
  })
}

/** What ends the turn is the last frame; only a title may come after it, because no turn waits for its title. */
const lastOf = (frames: ReadonlyArray<Frame>) =>
  frames.findLast(({ params }) => !JSON.stringify(params ?? {}).includes(`"sessionUpdate":"session_info_update"`))

it("answers acpx, which ends with the turn", async () => {
  const { code, frames, stderr } = await run(() => "Four.", ["exec", "What is two and two?"])
  expect(code, stderr).toBe(0)
  expect(wrongIn(frames)).toEqual([])
  expect(JSON.stringify(frames)).toContain("Four.")
  expect(lastOf(frames)).toMatchObject({ result: { stopReason: "end_turn" } })
})

/** The user's own agent: one of a project would have to be trusted before it may delegate. */
const files = {
  "../config/skein/agent/lead.md":
    "---\ndescription: Leads\nmode: subagent\npermission:\n  task: allow\n---\nYou lead.\n"
}

const task = (subagent_type: string, prompt: string) => ({
  tool: "task",
  args: { description: `${prompt} task`, prompt, subagent_type }
})

/** Three subagents; below the first of them, at depth 2, another one asks whether it may write a file. */
const delegating = ({ last, messages, user: [first = ""] }: LlmRequest) => {
  const isFirst = messages.filter(({ role }) => role === "assistant").length === 0
  if (first.includes("Three")) {
    return isFirst
      ? { calls: [task("lead", "Lead"), task("explore", "Look"), task("general", "Search")] }
      : "All three are done."
  }
  if (first.includes("Lead")) return isFirst ? { calls: [task("general", "Write")] } : "The file is written."
  if (first.includes("Write")) {
    return isFirst
      ? { calls: [{ tool: "write", args: { filePath: "new.txt", content: "hello\n" } }] }
      : `I wrote: ${last}`
  }
  return "Nothing to report."
}

it("shows acpx three subagents, and asks it what one at depth 2 wants, with the agents that lead there", async () => {
  const { code, frames, place, stderr } = await run(delegating, ["--approve-all", "exec", "Three, please"], files)
  expect(code, stderr).toBe(0)
  expect(wrongIn(frames)).toEqual([])
  const asked = frames.filter(({ method }) => method === "session/request_permission")
  expect(asked).toMatchObject([{
    params: {
      toolCall: { title: "build › lead › general: edit new.txt", content: [{ type: "diff", newText: "hello" }] }
    }
  }])
  expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("hello\n")
  const text = JSON.stringify(frames)
  expect(text).toContain("- ● lead: Lead task: task Write task\\n  - ? general: Write task: waits for an answer")
  expect(text).toContain("✓ explore: Look task")
  expect(text).toContain("All three are done.")
  expect(lastOf(frames)).toMatchObject({ result: { stopReason: "end_turn" } })
})

it("writes nothing that acpx does not allow", async () => {
  const { code, frames, place } = await run(delegating, ["--deny-all", "exec", "Three, please"], files)
  // acpx says so by its exit code.
  expect(code).not.toBe(null)
  expect(lastOf(frames)).toMatchObject({ result: { stopReason: "end_turn" } })
  expect(existsSync(join(place.project, "new.txt"))).toBe(false)
})

const world = async (script: Script, more: Readonly<Record<string, string>> = {}) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url, files: more })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

const say = (text: string) => [{ type: "text", text }]

it("lets agents use the MCP servers that the editor names, also those that it names later", async () => {
  const { place } = await world(({ last, messages, tools }) =>
    messages.at(-1)?.role === "tool"
      ? `told: ${last}; ${tools.filter((name) => name.startsWith("mcp_")).join(" ")}`
      : { calls: [{ tool: "mcp_fake_echo", args: { words: "hello" } }] }
  )
  const client = await startAcp(place, {
    args: ["-m", "openai/m"],
    answers: { "session/request_permission": () => ({ outcome: { outcome: "selected", optionId: "once" } }) }
  })
  const server = (name: string) => ({
    name,
    command: process.execPath,
    args: [fileURLToPath(new URL("../packages/mcp/test/support/server.mjs", import.meta.url))],
    env: []
  })
  const open = async (mcpServers: ReadonlyArray<object>) => {
    const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers })
    return client.request("session/prompt", { sessionId, prompt: say("Echo") })
  }
  await open([server("fake")])
  expect(JSON.stringify(client.updates)).toContain("told: ")
  expect(JSON.stringify(client.updates)).not.toContain("mcp_later_echo")
  await open([server("later")])
  expect(JSON.stringify(client.updates)).toContain("mcp_later_echo")
  expect(await client.close()).toMatchObject({ code: 0 })
})

/** An editor with one unsaved text. It saves what it is given. */
const editorOf = (path: string, text: string) => {
  const asked: Array<Record<string, unknown>> = []
  const editor = { text, asked }
  return {
    editor,
    capabilities: { fs: { readTextFile: true, writeTextFile: true } },
    answers: {
      "session/request_permission": () => ({ outcome: { outcome: "selected", optionId: "once" } }),
      "fs/read_text_file": (params: Record<string, unknown>) => {
        asked.push(params)
        return { content: params["path"] === path ? editor.text : "" }
      },
      "fs/write_text_file": ({ content }: Record<string, unknown>) => {
        editor.text = String(content)
        writeFileSync(path, editor.text)
        return {}
      }
    }
  }
}

it("reads and edits what is not saved in the editor, also for a subagent", async () => {
  const { place } = await world(({ messages, user: [first = ""] }) => {
    const results = messages.filter(({ role }) => role === "tool")
    if (!first.includes("Change it")) return results.length > 0 ? "Done." : { calls: [task("general", "Change it")] }
    if (results.length === 0) return { calls: [{ tool: "read", args: { filePath: "a.txt" } }] }
    return results.length > 1 ? `Changed: ${JSON.stringify(results[0])}` : {
      calls: [{ tool: "edit", args: { filePath: "a.txt", oldString: "typed", newString: "changed" } }]
    }
  }, { "a.txt": "saved\n" })
  const path = join(place.project, "a.txt")
  const { editor, ...client } = editorOf(path, "saved\ntyped\n")
  const acp = await startAcp(place, { args: ["-m", "openai/m"], ...client })
  const { sessionId } = await acp.request("session/new", { cwd: place.project, mcpServers: [] })
  await acp.request("session/prompt", { sessionId, prompt: say("Go") })
  expect(editor.asked[0]).toEqual({ sessionId, path })
  expect(editor.text).toBe("saved\nchanged\n")
  expect(readFileSync(path, "utf8")).toBe("saved\nchanged\n")
  expect(JSON.stringify(acp.updates)).toContain("unsaved text from the editor")
  expect(await acp.close()).toMatchObject({ code: 0 })
})

it("says which MCP servers of the editor are left out, and why", async () => {
  const { place } = await world(() => "Hi")
  const client = await startAcp(place, {
    args: ["-m", "openai/m"],
    capabilities: { session: { notices: {} }, subagents: {} }
  })
  const mcpServers = [
    { name: "near", type: "acp", serverId: "1" },
    { name: "file", type: "http", url: "file:///etc/passwd", headers: [] },
    { name: "twice", command: "true", args: [], env: [] },
    { name: "twice", command: "false", args: [], env: [] }
  ]
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers })
  await client.request("session/prompt", { sessionId, prompt: say("Hi") })
  const said = JSON.stringify(client.updates)
  expect(said).toContain("MCP server near is not used: its type acp is not supported")
  expect(said).toContain("MCP server file is not used: file:///etc/passwd is no http(s) URL")
  expect(said).toContain("names two MCP servers twice: the first one is used")
  expect(await client.close()).toMatchObject({ code: 0 })
})

it("opens a session only in its own directory, by whichever name", async () => {
  const { place } = await world(() => "Hi")
  const client = await startAcp(place, { args: ["-m", "openai/m"] })
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers: [] })
  const link = join(place.project, "..", "link")
  symlinkSync(place.project, link)
  await client.request("session/load", { sessionId, cwd: `${place.project}/`, mcpServers: [] })
  await client.request("session/load", { sessionId, cwd: link, mcpServers: [] })
  await expect(client.request("session/load", { sessionId, cwd: "/", mcpServers: [] })).rejects.toThrow("and not in /")
  const missing = client.request("session/new", { cwd: "/no/such/place", mcpServers: [] })
  await expect(missing).rejects.toThrow("Name a directory that exists as cwd.")
  expect(await client.request("session/list", { cwd: link })).toMatchObject({ sessions: [{ sessionId }] })
  expect(await client.close()).toMatchObject({ code: 0 })
})

it("shows the todos of an agent as a plan, without those that were given up", async () => {
  const todo = (content: string, status: string) => ({ content, status, priority: "high" })
  const todos = [todo("First", "completed"), todo("Second", "in_progress"), todo("Never", "cancelled")]
  const { place } = await world(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "Done." : { calls: [{ tool: "todowrite", args: { todos } }] }
  )
  const client = await startAcp(place, { args: ["-m", "openai/m"] })
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers: [] })
  await client.request("session/prompt", { sessionId, prompt: say("Plan") })
  const plans = () => client.updates.filter(({ update }) => update["sessionUpdate"] === "plan")
  const entries = [
    { content: "First", status: "completed", priority: "high" },
    { content: "Second", status: "in_progress", priority: "high" }
  ]
  expect(plans()).toEqual([{ sessionId, update: { sessionUpdate: "plan", entries } }])
  // A client that loads the session sees where its work stands.
  await client.request("session/load", { sessionId, cwd: place.project, mcpServers: [] })
  expect(plans()[1]).toEqual(plans()[0])
  expect(await client.close()).toMatchObject({ code: 0 })
})

it("asks an editor with forms what an agent wants to know", async () => {
  const asks = { tool: "question", args: { question: "Which?", options: [{ label: "Red" }, { label: "Blue" }] } }
  const { place } = await world(({ last, messages }) =>
    messages.at(-1)?.role === "tool" ? `It is ${last}` : { calls: [asks] }
  )
  const forms: Array<unknown> = []
  const client = await startAcp(place, {
    args: ["-m", "openai/m"],
    capabilities: { elicitation: { form: {} } },
    answers: {
      "elicitation/create": (params) => {
        forms.push(params)
        return { action: "accept", content: { choice: "Blue" } }
      }
    }
  })
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers: [] })
  await client.request("session/prompt", { sessionId, prompt: say("Ask") })
  expect(forms).toMatchObject([{ mode: "form", sessionId, message: "Which?" }])
  expect(JSON.stringify(client.updates)).toContain("Blue")
  expect(await client.close()).toMatchObject({ code: 0 })
})

it("ends with its editor, and leaves no request of a model open", async () => {
  const { llm, place } = await world(() => ({ text: "Well", hangs: true }))
  const client = await startAcp(place, { args: ["-m", "openai/m"] })
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers: [] })
  client.request("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
  await llm.asked(1)
  expect(await client.close()).toMatchObject({ code: 0 })
  await llm.wasCut
  const listed = await place.run(["sessions", "--format", "json"])
  expect(listed.stdout).toContain(sessionId)
})

it("ends with an editor that reads no more, together with a command that says nothing", async () => {
  const command = `sleep 60${process.pid}`
  const { place } = await world(({ last }) =>
    last === "Go" ? { calls: [{ tool: "bash", args: { command, description: "wait" } }] } : "over"
  )
  const isRunning = () => spawnSync("pgrep", ["-fx", command]).status === 0
  const client = await startAcp(place, {
    args: ["-m", "openai/m"],
    answers: { "session/request_permission": () => ({ outcome: { outcome: "selected", optionId: "once" } }) }
  })
  const { sessionId } = await client.request("session/new", { cwd: place.project, mcpServers: [] })
  client.request("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
  await until(isRunning)
  expect(await client.hangUp()).not.toBe(null)
  await until(() => !isRunning())
})

it("works through the server that holds the database, which continues without the editor, and asks the next one", async () => {
  const { place } = await world(
    ({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "Written."
        : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "hello\n" } }] }
  )
  await startServer(place)
  const careful = await startAcp(place, { capabilities: { fs: { readTextFile: true } } })
  await careful.request("session/new", { cwd: place.project, mcpServers: [] })
  await careful.request("session/new", { cwd: place.project, mcpServers: [] })
  expect(await careful.close()).toMatchObject({ code: 0 })
  expect(JSON.stringify(careful.updates).split("Unsaved changes in the editor are not seen").length).toBe(2)
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => isAsked = resolve)
  const first = await startAcp(place, {
    args: ["-m", "openai/m"],
    answers: { "session/request_permission": () => isAsked() }
  })
  const { sessionId } = await first.request("session/new", { cwd: place.project, mcpServers: [] })
  first.request("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
  await asked
  const { code, stderr } = await first.close()
  expect(code).toBe(0)
  expect(stderr).toContain("server: http://127.0.0.1")

  let isDone = () => {}
  const done = new Promise<void>((resolve) => isDone = resolve)
  const second = await startAcp(place, {
    args: ["-m", "openai/m"],
    answers: {
      "session/request_permission": () => {
        isDone()
        return { outcome: { outcome: "selected", optionId: "once" } }
      }
    }
  })
  await second.request("session/load", { sessionId, cwd: place.project, mcpServers: [] })
  await done
  await second.request("session/prompt", { sessionId, prompt: say("And?") })
  expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("hello\n")
  expect(await second.close()).toMatchObject({ code: 0 })
  await place.run(["serve", "--stop"])
})

/** The built program with MCP servers, as its config names them. */
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const serverPath = fileURLToPath(new URL("../packages/mcp/test/support/server.mjs", import.meta.url))

/** A model that calls a tool once, and then repeats its result. */
const calling = (tool: string) => ({ last, messages }: LlmRequest) =>
  messages.length > 2 ? `told: ${last}` : { calls: [{ tool, args: { words: "hello" } }] }

interface World {
  readonly llm: Llm
  readonly place: Sandbox
  readonly notes: string
  readonly own: (config: object) => void
}

const world = async (tool: string, files: Readonly<Record<string, string>> = {}): Promise<World> => {
  const llm = await startLlm(calling(tool))
  const place = sandbox({ llm: llm.url, files })
  atEnd(llm.close, place.remove)
  return {
    llm,
    place,
    notes: join(place.home, "notes"),
    own: (config) => {
      const path = join(place.home, "config", "skein", "skein.json")
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, JSON.stringify(config))
    }
  }
}

const notesIn = (path: string): ReadonlyArray<{ readonly started?: number; readonly directory?: string }> =>
  readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line))

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it("a tool of a server from the user's config is offered, called under the rules, and ends with the run", async () => {
  const { llm, notes, own, place } = await world("mcp_fake_echo")
  own({
    mcp: { fake: { command: ["node", serverPath], env: { NOTES: notes } } },
    permission: { "mcp_*": "allow" }
  })
  const { code, stderr, stdout } = await place.run(["run", "-m", "openai/m", "go"])
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "told: told: hello (call)\n",
    stderr: "> mcp_fake_echo words=hello\n"
  })
  expect(llm.requests[0]?.tools).toContain("mcp_fake_echo")
  const [{ directory = "", started = 0 } = {}] = notesIn(notes)
  expect(directory).toBe(place.project)
  expect(isAlive(started)).toBe(false)
})

it("servers that cannot be used are named on standard error, each once and with the cause", async () => {
  const closed = createServer((_, response) => void response.writeHead(401, { "www-authenticate": "Bearer" }).end())
  closed.listen(0, "127.0.0.1")
  await once(closed, "listening")
  atEnd(() => void closed.close())
  const { port } = closed.address() as AddressInfo
  const { own, place } = await world("mcp_fake_echo")
  own({
    mcp: {
      dead: { command: ["node", "-e", "console.error('there is no database'); process.exit(3)"] },
      fake: { command: ["node", serverPath] },
      locked: { url: `http://127.0.0.1:${port}/mcp` },
      mute: { command: ["node", serverPath, "hangs"], startup_timeout: 3000 }
    },
    permission: { "mcp_*": "allow" }
  })
  for (const format of ["default", "json"]) {
    const { code, stderr } = await place.run(["run", "-m", "openai/m", "--format", format, "go"])
    expect(code).toBe(0)
    expect(stderr.split("\n").filter((line) => line.startsWith("skein: The MCP server")).toSorted()).toEqual([
      "skein: The MCP server dead cannot be used: it ended with exit code 3; its last words: there is no database.",
      "skein: The MCP server locked cannot be used: it asks for a login; run `skein mcp login locked`.",
      "skein: The MCP server mute is not there yet: it did not answer within 3 s (mcp.mute.startup_timeout). "
      + "Its tools come with a later turn."
    ])
  }
})

it("a tool of a server needs permission", async () => {
  const { notes, own, place } = await world("mcp_fake_echo")
  own({ mcp: { fake: { command: ["node", serverPath], env: { NOTES: notes } } } })
  const { code, stdout } = await place.run(["run", "-m", "openai/m", "go"])
  expect(code).toBe(3)
  expect(stdout).toContain("told: Permission denied")
  expect(readFileSync(notes, "utf8")).not.toContain("tools/call")
})

it("servers of a project start only once they are trusted, as .mcp.json and opencode.json have them", async () => {
  const files = {
    ".mcp.json": JSON.stringify({
      mcpServers: {
        fake: { command: "node", args: [serverPath], env: { NOTES: "${NOTES_FILE}", KEY: "${A_TOKEN:-none}" } }
      }
    }),
    "opencode.json": JSON.stringify({
      mcp: {
        other: {
          type: "local",
          command: ["node", serverPath],
          environment: { NOTES: "{env:NOTES_FILE}" },
          enabled: true
        },
        off: { type: "remote", url: "https://example.com/mcp", enabled: false }
      }
    })
  }
  const { llm, notes, own, place } = await world("mcp_fake_echo", files)
  own({ permission: { "mcp_*": "allow" } })
  const run = () => place.run(["run", "-m", "openai/m", "go"], { env: { NOTES_FILE: notes } })
  const before = await run()
  expect(before.stdout).toContain("There is no tool")
  expect(before.stderr).toContain("skein trust")
  expect(existsSync(notes)).toBe(false)

  const listed: ReadonlyArray<{ readonly id: string; readonly key: string; readonly value: unknown }> = JSON.parse(
    (await place.run(["trust", "--format", "json"])).stdout
  )
  expect(listed.map(({ key, value }) => [key, value])).toEqual([
    ["mcp.fake", { command: ["node", serverPath], env: { NOTES: "${NOTES_FILE}", KEY: "${A_TOKEN:-none}" } }],
    ["mcp.other", { command: ["node", serverPath], env: { NOTES: "{env:NOTES_FILE}" } }]
  ])
  await place.run(["trust", "allow", ...listed.map(({ id }) => id)])
  const after = await run()
  expect({ code: after.code, stdout: after.stdout }).toEqual({ code: 0, stdout: "told: told: hello (call)\n" })
  expect(llm.requests.at(-1)?.tools.filter((name) => name.startsWith("mcp_"))).toEqual([
    "mcp_fake_echo",
    "mcp_other_echo"
  ])
})

it("servers run at the root of the project, or where the file that defines them is, from every directory", async () => {
  const server = { command: "node", args: ["server.mjs"], env: { NOTES: "${NOTES_FILE}" } }
  const script = readFileSync(serverPath, "utf8")
  const { llm, notes, own, place } = await world("mcp_top_echo", {
    ".mcp.json": JSON.stringify({ mcpServers: { top: server } }),
    "server.mjs": script,
    "part/.opencode/opencode.json": JSON.stringify({
      mcp: { part: { type: "local", command: ["node", "server.mjs"], environment: { NOTES: "{env:NOTES_FILE}" } } }
    }),
    "part/server.mjs": script,
    "part/below/README.md": "Nothing."
  })
  own({
    mcp: { mine: { command: ["node", serverPath], env: { NOTES: notes } } },
    permission: { "mcp_*": "allow" }
  })
  const cwd = join(place.project, "part", "below")
  const listed: ReadonlyArray<{ readonly id: string }> = JSON.parse(
    (await place.run(["trust", "--format", "json"], { cwd })).stdout
  )
  await place.run(["trust", "allow", ...listed.map(({ id }) => id)], { cwd })
  const { code } = await place.run(["run", "-m", "openai/m", "go"], { cwd, env: { NOTES_FILE: notes } })
  expect(code).toBe(0)
  expect(llm.requests[0]?.tools.filter((name) => name.startsWith("mcp_"))).toEqual([
    "mcp_mine_echo",
    "mcp_part_echo",
    "mcp_top_echo"
  ])
  const directories = notesIn(notes).flatMap(({ directory }) => directory ?? [])
  expect(directories.toSorted()).toEqual([place.project, place.project, join(place.project, "part")])
})

it("credentials of the environment reach no server unless its config names them", async () => {
  const { own, place } = await world("mcp_fake_echo")
  own({
    mcp: {
      fake: {
        command: ["node", serverPath, "environment"],
        env: { NAMED: "${A_TOKEN}", OTHER: "${NOT_SET:-fallback}" }
      }
    },
    permission: { "mcp_*": "allow" }
  })
  const { stdout } = await place.run(["run", "-m", "openai/m", "go"], {
    env: { A_TOKEN: "value-of-a-token", B_TOKEN: "other-secret-value", B_PLAIN: "plain-value" }
  })
  expect(stdout).toContain("\"NAMED\":\"")
  expect(stdout).toContain("\"OTHER\":\"fallback\"")
  for (const absent of ["other-secret-value", "plain-value", "sk-test-0123456789"]) expect(stdout).not.toContain(absent)
})

it("resources are attached by @server:uri, and prompts are commands", async () => {
  const { llm, own, place } = await world("no_tool")
  own({ mcp: { docs: { command: ["node", serverPath, "offers"] } } })
  const asked = async (...words: ReadonlyArray<string>) => {
    const before = llm.requests.length
    const { code, stderr } = await place.run(["run", "-m", "openai/m", ...words])
    return { code, stderr, messages: JSON.stringify(llm.requests[before]?.messages) }
  }
  const attached = await asked("What does @docs:note:///a/b.md say?")
  expect(attached.messages).toContain("as the tool mcp_resource shows it")
  expect(attached.messages).toContain("Read me.")
  expect((await asked("/mcp:docs:review a.ts very strict")).messages).toContain("Review a.ts: very strict")
  expect((await asked("--command", "mcp:docs:review", "b.ts", "kindly")).messages).toContain("Review b.ts: kindly")
  expect(await asked("/mcp:docs:nothing")).toMatchObject({
    stderr: expect.stringContaining("has no such prompt. It has review."),
    messages: undefined
  })
})

it("a run loads what speaks MCP only where a server is configured", async () => {
  const { own, place } = await world("no_tool")
  const loaded = async (name: string) => {
    const directory = join(place.home, name)
    await place.run(["run", "-m", "openai/m", "go"], {
      // Of the program as one script, nobody could say which parts of it are loaded: this runs it as modules.
      env: { NODE_V8_COVERAGE: directory, NODE_OPTIONS: "--enable-source-maps" }
    })
    const reports: ReadonlyArray<{ readonly result: ReadonlyArray<{ readonly url: string }> }> = readdirSync(directory)
      .map((file) => JSON.parse(readFileSync(join(directory, file), "utf8")))
    const urls = new Set(reports.flatMap(({ result }) => result.map(({ url }) => url)))
    const files = [...urls].filter((url) => url.startsWith("file:")).map((url) => fileURLToPath(url))
    return files.filter((file) => readFileSync(file, "utf8").includes("notifications/tools/list_changed"))
  }
  expect(await loaded("without")).toEqual([])
  own({ mcp: { fake: { command: ["node", serverPath] } } })
  expect(await loaded("with")).not.toEqual([])
})

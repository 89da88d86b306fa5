/** `skein mcp list`, `add`, `remove` and `test`, as users call them. */
import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, expect, it, vi } from "vitest"
import { type Sandbox, sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const cleanup: Array<() => unknown> = []
afterEach(async () => {
  for (const each of cleanup.splice(0).toReversed()) await each()
})

const server = fileURLToPath(new URL("../packages/mcp/test/support/server.mjs", import.meta.url))

const oauth = fileURLToPath(new URL("../packages/mcp/test/support/oauth.ts", import.meta.url))

const world = (files: Readonly<Record<string, string>> = {}) => {
  const place: Sandbox = sandbox({ files })
  cleanup.push(place.remove)
  const own = join(place.home, "config", "skein", "skein.json")
  const write = (text: string) => {
    mkdirSync(dirname(own), { recursive: true })
    writeFileSync(own, text)
  }
  const mcp = (...words: ReadonlyArray<string>) => place.run(["mcp", ...words])
  return {
    place,
    own,
    write,
    mcp,
    json: async (...words: ReadonlyArray<string>) => JSON.parse((await mcp(...words)).stdout)
  }
}

it("a server is added to the user's file beside its comments, listed, and removed again", async () => {
  const { json, mcp, own, write } = world()
  write("{\n  // my model\n  \"model\": \"openai/m\"\n}\n")
  const added = await mcp("add", "fake", "--env", "KEY=${FAKE_KEY}", "--", "node", server, "--flag")
  expect(added).toMatchObject({ code: 0, stdout: `${own}\n` })
  expect(readFileSync(own, "utf8")).toContain("// my model")
  expect(await mcp("add", "docs", "https://docs.example.com/mcp", "--header", "Authorization: Bearer ${TOKEN}"))
    .toMatchObject({ code: 0 })
  expect(await json("list", "--format", "json")).toMatchObject([
    {
      name: "docs",
      state: "on",
      config: { url: "https://docs.example.com/mcp", headers: { Authorization: "Bearer ${TOKEN}" } }
    },
    { name: "fake", state: "on", config: { command: ["node", server, "--flag"], env: { KEY: "${FAKE_KEY}" } } }
  ])
  expect(await mcp("add", "fake", "http://a")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("skein mcp remove fake")
  })
  expect(await mcp("remove", "fake")).toMatchObject({ code: 0 })
  expect(await json("--format", "json")).toHaveLength(1)
  expect(readFileSync(own, "utf8")).toContain("// my model")
})

it("a secret in a server's config is not listed", async () => {
  const { mcp, write } = world()
  write(JSON.stringify({ mcp: { a: { command: ["x"], env: { API_KEY: "opensesame-42" } } } }))
  for (const format of ["json", "default"]) {
    expect((await mcp("list", "--format", format)).stdout).not.toContain("opensesame-42")
  }
})

it.each([
  [["add", "a b", "http://a"], "is not a name for a server"],
  [["add", "a", "http://a", "more"], "A URL stands alone"],
  [["add", "a", "http://a", "--env", "A=b"], "--env is for programs"],
  [["add", "a", "--sse", "--", "node"], "--header and --sse are for servers at a URL"],
  [["add", "a", "--env", "nothing", "--", "node"], "--env needs NAME=VALUE"],
  [["remove", "a"], "There is no MCP server \"a\""],
  [["test", "a"], "There is no MCP server \"a\""],
  [["add", "a"], "needs NAME URL|PROGRAM"]
])("`skein mcp %j` is a mistake", async (words, message) => {
  const { mcp } = world()
  expect(await mcp(...words)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) })
})

it("a server of the project is added to its root, and needs trust before it is tried", async () => {
  const { json, mcp, place } = world({ "below/a.txt": "" })
  const below = join(place.project, "below")
  expect(await place.run(["mcp", "add", "fake", "--project", "--", "node", server], { cwd: below })).toMatchObject({
    code: 0,
    stdout: `${join(place.project, "skein.json")}\n`
  })
  const [{ state, trust }] = await json("list", "--format", "json")
  expect(state).toBe("untrusted")
  expect(await mcp("test", "fake")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`skein trust allow ${trust}`)
  })
  await place.run(["trust", "allow", trust])
  expect(await mcp("test", "fake")).toMatchObject({ code: 0 })
  expect(await mcp("remove", "fake")).toMatchObject({ code: 2, stderr: expect.stringContaining("skein.json:") })
})

it("testing a server shows its revision, its tools and what is left out", async () => {
  const { json, mcp } = world()
  await mcp("add", "fake", "--", "node", server, "liar")
  const tried = await mcp("test", "fake")
  expect(tried.code).toBe(0)
  expect(tried.stdout).toMatch(/^fake: fake 1\nprotocol 2025-11-25, connected in \d+ ms, listed in \d+ ms\n/)
  expect(tried.stdout).toContain("  mcp_fake_echo\n")
  expect(tried.stderr).toContain("\"cycle\" is left out")
  expect(await json("test", "fake", "--format", "json")).toMatchObject({
    name: "fake",
    server: "fake 1",
    revision: "2025-11-25",
    tools: [{ name: "echo", as: "mcp_fake_echo" }]
  })
})

it("testing a server that cannot be used fails with the reason", async () => {
  const { mcp } = world()
  await mcp("add", "gone", "--", "/no/such/program")
  expect(await mcp("test", "gone")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("there is no program /no/such/program")
  })
})

it("a login is kept in a file that only the user can read, used by a run, and forgotten again", async () => {
  const { json, mcp, place } = world()
  const guarded = spawn(process.execPath, [oauth], { stdio: ["ignore", "pipe", "ignore"] })
  cleanup.push(() => guarded.kill())
  const url = await new Promise<string>((resolve) =>
    guarded.stdout.once("data", (bytes) => resolve(String(bytes).trim()))
  )
  await mcp("add", "docs", url)
  expect(await mcp("test", "docs")).toMatchObject({ code: 1, stderr: expect.stringContaining("skein mcp login docs") })
  const { child, ended } = place.start(["mcp", "login", "docs", "--no-open"])
  const page = await new Promise<URL>((resolve) => {
    let text = ""
    child.stderr?.on("data", (bytes: Buffer | string) => {
      text += String(bytes)
      const [found] = /http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+(?=\n)/.exec(text) ?? []
      if (found !== undefined) resolve(new URL(found))
    })
  })
  // The browser of a user who agrees: it follows where it is sent.
  await fetch(page)
  expect(await ended).toMatchObject({ code: 0, stderr: expect.stringContaining("signed in to docs") })
  const directory = join(place.home, "data", "skein", "mcp-logins")
  const [file = "", ...others] = readdirSync(directory)
  expect(others).toEqual([])
  expect([statSync(directory).mode & 0o777, statSync(join(directory, file)).mode & 0o777]).toEqual([0o700, 0o600])
  expect(await json("test", "docs", "--format", "json")).toMatchObject({ tools: [{ as: "mcp_docs_echo" }] })
  expect(await mcp("logout", "docs")).toMatchObject({ code: 0, stderr: expect.stringContaining("signed out of docs") })
  expect(readdirSync(directory)).toEqual([])
  expect(await mcp("test", "docs")).toMatchObject({ code: 1 })
})

/** `skein mcp list`, `add`, `remove` and `test`, as users call them. */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"

vi.setConfig({ testTimeout: 60_000 })

const server = fileURLToPath(new URL("../packages/mcp/test/support/server.mjs", import.meta.url))

const oauth = fileURLToPath(new URL("../packages/mcp/test/support/oauth.ts", import.meta.url))

const world = (files: Readonly<Record<string, string>> = {}) => {
  const place: Sandbox = sandbox({ files })
  atEnd(place.remove)
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
  [["add", "a", "ftp://a"], "is not an http(s) URL"],
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

it("testing a server names the status of its answer, and variables of its config that are not set", async () => {
  const { mcp, write } = world()
  const http = createServer((_, response) => response.writeHead(404).end())
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  atEnd(() => void http.close())
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  write(JSON.stringify({ mcp: { docs: { url, headers: { Authorization: "Bearer ${NO_SUCH_TOKEN}" } } } }))
  const { code, stderr } = await mcp("test", "docs")
  expect(code).not.toBe(0)
  expect(stderr).toContain("(HTTP status 404)")
  expect(stderr).toContain("Not set in the environment: NO_SUCH_TOKEN")
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
  atEnd(() => guarded.kill())
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

it("a login that is broken off keeps nothing, and frees its port for the next one", async () => {
  const { mcp, own, place } = world()
  const guarded = spawn(process.execPath, [oauth], { stdio: ["ignore", "pipe", "ignore"] })
  atEnd(() => guarded.kill())
  const url = await new Promise<string>((resolve) =>
    guarded.stdout.once("data", (bytes) => resolve(String(bytes).trim()))
  )
  await mcp("add", "docs", url)
  const begin = async () => {
    const { child, ended } = place.start(["mcp", "login", "docs", "--no-open"])
    const back = await new Promise<URL>((resolve) => {
      let text = ""
      child.stderr?.on("data", (bytes: Buffer | string) => {
        text += String(bytes)
        const [page] = /http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+(?=\n)/.exec(text) ?? []
        if (page !== undefined) resolve(new URL(new URL(page).searchParams.get("redirect_uri") ?? ""))
      })
    })
    return { child, ended, back }
  }
  const first = await begin()
  writeFileSync(own, JSON.stringify({ mcp: { docs: { url, login_port: Number(first.back.port) } } }))
  expect(await mcp("login", "docs", "--no-open")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no port for the login could be opened")
  })
  first.child.kill("SIGINT")
  expect(await first.ended).toMatchObject({ code: 130 })
  const second = await begin()
  expect(second.back.port).toBe(first.back.port)
  second.child.kill("SIGINT")
  await second.ended
  expect(existsSync(join(place.home, "data", "skein", "mcp-logins"))).toBe(false)
})

it("`skein mcp test` and `skein commands` show tools and prompts by the names that they have in a session", async () => {
  const { json, place, write } = world()
  const docs = { command: ["node", server, "offers"] }
  write(JSON.stringify({ mcp: { docs, gone: { command: ["/no/such/program"] }, a_b: docs, "a.b": docs } }))
  expect(await json("test", "docs", "--format", "json")).toMatchObject({
    tools: [{ as: "mcp_docs_echo" }],
    prompts: ["/mcp:docs:review file [how]"]
  })
  expect(await json("test", "a_b", "--format", "json")).toMatchObject({
    tools: [{ as: expect.stringMatching(/^mcp_a_b_echo_[0-9a-f]{8}$/) }]
  })
  const listed = await place.run(["commands", "--format", "json"])
  const names: ReadonlyArray<string> = JSON.parse(listed.stdout).map((each: { readonly name: string }) => each.name)
  expect(names.filter((name) => name.startsWith("mcp:")).toSorted()).toEqual([
    "mcp:a.b:review",
    "mcp:a_b:review",
    "mcp:docs:review"
  ])
})

it("`skein mcp test` finds a server usable whose prompts cannot be listed, and says so", async () => {
  const { mcp, write } = world()
  write(JSON.stringify({ mcp: { fake: { command: ["node", server, "no-prompts"] } } }))
  expect(await mcp("test", "fake")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("its prompts cannot be listed: out of ideas")
  })
})

it("`skein mcp test` names the file that turns a server off", async () => {
  const { mcp, own, write } = world()
  write(JSON.stringify({ mcp: { fake: { command: ["node", server], enabled: false } } }))
  expect(await mcp("test", "fake")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`The MCP server fake is turned off in ${own}`)
  })
})

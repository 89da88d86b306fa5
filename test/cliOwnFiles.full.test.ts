/** The built program in mode `auto`: nothing that a model calls shows it the tokens and the database of Skein. */
import { spawnSync } from "node:child_process"
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { serversOf, startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 120_000 })

const works = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

interface Call {
  readonly tool: string
  readonly args: object
}

const token = "t0ken".repeat(8)

/** A server with a token file in the project, and a model that makes calls that are known once the server runs. */
const world = async (config: object) => {
  let calls: ReadonlyArray<Call> = []
  const llm = await startLlm(({ messages }) => {
    const count = messages.filter(({ role }) => role === "tool").length
    const call = calls[count]
    return call === undefined ? "done" : { calls: [call] }
  })
  const where = sandbox({ llm: llm.url })
  atEnd(llm.close, where.remove)
  const settings = join(where.home, "config", "skein")
  mkdirSync(settings, { recursive: true })
  writeFileSync(join(settings, "skein.json"), JSON.stringify({ ...config, env: { OWN_KEY: `${token}-of-config` } }))
  const file = join(where.project, "token")
  writeFileSync(file, `${token}\n`, { mode: 0o600 })
  const server = await startServer(where, ["--token-file", file])
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const ask = async (made: ReadonlyArray<Call>) => {
    calls = made
    await where.run(["run", "-m", "openai/m", "--auto", "go"])
    return llm.requests.at(-1)?.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content))
      ?? []
  }
  const directory = serversOf(where)
  const name = readdirSync(directory).find((each) => each.endsWith(".json")) ?? ""
  return { ...where, ask, file, settings: join(settings, "skein.json"), directory, server: join(directory, name) }
}

const bash = (command: string, needs: ReadonlyArray<string> = []): Call => ({ tool: "bash", args: { command, needs } })
const read = (filePath: string): Call => ({ tool: "read", args: { filePath } })

const refused = /is one of the files in which Skein keeps its database|needs a person's consent/

it.each(works ? ["auto", "off"] : ["off"])(
  "no tool reads or changes the server's token, however its file is named (sandbox: %s)",
  async (mode) => {
    const { ask, directory, file, home, project, server, settings } = await world({ sandbox: mode })
    symlinkSync(server, join(project, "link"))
    symlinkSync(join(home, "data"), join(project, "data"))
    linkSync(server, join(project, "hard"))
    const named = [
      server,
      file,
      "token",
      "link",
      "hard",
      "data/skein/servers/../servers/" + server.slice(directory.length + 1),
      `~/${relative(home, server)}`,
      relative(project, server),
      `/proc/self/root${server}`
    ]
    const calls = [
      ...[...named, `file://${server}`, "/proc/self/environ", settings].map(read),
      ...named.map((path) => bash(`cat ${path}`)),
      bash(`cat ${server}`, ["network"]),
      bash(`cp ${server} copy`, ["write"]),
      bash(`cat < ${server}`),
      bash(`cat ${directory}/*.json`),
      bash(`cat ${settings}`),
      bash(`cd ${directory} && cat *`),
      bash(`grep -r . ${home}/data`),
      { tool: "grep", args: { pattern: "t0ken", path: server } },
      { tool: "grep", args: { pattern: "t0ken", path: directory } },
      { tool: "grep", args: { pattern: "t0ken", path: home } },
      { tool: "grep", args: { pattern: "t0ken" } },
      { tool: "glob", args: { pattern: "*.json", path: directory } },
      { tool: "list", args: { path: directory } },
      { tool: "write", args: { filePath: server, content: "{}" } },
      { tool: "edit", args: { filePath: file, oldString: "t0ken", newString: "mine" } },
      { tool: "webfetch", args: { url: `file://${server}` } },
      // What is not Skein's own stays in reach.
      read("plain.txt"),
      read(join(home, "beside.txt")),
      bash(`cat plain.txt ${join(home, "beside.txt")}`),
      { tool: "grep", args: { pattern: "in sight", path: home } }
    ]
    writeFileSync(join(project, "plain.txt"), "in sight\n")
    writeFileSync(join(home, "beside.txt"), "in sight\n")
    const before = readFileSync(server, "utf8")
    const results = await ask(calls)
    expect(results).toHaveLength(calls.length)
    for (const [at, result] of results.entries()) {
      expect(result, JSON.stringify(calls[at])).not.toContain(token)
      expect(result, JSON.stringify(calls[at])).not.toContain("sk-test")
    }
    for (const result of results.slice(-4)) expect(result).toContain("in sight")
    expect(results[0]).toMatch(refused)
    expect(results[calls.findIndex(({ tool }) => tool === "bash")]).toMatch(refused)
    expect(readFileSync(server, "utf8")).toBe(before)
    expect(readFileSync(file, "utf8")).toBe(`${token}\n`)
  }
)

it.skipIf(!works)("a command that names no file of Skein's own sees none", async () => {
  const { ask, directory, home, project, server } = await world({})
  const calls = [
    bash("sh -c 'grep -r t0ken .'"),
    bash(`sh -c 'd=${directory}; cat $d/*'`, ["network"]),
    bash(`sh -c 'cat ${server.replace("servers", "ser''vers")}' ${home}/data`),
    bash(`ls ${home}; sh -c 'cat data/skein/servers/*.json ${project}/token'`),
    bash(`find ${home} -name '*.json' -exec cat {} +`)
  ]
  const results = await ask(calls)
  expect(results).toHaveLength(calls.length)
  for (const [at, result] of results.entries()) expect(result, JSON.stringify(calls[at])).not.toContain(token)
})

it.each(works ? ["auto", "off"] : ["off"])(
  "nothing reads what another server of the machine keeps, nor credentials of the user (sandbox: %s)",
  async (mode) => {
    const { ask, home, project, start } = await world({ sandbox: mode })
    const data = join(home, "data-b")
    const elsewhere = join(home, "elsewhere")
    mkdirSync(elsewhere)
    const file = join(elsewhere, "token")
    writeFileSync(file, `${token}\n`, { mode: 0o600 })
    const other = start(["serve", "--token-file", file], { env: { XDG_DATA_HOME: data } })
    atEnd(async () => {
      other.child.kill("SIGTERM")
      await other.ended
    })
    await until(() => /^(http:\S+)\n/m.exec(other.output())?.[1])
    const directory = join(data, "skein", "servers")
    const record = join(directory, readdirSync(directory).find((each) => each.endsWith(".json")) ?? "")
    expect(readFileSync(record, "utf8")).toContain(token)
    writeFileSync(join(home, ".pgpass"), `localhost:*:*:me:${token}\n`, { mode: 0o600 })
    const pgpass = join(home, ".pgpass")
    writeFileSync(join(project, "plain.txt"), "in sight\n")
    const calls = [
      ...[record, file, pgpass].flatMap((path) => [
        read(path),
        bash(`cat ${path}`),
        bash(`cat < ${path}`),
        bash(`cp ${path} copy && cat copy`, ["write", "network"]),
        { tool: "grep", args: { pattern: "t0ken", path } },
        { tool: "write", args: { filePath: path, content: "{}" } }
      ]),
      ...[directory, data, elsewhere, home, "/"].flatMap((path) => [
        { tool: "grep", args: { pattern: "t0ken", path: path === "/" ? home : path } },
        ...mode === "off" ? [] : [bash(`ls ${path} > /dev/null; grep -rs t0ken ${path === "/" ? home : path}`)]
      ]),
      bash(`cat ${directory}/*.json`),
      bash(`cat ~/.pg*`),
      bash("cat plain.txt")
    ]
    const results = await ask(calls)
    expect(results).toHaveLength(calls.length)
    for (const [at, result] of results.entries()) {
      expect(result, JSON.stringify(calls[at])).not.toContain(token)
    }
    expect(results[0]).toMatch(refused)
    expect(results.at(-1)).toContain("in sight")
    expect(readFileSync(record, "utf8")).toContain(token)
    expect(readFileSync(pgpass, "utf8")).toContain(token)
  }
)
